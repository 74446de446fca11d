-- The last hour, every minute, three aggregates per pair of addresses.
-- In DuckDB, once over all rows: the floor. `us` is ts in microseconds.

CREATE TEMPORARY VIEW flows AS
  WITH panes AS (
    SELECT us // 60000000 AS pane, srcIP, destIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
    FROM packets
    GROUP BY ALL
  )
  SELECT (pane - i) * 60000000 AS window_start, (pane - i + 60) * 60000000 AS window_end,
         srcIP, destIP, sum(n)::BIGINT AS n, sum(volume)::BIGINT AS volume, max(longest) AS longest
  FROM panes, range(60) AS earlier(i)
  GROUP BY ALL;
