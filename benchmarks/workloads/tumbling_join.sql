-- Tumbling join: packets of a flow in the same minute at both taps, counted per minute.

CREATE QUERY pairs_per_minute AS
  SELECT count(*) AS n, sum(a.len) AS volume, max(b.len) AS longest
  FROM tap1 AS a [RANGE TUMBLING 1 MINUTE] JOIN tap2 AS b [RANGE TUMBLING 1 MINUTE]
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
  GROUP BY window(a.ts, '1 minute');
