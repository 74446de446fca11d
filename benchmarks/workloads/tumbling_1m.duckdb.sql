-- One-minute windows, three aggregates per pair of addresses.
-- In DuckDB, once over all rows: the floor. `us` is ts in microseconds.

CREATE TEMPORARY VIEW flows AS
  SELECT us // 60000000 * 60000000 AS window_start, window_start + 60000000 AS window_end,
         srcIP, destIP, count(*) AS n, sum(len)::BIGINT AS volume, max(len) AS longest
  FROM packets
  GROUP BY ALL;
