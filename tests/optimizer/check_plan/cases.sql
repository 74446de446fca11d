What is refused, and why.

-- # a window on progress
CREATE QUERY a AS SELECT sum(len) AS s FROM tcp [RANGE 1 MINUTE];
-- =>
-- fine

-- # no window
CREATE QUERY a AS SELECT srcIP, sum(len) AS s FROM tcp GROUP BY srcIP;
-- =>
-- PlanError: query a: no window: the aggregate over tcp would never be complete, and its state never purged. Write FROM stream [RANGE 10 MINUTES SLIDE 1 MINUTE], or RANGE ALL for a landmark window

-- # the progressing attribute is lost on the way
CREATE QUERY some AS SELECT srcIP, len FROM tcp;
CREATE QUERY a AS SELECT srcIP, sum(len) AS s FROM some [RANGE 1 MINUTE] GROUP BY srcIP;
-- =>
-- PlanError: query a: some has no progressing attribute left (it is not among its columns), so the window could never close: keep it in the SELECT of some

-- # arms of a union that make progress on different columns
CREATE QUERY a AS SELECT count(*) AS n FROM (SELECT ts, len FROM tcp UNION ALL SELECT ts, len FROM (SELECT len AS ts, ts AS len FROM udp)) [RANGE 1 MINUTE];
-- =>
-- PlanError: query a: tcp + udp has no progressing attribute left (it is not among its columns), so the window could never close: keep it in the SELECT of the sub-select

-- # a window on another column
CREATE QUERY a AS SELECT sum(len) AS s FROM tcp [RANGE 1 MINUTE WA len];
-- =>
-- PlanError: query a: the window is on 'len', but tcp makes progress on 'ts', so it could never close: put the window on ts

-- # a window on a column of windowed rows
CREATE QUERY a AS SELECT srcIP, sum(len) AS s FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY b AS SELECT sum(s) AS t FROM a [RANGE 1 HOUR WA s];
-- =>
-- PlanError: query b: the window is on 's', but a makes progress by its own windows; leave the attribute out

-- # the same window of different streams
CREATE QUERY a AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY b AS SELECT srcIP, count(*) AS n FROM udp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY both AS SELECT srcIP, n FROM a UNION ALL SELECT srcIP, n FROM b;
CREATE QUERY top AS SELECT max(n) AS m FROM both;
-- =>
-- PlanError: query top: both unites queries over different streams, whose windows close at different times; give this query a window of its own, like [RANGE 1 HOUR], or unite the streams first
