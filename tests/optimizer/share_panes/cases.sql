Which aggregations share one table of panes.

-- # the same keys and filter share the gcd of their windows
CREATE QUERY a AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 10 MINUTES SLIDE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY b AS SELECT srcIP, sum(len) AS s FROM tcp [RANGE 1 HOUR SLIDE 5 MINUTES] GROUP BY srcIP;
-- =>
-- t0 tcp by srcIP: a, b on panes of 60000000 from 0 [sliding 10 min every 1 min; sliding 1 h every 5 min]

-- # a finer grid than either needs is not shared
CREATE QUERY a AS SELECT count(*) AS n FROM tcp [RANGE 60 SECONDS];
CREATE QUERY b AS SELECT count(*) AS n FROM tcp [RANGE 7 SECONDS];
-- =>
-- t0 tcp by all: a on panes of 60000000 from 0 [tumbling 1 min]
-- t1 tcp by all: b on panes of 7000000 from 0 [tumbling 7 s]

-- # other keys, other filters, other tables
CREATE QUERY a AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY b AS SELECT destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY destIP;
CREATE QUERY c AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] WHERE len > 9 GROUP BY srcIP;
-- =>
-- t0 tcp by srcIP: a on panes of 60000000 from 0 [tumbling 1 min]
-- t1 tcp by destIP: b on panes of 60000000 from 0 [tumbling 1 min]
-- t2 tcp where len > 9 by srcIP: c on panes of 60000000 from 0 [tumbling 1 min]

-- # through selections that come to the same
CREATE QUERY big AS SELECT ts, srcIP AS host FROM tcp WHERE len > 9;
CREATE QUERY a AS SELECT host, count(*) AS n FROM big [RANGE 1 MINUTE] GROUP BY host;
CREATE QUERY b AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] WHERE len > 9 GROUP BY srcIP;
-- =>
-- t0 big by host: a, b on panes of 60000000 from 0 [tumbling 1 min]

-- # a landmark beside a tumbling window of the same keys
CREATE QUERY since AS SELECT srcIP, count(*) AS n FROM tcp [RANGE ALL SLIDE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY minutely AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY again AS SELECT srcIP, sum(len) AS s FROM tcp [RANGE ALL SLIDE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY today AS SELECT srcIP, count(*) AS n FROM tcp [RANGE ALL SLIDE 1 MINUTE RESET 1 DAY] GROUP BY srcIP;
-- =>
-- t0 tcp by srcIP: since, again on panes of 60000000 from 0 [landmark all every 1 min]
-- t1 tcp by srcIP: minutely on panes of 60000000 from 0 [tumbling 1 min]
-- t2 tcp by srcIP: today on panes of 60000000 from 0 [cumulative all every 1 min, reset 1 d]

-- # a later cohort has a table of its own
-- cohort: b 1
CREATE QUERY a AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY b AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
-- =>
-- t0 tcp by srcIP: a on panes of 60000000 from 0 [tumbling 1 min]
-- t1 tcp by srcIP: b on panes of 60000000 from 0 [tumbling 1 min]

-- # a removed query keeps its share, not its windows
-- retired: a
CREATE QUERY a AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 2 MINUTES] GROUP BY srcIP;
CREATE QUERY b AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 HOUR SLIDE 2 MINUTES] GROUP BY srcIP;
-- =>
-- t0 tcp by srcIP: a, b on panes of 120000000 from 0 [sliding 1 h every 2 min]
