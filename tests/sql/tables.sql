Static tables: how they are written, what becomes of joins with them, and what is refused.

-- # an inner join with a table
SELECT t.ts, t.len, h.owner FROM tcp t JOIN hosts h ON t.srcIP = h.ip
-- =>
-- q$1: inner lookup of tcp in hosts by `srcIP` = `ip` giving t.ts, t.len, h.owner
-- q: (ts = `t.ts`, len = `t.len`, owner = `h.owner`) from q$1

-- # a table that is written first
SELECT ts, owner FROM hosts, tcp WHERE ip = srcIP AND site <> 'x' AND len > 10
-- =>
-- q$1: rows (ts, srcIP, destIP, srcPort, len, flags, name) from tcp where len > 10, progress on ts
-- q$2: inner lookup of q$1 in hosts by `srcIP` = `ip` where `hosts.site` <> 'x' giving tcp.ts, hosts.owner (hosts.site)
-- q: (ts = `tcp.ts`, owner = `hosts.owner`) from q$2

-- # a left join with a residual
SELECT t.ts, h.owner FROM tcp t LEFT JOIN hosts h ON h.ip = t.srcIP AND t.len > length(h.site)
-- =>
-- q$1: left lookup of tcp in hosts by `srcIP` = `ip` where `t.len` > LENGTH(`h.site`) giving t.ts, h.owner (t.len, h.site)
-- q: (ts = `t.ts`, owner = `h.owner`) from q$1

-- # a right join that keeps the stream
SELECT t.ts, h.owner FROM hosts h RIGHT JOIN tcp t ON h.ip = t.srcIP
-- =>
-- q$1: left lookup of tcp in hosts by `srcIP` = `ip` giving t.ts, h.owner
-- q: (ts = `t.ts`, owner = `h.owner`) from q$1

-- # EXISTS in a table
SELECT ts, len FROM tcp WHERE EXISTS (SELECT 1 FROM hosts WHERE ip = srcIP AND owner IS NOT NULL)
-- =>
-- q$1: semi lookup of tcp in hosts by `srcIP` = `ip` where NOT `hosts.owner` IS NULL giving tcp.ts, tcp.len (hosts.owner)
-- q: (ts = `tcp.ts`, len = `tcp.len`) from q$1

-- # NOT EXISTS in a table
SELECT ts, len FROM tcp WHERE NOT EXISTS (SELECT 1 FROM hosts h WHERE h.ip = srcIP)
-- =>
-- q$1: anti lookup of tcp in hosts by `srcIP` = `ip` giving tcp.ts, tcp.len
-- q: (ts = `tcp.ts`, len = `tcp.len`) from q$1

-- # IN a table
SELECT ts, len FROM tcp WHERE srcIP IN (SELECT ip FROM hosts WHERE site = 'a')
-- =>
-- q$1: semi lookup of tcp in hosts by `srcIP` = `ip` where `hosts.site` = 'a' giving tcp.ts, tcp.len (hosts.site)
-- q: (ts = `tcp.ts`, len = `tcp.len`) from q$1

-- # a semi-join as Spark spells it
SELECT ts, len FROM tcp LEFT SEMI JOIN hosts ON ip = srcIP
-- =>
-- q$1: semi lookup of tcp in hosts by `srcIP` = `ip` giving tcp.ts, tcp.len
-- q: (ts = `tcp.ts`, len = `tcp.len`) from q$1

-- # two tables
SELECT t.ts, s.city FROM tcp t JOIN hosts h ON t.srcIP = h.ip JOIN sites s USING (site)
-- =>
-- q$1: inner lookup of tcp in hosts by `srcIP` = `ip` giving t.ts, h.site
-- q$2: inner lookup of q$1 in sites by `h.site` = `site` giving t.ts, s.city
-- q: (ts = `t.ts`, city = `s.city`) from q$2

-- # two tables, outer
SELECT t.ts, s.city FROM tcp t LEFT JOIN hosts h ON t.srcIP = h.ip LEFT JOIN sites s ON s.site = h.site
-- =>
-- q$1: left lookup of tcp in hosts by `srcIP` = `ip` giving t.ts, h.site
-- q$2: left lookup of q$1 in sites by `h.site` = `site` giving t.ts, s.city
-- q: (ts = `t.ts`, city = `s.city`) from q$2

-- # a table by no key
SELECT t.ts, h.owner FROM tcp t JOIN hosts h ON t.len > h.ip
-- =>
-- q$1: inner lookup of tcp in hosts by nothing where `t.len` > `h.ip` giving t.ts, h.owner (t.len, h.ip)
-- q: (ts = `t.ts`, owner = `h.owner`) from q$1

-- # an aggregate over a join with a table
SELECT h.site, sum(t.len) AS bytes FROM tcp t [RANGE 1 MINUTE] JOIN hosts h ON t.srcIP = h.ip GROUP BY h.site
-- =>
-- q$1: inner lookup of tcp in hosts by `srcIP` = `ip` giving t.ts, t.len, h.site
-- q: (site = k0, bytes = a0, window_start, window_end) from q$1 [range 60000000 slide 60000000] by `h.site` of sum(`t.len`)

-- # a window as a function over a join with a table
SELECT site, count(*) AS n FROM tcp JOIN hosts ON srcIP = ip GROUP BY window(ts, '1 minute'), site
-- =>
-- q$1: inner lookup of tcp in hosts by `srcIP` = `ip` giving tcp.ts, hosts.site
-- q: (site = k0, n = a0, window_start, window_end) from q$1 [range 60000000 slide 60000000] by `hosts.site` of count()

-- # windows stay windows
SELECT f.srcIP, f.cnt, h.owner FROM flows f LEFT JOIN hosts h ON f.srcIP = h.ip
-- =>
-- q$1: left lookup of flows in hosts by `srcIP` = `ip` giving f.srcIP, f.cnt, window_start, window_end, h.owner
-- q: (srcIP = `f.srcIP`, cnt = `f.cnt`, owner = `h.owner`, window_start, window_end) from q$1

-- # all columns of windows and a table
SELECT * FROM flows f JOIN hosts h ON f.srcIP = h.ip WHERE f.window_end > TIMESTAMP '2024-01-01'
-- =>
-- q$1: (srcIP = `srcIP`, destIP = `destIP`, cnt = `cnt`, bytes = `bytes`, window_start = `window_start`, window_end = `window_end`) from flows where `window_end` > CAST('2024-01-01' AS TIMESTAMP)
-- q$2: inner lookup of q$1 in hosts by `srcIP` = `ip` giving f.srcIP, f.destIP, f.cnt, f.bytes, window_start, window_end, h.ip, h.owner, h.site
-- q: (srcIP = `f.srcIP`, destIP = `f.destIP`, cnt = `f.cnt`, bytes = `f.bytes`, window_start, window_end, ip = `h.ip`, owner = `h.owner`, site = `h.site`) from q$2

-- # a union of rows and a table
SELECT x.ts, h.owner FROM (SELECT ts, srcIP FROM tcp UNION ALL SELECT ts, srcIP FROM udp) x JOIN hosts h ON h.ip = x.srcIP
-- =>
-- q$1: rows (ts, srcIP) from tcp + (ts, srcIP) from udp, progress on ts
-- q$4: inner lookup of q$1 in hosts by `srcIP` = `ip` giving x.ts, h.owner
-- q: (ts = `x.ts`, owner = `h.owner`) from q$4

-- # keys of different types
SELECT t.ts, s.city FROM tcp t JOIN sites s ON t.srcIP = s.site
-- =>
-- q$1: inner lookup of tcp in sites by `srcIP` = `site` giving t.ts, s.city
-- q: (ts = `t.ts`, city = `s.city`) from q$1

-- # a table alone
SELECT * FROM hosts
-- =>
-- SqlError: query q: hosts is a table, and a table alone never changes: join it with a stream or a query
--   line 1: SELECT * FROM hosts
--                         ^^^^^

-- # tables alone
SELECT * FROM hosts JOIN sites USING (site)
-- =>
-- SqlError: query q: tables alone never change: join them with a stream or a query
--   line 1: SELECT * FROM hosts JOIN sites USING (site)
--                         ^^^^^

-- # a join that keeps the table's rows
SELECT h.owner, t.ts FROM hosts h LEFT JOIN tcp t ON t.srcIP = h.ip
-- =>
-- SqlError: query q: this join keeps the rows of the table h that have no partner, but a partner may always come later, so they could never be given out; keep those of t, with LEFT JOIN h, or join without keeping any
--   line 1: SELECT h.owner, t.ts FROM hosts h LEFT JOIN tcp t ON t.srcIP = h.ip
--                                     ^^^^^^^

-- # a full join with a table
SELECT h.owner, t.ts FROM tcp t FULL JOIN hosts h ON t.srcIP = h.ip
-- =>
-- SqlError: query q: this join keeps the rows of the table h that have no partner, but a partner may always come later, so they could never be given out; keep those of t, with LEFT JOIN h, or join without keeping any
--   line 1: SELECT h.owner, t.ts FROM tcp t FULL JOIN hosts h ON t.srcIP = h.ip
--                                                     ^^^^^^^

-- # a right join that keeps the table
SELECT h.owner, t.ts FROM tcp t RIGHT JOIN hosts h ON t.srcIP = h.ip
-- =>
-- SqlError: query q: this join keeps the rows of the table h that have no partner, but a partner may always come later, so they could never be given out; keep those of t, with LEFT JOIN h, or join without keeping any
--   line 1: SELECT h.owner, t.ts FROM tcp t RIGHT JOIN hosts h ON t.srcIP = h.ip
--                                                      ^^^^^^^

-- # rows of a table that have partners in a stream
SELECT h.owner FROM hosts h LEFT SEMI JOIN tcp t ON t.srcIP = h.ip
-- =>
-- SqlError: query q: h is a table, whose rows cannot be results of a stream
--   line 1: SELECT h.owner FROM hosts h LEFT SEMI JOIN tcp t ON t.srcIP = h.ip
--                               ^^^^^^^

-- # a table looked up in a stream
SELECT owner FROM hosts WHERE EXISTS (SELECT 1 FROM tcp WHERE srcIP = ip)
-- =>
-- SqlError: query q: tables alone never change: join them with a stream or a query
--   line 1: SELECT owner FROM hosts WHERE EXISTS (SELECT 1 FROM tcp WHERE srcIP = ip)
--                             ^^^^^

-- # a table with a window
SELECT t.ts, h.owner FROM tcp t JOIN hosts h [RANGE 1 MINUTE] ON t.srcIP = h.ip
-- =>
-- SqlError: query q: hosts is a table and has no time; leave this out
--   line 1: SELECT t.ts, h.owner FROM tcp t JOIN hosts h [RANGE 1 MINUTE] ON t.srcIP = h.ip
--                                                         ^^^^^^^^^^^^^^

-- # a table within a time
SELECT t.ts, h.owner FROM tcp t JOIN hosts h WITHIN 10 SECONDS ON t.srcIP = h.ip
-- =>
-- SqlError: query q: hosts is a table and has no time; leave this out
--   line 1: SELECT t.ts, h.owner FROM tcp t JOIN hosts h WITHIN 10 SECONDS ON t.srcIP = h.ip
--                                                        ^^^^^^^^^^^^^^^^^

-- # a sub-select over a table
SELECT t.ts, h.owner FROM tcp t JOIN (SELECT * FROM hosts) h ON t.srcIP = h.ip
-- =>
-- SqlError: query q: hosts is a table, and a table alone never changes: join it with a stream or a query
--   line 1: SELECT t.ts, h.owner FROM tcp t JOIN (SELECT * FROM hosts) h ON t.srcIP = h.ip
--                                                               ^^^^^

-- # two tables before the stream, outer
SELECT t.ts FROM hosts h JOIN sites s USING (site) LEFT JOIN tcp t ON t.srcIP = h.ip
-- =>
-- SqlError: query q: write a stream before the tables it is joined with
--   line 1: SELECT t.ts FROM hosts h JOIN sites s USING (site) LEFT JOIN tcp t ON t.srcIP = h.ip
--                            ^^^^^^^

-- # a column that is not there
SELECT t.ts, h.ownr FROM tcp t JOIN hosts h ON t.srcIP = h.ip
-- =>
-- SqlError: query q: there is no column 'h.ownr'. Did you mean 'h.owner'?
--   line 1: SELECT t.ts, h.ownr FROM tcp t JOIN hosts h ON t.srcIP = h.ip
--                        ^^^^^^

-- # a table that makes progress
CREATE TABLE t (ts TIMESTAMP) PROGRESSING ON ts FROM 'csv'
-- =>
-- SqlError: a table makes no progress: write CREATE STREAM, or leave PROGRESSING out
--   line 1: CREATE TABLE t (ts TIMESTAMP) PROGRESSING ON ts FROM 'csv'
--                                         ^^^^^^^^^^^

-- # a table without columns
CREATE TABLE t FROM 'csv' OPTIONS (path 'x')
-- =>
-- SqlError: table t: only Spark can tell its columns here; list them: CREATE TABLE t (column TYPE, …)

-- # a table that is refreshed too often
CREATE TABLE t (a INT) FROM 'csv' OPTIONS (path 'x') REFRESH EVERY 0 SECONDS
-- =>
-- SqlError: table t: REFRESH EVERY must be longer than nothing, got 0 SECONDS

-- # a table that is refreshed by no time
CREATE TABLE t (a INT) FROM 'csv' OPTIONS (path 'x') REFRESH EVERY morning
-- =>
-- SqlError: table t: REFRESH EVERY: duration: expected numbers with units such as '5 seconds' or '1 hour 30 minutes', got 'morning'

-- # words behind a table
CREATE TABLE t (a INT) FROM 'csv' OPTIONS (path 'x') DAILY
-- =>
-- SqlError: did not expect 'DAILY'; behind the options of a table comes REFRESH EVERY or nothing
--   line 1: CREATE TABLE t (a INT) FROM 'csv' OPTIONS (path 'x') DAILY
--                                                                ^^^^^

-- # a table with a name that is taken
CREATE TABLE tcp (a INT) FROM 'csv' OPTIONS (path 'x')
-- =>
-- SqlError: the name 'tcp' is taken by another stream or query

-- # a column declared twice
CREATE TABLE t (a INT, A INT) FROM 'csv'
-- =>
-- SqlError: table t: column 'a' is declared twice

-- # a window's name for a column
CREATE TABLE t (window_end INT) FROM 'csv'
-- =>
-- SqlError: table t: 'window_end' is the name of a result column; rename it

-- # the version at a time
SELECT t.ts, u.len FROM tcp t JOIN udp FOR SYSTEM_TIME AS OF t.ts AS u ON t.srcIP = u.srcIP
-- =>
-- q$1: inner join of tcp with the version of udp at ts by `srcIP` = `srcIP` giving t.ts, u.len
-- q: (ts = `t.ts`, len = `u.len`) from q$1

-- # the version at a time, outer, of rows that suit
SELECT t.ts, u.len FROM tcp t LEFT JOIN udp FOR SYSTEM_TIME AS OF t.ts u ON t.srcIP = u.srcIP AND u.len > t.len
-- =>
-- q$1: left join of tcp with the version of udp at ts by `srcIP` = `srcIP` where `u.len` > `t.len` giving t.ts, u.len
-- q: (ts = `t.ts`, len = `u.len`) from q$1

-- # a version without a key
SELECT t.ts, u.len FROM tcp t JOIN udp FOR SYSTEM_TIME AS OF t.ts u ON t.len > u.len
-- =>
-- SqlError: query q: u needs a key whose last row is meant: ON t.key = u.key
--   line 1: SELECT t.ts, u.len FROM tcp t JOIN udp FOR SYSTEM_TIME AS OF t.ts u ON t.len > u.len
--                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # a version at no time
SELECT t.ts, u.len FROM tcp t JOIN udp FOR SYSTEM_TIME AS OF t.len u ON t.srcIP = u.srcIP
-- =>
-- SqlError: query q: AS OF t.len: expected a column that carries progress, t.ts
--   line 1: SELECT t.ts, u.len FROM tcp t JOIN udp FOR SYSTEM_TIME AS OF t.len u ON t.srcIP = u.srcIP
--                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # a version at a fixed time
SELECT t.ts, u.len FROM tcp t JOIN udp FOR SYSTEM_TIME AS OF TIMESTAMP '2024-01-01' u ON t.srcIP = u.srcIP
-- =>
-- SqlError: query q: expected FOR SYSTEM_TIME AS OF a column, the progressing attribute of another input
--   line 1: SELECT t.ts, u.len FROM tcp t JOIN udp FOR SYSTEM_TIME AS OF TIMESTAMP '2024-01-01' u ON t.srcIP = u.srcIP
--                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # a version first
SELECT t.ts, u.len FROM udp FOR SYSTEM_TIME AS OF t.ts u JOIN tcp t ON t.srcIP = u.srcIP
-- =>
-- SqlError: query q: FOR SYSTEM_TIME AS OF belongs to an input that is joined to another: JOIN … FOR SYSTEM_TIME AS OF a.ts
--   line 1: SELECT t.ts, u.len FROM udp FOR SYSTEM_TIME AS OF t.ts u JOIN tcp t ON t.srcIP = u.srcIP
--                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # a version alone
SELECT u.len FROM udp FOR SYSTEM_TIME AS OF u.ts u
-- =>
-- SqlError: query q: FOR SYSTEM_TIME AS OF belongs to an input that is joined to another: JOIN … FOR SYSTEM_TIME AS OF a.ts
--   line 1: SELECT u.len FROM udp FOR SYSTEM_TIME AS OF u.ts u
--                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # all versions
SELECT t.ts, u.len FROM tcp t FULL JOIN udp FOR SYSTEM_TIME AS OF t.ts u ON t.srcIP = u.srcIP
-- =>
-- SqlError: query q: FOR SYSTEM_TIME AS OF is for JOIN and LEFT JOIN, not for FULL JOIN
--   line 1: SELECT t.ts, u.len FROM tcp t FULL JOIN udp FOR SYSTEM_TIME AS OF t.ts u ON t.srcIP = u.srcIP
--                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # a version of a table
SELECT t.ts, h.owner FROM tcp t JOIN hosts FOR SYSTEM_TIME AS OF t.ts h ON t.srcIP = h.ip
-- =>
-- SqlError: query q: hosts is a table and has one version; leave FOR SYSTEM_TIME out, or make it a stream
--   line 1: SELECT t.ts, h.owner FROM tcp t JOIN hosts FOR SYSTEM_TIME AS OF t.ts h ON t.srcIP = h.ip
--                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # a version with a window
SELECT t.ts, u.len FROM tcp t JOIN udp FOR SYSTEM_TIME AS OF t.ts u [RANGE 1 MINUTE] ON t.srcIP = u.srcIP
-- =>
-- SqlError: query q: u has its time from AS OF; leave the window or WITHIN behind it out
--   line 1: SELECT t.ts, u.len FROM tcp t JOIN udp FOR SYSTEM_TIME AS OF t.ts u [RANGE 1 MINUTE] ON t.srcIP = u.srcIP
--                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
