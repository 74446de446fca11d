-- The last ten minutes, every second: 7,200 windows over two hours.
-- In DuckDB, once over all rows: the floor. `us` is ts in microseconds.

CREATE TEMPORARY VIEW traffic AS
  WITH panes AS (
    SELECT us // 1000000 AS pane, protocol, count(*) AS n, sum(len) AS volume, max(len) AS longest
    FROM packets
    GROUP BY ALL
  )
  SELECT (pane - i) * 1000000 AS window_start, (pane - i + 600) * 1000000 AS window_end,
         protocol, sum(n)::BIGINT AS n, sum(volume)::BIGINT AS volume, max(longest) AS longest
  FROM panes, range(600) AS earlier(i)
  GROUP BY ALL;
