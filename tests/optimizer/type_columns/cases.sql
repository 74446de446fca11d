Types of columns, keys and arguments.

-- # an aggregation
CREATE QUERY q AS SELECT srcIP, count(*) AS n, sum(len) AS s, avg(x) AS a, max(name) AS m FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
-- =>
-- tcp: ts timestamp, srcIP int, destIP int, len int, flags int, name string, x double
-- q: srcIP int, n bigint, s bigint, a double, m string, window_start timestamp, window_end timestamp
--   keys (int), calls ['', 'int', 'double', 'string']

-- # integer windows
CREATE QUERY q AS SELECT k, min(v) AS m FROM ticks [RANGE 60] GROUP BY k;
-- =>
-- ticks: time bigint, k string, v double
-- q: k string, m double, window_start bigint, window_end bigint
--   keys (string), calls ['double']

-- # a union takes the wider types
CREATE QUERY q AS SELECT srcIP, sum(len) AS s FROM (SELECT ts, srcIP, len FROM tcp UNION ALL SELECT ts, srcIP, len FROM udp) [RANGE 1 MINUTE] GROUP BY srcIP;
-- =>
-- q$1: ts timestamp, srcIP bigint, len bigint
-- q: srcIP bigint, s bigint, window_start timestamp, window_end timestamp
--   keys (bigint), calls ['bigint']

-- # windows over TIMESTAMP_NTZ are TIMESTAMP_NTZ
CREATE STREAM ntz (t TIMESTAMP_NTZ, v INT) PROGRESSING ON t ORDERED FROM 'csv';
CREATE QUERY q AS SELECT count(*) AS n FROM ntz [RANGE 1 MINUTE];
-- =>
-- ntz: t timestamp_ntz, v int
-- q: n bigint, window_start timestamp_ntz, window_end timestamp_ntz
--   keys (), calls ['']
