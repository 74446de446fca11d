Which relations are planned.

-- # streams and parts that queries read
CREATE QUERY q AS SELECT srcIP, count(*) AS n FROM (SELECT ts, srcIP FROM tcp WHERE len > 9) [RANGE 1 MINUTE] GROUP BY srcIP;
-- =>
-- q$1
-- q

-- # a stream nobody reads is not planned
CREATE QUERY q AS SELECT k, count(*) AS n FROM ticks [RANGE 60] GROUP BY k;
CREATE STREAM other (t INT) PROGRESSING ON t ORDERED FROM 'csv';
-- =>
-- ticks
-- q

-- # a removed query keeps its place
-- retired: old
CREATE QUERY old AS SELECT srcIP, sum(len) AS s FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY q AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
-- =>
-- tcp
-- old (retired)
-- q

-- # a removed query that another reads is in use
-- retired: old
CREATE QUERY old AS SELECT srcIP, sum(len) AS s FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY q AS SELECT max(s) AS m FROM old;
-- =>
-- tcp
-- old
-- q
