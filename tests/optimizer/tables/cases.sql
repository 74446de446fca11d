What bounds the state of each table.

-- # one table, windows of all kinds
CREATE QUERY a AS SELECT count(*) AS n FROM tcp [RANGE 10 MINUTES SLIDE 1 MINUTE];
CREATE QUERY b AS SELECT count(*) AS n FROM tcp [RANGE 1 HOUR SLIDE 1 MINUTE];
CREATE QUERY c AS SELECT count(*) AS n FROM tcp [RANGE ALL SLIDE 1 MINUTE];
CREATE QUERY d AS SELECT count(*) AS n FROM tcp [RANGE ALL SLIDE 1 MINUTE RESET 1 HOUR];
CREATE QUERY e AS SELECT count(*) AS n FROM tcp [RANGE 7 SECONDS SLIDE 3 SECONDS];
-- =>
-- t0 tcp by all: 3,600 panes of 1 s a group, until their last window has closed
-- t1 tcp by all: 1 pane of 1 min a group, for ever: one row a group
-- t2 tcp by all: 1 pane of 1 min a group, until their last window has closed

-- # what is gathered is not kept
CREATE QUERY a AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY b AS SELECT max(n) AS m FROM a;
-- =>
-- t0 tcp by srcIP: 1 pane of 1 min a group, until their last window has closed
-- t1 a by all: nothing, from batch to batch

-- # rows that meet only later ones
CREATE QUERY a AS SELECT t.ts, u.len FROM tcp AS t JOIN udp AS u ON t.srcIP = u.srcIP AND u.ts BETWEEN t.ts + INTERVAL 1 SECOND AND t.ts + INTERVAL 5 SECONDS;
-- =>
-- t0 rows of tcp by `srcIP`: rows, until u is 5 s past them
-- t1 rows of udp by `srcIP`: rows, until t is 0 s past them

-- # rows and the versions that were valid at their time
CREATE QUERY a AS SELECT t.ts, u.len FROM tcp AS t JOIN udp FOR SYSTEM_TIME AS OF t.ts AS u ON t.srcIP = u.srcIP;
-- =>
-- t0 rows of tcp by `srcIP`: rows, until u is past them
-- t1 rows of udp by `srcIP`: rows, until t and u are past them, and of each key the last one before
