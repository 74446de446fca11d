-- Band join with many results: packets of a source at the first tap with those up to 30 seconds later at the second.
-- In DuckDB, once over all rows: the floor. Buckets of time are a key too.

CREATE TEMPORARY VIEW source_pairs AS
  SELECT a.ts, b.ts AS later, a.srcIP, a.len AS len, b.len AS later_len
  FROM (SELECT *, unnest([us // 30000000, us // 30000000 + 1]) AS bucket FROM tap1) AS a
  JOIN (SELECT *, us // 30000000 AS bucket FROM tap2) AS b
    ON a.srcIP = b.srcIP AND a.bucket = b.bucket AND b.us BETWEEN a.us AND a.us + 30000000;
