-- The last ten minutes, every second: 7,200 windows over two hours, in one batch.

CREATE QUERY traffic AS
  SELECT protocol, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM packets [RANGE 10 MINUTES SLIDE 1 SECOND]
  GROUP BY protocol;
