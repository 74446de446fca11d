-- The last ten minutes, every second: 7,200 windows over two hours, in one batch.
-- In Flink SQL: window table functions, which share slices.

CREATE TEMPORARY VIEW traffic AS
  SELECT window_start, window_end,
         protocol, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '10' MINUTES))
  GROUP BY window_start, window_end, protocol;
