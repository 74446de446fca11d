-- # a band
SELECT a.srcIP, b.len FROM tcp a JOIN udp b ON a.srcIP = b.srcIP AND b.ts BETWEEN a.ts - INTERVAL 5 MINUTES AND a.ts + INTERVAL 1 MINUTE
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0 <= t1 +300000000, t1 <= t0 +60000000
-- q: (srcIP = `a.srcIP`, len = `b.len`) from q$1

-- # a band with open ends, turned round, in WHERE
SELECT a.srcIP FROM tcp a, udp b WHERE a.ts > b.ts - INTERVAL 5 MINUTES AND b.srcIP = a.srcIP AND b.ts + INTERVAL 1 MINUTE > a.ts
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t1 <= t0 +299999999, t0 <= t1 +59999999
-- q: (srcIP = `a.srcIP`) from q$1

-- # differences and their absolute value
SELECT a.srcIP FROM tcp a, udp b WHERE abs(a.ts - b.ts) < INTERVAL 10 SECONDS AND a.srcIP = b.srcIP
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0 <= t1 +9999999, t1 <= t0 +9999999
-- q: (srcIP = `a.srcIP`) from q$1

-- # what both sides of OR demand bounds a join
SELECT a.srcIP FROM tcp a, udp b WHERE (a.ts = b.ts AND a.len > 5) OR (a.ts = b.ts AND b.len > 5)
-- =>
-- q$1: inner join of tcp by () on ts, udp by () on ts: t0 <= t1 +0, t1 <= t0 +0 where (`a.ts` = `b.ts` AND `a.len` > 5) OR (`a.ts` = `b.ts` AND `b.len` > 5)
-- q: (srcIP = `a.srcIP`) from q$1

-- # NOT of what is outside of a band
SELECT a.srcIP FROM tcp a, udp b WHERE NOT (b.ts < a.ts - INTERVAL 5 SECONDS OR b.ts > a.ts OR a.len = b.len) AND a.srcIP = b.srcIP
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0 <= t1 +5000000, t1 <= t0 +0 where NOT (`a.len` = `b.len`)
-- q: (srcIP = `a.srcIP`) from q$1

-- # one band or another
SELECT a.srcIP FROM tcp a JOIN udp b ON a.srcIP = b.srcIP AND (b.ts BETWEEN a.ts - INTERVAL 9 SECONDS AND a.ts OR b.ts = a.ts + INTERVAL 3 SECONDS)
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t1 <= t0 +3000000, t0 <= t1 +9000000 where `b.ts` BETWEEN `a.ts` - INTERVAL '9' SECONDS AND `a.ts` OR `b.ts` = `a.ts` + INTERVAL '3' SECONDS
-- q: (srcIP = `a.srcIP`) from q$1

-- # the thesis' sliding-window join
SELECT l.srcIP FROM tcp [RANGE 3 MINUTES] AS l, udp [RANGE 2 MINUTES] AS r WHERE l.srcIP = r.srcIP
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t1 <= t0 +179999999, t0 <= t1 +120000000
-- q: (srcIP = `l.srcIP`) from q$1

-- # the same tumbling window
SELECT l.srcIP, window_start FROM tcp [RANGE TUMBLING 5 MINUTES] AS l JOIN udp [RANGE TUMBLING 5 MINUTES] AS r ON l.srcIP = r.srcIP
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0, t1 in one window of 300000000 [range 300000000 slide 300000000]
-- q: (srcIP = `l.srcIP`, window_start) from q$1

-- # a tumbling window with an origin
SELECT l.srcIP, window_start FROM tcp [RANGE TUMBLING 5 MINUTES ORIGIN 1 MINUTE] AS l JOIN udp [RANGE TUMBLING 5 MINUTES ORIGIN 1 MINUTE] AS r ON l.srcIP = r.srcIP
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0, t1 in one window of 300000000 from 60000000 [range 300000000 slide 300000000 origin 60000000]
-- q: (srcIP = `l.srcIP`, window_start) from q$1

-- # tumbling windows with different origins
SELECT l.srcIP, window_start FROM tcp [RANGE TUMBLING 5 MINUTES ORIGIN 1 MINUTE] AS l JOIN udp [RANGE TUMBLING 5 MINUTES] AS r ON l.srcIP = r.srcIP
-- =>
-- SqlError: query q: a tumbling-window join has windows of one length and origin on all inputs
--   line 1: SELECT l.srcIP, window_start FROM tcp [RANGE TUMBLING 5 MINUTES ORIGIN 1 MINUTE] AS l JOIN udp [RANGE TUMBLING 5 MINUTES] AS r ON l.srcIP = r.srcIP
--                                                                                                           ^^^^^^^^^^^^^^^^^^^^^^^^

-- # what WHERE says of the window's bounds
SELECT l.srcIP FROM tcp [RANGE TUMBLING 5 MINUTES] AS l, udp [RANGE TUMBLING 5 MINUTES] AS r WHERE l.srcIP = r.srcIP AND l.ts > window_start
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0, t1 in one window of 300000000 [range 300000000 slide 300000000]
-- q: (srcIP = `l.srcIP`) from q$1 where `l.ts` > window_start

-- # common windows with a slide
SELECT l.srcIP, window_end FROM tcp [RANGE 5 MINUTES SLIDE 1 MINUTE] AS l JOIN udp [RANGE 5 MINUTES SLIDE 1 MINUTE] AS r ON l.srcIP = r.srcIP
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t1 <= t0 +299999999, t0 <= t1 +299999999 [range 300000000 slide 60000000]
-- q: (srcIP = `l.srcIP`, window_end) from q$1

-- # equal windows of Spark
SELECT a.srcIP FROM tcp a, udp b WHERE window(a.ts, '5 minutes') = window(b.ts, '5 minutes') AND a.srcIP = b.srcIP
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0, t1 in one window of 300000000
-- q: (srcIP = `a.srcIP`) from q$1

-- # the start of a window and the end of another are not the same window
SELECT a.srcIP FROM tcp a, udp b WHERE window(a.ts, '5 minutes').start = window(b.ts, '5 minutes').end AND a.srcIP = b.srcIP
-- =>
-- q$1: inner join of tcp by (WINDOW(`ts`, '5 minutes').start, `srcIP`) on ts, udp by (WINDOW(`ts`, '5 minutes').end, `srcIP`) on ts: t1 <= t0 +599999999, t0 <= t1 +599999999
-- q: (srcIP = `a.srcIP`) from q$1

-- # minutes and hours
SELECT a.srcIP FROM tcp a, udp b WHERE date_trunc('minute', a.ts) = date_trunc('minute', b.ts) AND a.srcIP = b.srcIP
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0, t1 in one window of 60000000
-- q: (srcIP = `a.srcIP`) from q$1

-- # hours depend on the time zone
SELECT a.srcIP FROM tcp a, udp b WHERE date_trunc('hour', a.ts) = date_trunc('hour', b.ts)
-- =>
-- q$1: inner join of tcp by (DATE_TRUNC('HOUR', `ts`)) on ts, udp by (DATE_TRUNC('HOUR', `ts`)) on ts: t1 <= t0 +3599999999, t0 <= t1 +3599999999
-- q: (srcIP = `a.srcIP`) from q$1

-- # WITHIN
SELECT a.srcIP FROM tcp a JOIN udp b WITHIN 10 SECONDS ON a.srcIP = b.srcIP
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t1 <= t0 +10000000, t0 <= t1 +10000000
-- q: (srcIP = `a.srcIP`) from q$1

-- # left, with a condition on the kept side
SELECT a.srcIP, b.len FROM tcp a LEFT JOIN udp b ON a.srcIP = b.srcIP AND a.ts = b.ts AND a.len > 3 AND b.len > 4 WHERE a.flags = 1
-- =>
-- q$1: rows (ts, srcIP, destIP, srcPort, len, flags, name) from tcp where flags = 1, progress on ts
-- q$2: rows (ts, srcIP, len) from udp where len > 4, progress on ts
-- q$3: left join of q$1 by (`srcIP`) on ts, q$2 by (`srcIP`) on ts: t0 <= t1 +0, t1 <= t0 +0 where `a.len` > 3
-- q: (srcIP = `a.srcIP`, len = `b.len`) from q$3

-- # right
SELECT a.srcIP, b.len FROM tcp a RIGHT JOIN udp b ON a.srcIP = b.srcIP AND a.ts = b.ts
-- =>
-- q$1: left join of udp by (`srcIP`) on ts, tcp by (`srcIP`) on ts: t1 <= t0 +0, t0 <= t1 +0
-- q: (srcIP = `a.srcIP`, len = `b.len`) from q$1

-- # full
SELECT a.srcIP, b.len FROM tcp a FULL OUTER JOIN udp b ON a.srcIP = b.srcIP AND a.ts = b.ts
-- =>
-- q$1: full join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0 <= t1 +0, t1 <= t0 +0
-- q: (srcIP = `a.srcIP`, len = `b.len`) from q$1

-- # outer joins go by the time their conditions speak of
SELECT a.srcIP, b.len, c.len AS more FROM tcp a LEFT JOIN udp b ON a.srcIP = b.srcIP AND a.ts = b.ts LEFT JOIN udp c ON b.srcIP = c.srcIP AND c.ts BETWEEN b.ts AND b.ts + INTERVAL 1 MINUTE
-- =>
-- q$1: left join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0 <= t1 +0, t1 <= t0 +0
-- q$2: left join of q$1 by (`b.srcIP`) on b.ts, udp by (`srcIP`) on ts: t0 <= t1 +0, t1 <= t0 +60000000
-- q: (srcIP = `a.srcIP`, len = `b.len`, more = `c.len`) from q$2

-- # EXISTS
SELECT a.srcIP FROM tcp a WHERE a.len > 3 AND EXISTS (SELECT 1 FROM udp b WHERE b.srcIP = a.srcIP AND b.ts = a.ts)
-- =>
-- q$1: rows (ts, srcIP, destIP, srcPort, len, flags, name) from tcp where len > 3, progress on ts
-- q$2: semi join of q$1 by (`srcIP`) on ts, udp by (`srcIP`) on ts: t1 <= t0 +0, t0 <= t1 +0
-- q: (srcIP = `a.srcIP`) from q$2

-- # NOT EXISTS
SELECT a.srcIP FROM tcp a WHERE NOT EXISTS (SELECT 1 FROM udp b WHERE b.srcIP = a.srcIP AND b.ts = a.ts AND a.len > 3)
-- =>
-- q$1: anti join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t1 <= t0 +0, t0 <= t1 +0 where `a.len` > 3
-- q: (srcIP = `a.srcIP`) from q$1

-- # IN
SELECT srcIP FROM tcp a WHERE srcIP IN (SELECT srcIP FROM udp b WHERE b.ts = a.ts)
-- =>
-- q$1: semi join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t1 <= t0 +0, t0 <= t1 +0
-- q: (srcIP = `a.srcIP`) from q$1

-- # NOT IN
SELECT srcIP FROM tcp a WHERE srcIP NOT IN (SELECT srcIP FROM udp b WHERE b.ts = a.ts)
-- =>
-- SqlError: query q: NOT IN is never true beside a NULL: write NOT EXISTS (SELECT … WHERE a = b)
--   line 1: SELECT srcIP FROM tcp a WHERE srcIP NOT IN (SELECT srcIP FROM udp b WHERE b.ts = a.ts)
--                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # IN of several columns
SELECT srcIP FROM tcp a WHERE srcIP IN (SELECT srcIP, len FROM udp b WHERE b.ts = a.ts)
-- =>
-- SqlError: query q: IN takes a sub-select of one column
--   line 1: SELECT srcIP FROM tcp a WHERE srcIP IN (SELECT srcIP, len FROM udp b WHERE b.ts = a.ts)
--                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # EXISTS over groups
SELECT srcIP FROM tcp a WHERE EXISTS (SELECT count(*) FROM udp b WHERE b.ts = a.ts GROUP BY srcIP)
-- =>
-- SqlError: query q: a sub-select in WHERE reads one stream or query, with a WHERE; make more of it a query
--   line 1: SELECT srcIP FROM tcp a WHERE EXISTS (SELECT count(*) FROM udp b WHERE b.ts = a.ts GROUP BY srcIP)
--                                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # a window in EXISTS
SELECT a.srcIP FROM tcp a WHERE EXISTS (SELECT 1 FROM udp [RANGE 1 MINUTE] AS b WHERE b.srcIP = a.srcIP)
-- =>
-- SqlError: query q: a window in a sub-select of WHERE says nothing: write how near in time as a condition
--   line 1: SELECT a.srcIP FROM tcp a WHERE EXISTS (SELECT 1 FROM udp [RANGE 1 MINUTE] AS b WHERE b.srcIP = a.srcIP)
--                                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # three inputs that share a key
SELECT a.srcIP FROM tcp a, udp b, tcp c WHERE a.srcIP = b.srcIP AND b.srcIP = c.srcIP AND a.ts = b.ts AND c.ts BETWEEN b.ts AND b.ts + INTERVAL 1 MINUTE
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts, tcp by (`srcIP`) on ts: t0 <= t1 +0, t1 <= t0 +0, t1 <= t2 +0, t2 <= t1 +60000000
-- q: (srcIP = `a.srcIP`) from q$1

-- # three inputs with different keys
SELECT a.srcIP FROM tcp a, udp b, tcp c WHERE a.srcIP = b.srcIP AND b.len = c.len AND a.ts = b.ts AND c.ts BETWEEN a.ts AND b.ts + INTERVAL 1 MINUTE
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0 <= t1 +0, t1 <= t0 +0
-- q$2: inner join of q$1 by (`b.len`) on a.ts, tcp by (`len`) on ts: t0 <= t1 +0, t1 <= t0 +60000000 where `c.ts` <= `b.ts` + INTERVAL '60000000' MICROSECOND, order ((a ⋈ b) ⋈ c)
-- q: (srcIP = `a.srcIP`) from q$2

-- # a tumbling window over different keys
SELECT a.srcIP FROM tcp [RANGE TUMBLING 1 MINUTE] AS a, udp [RANGE TUMBLING 1 MINUTE] AS b, tcp [RANGE TUMBLING 1 MINUTE] AS c WHERE a.srcIP = b.srcIP AND b.len = c.len
-- =>
-- q$1: inner join of udp by (`len`) on ts, tcp by (`len`) on ts: t0, t1 in one window of 60000000
-- q$2: inner join of tcp by (`srcIP`) on ts, q$1 by (`b.srcIP`) on b.ts: t0, t1 in one window of 60000000, order (a ⋈ (b ⋈ c))
-- q: (srcIP = `a.srcIP`) from q$2

-- # queries by window
SELECT a.srcIP, a.cnt, b.cnt AS other FROM flows a JOIN flows b ON a.srcIP = b.destIP
-- =>
-- q$1: inner join of flows by (`srcIP`) on window_end, flows by (`destIP`) on window_end: t1 <= t0 +0, t0 <= t1 +0
-- q: (srcIP = `a.srcIP`, cnt = `a.cnt`, other = `b.cnt`) from q$1

-- # queries, the one before the other
SELECT a.srcIP, a.cnt, b.cnt AS other FROM flows a JOIN flows b ON a.srcIP = b.srcIP AND a.window_start = b.window_end
-- =>
-- q$1: inner join of flows by (`srcIP`) on window_end, flows by (`srcIP`) on window_end: t0 <= t1 +600000000, t1 <= t0 -600000000
-- q: (srcIP = `a.srcIP`, cnt = `a.cnt`, other = `b.cnt`) from q$1

-- # an aggregate over a join, on the time of one input
SELECT a.srcIP, count(*) AS n [RANGE 1 MINUTE, WA b.ts] FROM tcp a, udp b WHERE a.srcIP = b.srcIP AND a.ts = b.ts GROUP BY a.srcIP
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0 <= t1 +0, t1 <= t0 +0
-- q: (srcIP = k0, n = a0, window_start, window_end) from q$1 [range 60000000 slide 60000000] by `a.srcIP` of count()

-- # USING
SELECT a.len FROM tcp a JOIN udp b USING (srcIP, ts)
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0 <= t1 +0, t1 <= t0 +0
-- q: (len = `a.len`) from q$1

-- # nothing bounds it
SELECT a.srcIP FROM tcp a JOIN udp b ON a.srcIP = b.srcIP
-- =>
-- PlanError: query q: nothing bounds this join in time: a row of a could meet rows of b that come at any later time, so it would be kept for ever; bound it in time, like b.ts BETWEEN a.ts - INTERVAL 5 MINUTES AND a.ts + INTERVAL 5 MINUTES, or by windows, like a [RANGE 5 MINUTES], b [RANGE 5 MINUTES]

-- # one end is open
SELECT a.srcIP FROM tcp a JOIN udp b ON a.srcIP = b.srcIP AND a.ts > b.ts
-- =>
-- PlanError: query q: nothing bounds this join in time: a row of b could meet rows of a that come at any later time, so it would be kept for ever; bound it in time, like a.ts BETWEEN b.ts - INTERVAL 5 MINUTES AND b.ts + INTERVAL 5 MINUTES, or by windows, like b [RANGE 5 MINUTES], a [RANGE 5 MINUTES]

-- # one of three is not bounded
SELECT a.srcIP FROM tcp a, udp b, tcp c WHERE a.srcIP = b.srcIP AND b.srcIP = c.srcIP AND a.ts = b.ts
-- =>
-- PlanError: query q: nothing bounds this join in time: a row of a could meet rows of c that come at any later time, so it would be kept for ever; bound it in time, like c.ts BETWEEN a.ts - INTERVAL 5 MINUTES AND a.ts + INTERVAL 5 MINUTES, or by windows, like a [RANGE 5 MINUTES], c [RANGE 5 MINUTES]

-- # a number is no time
SELECT a.srcIP FROM tcp a, udp b WHERE abs(a.ts - b.ts) <= 300 AND a.srcIP = b.srcIP
-- =>
-- PlanError: query q: nothing bounds this join in time: a row of a could meet rows of b that come at any later time, so it would be kept for ever; bound it in time, like b.ts BETWEEN a.ts - INTERVAL 5 MINUTES AND a.ts + INTERVAL 5 MINUTES, or by windows, like a [RANGE 5 MINUTES], b [RANGE 5 MINUTES]

-- # an empty band
SELECT a.srcIP FROM tcp a, udp b WHERE a.srcIP = b.srcIP AND a.ts > b.ts + INTERVAL 5 SECONDS AND a.ts < b.ts
-- =>
-- PlanError: query q: no rows can ever satisfy the conditions on time of this join: the band is empty

-- # times and integers
SELECT a.srcIP FROM tcp a, ticks b WHERE a.ts = b.time
-- =>
-- SqlError: query q: inputs with times and inputs with integers as progress have no common time
--   line 1: SELECT a.srcIP FROM tcp a, ticks b WHERE a.ts = b.time
--                                      ^^^^^^^

-- # the same name twice
SELECT srcIP FROM tcp, tcp WHERE true
-- =>
-- SqlError: query q: 'tcp' is in FROM twice: give one of them another name with AS
--   line 1: SELECT srcIP FROM tcp, tcp WHERE true
--                                  ^^^

-- # a column of several inputs
SELECT srcIP FROM tcp a, udp b WHERE a.ts = b.ts
-- =>
-- SqlError: query q: 'srcIP' is a column of several inputs: write a.srcIP or b.srcIP
--   line 1: SELECT srcIP FROM tcp a, udp b WHERE a.ts = b.ts
--                  ^^^^^

-- # a column of none
SELECT a.nosuch FROM tcp a, udp b WHERE a.ts = b.ts
-- =>
-- SqlError: query q: there is no column 'a.nosuch'. Did you mean 'a.srcIP'?
--   line 1: SELECT a.nosuch FROM tcp a, udp b WHERE a.ts = b.ts
--                  ^^^^^^^^

-- # no such input
SELECT x.* FROM tcp a, udp b WHERE a.ts = b.ts
-- =>
-- SqlError: query q: there is no input 'x' in FROM. There is: a, b.
--   line 1: SELECT x.* FROM tcp a, udp b WHERE a.ts = b.ts
--                  ^

-- # windows of different lengths
SELECT a.srcIP FROM tcp [RANGE TUMBLING 1 MINUTE] AS a, udp [RANGE TUMBLING 2 MINUTES] AS b WHERE a.srcIP = b.srcIP
-- =>
-- SqlError: query q: a tumbling-window join has windows of one length and origin on all inputs
--   line 1: SELECT a.srcIP FROM tcp [RANGE TUMBLING 1 MINUTE] AS a, udp [RANGE TUMBLING 2 MINUTES] AS b WHERE a.srcIP = b.srcIP
--                                                                        ^^^^^^^^^^^^^^^^^^^^^^^^

-- # slides that differ
SELECT a.srcIP FROM tcp [RANGE 5 MINUTES SLIDE 1 MINUTE] AS a, udp [RANGE 5 MINUTES SLIDE 2 MINUTES] AS b WHERE a.srcIP = b.srcIP
-- =>
-- SqlError: query q: windows with a SLIDE join rows of common windows: give all inputs the same window
--   line 1: SELECT a.srcIP FROM tcp [RANGE 5 MINUTES SLIDE 1 MINUTE] AS a, udp [RANGE 5 MINUTES SLIDE 2 MINUTES] AS b WHERE a.srcIP = b.srcIP
--                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # an outer join of windows with a slide
SELECT a.srcIP FROM tcp [RANGE 5 MINUTES SLIDE 1 MINUTE] AS a LEFT JOIN udp [RANGE 5 MINUTES SLIDE 1 MINUTE] AS b ON a.srcIP = b.srcIP
-- =>
-- q$1: left join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t1 <= t0 +299999999, t0 <= t1 +299999999 [range 300000000 slide 60000000]
-- q: (srcIP = `a.srcIP`) from q$1

-- # windows with a slide over different keys
SELECT a.srcIP FROM tcp [RANGE 5 MINUTES SLIDE 1 MINUTE] AS a, udp [RANGE 5 MINUTES SLIDE 1 MINUTE] AS b, tcp [RANGE 5 MINUTES SLIDE 1 MINUTE] AS c WHERE a.srcIP = b.srcIP AND b.len = c.len
-- =>
-- q$1: inner join of udp by (`len`) on ts, tcp by (`len`) on ts: t1 <= t0 +299999999, t0 <= t1 +299999999
-- q$2: inner join of tcp by (`srcIP`) on ts, q$1 by (`b.srcIP`) on b.ts: t1 <= t0 +299999999, t0 <= t1 +299999999 where `c.ts` <= `a.ts` + INTERVAL '299999999' MICROSECOND AND `a.ts` <= `c.ts` + INTERVAL '299999999' MICROSECOND [range 300000000 slide 60000000], order (a ⋈ (b ⋈ c))
-- q: (srcIP = `a.srcIP`) from q$2

-- # RANGE ALL
SELECT a.srcIP FROM tcp [RANGE ALL SLIDE 1 MINUTE] AS a, udp [RANGE 1 MINUTE] AS b WHERE a.srcIP = b.srcIP
-- =>
-- SqlError: query q: a join's window has a length: RANGE ALL would keep rows for ever
--   line 1: SELECT a.srcIP FROM tcp [RANGE ALL SLIDE 1 MINUTE] AS a, udp [RANGE 1 MINUTE] AS b WHERE a.srcIP = b.srcIP
--                                    ^^^^^^^^^^^^^^^^^^^^^^^^

-- # a window on what makes no progress
SELECT a.srcIP FROM tcp [RANGE 1 MINUTE WA len] AS a, udp [RANGE 1 MINUTE] AS b WHERE a.srcIP = b.srcIP
-- =>
-- SqlError: query q: a makes progress on ts, not on len
--   line 1: SELECT a.srcIP FROM tcp [RANGE 1 MINUTE WA len] AS a, udp [RANGE 1 MINUTE] AS b WHERE a.srcIP = b.srcIP
--                                    ^^^^^^^^^^^^^^^^^^^^^

-- # USING a column that is not on both sides
SELECT a.len FROM tcp a JOIN udp b USING (flags)
-- =>
-- SqlError: query q: USING (flags): there is no column 'flags' on both sides
--   line 1: SELECT a.len FROM tcp a JOIN udp b USING (flags)
--                                        ^^^^^

-- # a cross join by time
SELECT a.len FROM tcp a CROSS JOIN udp b WHERE a.ts = b.ts
-- =>
-- q$1: inner join of tcp by () on ts, udp by () on ts: t0 <= t1 +0, t1 <= t0 +0
-- q: (len = `a.len`) from q$1

-- # a natural join
SELECT a.len FROM tcp a NATURAL JOIN udp b
-- =>
-- SqlError: query q: NATURAL JOIN is not supported; there is: INNER, CROSS, LEFT, LEFT OUTER, RIGHT, RIGHT OUTER, FULL, FULL OUTER, LEFT SEMI, SEMI, LEFT ANTI, ANTI
--   line 1: SELECT a.len FROM tcp a NATURAL JOIN udp b
--                                                ^^^^^

-- # the window's bounds in ON of an outer join
SELECT l.srcIP FROM tcp [RANGE TUMBLING 5 MINUTES] AS l LEFT JOIN udp [RANGE TUMBLING 5 MINUTES] AS r ON l.srcIP = r.srcIP AND l.ts > window_start
-- =>
-- SqlError: query q: window_start and window_end are those of results: speak of them in WHERE
--   line 1: SELECT l.srcIP FROM tcp [RANGE TUMBLING 5 MINUTES] AS l LEFT JOIN udp [RANGE TUMBLING 5 MINUTES] AS r ON l.srcIP = r.srcIP AND l.ts > window_start
--                                                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # an aggregate over a join must say on which time
SELECT a.srcIP, count(*) AS n FROM tcp a, udp b WHERE a.srcIP = b.srcIP AND a.ts = b.ts GROUP BY a.srcIP
-- =>
-- PlanError: query q: no window: the aggregate over q's input would never be complete, and its state never purged. Write FROM stream [RANGE 10 MINUTES SLIDE 1 MINUTE], or RANGE ALL for a landmark window

-- # no progress is left
CREATE QUERY bare AS SELECT srcIP, len FROM tcp; CREATE QUERY q AS SELECT a.len FROM bare a, udp b WHERE a.srcIP = b.srcIP
-- =>
-- PlanError: query q: nothing bounds this join in time: a row of a could meet rows of b that come at any later time, so it would be kept for ever; bound it in time, like b.ts BETWEEN a.ts - INTERVAL 5 MINUTES AND a.ts + INTERVAL 5 MINUTES, or by windows, like a [RANGE 5 MINUTES], b [RANGE 5 MINUTES]

-- # a join on a function of time
SELECT d.due, b.len FROM (SELECT ts + INTERVAL 1 HOUR AS due, srcIP FROM tcp) d JOIN udp b ON d.srcIP = b.srcIP AND b.ts BETWEEN d.due AND d.due + INTERVAL 1 MINUTE
-- =>
-- q$1: rows (due = ts + INTERVAL '1' HOUR, srcIP) from tcp, progress on due
-- q$2: inner join of q$1 by (`srcIP`) on due, udp by (`srcIP`) on ts: t0 <= t1 +0, t1 <= t0 +60000000
-- q: (due = `d.due`, len = `b.len`) from q$2

-- # a function of the time of a join's results
SELECT count(*) AS n FROM (SELECT date_trunc('MINUTE', greatest(a.ts, b.ts)) AS m FROM tcp a JOIN udp b WITHIN 10 MINUTES ON a.srcIP = b.srcIP) [RANGE 1 MINUTE, WA m]
-- =>
-- q$2: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t1 <= t0 +600000000, t0 <= t1 +600000000
-- q$1: (m = DATE_TRUNC('MINUTE', GREATEST(`a.ts`, `b.ts`))) from q$2
-- q: (n = a0, window_start, window_end) from q$1 [range 60000000 slide 60000000] of count()

-- # windows of both inputs
SELECT x.start AS x0, y.end AS y1, count(*) AS n FROM tcp a JOIN udp b WITHIN 10 MINUTES ON a.srcIP = b.srcIP GROUP BY window(a.ts, '1 minute') AS x, window(b.ts, '2 minutes') AS y
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t1 <= t0 +600000000, t0 <= t1 +600000000
-- q: (x0 = k0, y1 = (k1 + INTERVAL '120000000' MICROSECOND), n = a0) from q$1, same window by TIMESTAMP_MICROS(UNIX_MICROS(`a.ts`) - PMOD(UNIX_MICROS(`a.ts`), 60000000)), TIMESTAMP_MICROS(UNIX_MICROS(`b.ts`) - PMOD(UNIX_MICROS(`b.ts`), 120000000)) of count()

-- # a window of the later time, without a sub-select
SELECT a.srcIP, count(*) AS n, window.start AS s FROM tcp a JOIN udp b WITHIN 10 MINUTES ON a.srcIP = b.srcIP GROUP BY window(greatest(a.ts, b.ts), '1 minute'), a.srcIP
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t1 <= t0 +600000000, t0 <= t1 +600000000
-- q$2: (a.ts = `a.ts`, a.srcIP = `a.srcIP`, b.ts = `b.ts`, greatest(a.ts, b.ts) = GREATEST(`a.ts`, `b.ts`)) from q$1
-- q: (srcIP = k0, n = a0, s = window_start, window_start, window_end) from q$2 [range 60000000 slide 60000000] by `a.srcIP` of count()

-- # stars without some columns
SELECT t.* EXCEPT (ts), u.len AS ulen FROM tcp t JOIN udp u ON t.srcIP = u.srcIP AND t.ts = u.ts
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0 <= t1 +0, t1 <= t0 +0
-- q: (srcIP = `t.srcIP`, destIP = `t.destIP`, srcPort = `t.srcPort`, len = `t.len`, flags = `t.flags`, name = `t.name`, ulen = `u.len`) from q$1

-- # a star over inputs with columns of one name
SELECT * EXCEPT (u.ts, u.srcIP, t.len) FROM tcp t JOIN udp u ON t.srcIP = u.srcIP AND t.ts = u.ts
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0 <= t1 +0, t1 <= t0 +0
-- q: (ts = `t.ts`, srcIP = `t.srcIP`, destIP = `t.destIP`, srcPort = `t.srcPort`, flags = `t.flags`, name = `t.name`, len = `u.len`) from q$1

-- # two result columns of one name
SELECT t.srcIP, t.len, u.len FROM tcp t JOIN udp u ON t.srcIP = u.srcIP AND t.ts = u.ts
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0 <= t1 +0, t1 <= t0 +0
-- q: (srcIP = `t.srcIP`, t_len = `t.len`, u_len = `u.len`) from q$1

-- # a name that means two equal columns
SELECT ts, srcIP, t.len + u.len AS total FROM tcp t JOIN udp u WHERE t.srcIP = u.srcIP AND t.ts = u.ts
-- =>
-- q$1: inner join of tcp by (`srcIP`) on ts, udp by (`srcIP`) on ts: t0 <= t1 +0, t1 <= t0 +0
-- q: (ts = `t.ts`, srcIP = `t.srcIP`, total = `t.len` + `u.len`) from q$1 where TRUE

-- # a division of times bounds a join
SELECT a.v AS one, b.v AS other FROM ticks a JOIN ticks b ON a.k = b.k AND a.time / 60 = b.time / 60
-- =>
-- q$1: inner join of ticks by (`k`, `time` / 60) on time, ticks by (`k`, `time` / 60) on time: t1 <= t0 +119, t0 <= t1 +119
-- q: (one = `a.v`, other = `b.v`) from q$1

-- # a shifted equality
SELECT a.v AS one, b.v AS other FROM ticks a JOIN ticks b ON a.k = b.k AND a.time = b.time + 1
-- =>
-- q$1: inner join of ticks by (`k`) on time, ticks by (`k`) on time: t0 <= t1 +1, t1 <= t0 -1
-- q: (one = `a.v`, other = `b.v`) from q$1

-- # times of different paces
SELECT R.v AS one, S.v AS other FROM ticks R, ticks S WHERE R.k = S.k AND R.time / 2 = S.time + 1
-- =>
-- q$2: rows (time, k, v, time div 2 = time DIV 2) from ticks where time % 2 = 0, progress on time
-- q$3: inner join of q$2 by (`k`) on time div 2, ticks by (`k`) on time: t0 <= t1 +1, t1 <= t0 -1
-- q: (one = `R.v`, other = `S.v`) from q$3

-- # times of different paces in ON, from the other side
SELECT R.v AS one, S.v AS other FROM ticks S LEFT JOIN ticks R ON R.k = S.k AND S.time - 3 = R.time / 60
-- =>
-- q$2: rows (time, k, v, time div 60 = time DIV 60) from ticks where time % 60 = 0, progress on time
-- q$3: left join of ticks by (`k`) on time, q$2 by (`k`) on time div 60: t1 <= t0 -3, t0 <= t1 +3
-- q: (one = `R.v`, other = `S.v`) from q$3
