-- Twenty queries over one stream: nine sets of keys, filters, HAVING, windows from 1 to 60 minutes.

CREATE QUERY flows_1m AS
  SELECT srcIP, destIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets [RANGE 1 MINUTE]
  GROUP BY srcIP, destIP;

CREATE QUERY flows_10m AS
  SELECT srcIP, destIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets [RANGE 10 MINUTES SLIDE 1 MINUTE]
  GROUP BY srcIP, destIP;

CREATE QUERY flows_30m AS
  SELECT srcIP, destIP, count(*) AS n, sum(len) AS volume
  FROM packets [RANGE 30 MINUTES SLIDE 5 MINUTES]
  GROUP BY srcIP, destIP;

CREATE QUERY heavy_flows AS
  SELECT srcIP, destIP, count(*) AS n, sum(len) AS volume
  FROM packets [RANGE 5 MINUTES SLIDE 1 MINUTE]
  GROUP BY srcIP, destIP
  HAVING sum(len) > 100000;

CREATE QUERY sources_1m AS
  SELECT srcIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets [RANGE 1 MINUTE]
  GROUP BY srcIP;

CREATE QUERY sources_10m AS
  SELECT srcIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets [RANGE 10 MINUTES SLIDE 1 MINUTE]
  GROUP BY srcIP;

CREATE QUERY sources_60m AS
  SELECT srcIP, count(*) AS n, sum(len) AS volume, avg(len) AS mean
  FROM packets [RANGE 60 MINUTES SLIDE 5 MINUTES]
  GROUP BY srcIP;

CREATE QUERY tcp_sources AS
  SELECT srcIP, count(*) AS n, sum(len) AS volume
  FROM packets [RANGE 5 MINUTES SLIDE 1 MINUTE]
  WHERE protocol = 6
  GROUP BY srcIP;

CREATE QUERY destinations_1m AS
  SELECT destIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets [RANGE 1 MINUTE]
  GROUP BY destIP;

CREATE QUERY destinations_10m AS
  SELECT destIP, count(*) AS n, sum(len) AS volume, min(len) AS shortest, max(len) AS longest
  FROM packets [RANGE 10 MINUTES SLIDE 1 MINUTE]
  GROUP BY destIP;

CREATE QUERY syn_floods AS
  SELECT destIP, count(*) AS n
  FROM packets [RANGE 5 MINUTES SLIDE 1 MINUTE]
  WHERE flags = 2
  GROUP BY destIP
  HAVING count(*) >= 10;

CREATE QUERY services_1m AS
  SELECT protocol, destPort, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets [RANGE 1 MINUTE]
  GROUP BY protocol, destPort;

CREATE QUERY services_60m AS
  SELECT protocol, destPort, count(*) AS n, sum(len) AS volume, avg(len) AS mean
  FROM packets [RANGE 60 MINUTES SLIDE 1 MINUTE]
  GROUP BY protocol, destPort;

CREATE QUERY clients_of_services AS
  SELECT srcIP, destPort, count(*) AS n, sum(len) AS volume
  FROM packets [RANGE 10 MINUTES SLIDE 1 MINUTE]
  GROUP BY srcIP, destPort;

CREATE QUERY servers AS
  SELECT destIP, destPort, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets [RANGE 5 MINUTES SLIDE 1 MINUTE]
  GROUP BY destIP, destPort;

CREATE QUERY subnets_5m AS
  SELECT srcIP DIV 256 AS subnet, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets [RANGE 5 MINUTES SLIDE 1 MINUTE]
  GROUP BY srcIP DIV 256;

CREATE QUERY subnets_30m AS
  SELECT srcIP DIV 256 AS subnet, count(*) AS n, sum(len) AS volume, avg(len) AS mean
  FROM packets [RANGE 30 MINUTES SLIDE 1 MINUTE]
  GROUP BY srcIP DIV 256;

CREATE QUERY protocols_1m AS
  SELECT protocol, count(*) AS n, min(len) AS shortest, max(len) AS longest, avg(len) AS mean
  FROM packets [RANGE 1 MINUTE]
  GROUP BY protocol;

CREATE QUERY protocols_60m AS
  SELECT protocol, count(*) AS n, sum(len) AS volume, avg(len) AS mean
  FROM packets [RANGE 60 MINUTES SLIDE 10 MINUTES]
  GROUP BY protocol;

CREATE QUERY subnet_services AS
  SELECT srcIP DIV 256 AS subnet, destPort, count(*) AS n, sum(len) AS volume, avg(len) AS mean
  FROM packets [RANGE 10 MINUTES SLIDE 5 MINUTES]
  WHERE len > 64
  GROUP BY srcIP DIV 256, destPort;
