-- The last ten minutes, every second: 7,200 windows over two hours, in one batch.
-- In Spark SQL, where `packets` carries a watermark of 5 seconds.

CREATE TEMPORARY VIEW traffic AS
  SELECT window.start AS window_start, window.end AS window_end,
         protocol, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets
  GROUP BY window(ts, '10 minutes', '1 second'), protocol;
