-- Twenty queries over one stream: nine sets of keys, filters, HAVING, windows from 1 to 60 minutes.
-- In DuckDB, once over all rows: the floor. `us` is ts in microseconds.

CREATE TEMPORARY VIEW flows_1m AS
  SELECT us // 60000000 * 60000000 AS window_start, window_start + 60000000 AS window_end,
         srcIP, destIP, count(*) AS n, sum(len)::BIGINT AS volume, max(len) AS longest
  FROM packets
  GROUP BY ALL;

CREATE TEMPORARY VIEW flows_10m AS
  WITH panes AS (
    SELECT us // 60000000 AS pane, srcIP, destIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
    FROM packets
    GROUP BY ALL
  )
  SELECT (pane - i) * 60000000 AS window_start, (pane - i + 10) * 60000000 AS window_end,
         srcIP, destIP, sum(n)::BIGINT AS n, sum(volume)::BIGINT AS volume, max(longest) AS longest
  FROM panes, range(10) AS earlier(i)
  GROUP BY ALL;

CREATE TEMPORARY VIEW flows_30m AS
  WITH panes AS (
    SELECT us // 300000000 AS pane, srcIP, destIP, count(*) AS n, sum(len) AS volume
    FROM packets
    GROUP BY ALL
  )
  SELECT (pane - i) * 300000000 AS window_start, (pane - i + 6) * 300000000 AS window_end,
         srcIP, destIP, sum(n)::BIGINT AS n, sum(volume)::BIGINT AS volume
  FROM panes, range(6) AS earlier(i)
  GROUP BY ALL;

CREATE TEMPORARY VIEW heavy_flows AS
  WITH panes AS (
    SELECT us // 60000000 AS pane, srcIP, destIP, count(*) AS n, sum(len) AS volume
    FROM packets
    GROUP BY ALL
  )
  SELECT (pane - i) * 60000000 AS window_start, (pane - i + 5) * 60000000 AS window_end,
         srcIP, destIP, sum(n)::BIGINT AS n, sum(volume)::BIGINT AS volume
  FROM panes, range(5) AS earlier(i)
  GROUP BY ALL
  HAVING sum(volume) > 100000;

CREATE TEMPORARY VIEW sources_1m AS
  SELECT us // 60000000 * 60000000 AS window_start, window_start + 60000000 AS window_end,
         srcIP, count(*) AS n, sum(len)::BIGINT AS volume, max(len) AS longest
  FROM packets
  GROUP BY ALL;

CREATE TEMPORARY VIEW sources_10m AS
  WITH panes AS (
    SELECT us // 60000000 AS pane, srcIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
    FROM packets
    GROUP BY ALL
  )
  SELECT (pane - i) * 60000000 AS window_start, (pane - i + 10) * 60000000 AS window_end,
         srcIP, sum(n)::BIGINT AS n, sum(volume)::BIGINT AS volume, max(longest) AS longest
  FROM panes, range(10) AS earlier(i)
  GROUP BY ALL;

CREATE TEMPORARY VIEW sources_60m AS
  WITH panes AS (
    SELECT us // 300000000 AS pane, srcIP, count(*) AS n, sum(len) AS volume
    FROM packets
    GROUP BY ALL
  )
  SELECT (pane - i) * 300000000 AS window_start, (pane - i + 12) * 300000000 AS window_end,
         srcIP, sum(n)::BIGINT AS n, sum(volume)::BIGINT AS volume, sum(volume) / sum(n) AS mean
  FROM panes, range(12) AS earlier(i)
  GROUP BY ALL;

CREATE TEMPORARY VIEW tcp_sources AS
  WITH panes AS (
    SELECT us // 60000000 AS pane, srcIP, count(*) AS n, sum(len) AS volume
    FROM packets
    WHERE protocol = 6
    GROUP BY ALL
  )
  SELECT (pane - i) * 60000000 AS window_start, (pane - i + 5) * 60000000 AS window_end,
         srcIP, sum(n)::BIGINT AS n, sum(volume)::BIGINT AS volume
  FROM panes, range(5) AS earlier(i)
  GROUP BY ALL;

CREATE TEMPORARY VIEW destinations_1m AS
  SELECT us // 60000000 * 60000000 AS window_start, window_start + 60000000 AS window_end,
         destIP, count(*) AS n, sum(len)::BIGINT AS volume, max(len) AS longest
  FROM packets
  GROUP BY ALL;

CREATE TEMPORARY VIEW destinations_10m AS
  WITH panes AS (
    SELECT us // 60000000 AS pane, destIP, count(*) AS n, sum(len) AS volume, max(len) AS longest,
           min(len) AS shortest
    FROM packets
    GROUP BY ALL
  )
  SELECT (pane - i) * 60000000 AS window_start, (pane - i + 10) * 60000000 AS window_end,
         destIP, sum(n)::BIGINT AS n, sum(volume)::BIGINT AS volume, min(shortest) AS shortest,
         max(longest) AS longest
  FROM panes, range(10) AS earlier(i)
  GROUP BY ALL;

CREATE TEMPORARY VIEW syn_floods AS
  WITH panes AS (
    SELECT us // 60000000 AS pane, destIP, count(*) AS n
    FROM packets
    WHERE flags = 2
    GROUP BY ALL
  )
  SELECT (pane - i) * 60000000 AS window_start, (pane - i + 5) * 60000000 AS window_end,
         destIP, sum(n)::BIGINT AS n
  FROM panes, range(5) AS earlier(i)
  GROUP BY ALL
  HAVING sum(n) >= 10;

CREATE TEMPORARY VIEW services_1m AS
  SELECT us // 60000000 * 60000000 AS window_start, window_start + 60000000 AS window_end,
         protocol, destPort, count(*) AS n, sum(len)::BIGINT AS volume, max(len) AS longest
  FROM packets
  GROUP BY ALL;

CREATE TEMPORARY VIEW services_60m AS
  WITH panes AS (
    SELECT us // 60000000 AS pane, protocol, destPort, count(*) AS n, sum(len) AS volume
    FROM packets
    GROUP BY ALL
  )
  SELECT (pane - i) * 60000000 AS window_start, (pane - i + 60) * 60000000 AS window_end,
         protocol, destPort, sum(n)::BIGINT AS n, sum(volume)::BIGINT AS volume, sum(volume) / sum(n) AS mean
  FROM panes, range(60) AS earlier(i)
  GROUP BY ALL;

CREATE TEMPORARY VIEW clients_of_services AS
  WITH panes AS (
    SELECT us // 60000000 AS pane, srcIP, destPort, count(*) AS n, sum(len) AS volume
    FROM packets
    GROUP BY ALL
  )
  SELECT (pane - i) * 60000000 AS window_start, (pane - i + 10) * 60000000 AS window_end,
         srcIP, destPort, sum(n)::BIGINT AS n, sum(volume)::BIGINT AS volume
  FROM panes, range(10) AS earlier(i)
  GROUP BY ALL;

CREATE TEMPORARY VIEW servers AS
  WITH panes AS (
    SELECT us // 60000000 AS pane, destIP, destPort, count(*) AS n, sum(len) AS volume, max(len) AS longest
    FROM packets
    GROUP BY ALL
  )
  SELECT (pane - i) * 60000000 AS window_start, (pane - i + 5) * 60000000 AS window_end,
         destIP, destPort, sum(n)::BIGINT AS n, sum(volume)::BIGINT AS volume, max(longest) AS longest
  FROM panes, range(5) AS earlier(i)
  GROUP BY ALL;

CREATE TEMPORARY VIEW subnets_5m AS
  WITH panes AS (
    SELECT us // 60000000 AS pane, srcIP // 256 AS subnet, count(*) AS n, sum(len) AS volume,
           max(len) AS longest
    FROM packets
    GROUP BY ALL
  )
  SELECT (pane - i) * 60000000 AS window_start, (pane - i + 5) * 60000000 AS window_end,
         subnet, sum(n)::BIGINT AS n, sum(volume)::BIGINT AS volume, max(longest) AS longest
  FROM panes, range(5) AS earlier(i)
  GROUP BY ALL;

CREATE TEMPORARY VIEW subnets_30m AS
  WITH panes AS (
    SELECT us // 60000000 AS pane, srcIP // 256 AS subnet, count(*) AS n, sum(len) AS volume
    FROM packets
    GROUP BY ALL
  )
  SELECT (pane - i) * 60000000 AS window_start, (pane - i + 30) * 60000000 AS window_end,
         subnet, sum(n)::BIGINT AS n, sum(volume)::BIGINT AS volume, sum(volume) / sum(n) AS mean
  FROM panes, range(30) AS earlier(i)
  GROUP BY ALL;

CREATE TEMPORARY VIEW protocols_1m AS
  SELECT us // 60000000 * 60000000 AS window_start, window_start + 60000000 AS window_end,
         protocol, count(*) AS n, min(len) AS shortest, max(len) AS longest, avg(len) AS mean
  FROM packets
  GROUP BY ALL;

CREATE TEMPORARY VIEW protocols_60m AS
  WITH panes AS (
    SELECT us // 600000000 AS pane, protocol, count(*) AS n, sum(len) AS volume
    FROM packets
    GROUP BY ALL
  )
  SELECT (pane - i) * 600000000 AS window_start, (pane - i + 6) * 600000000 AS window_end,
         protocol, sum(n)::BIGINT AS n, sum(volume)::BIGINT AS volume, sum(volume) / sum(n) AS mean
  FROM panes, range(6) AS earlier(i)
  GROUP BY ALL;

CREATE TEMPORARY VIEW subnet_services AS
  WITH panes AS (
    SELECT us // 300000000 AS pane, srcIP // 256 AS subnet, destPort, count(*) AS n, sum(len) AS volume
    FROM packets
    WHERE len > 64
    GROUP BY ALL
  )
  SELECT (pane - i) * 300000000 AS window_start, (pane - i + 2) * 300000000 AS window_end,
         subnet, destPort, sum(n)::BIGINT AS n, sum(volume)::BIGINT AS volume, sum(volume) / sum(n) AS mean
  FROM panes, range(2) AS earlier(i)
  GROUP BY ALL;
