-- Tumbling join: packets of a flow in the same minute at both taps, counted per minute.
-- In Spark SQL, where both streams carry a watermark of 5 seconds.

CREATE TEMPORARY VIEW pairs_per_minute AS
  SELECT a.w.start AS window_start, a.w.end AS window_end, count(*) AS n, sum(a.len) AS volume, max(b.len) AS longest
  FROM (SELECT *, window(ts, '1 minute') AS w FROM tap1) AS a
  JOIN (SELECT *, window(ts, '1 minute') AS w FROM tap2) AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort AND a.w = b.w
  GROUP BY a.w;
