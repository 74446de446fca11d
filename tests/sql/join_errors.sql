-- # a window inside EXISTS
SELECT ts FROM tcp WHERE EXISTS (SELECT 1 FROM udp [RANGE 1 MINUTE] WHERE udp.srcIP = tcp.srcIP)
-- =>
-- SqlError: query q: a window in a sub-select of WHERE says nothing: write how near in time as a condition
--   line 1: SELECT ts FROM tcp WHERE EXISTS (SELECT 1 FROM udp [RANGE 1 MINUTE] WHERE udp.srcIP = tcp.srcIP)
--                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
