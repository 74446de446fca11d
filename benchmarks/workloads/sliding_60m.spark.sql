-- The last hour, every minute, three aggregates per pair of addresses.
-- In Spark SQL, where `packets` carries a watermark of 5 seconds.

CREATE TEMPORARY VIEW flows AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP, destIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets
  GROUP BY window(ts, '60 minutes', '1 minute'), srcIP, destIP;
