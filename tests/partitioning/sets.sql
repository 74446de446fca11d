Query sets beyond the document's.

-- # three aggregations share one attribute
CREATE QUERY ab AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP, destIP;
CREATE QUERY ac AS SELECT srcIP, srcPort, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP, srcPort;
CREATE QUERY a AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP;
-- =>
-- what each query is compatible with:
--   ab  {destIP, srcIP} or coarser
--   ac  {srcIP, srcPort} or coarser
--   a   {srcIP} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {srcIP}           24 MB, serves ab, ac, a
--   tcp by {destIP, srcIP}   192 MB, serves ab
--   tcp by {srcIP, srcPort}  192 MB, serves ac
--   round robin              192 MB, serves none
-- chosen: tcp by {srcIP}, 24 MB
-- pays: ab 24000000, ac 24000000, a 19200000

-- # a subnet of a query by address
CREATE QUERY hosts AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP;
CREATE QUERY nets AS SELECT srcIP & 240 AS net, sum(n) AS n FROM hosts GROUP BY srcIP & 240;
-- =>
-- what each query is compatible with:
--   hosts  {srcIP} or coarser
--   nets   {srcIP & 240} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {srcIP & 240}  1.92 MB, serves hosts, nets
--   tcp by {srcIP}        19.2 MB, serves hosts
--   round robin           192 MB, serves none
-- chosen: tcp by {srcIP & 240}, 1.92 MB
-- pays: hosts 0, nets 1920000

-- # a conflict that reconciles to nothing: the dearer query wins
-- selectivity: by_source 0.001
CREATE QUERY by_source AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP;
CREATE QUERY by_port AS SELECT destPort, count(*) AS n FROM tcp [RANGE 60] WHERE len > 100 GROUP BY destPort;
-- =>
-- what each query is compatible with:
--   by_source  {srcIP} or coarser
--   by_port    {destPort} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {srcIP}     96 MB, serves by_source
--   tcp by {destPort}  192 MB, serves by_port
--   round robin        192 MB, serves none
-- chosen: tcp by {srcIP}, 96 MB
-- pays: by_source 192000, by_port 96000000

-- # three that conflict by pairs
CREATE QUERY x AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP, destIP;
CREATE QUERY y AS SELECT destIP, srcPort, count(*) AS n FROM tcp [RANGE 60] GROUP BY destIP, srcPort;
CREATE QUERY z AS SELECT srcIP, srcPort, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP, srcPort;
-- =>
-- what each query is compatible with:
--   x  {destIP, srcIP} or coarser
--   y  {destIP, srcPort} or coarser
--   z  {srcIP, srcPort} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {destIP}           192 MB, serves x, y
--   tcp by {srcIP}            192 MB, serves x, z
--   tcp by {srcPort}          192 MB, serves y, z
--   tcp by {destIP, srcIP}    192 MB, serves x
--   tcp by {destIP, srcPort}  192 MB, serves y
--   tcp by {srcIP, srcPort}   192 MB, serves z
--   round robin               192 MB, serves none
-- chosen: tcp by {destIP}, 192 MB
-- pays: x 24000000, y 24000000, z 192000000

-- # masks without a bit in common reconcile to nothing
CREATE QUERY low AS SELECT srcIP & 15 AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP & 15;
CREATE QUERY high AS SELECT srcIP & 240 AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP & 240;
-- =>
-- what each query is compatible with:
--   low   {srcIP & 15} or coarser
--   high  {srcIP & 240} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {srcIP & 15}   192 MB, serves low
--   tcp by {srcIP & 240}  192 MB, serves high
--   round robin           192 MB, serves none
-- chosen: tcp by {srcIP & 15}, 192 MB
-- pays: low 19200000, high 192000000

-- # masks that overlap
CREATE QUERY low AS SELECT srcIP & 127 AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP & 127;
CREATE QUERY high AS SELECT srcIP & 240 AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP & 240;
-- =>
-- what each query is compatible with:
--   low   {srcIP & 127} or coarser
--   high  {srcIP & 240} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {srcIP & 112}  19.2 MB, serves low, high
--   tcp by {srcIP & 127}  192 MB, serves low
--   tcp by {srcIP & 240}  192 MB, serves high
--   round robin           192 MB, serves none
-- chosen: tcp by {srcIP & 112}, 19.2 MB
-- pays: low 19200000, high 19200000

-- # divisions meet in their least common multiple
CREATE QUERY sixty AS SELECT len div 60 AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY len div 60;
CREATE QUERY ninety AS SELECT len div 90 AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY len div 90;
-- =>
-- what each query is compatible with:
--   sixty   {len DIV 60} or coarser
--   ninety  {len DIV 90} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {len DIV 180}  19.2 MB, serves sixty, ninety
--   tcp by {len DIV 60}   192 MB, serves sixty
--   tcp by {len DIV 90}   192 MB, serves ninety
--   round robin           192 MB, serves none
-- chosen: tcp by {len DIV 180}, 19.2 MB
-- pays: sixty 19200000, ninety 19200000

-- # remainders meet in their greatest common divisor
CREATE QUERY six AS SELECT len % 6 AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY len % 6;
CREATE QUERY nine AS SELECT len % 9 AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY len % 9;
-- =>
-- what each query is compatible with:
--   six   {len % 6} or coarser
--   nine  {len % 9} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {len % 3}  19.2 MB, serves six, nine
--   tcp by {len % 6}  192 MB, serves six
--   tcp by {len % 9}  192 MB, serves nine
--   round robin       192 MB, serves none
-- chosen: tcp by {len % 3}, 19.2 MB
-- pays: six 19200000, nine 19200000

-- # remainders without a divisor in common
CREATE QUERY six AS SELECT len % 6 AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY len % 6;
CREATE QUERY five AS SELECT len % 5 AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY len % 5;
-- =>
-- what each query is compatible with:
--   six   {len % 6} or coarser
--   five  {len % 5} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {len % 6}  192 MB, serves six
--   tcp by {len % 5}  192 MB, serves five
--   round robin       192 MB, serves none
-- chosen: tcp by {len % 6}, 192 MB
-- pays: six 19200000, five 192000000

-- # a division and a remainder reconcile to nothing
CREATE QUERY quotient AS SELECT len div 6 AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY len div 6;
CREATE QUERY remainder AS SELECT len % 6 AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY len % 6;
-- =>
-- what each query is compatible with:
--   quotient   {len DIV 6} or coarser
--   remainder  {len % 6} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {len DIV 6}  192 MB, serves quotient
--   tcp by {len % 6}    192 MB, serves remainder
--   round robin         192 MB, serves none
-- chosen: tcp by {len DIV 6}, 192 MB
-- pays: quotient 19200000, remainder 192000000

-- # Spark's / is no division of integers
CREATE QUERY halves AS SELECT len / 60 AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY len / 60;
CREATE QUERY whole AS SELECT floor(len / 60) AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY floor(len / 60);
-- =>
-- what each query is compatible with:
--   halves  {len / 60} or coarser
--   whole   {FLOOR(len / 60)} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {len / 60}         192 MB, serves halves
--   tcp by {FLOOR(len / 60)}  192 MB, serves whole
--   round robin               192 MB, serves none
-- chosen: tcp by {len / 60}, 192 MB
-- pays: halves 19200000, whole 192000000

-- # shifts are masks
CREATE QUERY nets AS SELECT srcIP >> 8 AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP >> 8;
CREATE QUERY masks AS SELECT srcIP & -65536 AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP & -65536;
-- =>
-- what each query is compatible with:
--   nets   {srcIP & -256} or coarser
--   masks  {srcIP & -65536} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {srcIP & -65536}  19.2 MB, serves nets, masks
--   tcp by {srcIP & -256}    192 MB, serves nets
--   round robin              192 MB, serves none
-- chosen: tcp by {srcIP & -65536}, 19.2 MB
-- pays: nets 19200000, masks 19200000

-- # the bits of a byte: a mask of a wider type asks for the sign
CREATE QUERY a AS SELECT small & 240 AS k, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY small & 240;
CREATE QUERY b AS SELECT small & -16 AS k, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY small & -16;
-- =>
-- what each query is compatible with:
--   a  {small & -16} or coarser
--   b  {small & -16} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   web by {small & -16}  19.2 MB, serves a, b
--   round robin           462 MB, serves none
-- chosen: web by {small & -16}, 19.2 MB
-- pays: a 19200000, b 19200000

-- # prefixes of text
CREATE QUERY three AS SELECT substring(host, 1, 3) AS k, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY substring(host, 1, 3);
CREATE QUERY five AS SELECT left(host, 5) AS k, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY left(host, 5);
-- =>
-- what each query is compatible with:
--   three  {SUBSTRING(host, 1, 3)} or coarser
--   five   {SUBSTRING(host, 1, 5)} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   web by {SUBSTRING(host, 1, 3)}  19.2 MB, serves three, five
--   web by {SUBSTRING(host, 1, 5)}  462 MB, serves five
--   round robin                     462 MB, serves none
-- chosen: web by {SUBSTRING(host, 1, 3)}, 19.2 MB
-- pays: three 19200000, five 19200000

-- # networks written as text
CREATE QUERY b AS SELECT substring_index(address, '.', 2) AS k, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY substring_index(address, '.', 2);
CREATE QUERY c AS SELECT substring_index(address, '.', 3) AS k, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY substring_index(address, '.', 3);
-- =>
-- what each query is compatible with:
--   b  {SUBSTRING_INDEX(address, '.', 2)} or coarser
--   c  {SUBSTRING_INDEX(address, '.', 3)} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   web by {SUBSTRING_INDEX(address, '.', 2)}  19.2 MB, serves b, c
--   web by {SUBSTRING_INDEX(address, '.', 3)}  462 MB, serves c
--   round robin                                462 MB, serves none
-- chosen: web by {SUBSTRING_INDEX(address, '.', 2)}, 19.2 MB
-- pays: b 19200000, c 19200000

-- # lower case is coarser than the text, and than nothing else
CREATE QUERY hosts AS SELECT host, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY host;
CREATE QUERY folded AS SELECT lower(host) AS h, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY lower(host);
CREATE QUERY shouted AS SELECT upper(host) AS h, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY upper(host);
-- =>
-- what each query is compatible with:
--   hosts    {host} or coarser
--   folded   {LOWER(host)} or coarser
--   shouted  {UPPER(host)} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   web by {LOWER(host)}  462 MB, serves hosts, folded
--   web by {UPPER(host)}  462 MB, serves hosts, shouted
--   web by {host}         462 MB, serves hosts
--   round robin           462 MB, serves none
-- chosen: web by {LOWER(host)}, 462 MB
-- pays: hosts 19200000, folded 19200000, shouted 462000000

-- # hours, days and weeks of an attribute that is not time
CREATE QUERY hours AS SELECT date_trunc('hour', seen) AS k, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY date_trunc('hour', seen);
CREATE QUERY days AS SELECT cast(seen AS DATE) AS k, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY cast(seen AS DATE);
CREATE QUERY weeks AS SELECT date_trunc('week', seen) AS k, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY date_trunc('week', seen);
-- =>
-- what each query is compatible with:
--   hours  {DATE_TRUNC('HOUR', seen)} or coarser
--   days   {DATE_TRUNC('DAY', seen)} or coarser
--   weeks  {DATE_TRUNC('WEEK', seen)} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   web by {DATE_TRUNC('WEEK', seen)}  19.2 MB, serves hours, days, weeks
--   web by {DATE_TRUNC('DAY', seen)}   462 MB, serves hours, days
--   web by {DATE_TRUNC('HOUR', seen)}  462 MB, serves hours
--   round robin                        462 MB, serves none
-- chosen: web by {DATE_TRUNC('WEEK', seen)}, 19.2 MB
-- pays: hours 19200000, days 19200000, weeks 19200000

-- # weeks and months reconcile to nothing
CREATE QUERY weeks AS SELECT trunc(day, 'WEEK') AS k, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY trunc(day, 'WEEK');
CREATE QUERY months AS SELECT trunc(day, 'MM') AS k, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY trunc(day, 'MM');
-- =>
-- what each query is compatible with:
--   weeks   {DATE_TRUNC('WEEK', day)} or coarser
--   months  {DATE_TRUNC('MONTH', day)} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   web by {DATE_TRUNC('WEEK', day)}   462 MB, serves weeks
--   web by {DATE_TRUNC('MONTH', day)}  462 MB, serves months
--   round robin                        462 MB, serves none
-- chosen: web by {DATE_TRUNC('WEEK', day)}, 462 MB
-- pays: weeks 19200000, months 462000000

-- # casts that keep equality, and one that does not
CREATE QUERY wide AS SELECT cast(bytes AS STRING) AS k, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY cast(bytes AS STRING);
CREATE QUERY narrow AS SELECT cast(rtt AS INT) AS k, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY cast(rtt AS INT);
CREATE QUERY exact AS SELECT rtt, count(*) AS n FROM web [RANGE 1 MINUTE] GROUP BY rtt;
-- =>
-- what each query is compatible with:
--   wide    {bytes} or coarser
--   narrow  {CAST(rtt AS INT)} or coarser
--   exact   {rtt} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   web by {bytes}             462 MB, serves wide
--   web by {CAST(rtt AS INT)}  462 MB, serves narrow
--   web by {rtt}               462 MB, serves exact
--   round robin                462 MB, serves none
-- chosen: web by {bytes}, 462 MB
-- pays: wide 19200000, narrow 462000000, exact 462000000

-- # an expression of two attributes
CREATE QUERY pairs AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP, destIP;
CREATE QUERY sums AS SELECT srcIP + destIP AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP + destIP;
-- =>
-- what each query is compatible with:
--   pairs  {destIP, srcIP} or coarser
--   sums   {srcIP + destIP} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {srcIP + destIP}  24 MB, serves pairs, sums
--   tcp by {destIP, srcIP}   192 MB, serves pairs
--   round robin              192 MB, serves none
-- chosen: tcp by {srcIP + destIP}, 24 MB
-- pays: pairs 24000000, sums 19200000

-- # a value that is not the same twice cannot partition
CREATE QUERY q AS SELECT uuid() AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY uuid();
-- =>
-- what each query is compatible with:
--   q  nothing (not used: UUID(): not the same twice)
-- candidates, by the most bytes one node receives per epoch:
--   round robin  192 MB, serves none
-- chosen: round robin, 192 MB
-- pays: q 192000000

-- # a time bucket beside a window stays temporal
CREATE QUERY q AS SELECT time % 7 AS k, srcIP, count(*) AS n FROM tcp [RANGE 60] GROUP BY time % 7, srcIP;
-- =>
-- what each query is compatible with:
--   q  {srcIP} or coarser (not used: time % 7: temporal)
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {srcIP}  24 MB, serves q
--   round robin     192 MB, serves none
-- chosen: tcp by {srcIP}, 24 MB
-- pays: q 24000000

-- # group-by values that are results of aggregates are ignored
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP, destIP;
CREATE QUERY sizes AS SELECT srcIP, n, count(*) AS flows FROM flows GROUP BY srcIP, n;
CREATE QUERY histogram AS SELECT n, count(*) AS flows FROM flows GROUP BY n;
-- =>
-- what each query is compatible with:
--   flows      {destIP, srcIP} or coarser
--   sizes      {srcIP} or coarser (not used: n: the result of an aggregate)
--   histogram  nothing (not used: n: the result of an aggregate)
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {srcIP}          24 MB, serves flows, sizes
--   tcp by {destIP, srcIP}  24 MB, serves flows
--   round robin             192 MB, serves none
-- chosen: tcp by {srcIP}, 24 MB
-- pays: flows 0, sizes 2400000, histogram 24000000

-- # selections, projections and unions require nothing
CREATE QUERY big AS SELECT srcIP AS host, len FROM tcp WHERE len > 1000;
CREATE QUERY hosts AS SELECT time, srcIP AS host, len FROM tcp WHERE flags = 2 UNION ALL SELECT time, destIP, len FROM tcp;
CREATE QUERY counts AS SELECT host, count(*) AS n FROM hosts [RANGE 60] GROUP BY host;
-- =>
-- what each query is compatible with:
--   counts  nothing
-- candidates, by the most bytes one node receives per epoch:
--   round robin  216 MB, serves none
-- chosen: round robin, 216 MB
-- pays: counts 216000000

-- # a union of two streams is partitioned by corresponding attributes
CREATE QUERY every AS SELECT time, srcIP AS host, len FROM tcp UNION ALL SELECT time, destIP, len FROM udp;
CREATE QUERY counts AS SELECT host, count(*) AS n FROM every [RANGE 60] GROUP BY host;
CREATE QUERY nets AS SELECT srcIP & -256 AS net, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP & -256;
-- =>
-- what each query is compatible with:
--   counts  {tcp.srcIP = udp.destIP} or coarser
--   nets    {srcIP & -256} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp, udp by {tcp.srcIP & -256 = udp.destIP & -256}  38.4 MB, serves counts, nets
--   tcp, udp by {tcp.srcIP = udp.destIP}                192 MB, serves counts
--   tcp by {srcIP & -256}                               288 MB, serves nets
--   round robin                                         288 MB, serves none
-- chosen: tcp, udp by {tcp.srcIP & -256 = udp.destIP & -256}, 38.4 MB
-- pays: counts 38400000, nets 19200000

-- # streams that never meet have sets of their own
CREATE QUERY a AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP;
CREATE QUERY b AS SELECT destIP, count(*) AS n FROM udp [RANGE 60] GROUP BY destIP;
-- =>
-- what each query is compatible with:
--   a  {srcIP} or coarser
--   b  {destIP} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {srcIP}   19.2 MB, serves a
--   round robin      192 MB, serves none
--   udp by {destIP}  19.2 MB, serves b
--   round robin      168 MB, serves none
-- chosen: tcp by {srcIP}; udp by {destIP}, 19.2 MB
-- pays: a 19200000, b 19200000

-- # a set is carried over a join's equalities
CREATE QUERY both AS SELECT a.srcIP AS srcIP, b.len AS len FROM tcp AS a JOIN udp AS b ON a.srcIP = b.destIP AND a.time = b.time;
CREATE QUERY nets AS SELECT srcIP & 0xFF00 AS net, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP & 0xFF00;
-- =>
-- what each query is compatible with:
--   both's join  {tcp.srcIP = udp.destIP} or coarser
--   nets         {srcIP & 65280} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp, udp by {tcp.srcIP & 65280 = udp.destIP & 65280}  192 MB, serves both's join, nets
--   tcp, udp by {tcp.srcIP = udp.destIP}                  192 MB, serves both's join
--   tcp by {srcIP & 65280}                                360 MB, serves nets
--   round robin                                           360 MB, serves none
-- chosen: tcp, udp by {tcp.srcIP & 65280 = udp.destIP & 65280}, 192 MB
-- pays: both 192000000, nets 19200000

-- # a division on one side of a join is followed by the other
CREATE QUERY both AS SELECT a.len AS len, b.len AS other FROM tcp AS a JOIN udp AS b ON a.len div 60 = b.len AND a.time = b.time;
CREATE QUERY coarse AS SELECT len div 90 AS k, count(*) AS n FROM tcp [RANGE 60] GROUP BY len div 90;
-- =>
-- what each query is compatible with:
--   both's join  {tcp.len DIV 60 = udp.len} or coarser
--   coarse       {len DIV 90} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp, udp by {tcp.len DIV 180 = udp.len DIV 3}  192 MB, serves both's join, coarse
--   tcp, udp by {tcp.len DIV 60 = udp.len}         192 MB, serves both's join
--   tcp by {len DIV 90}                            360 MB, serves coarse
--   round robin                                    360 MB, serves none
-- chosen: tcp, udp by {tcp.len DIV 180 = udp.len DIV 3}, 192 MB
-- pays: both 192000000, coarse 19200000

-- # an aggregation on a join
CREATE QUERY both AS SELECT a.srcIP AS srcIP, a.srcPort AS port, b.len AS len FROM tcp AS a JOIN udp AS b ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.time = b.time;
CREATE QUERY sources AS SELECT srcIP, port, sum(len) AS bytes FROM both GROUP BY srcIP, port;
-- =>
-- what each query is compatible with:
--   both's join  {destIP, srcIP} or coarser
--   sources      {srcIP, srcPort} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp, udp by {srcIP}          48 MB, serves both's join, sources
--   tcp, udp by {destIP, srcIP}  288 MB, serves both's join
--   round robin                  360 MB, serves none
-- chosen: tcp, udp by {srcIP}, 48 MB
-- pays: both 0, sources 48000000

-- # a group-by value that an outer join fills with NULLs tells nothing
CREATE QUERY both AS SELECT a.srcIP AS srcIP, b.srcIP AS partner FROM tcp AS a LEFT JOIN udp AS b ON a.srcIP = b.srcIP AND a.time = b.time;
CREATE QUERY kept AS SELECT srcIP, count(*) AS n FROM both GROUP BY srcIP;
CREATE QUERY filled AS SELECT partner, count(*) AS n FROM both GROUP BY partner;
-- =>
-- what each query is compatible with:
--   both's join  {srcIP} or coarser
--   kept         {srcIP} or coarser
--   filled       nothing (not used: partner: filled with NULLs by an outer join)
-- candidates, by the most bytes one node receives per epoch:
--   tcp, udp by {srcIP}  192 MB, serves both's join, kept
--   round robin          360 MB, serves none
-- chosen: tcp, udp by {srcIP}, 192 MB
-- pays: both 0, kept 38400000, filled 192000000

-- # a self-join on different attributes reconciles to nothing
CREATE QUERY q AS SELECT a.srcIP AS srcIP FROM tcp AS a JOIN tcp AS b ON a.srcIP = b.destIP AND a.time = b.time;
-- =>
-- what each query is compatible with:
--   q's join  nothing
-- candidates, by the most bytes one node receives per epoch:
--   round robin  192 MB, serves none
-- chosen: round robin, 192 MB
-- pays: q 192000000

-- # a self-join on an attribute and a function of it reconciles to nothing
CREATE QUERY q AS SELECT a.len AS len FROM tcp AS a JOIN tcp AS b ON a.len = b.len div 60 AND a.time = b.time;
-- =>
-- what each query is compatible with:
--   q's join  nothing
-- candidates, by the most bytes one node receives per epoch:
--   round robin  192 MB, serves none
-- chosen: round robin, 192 MB
-- pays: q 192000000

-- # a self-join of a value with its negative
CREATE QUERY q AS SELECT a.len AS len FROM tcp AS a JOIN tcp AS b ON a.len = -b.len AND a.time = b.time;
-- =>
-- what each query is compatible with:
--   q's join  nothing
-- candidates, by the most bytes one node receives per epoch:
--   round robin  192 MB, serves none
-- chosen: round robin, 192 MB
-- pays: q 192000000

-- # three streams that are equal in one attribute
CREATE QUERY q AS SELECT a.srcIP AS srcIP FROM tcp AS a JOIN udp AS b ON a.srcIP = b.srcIP AND b.time = a.time JOIN udp AS c ON b.srcIP = c.srcIP AND c.time = a.time;
-- =>
-- what each query is compatible with:
--   q's join  {srcIP} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp, udp by {srcIP}  144 MB, serves q's join
--   round robin          360 MB, serves none
-- chosen: tcp, udp by {srcIP}, 144 MB
-- pays: q 144000000

-- # a join on nothing but time
CREATE QUERY q AS SELECT a.srcIP AS srcIP FROM tcp AS a JOIN udp AS b ON a.time = b.time;
-- =>
-- what each query is compatible with:
--   q's join  nothing
-- candidates, by the most bytes one node receives per epoch:
--   round robin  360 MB, serves none
-- chosen: round robin, 360 MB
-- pays: q 360000000

-- # a join of a number with a text
CREATE QUERY q AS SELECT a.srcIP AS srcIP FROM tcp AS a JOIN log AS b ON a.srcIP = b.host AND a.time = b.time;
-- =>
-- what each query is compatible with:
--   q's join  nothing
-- candidates, by the most bytes one node receives per epoch:
--   round robin  360 MB, serves none
-- chosen: round robin, 360 MB
-- pays: q 360000000

-- # hardware that may only use destIP
-- restrict: tcp PARTITIONABLE BY (destIP)
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP, destIP;
CREATE QUERY sources AS SELECT srcIP, max(n) AS m FROM flows GROUP BY srcIP;
-- =>
-- what each query is compatible with:
--   flows    {destIP, srcIP} or coarser
--   sources  {srcIP} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {destIP}  24 MB, serves flows
-- chosen: tcp by {destIP}, 24 MB
-- pays: flows 0, sources 24000000

-- # hardware that may use networks finds the coarser one
-- restrict: tcp PARTITIONABLE BY (srcIP & 0xFFFFFF00, destIP)
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP, destIP;
CREATE QUERY nets AS SELECT srcIP & 0xFFFF0000 AS net, sum(n) AS n FROM flows GROUP BY srcIP & 0xFFFF0000;
-- =>
-- what each query is compatible with:
--   flows  {destIP, srcIP} or coarser
--   nets   {srcIP & -65536} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {srcIP & -65536}        1.92 MB, serves flows, nets
--   tcp by {destIP, srcIP & -256}  24 MB, serves flows
-- chosen: tcp by {srcIP & -65536}, 1.92 MB
-- pays: flows 0, nets 1920000

-- # a topic with a key: the other stream of a join follows it
-- restrict: tcp PARTITIONED BY (srcIP)
CREATE QUERY both AS SELECT a.srcIP AS srcIP FROM tcp AS a JOIN udp AS b ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.time = b.time;
CREATE QUERY sums AS SELECT destIP, count(*) AS n FROM udp [RANGE 60] GROUP BY destIP;
-- =>
-- what each query is compatible with:
--   both's join  {destIP, srcIP} or coarser
--   sums         {destIP} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp, udp by {srcIP}              168 MB, serves both's join
--   tcp by {srcIP}; udp by {destIP}  360 MB, serves sums
--   tcp by {srcIP}                   360 MB, serves none
-- chosen: tcp, udp by {srcIP}, 168 MB
-- pays: both 96000000, sums 168000000

-- # skew: the finer set is preferred when all rows have one value
-- rows: tcp 1000
-- share: tcp srcIP 1.0
-- share: tcp destIP, srcIP 0.1
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP, destIP;
CREATE QUERY heavy AS SELECT srcIP, max(n) AS m FROM flows GROUP BY srcIP;
-- =>
-- what each query is compatible with:
--   flows  {destIP, srcIP} or coarser
--   heavy  {srcIP} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {destIP, srcIP}  4 kB, serves flows
--   round robin             32 kB, serves none
--   tcp by {srcIP}          32 kB, serves flows, heavy
-- chosen: tcp by {destIP, srcIP}, 4 kB
-- pays: flows 3200, heavy 4000

-- # an aggregation of everything
CREATE QUERY hosts AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP;
CREATE QUERY total AS SELECT sum(n) AS n FROM hosts;
-- =>
-- what each query is compatible with:
--   hosts  {srcIP} or coarser
--   total  nothing
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {srcIP}  19.2 MB, serves hosts
--   round robin     192 MB, serves none
-- chosen: tcp by {srcIP}, 19.2 MB
-- pays: hosts 0, total 19200000

-- # time cannot be asked for
-- restrict: tcp PARTITIONED BY (time div 60)
CREATE QUERY hosts AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP;
-- =>
-- PlanError: stream tcp: PARTITIONED BY (time DIV 60): time is the progressing attribute, and rows that come together would all be in one partition; name attributes that tell what a row is about

-- # a column that is not there
-- restrict: tcp PARTITIONABLE BY (source)
CREATE QUERY hosts AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP;
-- =>
-- PlanError: stream tcp: PARTITIONABLE BY (source): there is no column 'source'; it has time, srcIP, destIP, srcPort, destPort, len, flags

-- # a distinct needs equal rows together
CREATE QUERY pairs AS SELECT DISTINCT time, srcIP, destIP FROM tcp;
CREATE QUERY hosts AS SELECT srcIP, count(*) AS n FROM pairs [RANGE 60] GROUP BY srcIP;
-- =>
-- what each query is compatible with:
--   pairs  {destIP, srcIP} or coarser (not used: time: temporal)
--   hosts  {srcIP} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp by {srcIP}          19.2 MB, serves pairs, hosts
--   tcp by {destIP, srcIP}  144 MB, serves pairs
--   round robin             144 MB, serves none
-- chosen: tcp by {srcIP}, 19.2 MB
-- pays: pairs 0, hosts 19200000

-- # what a full join shows tells nothing of where its rows are
CREATE QUERY both AS SELECT a.time, a.srcIP AS one, b.srcIP AS other FROM tcp AS a FULL JOIN udp AS b ON a.srcIP = b.srcIP AND a.time = b.time;
CREATE QUERY sums AS SELECT one, count(*) AS n FROM both [RANGE 60] GROUP BY one;
-- =>
-- what each query is compatible with:
--   both's join  {srcIP} or coarser
--   sums         nothing (not used: one: filled with NULLs by an outer join)
-- candidates, by the most bytes one node receives per epoch:
--   tcp, udp by {srcIP}  288 MB, serves both's join
--   round robin          360 MB, serves none
-- chosen: tcp, udp by {srcIP}, 288 MB
-- pays: both 0, sums 288000000

-- # rows without a partner are where their keys are
CREATE QUERY alone AS SELECT a.time, a.srcIP, a.destIP FROM tcp AS a LEFT ANTI JOIN udp AS b ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.time = b.time;
CREATE QUERY sums AS SELECT srcIP, count(*) AS n FROM alone [RANGE 60] GROUP BY srcIP;
-- =>
-- what each query is compatible with:
--   alone's join  {destIP, srcIP} or coarser
--   sums          {srcIP} or coarser
-- candidates, by the most bytes one node receives per epoch:
--   tcp, udp by {srcIP}          38.4 MB, serves alone's join, sums
--   tcp, udp by {destIP, srcIP}  288 MB, serves alone's join
--   round robin                  360 MB, serves none
-- chosen: tcp, udp by {srcIP}, 38.4 MB
-- pays: alone 0, sums 38400000
