-- Band join with many results: packets of a source at the first tap with those up to 30 seconds later at the second.
-- In Flink SQL: an interval join. Times are given back as numbers.

CREATE TEMPORARY VIEW source_pairs AS
  SELECT a.ms * 1000 AS ts, b.ms * 1000 AS later, a.srcIP, a.len AS len, b.len AS later_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '30' SECOND;
