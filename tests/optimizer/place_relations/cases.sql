Where rows are, and which exchanges follow.

-- # a chain runs where its input is
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY heavy AS SELECT srcIP, max(n) AS m FROM flows GROUP BY srcIP;
-- =>
-- flows: level 0 of t0, by srcIP
-- heavy: level 0 of t0, by srcIP
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task

-- # two readers without a key in common: one of them is sent on
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY senders AS SELECT srcIP, max(n) AS m FROM flows GROUP BY srcIP;
CREATE QUERY receivers AS SELECT destIP, max(n) AS m FROM flows GROUP BY destIP;
-- =>
-- flows: level 0 of t0, by srcIP
-- senders: level 0 of t0, by srcIP
-- receivers: level 1 of t1, by destIP
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task
-- exchange 2 to t1 by (destIP): flows is partitioned by (srcIP), which receivers does not group by

-- # no keys: everything meets in one mini-partition
CREATE QUERY flows AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY total AS SELECT sum(n) AS s FROM flows [RANGE 1 HOUR];
-- =>
-- flows: level 0 of t0, by srcIP
-- total: level 1 of t1, by one place
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task
-- exchange 2 to t1 by (): flows is partitioned by (srcIP), which total does not group by

-- # keys that are not shown
CREATE QUERY hidden AS SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY top AS SELECT max(n) AS m FROM hidden;
-- =>
-- hidden: level 0 of t0, by nobody knows
-- top: level 1 of t1, by one place
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task
-- exchange 2 to t1 by (): hidden does not show what its rows are partitioned by

-- # a selection carries the partitioning as long as its columns survive
CREATE QUERY flows AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY renamed AS SELECT srcIP AS host, n FROM flows WHERE n > 1;
CREATE QUERY top AS SELECT host, max(n) AS m FROM renamed GROUP BY host;
-- =>
-- flows: level 0 of t0, by srcIP
-- renamed: level 0 of t0, by host
-- top: level 0 of t0, by host
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task

-- # a union of one kind stays, of another kind is sent
CREATE QUERY a AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY b AS SELECT srcIP, sum(len) AS n FROM tcp [RANGE 1 MINUTE] WHERE len > 9 GROUP BY srcIP;
CREATE QUERY both AS SELECT srcIP, n FROM a UNION ALL SELECT srcIP, n FROM b;
CREATE QUERY top AS SELECT srcIP, max(n) AS m FROM both GROUP BY srcIP;
-- =>
-- a: level 0 of t0, by srcIP
-- b: level 0 of t1, by srcIP
-- both$1: level 0 of t0, by srcIP
-- both$2: level 0 of t1, by srcIP
-- both: level 0 of t0, by srcIP
-- both: level 0 of t1, by srcIP
-- top: level 0 of t2, by srcIP
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task
-- exchange 1 to t1 by (srcIP): groups of tcp where len > 9 come from every source task

-- # a union that changes the type of the key loses its place
CREATE QUERY a AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY b AS SELECT srcIP, count(*) AS n FROM udp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY both AS SELECT srcIP, n FROM a UNION ALL SELECT srcIP, n FROM b;
CREATE QUERY top AS SELECT srcIP, max(n) AS m FROM both [RANGE 1 HOUR] GROUP BY srcIP;
-- =>
-- a: level 0 of t0, by srcIP
-- b: level 0 of t1, by srcIP
-- both$1: level 0 of t0, by srcIP
-- both$2: level 0 of t1, by srcIP
-- both: level 0 of t0, by nobody knows
-- both: level 0 of t1, by srcIP
-- top: level 1 of t2, by srcIP
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task
-- exchange 1 to t1 by (srcIP): groups of udp come from every source task
-- exchange 2 to t2 by (srcIP): top unites rows that are partitioned in different ways

-- # a younger reader does not move what is there
-- generation: heavy 1
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY heavy AS SELECT srcIP, max(n) AS m FROM flows GROUP BY srcIP;
-- =>
-- flows: level 0 of t0, by srcIP, destIP
-- heavy: level 1 of t1, by srcIP
-- exchange 1 to t0 by (srcIP, destIP): groups of tcp come from every source task
-- exchange 2 to t1 by (srcIP): flows is partitioned by (srcIP, destIP), which heavy does not group by
