-- The last ten minutes, every minute, three aggregates per pair of addresses.

CREATE QUERY flows AS
  SELECT srcIP, destIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets [RANGE 10 MINUTES SLIDE 1 MINUTE]
  GROUP BY srcIP, destIP;
