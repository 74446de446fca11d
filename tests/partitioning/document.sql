The examples of document 000. `time / 60` is the window of a query here, so time never is a group-by value; its `tb = tb + 1` is
written as ends of windows.

-- # 3.4: flows per minute
CREATE QUERY q AS SELECT srcIP, destIP, sum(len) AS bytes FROM tcp GROUP BY time/60, srcIP, destIP;
-- =>
-- what each query is compatible with:
--   q  {destIP, srcIP} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {destIP, srcIP}  24 MB, serves q
--   round robin             192 MB, serves none
-- chosen: tcp by {destIP, srcIP}, 24 MB
-- pays: q 24000000

-- # 3.1: packets with matching addresses
CREATE QUERY q AS SELECT a.srcIP AS srcIP, a.len AS len FROM tcp AS a JOIN udp AS b WHERE a.time = b.time AND a.srcIP = b.srcIP AND a.destIP = b.destIP;
-- =>
-- what each query is compatible with:
--   q's join  {destIP, srcIP} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp, udp by {destIP, srcIP}  96 MB, serves q's join
--   round robin                  360 MB, serves none
-- chosen: tcp, udp by {destIP, srcIP}, 96 MB
-- pays: q 96000000

-- # 3.2: flows, heavy flows and pairs of them
CREATE QUERY flows AS SELECT tb, srcIP, destIP, count(*) AS cnt FROM tcp GROUP BY time/60 AS tb, srcIP, destIP;
CREATE QUERY heavy_flows AS SELECT tb, srcIP, max(cnt) AS max_cnt FROM flows GROUP BY tb, srcIP;
CREATE QUERY flow_pairs AS SELECT s1.tb AS tb, s1.srcIP AS srcIP, s1.max_cnt AS a, s2.max_cnt AS b FROM heavy_flows AS s1, heavy_flows AS s2 WHERE s1.srcIP = s2.srcIP AND s1.window_end = s2.window_end + 60;
-- =>
-- what each query is compatible with:
--   flows              {destIP, srcIP} or coarser
--   heavy_flows        {srcIP} or coarser (not used: tb: temporal)
--   flow_pairs's join  {srcIP} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {srcIP}          3.84 MB, serves flows, heavy_flows, flow_pairs's join
--   tcp by {destIP, srcIP}  28.8 MB, serves flows
--   round robin             192 MB, serves none
-- chosen: tcp by {srcIP}, 3.84 MB
-- pays: flows 0, heavy_flows 0, flow_pairs 3840000

-- # 3.2, figure 2: the same on hardware that splits by destIP only
-- restrict: tcp PARTITIONED BY (destIP)
CREATE QUERY flows AS SELECT tb, srcIP, destIP, count(*) AS cnt FROM tcp GROUP BY time/60 AS tb, srcIP, destIP;
CREATE QUERY heavy_flows AS SELECT tb, srcIP, max(cnt) AS max_cnt FROM flows GROUP BY tb, srcIP;
CREATE QUERY flow_pairs AS SELECT s1.tb AS tb, s1.srcIP AS srcIP FROM heavy_flows AS s1, heavy_flows AS s2 WHERE s1.srcIP = s2.srcIP AND s1.window_end = s2.window_end + 60;
-- =>
-- what each query is compatible with:
--   flows              {destIP, srcIP} or coarser
--   heavy_flows        {srcIP} or coarser (not used: tb: temporal)
--   flow_pairs's join  {srcIP} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {destIP}  28.8 MB, serves flows
-- chosen: tcp by {destIP}, 28.8 MB
-- pays: flows 0, heavy_flows 28800000, flow_pairs 0

-- # 4: flows and their number by pair of hosts
CREATE QUERY tcp_flows AS SELECT tb, srcIP, destIP, srcPort, destPort, count(*) AS n, sum(len) AS bytes FROM tcp GROUP BY time/60 AS tb, srcIP, destIP, srcPort, destPort;
CREATE QUERY flow_cnt AS SELECT tb, srcIP, destIP, count(*) AS n FROM tcp_flows GROUP BY tb, srcIP, destIP;
-- =>
-- what each query is compatible with:
--   tcp_flows  {destIP, destPort, srcIP, srcPort} or coarser
--   flow_cnt   {destIP, srcIP} or coarser (not used: tb: temporal)
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {destIP, srcIP}                     2.88 MB, serves tcp_flows, flow_cnt
--   tcp by {destIP, destPort, srcIP, srcPort}  43.2 MB, serves tcp_flows
--   round robin                                192 MB, serves none
-- chosen: tcp by {destIP, srcIP}, 2.88 MB
-- pays: tcp_flows 0, flow_cnt 2880000

-- # 5.2.2: counts by source, destination and port
CREATE QUERY tcp_count AS SELECT srcIP, destIP, srcPort, count(*) AS n FROM tcp GROUP BY time/1, srcIP, destIP, srcPort;
-- =>
-- what each query is compatible with:
--   tcp_count  {destIP, srcIP, srcPort} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {destIP, srcIP, srcPort}  28.8 MB, serves tcp_count
--   round robin                      192 MB, serves none
-- chosen: tcp by {destIP, srcIP, srcPort}, 28.8 MB
-- pays: tcp_count 28800000

-- # 5.2.2: the same on a stream partitioned by another port: incompatible
-- restrict: tcp PARTITIONED BY (destPort)
CREATE QUERY tcp_count AS SELECT srcIP, destIP, srcPort, count(*) AS n FROM tcp GROUP BY time/1, srcIP, destIP, srcPort;
-- =>
-- what each query is compatible with:
--   tcp_count  {destIP, srcIP, srcPort} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {destPort}  192 MB, serves none
-- chosen: tcp by {destPort}, 192 MB
-- pays: tcp_count 192000000

-- # 6.1: suspicious flows
-- rows: tcp 1000
-- selectivity: suspicious 0.005
CREATE QUERY suspicious AS SELECT srcIP, destIP, srcPort, destPort, or_aggr(flags) AS f, count(*) AS n, sum(len) AS bytes FROM tcp GROUP BY time/60, srcIP, destIP, srcPort, destPort HAVING or_aggr(flags) = 41;
-- =>
-- what each query is compatible with:
--   suspicious  {destIP, destPort, srcIP, srcPort} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {destIP, destPort, srcIP, srcPort}  360 B, serves suspicious
--   round robin                                32 kB, serves none
-- chosen: tcp by {destIP, destPort, srcIP, srcPort}, 360 B
-- pays: suspicious 360

-- # 6.2: subnets and jitter, which reconcile
CREATE QUERY subnets AS SELECT srcIP & 0xFFFF AS net, destIP, count(*) AS n FROM tcp GROUP BY time/60, srcIP & 0xFFFF, destIP;
CREATE QUERY jitter AS SELECT a.srcIP AS srcIP, b.len AS len FROM tcp AS a, tcp AS b WHERE a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort AND a.time = b.time + 1;
-- =>
-- what each query is compatible with:
--   subnets        {destIP, srcIP & 65535} or coarser
--   jitter's join  {destIP, destPort, srcIP, srcPort} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {destIP, srcIP & 65535}             192 MB, serves subnets, jitter's join
--   tcp by {destIP, destPort, srcIP, srcPort}  192 MB, serves jitter's join
--   round robin                                192 MB, serves none
-- chosen: tcp by {destIP, srcIP & 65535}, 192 MB
-- pays: subnets 24000000, jitter 192000000

-- # 6.2: hardware that knows no subnets must leave one of them out
-- restrict: tcp PARTITIONED BY (srcIP, destIP, srcPort, destPort)
CREATE QUERY subnets AS SELECT srcIP & 0xFFFF AS net, destIP, count(*) AS n FROM tcp GROUP BY time/60, srcIP & 0xFFFF, destIP;
CREATE QUERY jitter AS SELECT a.srcIP AS srcIP, b.len AS len FROM tcp AS a, tcp AS b WHERE a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort AND a.time = b.time + 1;
-- =>
-- what each query is compatible with:
--   subnets        {destIP, srcIP & 65535} or coarser
--   jitter's join  {destIP, destPort, srcIP, srcPort} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {destIP, destPort, srcIP, srcPort}  192 MB, serves jitter's join
-- chosen: tcp by {destIP, destPort, srcIP, srcPort}, 192 MB
-- pays: subnets 192000000, jitter 192000000

-- # 6.3, partial: only flows is compatible with (srcIP, destIP)
-- restrict: tcp PARTITIONED BY (srcIP, destIP)
CREATE QUERY flows AS SELECT tb, srcIP, destIP, count(*) AS cnt FROM tcp GROUP BY time/60 AS tb, srcIP, destIP;
CREATE QUERY heavy_flows AS SELECT tb, srcIP, max(cnt) AS max_cnt FROM flows GROUP BY tb, srcIP;
CREATE QUERY flow_pairs AS SELECT s1.tb AS tb, s1.srcIP AS srcIP FROM heavy_flows AS s1, heavy_flows AS s2 WHERE s1.srcIP = s2.srcIP AND s1.window_end = s2.window_end + 60;
-- =>
-- what each query is compatible with:
--   flows              {destIP, srcIP} or coarser
--   heavy_flows        {srcIP} or coarser (not used: tb: temporal)
--   flow_pairs's join  {srcIP} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {destIP, srcIP}  28.8 MB, serves flows
-- chosen: tcp by {destIP, srcIP}, 28.8 MB
-- pays: flows 0, heavy_flows 28800000, flow_pairs 0
