-- The last ten minutes, every minute, three aggregates per pair of addresses.
-- In Flink SQL: window table functions, which share slices.

CREATE TEMPORARY VIEW flows AS
  SELECT window_start, window_end,
         srcIP, destIP, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '10' MINUTES))
  GROUP BY window_start, window_end, srcIP, destIP;
