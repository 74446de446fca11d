-- Texts that the engine and the network layer must understand alike. After the text: keys that are equal, how much later one
-- input may be than another (seconds), windows in common, and what each input is filtered by.

-- # the thesis' sliding-window join
SELECT l.v, r.w FROM s [RANGE 3 MINUTES] AS l, t [RANGE 2 MINUTES] AS r WHERE l.k = r.k AND l.v > 25
-- =>
-- keys: l.k = r.k
-- l - r <= 120
-- r - l <= 180
-- l: v > 25

-- # BETWEEN in ON, filters in ON and WHERE
SELECT a.v FROM s a JOIN t b ON a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL 5 MINUTES AND a.ts + INTERVAL 1 MINUTE AND b.w < 3 WHERE a.v = 7
-- =>
-- keys: a.k = b.k
-- a - b <= 300
-- b - a <= 60
-- a: v = 7
-- b: w < 3

-- # USING and WITHIN
SELECT k, a.v FROM s a JOIN t b WITHIN (10 SECONDS, 20 SECONDS) USING (k)
-- =>
-- keys: a.k = b.k
-- a - b <= 10
-- b - a <= 20

-- # a self-join, later rows only
SELECT a.v, b.v AS later FROM s a, s b WHERE a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 90 SECONDS AND a.v BETWEEN 1 AND 4
-- =>
-- keys: a.k = b.k
-- a - b <= 0
-- b - a <= 90
-- a: v <= 4; v >= 1

-- # ends that are open, turned round, two keys, other letters
SELECT A.V FROM S A JOIN T B ON B.K = A.K WHERE A.TS > B.TS - INTERVAL 5 MINUTES AND B.TS + INTERVAL 1 MINUTE > A.TS AND A.NAME = B.NAME
-- =>
-- keys: a.k = b.k; a.name = b.name
-- a - b <= 60
-- b - a <= 300

-- # the absolute value of a difference
SELECT a.v FROM s a, t b WHERE abs(a.ts - b.ts) <= INTERVAL 10 SECONDS AND a.k = b.k
-- =>
-- keys: a.k = b.k
-- a - b <= 10
-- b - a <= 10

-- # three by one key and windows
SELECT a.v, b.w, c.x FROM s a [RANGE 3 MINUTES], t b [RANGE 2 MINUTES], u c [RANGE 1 MINUTE] WHERE a.k = b.k AND b.k = c.k AND c.x IN (1, 2)
-- =>
-- keys: a.k = b.k = c.k
-- a - b <= 120
-- a - c <= 60
-- b - a <= 180
-- b - c <= 60
-- c - a <= 180
-- c - b <= 120
-- c: x IN (1, 2)

-- # three by one tumbling window
SELECT a.v, c.x FROM s a [RANGE TUMBLING 5 MINUTES] JOIN t b [RANGE TUMBLING 5 MINUTES] USING (k) JOIN u c [RANGE TUMBLING 5 MINUTES] ON c.k = a.k
-- =>
-- keys: a.k = b.k = c.k
-- one window of 300, every 300

-- # common windows with a slide
SELECT a.v FROM s a [RANGE 5 MINUTES SLIDE 1 MINUTE] JOIN t b [RANGE 5 MINUTES SLIDE 1 MINUTE] ON a.k = b.k
-- =>
-- keys: a.k = b.k
-- one window of 300, every 60

-- # equal windows of Spark
SELECT a.v FROM s a, t b WHERE window(a.ts, '5 minutes') = window(b.ts, '5 minutes') AND a.k = b.k
-- =>
-- keys: a.k = b.k
-- one window of 300, every 300

-- # minutes
SELECT a.v FROM s a, t b WHERE date_trunc('minute', a.ts) = date_trunc('minute', b.ts) AND a.k = b.k
-- =>
-- keys: a.k = b.k
-- one window of 60, every 60

-- # what both sides of OR demand is a filter too
SELECT a.v FROM s a JOIN t b WITHIN 1 MINUTE ON a.k = b.k WHERE (a.v = 1 AND a.name = 'x') OR (a.v = 1 AND a.name LIKE 'y%')
-- =>
-- keys: a.k = b.k
-- a - b <= 60
-- b - a <= 60
-- a: (v = 1 AND name = x) OR (v = 1 AND name LIKE y%); v = 1

-- # all columns, of one with all its rows
SELECT a.*, b.w FROM s a, t b WHERE a.ts = b.ts AND upper(b.name) LIKE 'A%' AND a.k = b.k
-- =>
-- keys: a.k = b.k
-- a - b <= 0
-- b - a <= 0
-- b: UPPER(name) LIKE A%

-- # integers that make progress
SELECT a.v FROM m a [RANGE 180], m b [RANGE 120] WHERE a.k = b.k
-- =>
-- keys: a.k = b.k
-- a - b <= 120
-- b - a <= 180
