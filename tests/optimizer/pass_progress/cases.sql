What a relation waits for, and the column that carries progress.

-- # a selection passes it on, a projection may lose it
CREATE QUERY kept AS SELECT ts AS at, len FROM tcp WHERE len > 9;
CREATE QUERY lost AS SELECT len FROM tcp;
-- =>
-- kept: waits for tcp, progress on at
-- lost: waits for tcp, progress on nothing

-- # a union waits for all its streams
CREATE QUERY q AS SELECT count(*) AS n FROM (SELECT ts, len FROM tcp UNION ALL SELECT ts, len FROM udp) [RANGE 1 MINUTE];
-- =>
-- q$1: waits for tcp, udp, progress on ts
-- q: waits for tcp, udp, progress on window_end

-- # a chain waits for what its input waits for
CREATE QUERY a AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY b AS SELECT max(n) AS m FROM a [RANGE 1 HOUR];
-- =>
-- tcp: waits for tcp, progress on ts
-- a: waits for tcp, progress on window_end
-- b: waits for tcp, progress on window_end
