Who decodes the rows.

-- # simple expressions on Parquet
CREATE QUERY a AS SELECT srcIP & 255 AS k, sum(len) AS s FROM tcp [RANGE 1 MINUTE] WHERE len > 9 GROUP BY srcIP & 255;
-- =>
-- tcp: in the tasks

-- # a function of text
CREATE QUERY a AS SELECT upper(name) AS k, sum(len) AS s FROM tcp [RANGE 1 MINUTE] GROUP BY upper(name);
-- =>
-- tcp: by Spark: UPPER(name) is for Spark to compute

-- # one stream that Spark reads makes it read all
CREATE QUERY a AS SELECT sum(len) AS s FROM tcp [RANGE 1 MINUTE];
CREATE QUERY b AS SELECT sum(v) AS s FROM ticks [RANGE 60];
-- =>
-- tcp: by Spark: as ticks is
-- ticks: by Spark: its source is kafka
