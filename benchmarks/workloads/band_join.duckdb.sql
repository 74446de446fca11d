-- Band join: packets of a flow at the first tap with those up to two minutes later at the second.
-- In DuckDB, once over all rows: the floor. Two buckets of time are a key too, or the join would compare all rows of a flow.

CREATE TEMPORARY VIEW flow_pairs AS
  SELECT a.ts, b.ts AS later, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS later_len
  FROM (SELECT *, unnest([us // 120000000, us // 120000000 + 1]) AS bucket FROM tap1) AS a
  JOIN (SELECT *, us // 120000000 AS bucket FROM tap2) AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND a.bucket = b.bucket AND b.us BETWEEN a.us AND a.us + 120000000;
