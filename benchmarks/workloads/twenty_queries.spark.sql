-- Twenty queries over one stream: nine sets of keys, filters, HAVING, windows from 1 to 60 minutes.
-- In Spark SQL, where `packets` carries a watermark of 5 seconds.

CREATE TEMPORARY VIEW flows_1m AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP, destIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets
  GROUP BY window(ts, '1 minute'), srcIP, destIP;

CREATE TEMPORARY VIEW flows_10m AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP, destIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets
  GROUP BY window(ts, '10 minutes', '1 minute'), srcIP, destIP;

CREATE TEMPORARY VIEW flows_30m AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP, destIP, count(*) AS n, sum(len) AS volume
  FROM packets
  GROUP BY window(ts, '30 minutes', '5 minutes'), srcIP, destIP;

CREATE TEMPORARY VIEW heavy_flows AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP, destIP, count(*) AS n, sum(len) AS volume
  FROM packets
  GROUP BY window(ts, '5 minutes', '1 minute'), srcIP, destIP
  HAVING sum(len) > 100000;

CREATE TEMPORARY VIEW sources_1m AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets
  GROUP BY window(ts, '1 minute'), srcIP;

CREATE TEMPORARY VIEW sources_10m AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets
  GROUP BY window(ts, '10 minutes', '1 minute'), srcIP;

CREATE TEMPORARY VIEW sources_60m AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP, count(*) AS n, sum(len) AS volume, avg(len) AS mean
  FROM packets
  GROUP BY window(ts, '60 minutes', '5 minutes'), srcIP;

CREATE TEMPORARY VIEW tcp_sources AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP, count(*) AS n, sum(len) AS volume
  FROM packets
  WHERE protocol = 6
  GROUP BY window(ts, '5 minutes', '1 minute'), srcIP;

CREATE TEMPORARY VIEW destinations_1m AS
  SELECT window.start AS window_start, window.end AS window_end,
         destIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets
  GROUP BY window(ts, '1 minute'), destIP;

CREATE TEMPORARY VIEW destinations_10m AS
  SELECT window.start AS window_start, window.end AS window_end,
         destIP, count(*) AS n, sum(len) AS volume, min(len) AS shortest, max(len) AS longest
  FROM packets
  GROUP BY window(ts, '10 minutes', '1 minute'), destIP;

CREATE TEMPORARY VIEW syn_floods AS
  SELECT window.start AS window_start, window.end AS window_end,
         destIP, count(*) AS n
  FROM packets
  WHERE flags = 2
  GROUP BY window(ts, '5 minutes', '1 minute'), destIP
  HAVING count(*) >= 10;

CREATE TEMPORARY VIEW services_1m AS
  SELECT window.start AS window_start, window.end AS window_end,
         protocol, destPort, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets
  GROUP BY window(ts, '1 minute'), protocol, destPort;

CREATE TEMPORARY VIEW services_60m AS
  SELECT window.start AS window_start, window.end AS window_end,
         protocol, destPort, count(*) AS n, sum(len) AS volume, avg(len) AS mean
  FROM packets
  GROUP BY window(ts, '60 minutes', '1 minute'), protocol, destPort;

CREATE TEMPORARY VIEW clients_of_services AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP, destPort, count(*) AS n, sum(len) AS volume
  FROM packets
  GROUP BY window(ts, '10 minutes', '1 minute'), srcIP, destPort;

CREATE TEMPORARY VIEW servers AS
  SELECT window.start AS window_start, window.end AS window_end,
         destIP, destPort, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets
  GROUP BY window(ts, '5 minutes', '1 minute'), destIP, destPort;

CREATE TEMPORARY VIEW subnets_5m AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP DIV 256 AS subnet, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets
  GROUP BY window(ts, '5 minutes', '1 minute'), srcIP DIV 256;

CREATE TEMPORARY VIEW subnets_30m AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP DIV 256 AS subnet, count(*) AS n, sum(len) AS volume, avg(len) AS mean
  FROM packets
  GROUP BY window(ts, '30 minutes', '1 minute'), srcIP DIV 256;

CREATE TEMPORARY VIEW protocols_1m AS
  SELECT window.start AS window_start, window.end AS window_end,
         protocol, count(*) AS n, min(len) AS shortest, max(len) AS longest, avg(len) AS mean
  FROM packets
  GROUP BY window(ts, '1 minute'), protocol;

CREATE TEMPORARY VIEW protocols_60m AS
  SELECT window.start AS window_start, window.end AS window_end,
         protocol, count(*) AS n, sum(len) AS volume, avg(len) AS mean
  FROM packets
  GROUP BY window(ts, '60 minutes', '10 minutes'), protocol;

CREATE TEMPORARY VIEW subnet_services AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP DIV 256 AS subnet, destPort, count(*) AS n, sum(len) AS volume, avg(len) AS mean
  FROM packets
  WHERE len > 64
  GROUP BY window(ts, '10 minutes', '5 minutes'), srcIP DIV 256, destPort;
