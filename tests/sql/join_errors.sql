-- # a window inside EXISTS
SELECT ts FROM tcp WHERE EXISTS (SELECT 1 FROM udp [RANGE 1 MINUTE] WHERE udp.srcIP = tcp.srcIP)
-- =>
-- SqlError: query q: a window in a sub-select of WHERE says nothing: write how near in time as a condition
--   line 1: SELECT ts FROM tcp WHERE EXISTS (SELECT 1 FROM udp [RANGE 1 MINUTE] WHERE udp.srcIP = tcp.srcIP)
--                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # a join on what falls where time rises
SELECT x.t FROM (SELECT -time AS t, k FROM ticks) x JOIN ticks y ON x.k = y.k AND x.t = y.time
-- =>
-- PlanError: query q: nothing bounds this join in time: a row of x could meet rows of y that come at any later time, so it would be kept for ever (-time falls where time rises); bound it in time, like y.time BETWEEN x.ts - INTERVAL 5 MINUTES AND x.ts + INTERVAL 5 MINUTES, or by windows, like x [RANGE 5 MINUTES], y [RANGE 5 MINUTES]
