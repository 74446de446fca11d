-- Tumbling join: packets of a flow in the same minute at both taps, counted per minute.
-- In DuckDB, once over all rows: the floor. `us` is ts in microseconds.

CREATE TEMPORARY VIEW pairs_per_minute AS
  SELECT a.us // 60000000 * 60000000 AS window_start, window_start + 60000000 AS window_end,
         count(*) AS n, sum(a.len)::BIGINT AS volume, max(b.len) AS longest
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND a.us // 60000000 = b.us // 60000000
  GROUP BY ALL;
