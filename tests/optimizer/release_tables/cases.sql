Which tables are there when queries were removed, and what they store.

-- # a join that was removed leaves its columns in the tables it shared, and takes the others along
-- retired: wide
-- retired: marked
CREATE QUERY near AS SELECT t.ts, u.len FROM tcp t JOIN udp u ON t.srcIP = u.srcIP AND u.ts BETWEEN t.ts AND t.ts + INTERVAL 9 SECONDS;
CREATE QUERY wide AS SELECT t.ts, t.name, u.len FROM tcp t JOIN udp u ON t.srcIP = u.srcIP AND u.ts BETWEEN t.ts AND t.ts + INTERVAL 60 SECONDS;
CREATE QUERY marked AS SELECT t.ts, l.k FROM tcp t JOIN links l ON t.flags = l.link AND l.ts BETWEEN t.ts AND t.ts + INTERVAL 1 SECOND;
CREATE QUERY other AS SELECT t.ts, t.flags FROM tcp t LEFT SEMI JOIN udp u ON t.srcIP = u.srcIP AND u.ts BETWEEN t.ts AND t.ts + INTERVAL 9 SECONDS;
-- =>
-- t0 rows of tcp by `srcIP` (flags, name): for near$1, other$1
-- t1 rows of udp by `srcIP` (len): for near$1, other$1

-- # an aggregation over results that was removed takes its table along
-- retired: top
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY top AS SELECT max(n) AS m FROM flows [RANGE 1 HOUR];
-- =>
-- t0 tcp by srcIP, destIP: for flows

-- # rows on their way to a lookup keep the columns of a lookup that was removed
-- retired: names
CREATE TABLE hosts (ip INT, name STRING, place STRING) FROM 'csv' OPTIONS (path 'hosts');
CREATE QUERY names AS SELECT t.ts, t.len, h.name FROM tcp t JOIN hosts h ON t.srcIP = h.ip;
CREATE QUERY places AS SELECT t.ts, h.place FROM tcp t JOIN hosts h ON t.srcIP = h.ip;
-- =>
-- t0 rows of tcp for h (ts, len): for places$1
