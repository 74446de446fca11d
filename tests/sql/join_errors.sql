-- # a window inside EXISTS
SELECT ts FROM tcp WHERE EXISTS (SELECT 1 FROM udp [RANGE 1 MINUTE] WHERE udp.srcIP = tcp.srcIP)
-- =>
-- SqlError: query q: a window in a sub-select of WHERE says nothing: write how near in time as a condition
--   line 1: SELECT ts FROM tcp WHERE EXISTS (SELECT 1 FROM udp [RANGE 1 MINUTE] WHERE udp.srcIP = tcp.srcIP)
--                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # a version of a stream
SELECT tcp.ts, udp.len FROM tcp JOIN udp FOR SYSTEM_TIME AS OF tcp.ts ON tcp.srcIP = udp.srcIP AND abs(udp.ts - tcp.ts) < INTERVAL 1 MINUTE
-- =>
-- SqlError: query q: FOR SYSTEM_TIME is not supported: join the rows of a span of time
--   line 1: SELECT tcp.ts, udp.len FROM tcp JOIN udp FOR SYSTEM_TIME AS OF tcp.ts ON tcp.srcIP = udp.srcIP AND abs(udp.ts - tcp.ts) < INTERVAL 1 MINUTE
--                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
