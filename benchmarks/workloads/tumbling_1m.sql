-- One-minute windows, three aggregates per pair of addresses.

CREATE QUERY flows AS
  SELECT srcIP, destIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets [RANGE 1 MINUTE]
  GROUP BY srcIP, destIP;
