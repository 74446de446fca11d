Where every operator's rows are, as derived anew: what is placed rightly is let through.

-- # casts of a joined column, of which one side was narrower
CREATE QUERY j AS SELECT tcp.ts, tcp.srcIP, udp.len FROM tcp JOIN udp ON tcp.srcIP = udp.srcIP AND udp.ts = tcp.ts;
CREATE QUERY per AS SELECT srcIP, sum(len) AS s FROM j [RANGE 1 MINUTE] GROUP BY srcIP;
-- =>
-- j$1: level 0 of t0, by CAST(`tcp.srcIP` AS BIGINT)
-- j: level 0 of t0, by CAST(srcIP AS BIGINT)
-- per: level 0 of t2, by CAST(srcIP AS BIGINT)
-- exchange 1 to t0 by (`srcIP`): rows of tcp meet the others of j
-- exchange 1 to t1 by (`srcIP`): rows of udp meet the others of j

-- # an outer join, and what reads its two sides
CREATE QUERY j AS SELECT a.ts, a.srcIP, b.destIP AS other, b.srcIP AS theirs FROM tcp a LEFT JOIN tcp b ON a.srcIP = b.srcIP AND a.ts = b.ts;
CREATE QUERY kept AS SELECT srcIP, count(*) AS n FROM j [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY filled AS SELECT theirs, count(*) AS n FROM j [RANGE 1 MINUTE] GROUP BY theirs;
-- =>
-- j$1: level 0 of t0, by a.srcIP
-- j: level 0 of t0, by srcIP
-- kept: level 0 of t1, by srcIP
-- filled: level 1 of t2, by theirs
-- exchange 1 to t0 by (`srcIP`): rows of tcp meet the others of j
-- exchange 2 to t2 by (theirs): j is partitioned by (srcIP), which filled does not group by

-- # a union of arms that are partitioned alike, and of arms that are not
CREATE QUERY a AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY b AS SELECT srcIP, max(n) AS n FROM a GROUP BY srcIP;
CREATE QUERY d AS SELECT destIP AS srcIP, max(n) AS n FROM a GROUP BY destIP;
CREATE QUERY alike AS SELECT srcIP, sum(n) AS n FROM (SELECT srcIP, n FROM a UNION ALL SELECT srcIP, n FROM b) [RANGE 1 HOUR] GROUP BY srcIP;
CREATE QUERY unlike AS SELECT srcIP, sum(n) AS n FROM (SELECT srcIP, n FROM b UNION ALL SELECT srcIP, n FROM d) [RANGE 1 HOUR] GROUP BY srcIP;
-- =>
-- a: level 0 of t0, by srcIP
-- b: level 0 of t0, by srcIP
-- d: level 1 of t1, by srcIP
-- alike$2: level 0 of t0, by srcIP
-- alike$3: level 0 of t0, by srcIP
-- alike$1: level 0 of t0, by srcIP
-- alike$1: level 0 of t0, by srcIP
-- alike: level 0 of t2, by srcIP
-- unlike$2: level 0 of t0, by srcIP
-- unlike$3: level 1 of t1, by srcIP
-- unlike$1: level 0 of t0, by srcIP
-- unlike$1: level 1 of t1, by srcIP
-- unlike: level 2 of t3, by srcIP
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task
-- exchange 2 to t1 by (destIP): a is partitioned by (srcIP), which d does not group by
-- exchange 3 to t3 by (srcIP): unlike unites rows that are in the slots of different levels
