-- Tumbling join: packets of a flow in the same minute at both taps, counted per minute.
-- In Flink SQL: a window join, and a window aggregation of its results.

CREATE TEMPORARY VIEW pairs_per_minute AS
  SELECT window_start, window_end, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(other_len) AS longest
  FROM (
    SELECT a.window_start AS window_start, a.window_end AS window_end, a.len AS len, b.len AS other_len
    FROM TABLE(TUMBLE(TABLE tap1, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) AS a
    JOIN TABLE(TUMBLE(TABLE tap2, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) AS b
      ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
        AND a.window_start = b.window_start AND a.window_end = b.window_end
  )
  GROUP BY window_start, window_end;
