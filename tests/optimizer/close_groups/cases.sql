Which tables close the windows of each group by its own progress.

-- # keys that have the columns of the groups among them
CREATE QUERY a AS SELECT link, k, count(*) AS n FROM links [RANGE 1 MINUTE] GROUP BY k, link;
CREATE QUERY b AS SELECT link, count(*) AS n FROM links [RANGE 1 MINUTE] GROUP BY link;
CREATE QUERY c AS SELECT k, count(*) AS n FROM links [RANGE 1 MINUTE] GROUP BY k;
CREATE QUERY d AS SELECT link + 1 AS l, count(*) AS n FROM links [RANGE 1 MINUTE] GROUP BY link + 1;
-- =>
-- t0 links by k, link: each (link)
-- t1 links by link: each (link)
-- t2 links by k: all at once
-- t3 links by link + 1: all at once

-- # renamed in a sub-select, and hidden by one
CREATE QUERY a AS SELECT l, count(*) AS n FROM (SELECT ts, link AS l FROM links WHERE NOT done) [RANGE 1 MINUTE] GROUP BY l;
CREATE QUERY b AS SELECT link, count(*) AS n FROM (SELECT ts, abs(link) AS link FROM links) [RANGE 1 MINUTE] GROUP BY link;
-- =>
-- t0 links where NOT done by l: each (l)
-- t1 links by link: all at once

-- # a reader in the same window waits for all, and so does what it reads
CREATE QUERY a AS SELECT link, count(*) AS n FROM links [RANGE 1 MINUTE] GROUP BY link;
CREATE QUERY b AS SELECT max(n) AS m FROM a;
-- =>
-- t0 links by link: all at once
-- t1 a by all: all at once

-- # a reader with a window of its own waits by itself
CREATE QUERY a AS SELECT link, count(*) AS n FROM links [RANGE 1 MINUTE] GROUP BY link;
CREATE QUERY b AS SELECT max(n) AS m FROM a [RANGE 1 HOUR];
-- =>
-- t0 links by link: each (link)
-- t1 a by all: all at once

-- # a union with a stream without groups, and one whose arms have the group in different keys
CREATE QUERY a AS SELECT x, count(*) AS n FROM
  (SELECT ts, link AS x FROM links UNION ALL SELECT ts, srcIP FROM tcp) [RANGE 1 MINUTE] GROUP BY x;
CREATE QUERY b AS SELECT x, y, count(*) AS n FROM
  (SELECT ts, link AS x, 1 AS y FROM links UNION ALL SELECT ts, 1, link FROM links) [RANGE 1 MINUTE] GROUP BY x, y;
-- =>
-- t0 links + tcp by x: each (x)
-- t1 links by x, y: all at once

-- # streams without groups
CREATE QUERY a AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
-- =>
-- t0 tcp by srcIP: all at once

-- # a younger reader of whole windows is refused, for groups close by themselves already
-- cohort: b 1
CREATE QUERY a AS SELECT link, count(*) AS n FROM links [RANGE 1 MINUTE] GROUP BY link;
CREATE QUERY b AS SELECT max(n) AS m FROM a;
-- =>
-- PlanError: query b: it reads a in the same window, but in this checkpoint that closes the windows of each group by its own progress. Give the query a window of its own, or use a new checkpoint
