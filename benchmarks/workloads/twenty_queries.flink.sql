-- Twenty queries over one stream: nine sets of keys, filters, HAVING, windows from 1 to 60 minutes.
-- In Flink SQL: window table functions, which share slices.

CREATE TEMPORARY VIEW flows_1m AS
  SELECT window_start, window_end,
         srcIP, destIP, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(TUMBLE(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY window_start, window_end, srcIP, destIP;

CREATE TEMPORARY VIEW flows_10m AS
  SELECT window_start, window_end,
         srcIP, destIP, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '10' MINUTES))
  GROUP BY window_start, window_end, srcIP, destIP;

CREATE TEMPORARY VIEW flows_30m AS
  SELECT window_start, window_end,
         srcIP, destIP, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '30' MINUTES))
  GROUP BY window_start, window_end, srcIP, destIP;

CREATE TEMPORARY VIEW heavy_flows AS
  SELECT window_start, window_end,
         srcIP, destIP, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTES))
  GROUP BY window_start, window_end, srcIP, destIP
  HAVING SUM(CAST(len AS BIGINT)) > 100000;

CREATE TEMPORARY VIEW sources_1m AS
  SELECT window_start, window_end,
         srcIP, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(TUMBLE(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY window_start, window_end, srcIP;

CREATE TEMPORARY VIEW sources_10m AS
  SELECT window_start, window_end,
         srcIP, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '10' MINUTES))
  GROUP BY window_start, window_end, srcIP;

CREATE TEMPORARY VIEW sources_60m AS
  SELECT window_start, window_end,
         srcIP, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, AVG(CAST(len AS DOUBLE)) AS mean
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '60' MINUTES))
  GROUP BY window_start, window_end, srcIP;

CREATE TEMPORARY VIEW tcp_sources AS
  SELECT window_start, window_end,
         srcIP, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTES))
  WHERE protocol = 6
  GROUP BY window_start, window_end, srcIP;

CREATE TEMPORARY VIEW destinations_1m AS
  SELECT window_start, window_end,
         destIP, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(TUMBLE(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY window_start, window_end, destIP;

CREATE TEMPORARY VIEW destinations_10m AS
  SELECT window_start, window_end,
         destIP, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MIN(len) AS shortest, MAX(len) AS longest
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '10' MINUTES))
  GROUP BY window_start, window_end, destIP;

CREATE TEMPORARY VIEW syn_floods AS
  SELECT window_start, window_end,
         destIP, COUNT(*) AS n
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTES))
  WHERE flags = 2
  GROUP BY window_start, window_end, destIP
  HAVING COUNT(*) >= 10;

CREATE TEMPORARY VIEW services_1m AS
  SELECT window_start, window_end,
         protocol, destPort, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(TUMBLE(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY window_start, window_end, protocol, destPort;

CREATE TEMPORARY VIEW services_60m AS
  SELECT window_start, window_end,
         protocol, destPort, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume,
         AVG(CAST(len AS DOUBLE)) AS mean
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '60' MINUTES))
  GROUP BY window_start, window_end, protocol, destPort;

CREATE TEMPORARY VIEW clients_of_services AS
  SELECT window_start, window_end,
         srcIP, destPort, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '10' MINUTES))
  GROUP BY window_start, window_end, srcIP, destPort;

CREATE TEMPORARY VIEW servers AS
  SELECT window_start, window_end,
         destIP, destPort, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTES))
  GROUP BY window_start, window_end, destIP, destPort;

CREATE TEMPORARY VIEW subnets_5m AS
  SELECT window_start, window_end,
         srcIP / 256 AS subnet, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTES))
  GROUP BY window_start, window_end, srcIP / 256;

CREATE TEMPORARY VIEW subnets_30m AS
  SELECT window_start, window_end,
         srcIP / 256 AS subnet, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume,
         AVG(CAST(len AS DOUBLE)) AS mean
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '30' MINUTES))
  GROUP BY window_start, window_end, srcIP / 256;

CREATE TEMPORARY VIEW protocols_1m AS
  SELECT window_start, window_end,
         protocol, COUNT(*) AS n, MIN(len) AS shortest, MAX(len) AS longest, AVG(CAST(len AS DOUBLE)) AS mean
  FROM TABLE(TUMBLE(TABLE packets, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY window_start, window_end, protocol;

CREATE TEMPORARY VIEW protocols_60m AS
  SELECT window_start, window_end,
         protocol, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, AVG(CAST(len AS DOUBLE)) AS mean
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '10' MINUTES, INTERVAL '60' MINUTES))
  GROUP BY window_start, window_end, protocol;

CREATE TEMPORARY VIEW subnet_services AS
  SELECT window_start, window_end,
         srcIP / 256 AS subnet, destPort, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume,
         AVG(CAST(len AS DOUBLE)) AS mean
  FROM TABLE(HOP(TABLE packets, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES))
  WHERE len > 64
  GROUP BY window_start, window_end, srcIP / 256, destPort;
