Where rows are, and which exchanges follow.

-- # a chain runs where its input is
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY heavy AS SELECT srcIP, max(n) AS m FROM flows GROUP BY srcIP;
-- =>
-- flows: level 0 of t0, by srcIP
-- heavy: level 0 of t0, by srcIP
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task

-- # two readers without a key in common: one of them is sent on
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY senders AS SELECT srcIP, max(n) AS m FROM flows GROUP BY srcIP;
CREATE QUERY receivers AS SELECT destIP, max(n) AS m FROM flows GROUP BY destIP;
-- =>
-- flows: level 0 of t0, by srcIP
-- senders: level 0 of t0, by srcIP
-- receivers: level 1 of t1, by destIP
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task
-- exchange 2 to t1 by (destIP): flows is partitioned by (srcIP), which receivers does not group by

-- # no keys: everything meets in one mini-partition
CREATE QUERY flows AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY total AS SELECT sum(n) AS s FROM flows [RANGE 1 HOUR];
-- =>
-- flows: level 0 of t0, by srcIP
-- total: level 1 of t1, by one place
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task
-- exchange 2 to t1 by (): flows is partitioned by (srcIP), which total does not group by

-- # keys that are not shown
CREATE QUERY hidden AS SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY top AS SELECT max(n) AS m FROM hidden;
-- =>
-- hidden: level 0 of t0, by nobody knows
-- top: level 1 of t1, by one place
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task
-- exchange 2 to t1 by (): hidden does not show what its rows are partitioned by

-- # a selection carries the partitioning as long as its columns survive
CREATE QUERY flows AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY renamed AS SELECT srcIP AS host, n FROM flows WHERE n > 1;
CREATE QUERY top AS SELECT host, max(n) AS m FROM renamed GROUP BY host;
-- =>
-- flows: level 0 of t0, by srcIP
-- renamed: level 0 of t0, by host
-- top: level 0 of t0, by host
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task

-- # a union of one kind stays, of another kind is sent
CREATE QUERY a AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY b AS SELECT srcIP, sum(len) AS n FROM tcp [RANGE 1 MINUTE] WHERE len > 9 GROUP BY srcIP;
CREATE QUERY both AS SELECT srcIP, n FROM a UNION ALL SELECT srcIP, n FROM b;
CREATE QUERY top AS SELECT srcIP, max(n) AS m FROM both GROUP BY srcIP;
-- =>
-- a: level 0 of t0, by srcIP
-- b: level 0 of t1, by srcIP
-- both$1: level 0 of t0, by srcIP
-- both$2: level 0 of t1, by srcIP
-- both: level 0 of t0, by srcIP
-- both: level 0 of t1, by srcIP
-- top: level 0 of t2, by srcIP
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task
-- exchange 1 to t1 by (srcIP): groups of tcp where len > 9 come from every source task

-- # a union that changes the type of the key loses its place
CREATE QUERY a AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY b AS SELECT srcIP, count(*) AS n FROM udp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY both AS SELECT srcIP, n FROM a UNION ALL SELECT srcIP, n FROM b;
CREATE QUERY top AS SELECT srcIP, max(n) AS m FROM both [RANGE 1 HOUR] GROUP BY srcIP;
-- =>
-- a: level 0 of t0, by srcIP
-- b: level 0 of t1, by srcIP
-- both$1: level 0 of t0, by srcIP
-- both$2: level 0 of t1, by srcIP
-- both: level 0 of t0, by CAST(srcIP AS INT)
-- both: level 0 of t1, by srcIP
-- top: level 1 of t2, by srcIP
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task
-- exchange 1 to t1 by (srcIP): groups of udp come from every source task
-- exchange 2 to t2 by (srcIP): top unites rows that are partitioned in different ways

-- # a younger reader does not move what is there
-- cohort: heavy 1
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY heavy AS SELECT srcIP, max(n) AS m FROM flows GROUP BY srcIP;
-- =>
-- flows: level 0 of t0, by srcIP, destIP
-- heavy: level 1 of t1, by srcIP
-- exchange 1 to t0 by (srcIP, destIP): groups of tcp come from every source task
-- exchange 2 to t1 by (srcIP): flows is partitioned by (srcIP, destIP), which heavy does not group by

-- # an expression of the key of a query runs where that query is
-- measured: tcp
CREATE QUERY hosts AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY nets AS SELECT srcIP & 65280 AS net, sum(n) AS n FROM hosts GROUP BY srcIP & 65280;
CREATE QUERY wider AS SELECT net & 61440 AS net, sum(n) AS n FROM nets GROUP BY net & 61440;
-- =>
-- hosts: level 0 of t0, by srcIP & 65280
-- nets: level 0 of t0, by net
-- wider: level 1 of t1, by net
-- exchange 1 to t0 by (srcIP & 65280): groups of tcp come from every source task
-- exchange 2 to t1 by (net & 61440): nets is partitioned by (net), which wider does not group by

-- # divisions downstream meet in their least common multiple
-- measured: tcp
CREATE QUERY hosts AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY sixty AS SELECT srcIP div 60 AS k, sum(n) AS n FROM hosts GROUP BY srcIP div 60;
CREATE QUERY ninety AS SELECT srcIP div 90 AS k, destIP, sum(n) AS n FROM hosts GROUP BY srcIP div 90, destIP;
-- =>
-- hosts: level 0 of t0, by srcIP DIV 180
-- sixty: level 0 of t0, by k DIV 3
-- ninety: level 0 of t0, by k DIV 2
-- exchange 1 to t0 by (srcIP DIV 180): groups of tcp come from every source task

-- # through a selection that computes the expression
-- measured: tcp
CREATE QUERY hosts AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY shown AS SELECT srcIP & 65280 AS net, n FROM hosts WHERE n > 1;
CREATE QUERY nets AS SELECT net, sum(n) AS n FROM shown GROUP BY net;
-- =>
-- hosts: level 0 of t0, by srcIP & 65280
-- shown: level 0 of t0, by net
-- nets: level 0 of t0, by net
-- exchange 1 to t0 by (srcIP & 65280): groups of tcp come from every source task

-- # a window of its own over an expression, in the slots where it is
-- measured: tcp
CREATE QUERY hosts AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY nets AS SELECT srcIP & 65280 AS net, sum(n) AS n FROM hosts [RANGE 1 HOUR] GROUP BY srcIP & 65280;
-- =>
-- hosts: level 0 of t0, by srcIP & 65280
-- nets: level 0 of t1, by net
-- exchange 1 to t0 by (srcIP & 65280): groups of tcp come from every source task

-- # too few values to spread by: the smaller relation is sent on
CREATE QUERY hosts AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY odd AS SELECT srcIP & 1 AS odd, sum(n) AS n FROM hosts GROUP BY srcIP & 1;
-- =>
-- hosts: level 0 of t0, by srcIP
-- odd: level 1 of t1, by odd
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task
-- exchange 2 to t1 by (srcIP & 1): hosts is partitioned by (srcIP), which odd does not group by

-- # tables that nothing reads together keep all their keys
CREATE QUERY ab AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY ac AS SELECT srcIP, flags, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, flags;
-- =>
-- ab: level 0 of t0, by srcIP, destIP
-- ac: level 0 of t1, by srcIP, flags
-- exchange 1 to t0 by (srcIP, destIP): groups of tcp come from every source task
-- exchange 1 to t1 by (srcIP, flags): groups of tcp come from every source task

-- # tables that a query reads together are partitioned together
CREATE QUERY ab AS SELECT srcIP, destIP AS k, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY ac AS SELECT srcIP, flags AS k, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, flags;
CREATE QUERY both AS SELECT srcIP, k, n FROM ab UNION ALL SELECT srcIP, k, n FROM ac;
CREATE QUERY top AS SELECT srcIP, max(n) AS n FROM both GROUP BY srcIP;
-- =>
-- ab: level 0 of t0, by srcIP
-- ac: level 0 of t1, by srcIP
-- both$1: level 0 of t0, by srcIP
-- both$2: level 0 of t1, by srcIP
-- both: level 0 of t0, by srcIP
-- both: level 0 of t1, by srcIP
-- top: level 0 of t2, by srcIP
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task
-- exchange 1 to t1 by (srcIP): groups of tcp come from every source task

-- # a younger expression does not move what is there
-- cohort: nets 1
CREATE QUERY hosts AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY nets AS SELECT srcIP & 65280 AS net, sum(n) AS n FROM hosts GROUP BY srcIP & 65280;
-- =>
-- hosts: level 0 of t0, by srcIP
-- nets: level 1 of t1, by net
-- exchange 1 to t0 by (srcIP): groups of tcp come from every source task
-- exchange 2 to t1 by (srcIP & 65280): hosts is partitioned by (srcIP), which nets does not group by

-- # a join is partitioned for what reads it
CREATE QUERY pairs AS SELECT a.ts, a.srcIP, b.len FROM tcp AS a JOIN tcp AS b ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts;
CREATE QUERY sums AS SELECT srcIP, sum(len) AS n FROM pairs [RANGE 1 MINUTE] GROUP BY srcIP;
-- =>
-- pairs$1: level 0 of t0, by a.srcIP
-- pairs: level 0 of t0, by srcIP
-- sums: level 0 of t1, by srcIP
-- exchange 1 to t0 by (`srcIP`): rows of tcp meet the others of pairs

-- # by an expression of its keys
-- measured: tcp
CREATE QUERY pairs AS SELECT a.ts, b.srcIP, b.len FROM tcp AS a JOIN tcp AS b ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts;
CREATE QUERY sums AS SELECT srcIP & 65280 AS net, sum(len) AS n FROM pairs [RANGE 1 MINUTE] GROUP BY srcIP & 65280;
-- =>
-- pairs$1: level 0 of t0, by `b.srcIP` & 65280
-- pairs: level 0 of t0, by srcIP & 65280
-- sums: level 0 of t1, by net
-- exchange 1 to t0 by (`srcIP` & 65280): rows of tcp meet the others of pairs

-- # by all keys, if its reader groups by something else
CREATE QUERY pairs AS SELECT a.ts, a.flags, b.len FROM tcp AS a JOIN tcp AS b ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts;
CREATE QUERY sums AS SELECT flags, sum(len) AS n FROM pairs [RANGE 1 MINUTE] GROUP BY flags;
-- =>
-- pairs$1: level 0 of t0, by nobody knows
-- pairs: level 0 of t0, by nobody knows
-- sums: level 1 of t1, by flags
-- exchange 1 to t0 by (`srcIP`, `destIP`): rows of tcp meet the others of pairs
-- exchange 2 to t1 by (flags): pairs does not show what its rows are partitioned by

-- # by all keys, if the reader is younger
-- cohort: sums 1
CREATE QUERY pairs AS SELECT a.ts, a.srcIP, b.len FROM tcp AS a JOIN tcp AS b ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts;
CREATE QUERY sums AS SELECT srcIP, sum(len) AS n FROM pairs [RANGE 1 MINUTE] GROUP BY srcIP;
-- =>
-- pairs$1: level 0 of t0, by nobody knows
-- pairs: level 0 of t0, by nobody knows
-- sums: level 1 of t1, by srcIP
-- exchange 1 to t0 by (`srcIP`, `destIP`): rows of tcp meet the others of pairs
-- exchange 2 to t1 by (srcIP): pairs does not show what its rows are partitioned by

-- # an aggregation of the right side of a left join needs an exchange
CREATE QUERY pairs AS SELECT a.ts, b.srcIP, b.len FROM tcp AS a LEFT JOIN tcp AS b ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts;
CREATE QUERY sums AS SELECT srcIP, sum(len) AS n FROM pairs [RANGE 1 MINUTE] GROUP BY srcIP;
-- =>
-- pairs$1: level 0 of t0, by nobody knows
-- pairs: level 0 of t0, by nobody knows
-- sums: level 1 of t1, by srcIP
-- exchange 1 to t0 by (`srcIP`, `destIP`): rows of tcp meet the others of pairs
-- exchange 2 to t1 by (srcIP): pairs does not show what its rows are partitioned by

-- # a join of integers of different widths: the hash of the wider is that of a cast of the narrower
CREATE QUERY pairs AS SELECT a.ts, a.srcIP, b.len FROM tcp AS a JOIN udp AS b ON a.srcIP = b.srcIP AND a.len = b.len AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts;
CREATE QUERY sums AS SELECT srcIP, sum(len) AS n FROM pairs [RANGE 1 MINUTE] GROUP BY srcIP;
-- =>
-- pairs$1: level 0 of t0, by CAST(`a.srcIP` AS BIGINT)
-- pairs: level 0 of t0, by CAST(srcIP AS BIGINT)
-- sums: level 0 of t2, by CAST(srcIP AS BIGINT)
-- exchange 1 to t0 by (`srcIP`): rows of tcp meet the others of pairs
-- exchange 1 to t1 by (`srcIP`): rows of udp meet the others of pairs

-- # a join of aggregations by an expression of their keys
-- measured: tcp
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY hosts AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY both AS SELECT f.window_end AS e, f.destIP, h.n FROM flows AS f JOIN hosts AS h ON f.srcIP & 65280 = h.srcIP & 65280 AND f.window_end = h.window_end;
-- =>
-- flows: level 0 of t0, by srcIP & 65280
-- hosts: level 0 of t1, by srcIP & 65280
-- both$1: level 0 of t2, by nobody knows
-- both: level 0 of t2, by nobody knows
-- exchange 1 to t0 by (srcIP & 65280): groups of tcp come from every source task
-- exchange 1 to t1 by (srcIP & 65280): groups of tcp come from every source task

-- # a stream that comes partitioned, in folders: aggregations that group by it, or finer, need no exchange
CREATE STREAM keyed (ts TIMESTAMP, srcIP INT, destIP INT, len INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY (destIP) FROM 'parquet' OPTIONS (path 'data');
CREATE QUERY flows AS SELECT srcIP, destIP AS d, count(*) AS n FROM keyed [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY hosts AS SELECT d, max(n) AS most FROM flows GROUP BY d;
-- =>
-- flows: level 0 of t0, by d in folders
-- hosts: level 0 of t0, by d in folders
-- no exchange to t0

-- # an aggregation that does not tell the folder gets an exchange of its own, from the source or of results
CREATE STREAM keyed (ts TIMESTAMP, srcIP INT, destIP INT, len INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY (destIP) FROM 'parquet' OPTIONS (path 'data');
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM keyed [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY sources AS SELECT srcIP, sum(n) AS n FROM flows GROUP BY srcIP;
CREATE QUERY nets AS SELECT destIP & 65280 AS net, sum(len) AS n FROM keyed [RANGE 1 MINUTE] GROUP BY destIP & 65280;
CREATE QUERY total AS SELECT sum(len) AS n FROM keyed [RANGE 1 MINUTE];
-- =>
-- flows: level 0 of t0, by destIP in folders
-- sources: level 1 of t3, by srcIP
-- nets: level 0 of t1, by net
-- total: level 0 of t2, by one place
-- no exchange to t0
-- exchange 1 to t1 by (destIP & 65280): groups of keyed come from every source task
-- exchange 1 to t2 by (): groups of keyed come from every source task
-- exchange 2 to t3 by (srcIP): flows is partitioned by (destIP), which sources does not group by

-- # partitioned by an expression: what groups by the attribute tells the folder
CREATE STREAM keyed (ts TIMESTAMP, srcIP INT, destIP INT, len INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY (destIP & 65280) FROM 'parquet' OPTIONS (path 'data');
CREATE QUERY hosts AS SELECT destIP, count(*) AS n FROM keyed [RANGE 1 MINUTE] GROUP BY destIP;
CREATE QUERY nets AS SELECT destIP & 61440 AS net, count(*) AS n FROM keyed [RANGE 1 MINUTE] GROUP BY destIP & 61440;
-- =>
-- hosts: level 0 of t0, by destIP & 65280 in folders
-- nets: level 0 of t1, by net
-- no exchange to t0
-- exchange 1 to t1 by (destIP & 61440): groups of keyed come from every source task

-- # streams partitioned alike are joined folder by folder
CREATE STREAM one (ts TIMESTAMP, a INT, len INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY (a) FROM 'parquet' OPTIONS (path 'one');
CREATE STREAM two (ts TIMESTAMP, b INT, n INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY (b) FROM 'parquet' OPTIONS (path 'two');
CREATE QUERY both AS SELECT x.ts, x.a, y.n FROM one AS x JOIN two AS y ON x.a = y.b AND y.ts BETWEEN x.ts - INTERVAL 1 MINUTE AND x.ts;
CREATE QUERY sums AS SELECT a, sum(n) AS n FROM both [RANGE 1 MINUTE] GROUP BY a;
-- =>
-- both$1: level 0 of t0, by x.a in folders
-- both: level 0 of t0, by a in folders
-- sums: level 1 of t2, by a
-- no exchange to t0
-- no exchange to t1
-- exchange 2 to t2 by (a): both is kept by folders of the source, and sums keeps what does not tell these

-- # a join with a stream of another type, or that is not partitioned so, needs the exchange
CREATE STREAM one (ts TIMESTAMP, a INT, len INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY (a) FROM 'parquet' OPTIONS (path 'one');
CREATE STREAM wide (ts TIMESTAMP, b BIGINT, n INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY (b) FROM 'parquet' OPTIONS (path 'two');
CREATE QUERY apart AS SELECT x.ts, x.a, y.n FROM one AS x JOIN wide AS y ON x.a = y.b AND y.ts BETWEEN x.ts - INTERVAL 1 MINUTE AND x.ts;
CREATE QUERY other AS SELECT x.ts, x.len, y.n FROM one AS x JOIN one AS z ON x.len = z.len AND z.ts BETWEEN x.ts - INTERVAL 1 MINUTE AND x.ts JOIN wide AS y ON x.len = y.n AND y.ts BETWEEN x.ts - INTERVAL 1 MINUTE AND x.ts;
-- =>
-- apart$1: level 0 of t0, by CAST(`x.a` AS BIGINT)
-- apart: level 0 of t0, by CAST(a AS BIGINT)
-- other$1: level 0 of t2, by x.len
-- other: level 0 of t2, by len
-- exchange 1 to t0 by (`a`): rows of one meet the others of apart
-- exchange 1 to t1 by (`b`): rows of wide meet the others of apart
-- exchange 1 to t2 by (`len`): rows of one meet the others of other
-- exchange 1 to t3 by (`n`): rows of wide meet the others of other

-- # a union is kept by folder if all its streams are partitioned alike
CREATE STREAM one (ts TIMESTAMP, a INT, len INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY (a) FROM 'parquet' OPTIONS (path 'one');
CREATE STREAM two (ts TIMESTAMP, b INT, n INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY (b) FROM 'parquet' OPTIONS (path 'two');
CREATE QUERY every AS SELECT ts, a FROM one UNION ALL SELECT ts, b FROM two;
CREATE QUERY counts AS SELECT a, count(*) AS n FROM every [RANGE 1 MINUTE] GROUP BY a;
CREATE QUERY mixed AS SELECT ts, a AS k FROM one UNION ALL SELECT ts, n FROM two;
CREATE QUERY others AS SELECT k, count(*) AS n FROM mixed [RANGE 1 MINUTE] GROUP BY k;
-- =>
-- counts: level 0 of t0, by a in folders
-- others: level 0 of t1, by k
-- no exchange to t0
-- exchange 1 to t1 by (k): groups of mixed come from every source task

-- # what Spark reads is exchanged, whatever the source says; so are floating-point values, of which two are zero
CREATE STREAM keyed (ts TIMESTAMP, x DOUBLE, k STRING) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY (k) FROM 'kafka';
CREATE STREAM floating (ts TIMESTAMP, x DOUBLE, k STRING) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY (x) FROM 'parquet' OPTIONS (path 'data');
CREATE QUERY a AS SELECT k, count(*) AS n FROM keyed [RANGE 1 MINUTE] GROUP BY k;
CREATE QUERY b AS SELECT x, count(*) AS n FROM floating [RANGE 1 MINUTE] GROUP BY x;
-- =>
-- a: level 0 of t0, by k
-- b: level 0 of t1, by x
-- exchange 1 to t0 by (k): groups of keyed come from every source task
-- exchange 1 to t1 by (x): groups of floating come from every source task

-- # PARTITIONABLE BY limits what is chosen for tables it can serve
CREATE STREAM limited (ts TIMESTAMP, srcIP INT, destIP INT, len INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONABLE BY (srcIP & 65280, destIP) FROM 'parquet' OPTIONS (path 'data');
CREATE QUERY flows AS SELECT srcIP, destIP, len, count(*) AS n FROM limited [RANGE 1 MINUTE] GROUP BY srcIP, destIP, len;
CREATE QUERY hosts AS SELECT srcIP, count(*) AS n FROM limited [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY sizes AS SELECT len, count(*) AS n FROM limited [RANGE 1 MINUTE] GROUP BY len;
CREATE QUERY pairs AS SELECT a.ts, a.srcIP, b.len FROM limited AS a JOIN limited AS b ON a.srcIP = b.srcIP AND a.len = b.len AND b.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts;
-- =>
-- flows: level 0 of t0, by destIP, srcIP & 65280
-- hosts: level 0 of t1, by srcIP & 65280
-- sizes: level 0 of t2, by len
-- pairs$1: level 0 of t3, by `a.srcIP` & 65280
-- pairs: level 0 of t3, by srcIP & 65280
-- exchange 1 to t0 by (destIP, srcIP & 65280): groups of limited come from every source task
-- exchange 1 to t1 by (srcIP & 65280): groups of limited come from every source task
-- exchange 1 to t2 by (len): groups of limited come from every source task
-- exchange 1 to t3 by (`srcIP` & 65280): rows of limited meet the others of pairs

-- # what reads results by folder stays there: in a window of its own, in a join
CREATE STREAM keyed (ts TIMESTAMP, srcIP INT, destIP INT, len INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY (destIP) FROM 'parquet' OPTIONS (path 'data');
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM keyed [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY hosts AS SELECT destIP, max(n) AS most FROM flows GROUP BY destIP;
CREATE QUERY later AS SELECT destIP, sum(n) AS n FROM flows [RANGE 5 MINUTES] GROUP BY destIP;
CREATE QUERY pairs AS SELECT a.window_end AS e, a.destIP, b.most FROM hosts AS a JOIN hosts AS b ON a.destIP = b.destIP AND a.window_end = b.window_end + INTERVAL 1 MINUTE;
-- =>
-- flows: level 0 of t0, by destIP in folders
-- hosts: level 0 of t0, by destIP in folders
-- later: level 0 of t1, by destIP in folders
-- pairs$1: level 0 of t2, by a.destIP in folders
-- pairs: level 0 of t2, by destIP in folders
-- no exchange to t0
-- no exchange to t1
-- no exchange to t2

-- # without measurements a mask may leave one value, so the finer keys are taken, for life
CREATE QUERY hosts AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY nets AS SELECT srcIP & -4096 AS net, sum(n) AS n FROM hosts GROUP BY srcIP & -4096;
-- =>
-- hosts: level 0 of t0, by srcIP, destIP
-- nets: level 1 of t1, by net
-- exchange 1 to t0 by (srcIP, destIP): groups of tcp come from every source task
-- exchange 2 to t1 by (srcIP & -4096): hosts is partitioned by (srcIP, destIP), which nets does not group by

-- # where it was measured, or a user limits the stream to such masks, the mask serves both
-- measured: tcp
CREATE QUERY hosts AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY nets AS SELECT srcIP & -4096 AS net, sum(n) AS n FROM hosts GROUP BY srcIP & -4096;
-- =>
-- hosts: level 0 of t0, by srcIP & -4096
-- nets: level 0 of t0, by net
-- exchange 1 to t0 by (srcIP & -4096): groups of tcp come from every source task
