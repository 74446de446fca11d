-- # a window inside EXISTS
SELECT ts FROM tcp WHERE EXISTS (SELECT 1 FROM udp [RANGE 1 MINUTE] WHERE udp.srcIP = tcp.srcIP)
-- =>
-- SqlError: query q: a window in a sub-select of WHERE says nothing: write how near in time as a condition
--   line 1: SELECT ts FROM tcp WHERE EXISTS (SELECT 1 FROM udp [RANGE 1 MINUTE] WHERE udp.srcIP = tcp.srcIP)
--                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # a join on what falls where time rises
SELECT x.t FROM (SELECT -time AS t, k FROM ticks) x JOIN ticks y ON x.k = y.k AND x.t = y.time
-- =>
-- PlanError: query q: nothing bounds this join in time: a row of x could meet rows of y that come at any later time, so it would be kept for ever (-time falls where time rises); bound it in time, like y.time BETWEEN x.ts - 300 AND x.ts + 300, or by windows, like x [RANGE 300], y [RANGE 300]

-- # windows of both inputs with a slide
SELECT count(*) AS n FROM tcp a JOIN udp b WITHIN 10 MINUTES ON a.srcIP = b.srcIP GROUP BY window(a.ts, '2 minutes', '1 minute'), window(b.ts, '1 minute')
-- =>
-- SqlError: query q: a query has one window, this is a second one; only tumbling windows of different inputs go together
--   line 1: SELECT count(*) AS n FROM tcp a JOIN udp b WITHIN 10 MINUTES ON a.srcIP = b.srcIP GROUP BY window(a.ts, '2 minutes', '1 minute'), window(b.ts, '1 minute')
--                                                                                                                                             ^^^^^^^^^^^

-- # two windows of one input
SELECT count(*) AS n FROM tcp a JOIN udp b WITHIN 10 MINUTES ON a.srcIP = b.srcIP GROUP BY window(a.ts, '2 minutes'), window(a.ts, '1 minute')
-- =>
-- SqlError: query q: a query has one window, this is a second one; only tumbling windows of different inputs go together
--   line 1: SELECT count(*) AS n FROM tcp a JOIN udp b WITHIN 10 MINUTES ON a.srcIP = b.srcIP GROUP BY window(a.ts, '2 minutes'), window(a.ts, '1 minute')
--                                                                                                                                 ^^^^^^^^^^^

-- # a window on what falls where time rises
SELECT count(*) AS n FROM ticks GROUP BY window(100 - time, 5)
-- =>
-- PlanError: query q: the window is on '100 - time', but ticks makes progress on 'time', so it could never close (100 - time falls where time rises): put the window on time

-- # a window that is said to tumble and to slide
SELECT a.srcIP FROM tcp a [RANGE TUMBLING 4 MINUTES SLIDE 2 MINUTES], udp b [RANGE TUMBLING 4 MINUTES] WHERE a.srcIP = b.srcIP
-- =>
-- SqlError: a window that is TUMBLING moves by its own length: leave SLIDE out, or TUMBLING
--   line 1: SELECT a.srcIP FROM tcp a [RANGE TUMBLING 4 MINUTES SLIDE 2 MINUTES], udp b [RANGE TUMBLING 4 MINUTES] WHERE a.srcIP = b.srcIP
--                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # an origin of rows that stay for a while
SELECT a.srcIP FROM tcp a [RANGE 4 MINUTES ORIGIN 1 MINUTE], udp b [RANGE 4 MINUTES] WHERE a.srcIP = b.srcIP
-- =>
-- SqlError: query q: a RANGE alone says how long rows stay, from each row on: it has no ORIGIN and no ALIGN
--   line 1: SELECT a.srcIP FROM tcp a [RANGE 4 MINUTES ORIGIN 1 MINUTE], udp b [RANGE 4 MINUTES] WHERE a.srcIP = b.srcIP
--                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # an alignment of rows that stay for a while
SELECT a.srcIP FROM tcp a [RANGE 4 MINUTES], udp b [RANGE 4 MINUTES ALIGN END] WHERE a.srcIP = b.srcIP
-- =>
-- SqlError: query q: a RANGE alone says how long rows stay, from each row on: it has no ORIGIN and no ALIGN
--   line 1: SELECT a.srcIP FROM tcp a [RANGE 4 MINUTES], udp b [RANGE 4 MINUTES ALIGN END] WHERE a.srcIP = b.srcIP
--                                                               ^^^^^^^^^^^^^^^^^^^^^^^^^

-- # a window behind the stream and one behind the aggregate
SELECT count(*) AS n [RANGE 4 MINUTES] FROM tcp [RANGE 8 MINUTES]
-- =>
-- SqlError: query q: a query has one window, behind its stream or behind what it computes
--   line 1: SELECT count(*) AS n [RANGE 4 MINUTES] FROM tcp [RANGE 8 MINUTES]
--                                                            ^^^^^^^^^^^^^^^

-- # a window behind the stream and one behind the aggregate, beside EXISTS
SELECT count(*) AS n [RANGE 8 MINUTES] FROM tcp [RANGE 4 MINUTES] WHERE EXISTS (SELECT 1 FROM udp WHERE udp.ts = tcp.ts)
-- =>
-- SqlError: query q: a query has one window, behind its stream or behind what it computes
--   line 1: SELECT count(*) AS n [RANGE 8 MINUTES] FROM tcp [RANGE 4 MINUTES] WHERE EXISTS (SELECT 1 FROM udp WHERE udp.ts = tcp.ts)
--                                                            ^^^^^^^^^^^^^^^

-- # a window that bounds nothing, beside EXISTS
SELECT tcp.ts FROM tcp [RANGE 4 MINUTES] WHERE EXISTS (SELECT 1 FROM udp WHERE udp.ts = tcp.ts)
-- =>
-- PlanError: query q: a window with nothing to aggregate: add GROUP BY, an aggregate or DISTINCT, or leave the window out
