SELECT lists, GROUP BY, HAVING, DISTINCT, chains, unions and sub-selects.

-- # group by alias
SELECT srcIP & 0xFFFFFF00 AS net, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY net
-- =>
-- q: (net = k0, n = a0, window_start, window_end) from tcp [range 60000000 slide 60000000] by srcIP & 4294967040 of count()

-- # group by position
SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY 1, 2
-- =>
-- q: (srcIP = k0, destIP = k1, n = a0, window_start, window_end) from tcp [range 60000000 slide 60000000] by srcIP, destIP of count()

-- # a column wins over an alias in GROUP BY
SELECT len % 2 AS flags, flags AS f, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY flags, len % 2
-- =>
-- q: (flags = k1, f = k0, n = a0, window_start, window_end) from tcp [range 60000000 slide 60000000] by flags, len % 2 of count()

-- # expressions of keys and aggregates
SELECT srcIP + 1 AS k, round(sum(len) / count(*), 2) AS mean FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP
-- =>
-- q: (k = k0 + 1, mean = ROUND(a0 / a1, 2), window_start, window_end) from tcp [range 60000000 slide 60000000] by srcIP of sum(len), count()

-- # HAVING by alias, aggregate and key
SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP HAVING n > 10 AND max(len) < 1500 AND srcIP <> 0
-- =>
-- q: (srcIP = k0, n = a0, window_start, window_end) from tcp [range 60000000 slide 60000000] by srcIP of count(), max(len) having a0 > 10 AND a1 < 1500 AND k0 <> 0

-- # HAVING without groups
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] HAVING count(*) > 10
-- =>
-- q: (n = a0, window_start, window_end) from tcp [range 60000000 slide 60000000] of count() having a0 > 10

-- # window columns in expressions
SELECT window_start, hour(window_start) AS h, count(*) AS n FROM tcp [RANGE 1 MINUTE]
-- =>
-- q: (window_start, h = HOUR(window_start), n = a0, window_end) from tcp [range 60000000 slide 60000000] of count()

-- # names Spark gives
SELECT count(*), sum(len) FROM tcp [RANGE 1 MINUTE]
-- =>
-- q: (count(1) = a0, sum(len) = a1, window_start, window_end) from tcp [range 60000000 slide 60000000] of count(), sum(len)

-- # GSQL's OR_AGGR
SELECT srcIP, OR_AGGR(flags) AS f FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP HAVING OR_AGGR(flags) = 0x29
-- =>
-- q: (srcIP = k0, f = a0, window_start, window_end) from tcp [range 60000000 slide 60000000] by srcIP of bit_or(flags) having a0 = 41

-- # FILTER
SELECT count(*) FILTER (WHERE len > 100) AS a, sum(len) FILTER (WHERE flags = 2) AS b, first(len) FILTER (WHERE flags = 2) AS c FROM tcp [RANGE 1 MINUTE]
-- =>
-- q: (a = a0, b = a1, c = a2, window_start, window_end) from tcp [range 60000000 slide 60000000] of count_if(len > 100), sum(CASE WHEN flags = 2 THEN len END), first(len) where flags = 2

-- # DISTINCT aggregates
SELECT count(DISTINCT srcIP) AS a, count(DISTINCT srcIP, destIP) AS b, sum(DISTINCT len) AS c FROM tcp [RANGE 1 MINUTE]
-- =>
-- q: (a = a0, b = a1, c = a2, window_start, window_end) from tcp [range 60000000 slide 60000000] of count_distinct(srcIP), count_distinct(srcIP, destIP), sum_distinct(len)

-- # parameters
SELECT percentile(len, 0.9) AS a, percentile_approx(len, array(0.5, 0.99), 100) AS b, approx_count_distinct(srcIP, 0.02) AS c FROM tcp [RANGE 1 MINUTE]
-- =>
-- q: (a = a0, b = a1, c = a2, window_start, window_end) from tcp [range 60000000 slide 60000000] of percentile(len, 0.9), percentile_approx(len, ARRAY(0.5, 0.99), 100.0), approx_count_distinct(srcIP, 0.02)

-- # a user-defined aggregate
SELECT GEO_MEAN(len) AS g FROM tcp [RANGE 1 MINUTE]
-- =>
-- q: (g = a0, window_start, window_end) from tcp [range 60000000 slide 60000000] of geo_mean(len)

-- # SELECT DISTINCT
SELECT DISTINCT srcIP, len % 10 AS d FROM tcp [RANGE 1 MINUTE]
-- =>
-- q: (srcIP = k0, d = k1, window_start, window_end) from tcp [range 60000000 slide 60000000] by srcIP, len % 10

-- # SELECT DISTINCT with groups
SELECT DISTINCT count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP
-- =>
-- q$1: (n = a0, window_start, window_end) from tcp [range 60000000 slide 60000000] by srcIP of count()
-- q: (n = k0, window_start, window_end) from q$1, same window by n

-- # the same window
SELECT srcIP, max(cnt) AS m FROM flows GROUP BY srcIP
-- =>
-- q: (srcIP = k0, m = a0, window_start, window_end) from flows, same window by srcIP of max(cnt)

-- # the same window, said aloud
SELECT window_start, window_end, sum(cnt) AS n FROM flows GROUP BY window_start, window_end
-- =>
-- q: (window_start, window_end, n = a0) from flows, same window of sum(cnt)

-- # a window of its own
SELECT srcIP, sum(cnt) AS n FROM flows [RANGE 1 HOUR] GROUP BY srcIP
-- =>
-- q: (srcIP = k0, n = a0, window_start, window_end) from flows [range 3600000000 slide 3600000000] by srcIP of sum(cnt)

-- # a filter of results
SELECT srcIP, cnt FROM flows WHERE cnt > 100 AND window_end > TIMESTAMP'2024-01-01 00:00:00'
-- =>
-- q: (srcIP, cnt, window_start, window_end) from flows where cnt > 100 AND window_end > CAST('2024-01-01 00:00:00' AS TIMESTAMP)

-- # a star of results
SELECT * FROM flows
-- =>
-- q: (srcIP, destIP, cnt, bytes, window_start, window_end) from flows

-- # a stateless query
SELECT ts, srcIP, len * 8 AS bits FROM tcp WHERE flags <> 0
-- =>
-- q: rows (ts, srcIP, bits = len * 8) from tcp where flags <> 0, progress on ts

-- # filters and projections flattened onto the stream
SELECT srcIP, sum(len) AS bytes FROM big [RANGE 1 MINUTE] WHERE srcIP > 0 GROUP BY srcIP
-- =>
-- q$1: rows (ts, srcIP, destIP, srcPort, len, flags, name) from tcp where len > 1000 AND srcIP > 0, progress on ts
-- q: (srcIP = k0, bytes = a0, window_start, window_end) from q$1 [range 60000000 slide 60000000] by srcIP of sum(len)

-- # a sub-select
SELECT k, max(n) AS m FROM (SELECT srcIP % 10 AS k, ts, len AS n FROM tcp WHERE len > 0) [RANGE 1 MINUTE] AS x GROUP BY k
-- =>
-- q$1: rows (k = srcIP % 10, ts, n = len) from tcp where len > 0, progress on ts
-- q: (k = k0, m = a0, window_start, window_end) from q$1 [range 60000000 slide 60000000] by k of max(n)

-- # a sub-select with a window
SELECT avg(n) AS mean FROM (SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP)
-- =>
-- q$1: (srcIP = k0, n = a0, window_start, window_end) from tcp [range 60000000 slide 60000000] by srcIP of count()
-- q: (mean = a0, window_start, window_end) from q$1, same window of avg(n)

-- # a union of streams
SELECT ts, srcIP, len FROM tcp UNION ALL SELECT ts, srcIP, len FROM udp
-- =>
-- q: rows (ts, srcIP, len) from tcp + (ts, srcIP, len) from udp, progress on ts

-- # a window over a union of streams
SELECT srcIP, sum(len) AS bytes FROM (SELECT ts, srcIP, len FROM tcp UNION ALL SELECT * FROM udp) [RANGE 1 MINUTE] AS u GROUP BY srcIP
-- =>
-- q$1: rows (ts, srcIP, len) from tcp + (ts, srcIP, len) from udp, progress on ts
-- q: (srcIP = k0, bytes = a0, window_start, window_end) from q$1 [range 60000000 slide 60000000] by srcIP of sum(len)

-- # a union of results takes the first arm's names
SELECT srcIP, cnt FROM flows UNION ALL SELECT destIP, bytes FROM flows
-- =>
-- q$1: (srcIP, cnt, window_start, window_end) from flows
-- q$2: (destIP, bytes, window_start, window_end) from flows
-- q$3: (srcIP = destIP, cnt = bytes, window_start, window_end) from q$2
-- q: union of q$1, q$3

-- # names in any case, odd names in backticks
CREATE STREAM odd (`a b` TIMESTAMP, `group` INT, `sum` DOUBLE) PROGRESSING ON `a b` ORDERED FROM 'parquet';
CREATE QUERY q AS SELECT `GROUP`, sum(`sum`) AS `total of it` FROM ODD [RANGE 1 MINUTE] GROUP BY `group`
-- =>
-- q: (GROUP = k0, total of it = a0, window_start, window_end) from odd [range 60000000 slide 60000000] by group of sum(sum)

-- # a quote in a text
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] WHERE name = 'it''s' OR name = "say ""no"""
-- =>
-- q$1: rows (ts, srcIP, destIP, srcPort, len, flags, name) from tcp where name = 'it\'s' OR name = 'say "no"', progress on ts
-- q: (n = a0, window_start, window_end) from q$1 [range 60000000 slide 60000000] of count()

-- # a hexadecimal number is a number, a binary text is not
SELECT srcIP & 0xFFFFFF00 AS net, X'FF' AS b FROM tcp WHERE flags = 0x1f
-- =>
-- q: rows (net = srcIP & 4294967040, b = X'FF') from tcp where flags = 31, no progress

-- # DISTINCT with window columns
SELECT DISTINCT Window_Start, srcIP FROM tcp [RANGE 1 MINUTE]
-- =>
-- q: (window_start, srcIP = k0, window_end) from tcp [range 60000000 slide 60000000] by srcIP

-- # window columns in any case
SELECT WINDOW_END, count(*) AS n FROM flows GROUP BY Window_End
-- =>
-- q: (window_end, n = a0, window_start) from flows, same window of count()

-- # a constant key
SELECT 'all' AS k, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY 'all'
-- =>
-- q: (k = 'all', n = a0, window_start, window_end) from tcp [range 60000000 slide 60000000] by 'all' of count()

-- # a union inside a union
SELECT srcIP, cnt FROM flows UNION ALL (SELECT destIP, cnt FROM flows UNION ALL SELECT srcIP, bytes FROM flows)
-- =>
-- q$1: (srcIP, cnt, window_start, window_end) from flows
-- q$3: (destIP, cnt, window_start, window_end) from flows
-- q$4: (srcIP, bytes, window_start, window_end) from flows
-- q$5: (destIP = srcIP, cnt = bytes, window_start, window_end) from q$4
-- q$2: union of q$3, q$5
-- q$6: (srcIP = destIP, cnt, window_start, window_end) from q$2
-- q: union of q$1, q$6

-- # numbers of different kinds in the arms of a union
SELECT srcIP, cnt FROM flows UNION ALL SELECT srcIP, cnt / 2 FROM flows
-- =>
-- q$1: (srcIP, cnt, window_start, window_end) from flows
-- q$2: (srcIP, cnt / 2, window_start, window_end) from flows
-- q$3: (srcIP, cnt = `cnt / 2`, window_start, window_end) from q$2
-- q: union of q$1, q$3

-- # comments
SELECT /* how many */ count(*) AS n -- rows
FROM tcp [RANGE 1 MINUTE]
-- =>
-- q: (n = a0, window_start, window_end) from tcp [range 60000000 slide 60000000] of count()

-- # a chain of three
CREATE QUERY by_src AS SELECT srcIP, sum(bytes) AS bytes FROM flows GROUP BY srcIP;
CREATE QUERY top AS SELECT max(bytes) AS bytes, max_by(srcIP, bytes) AS srcIP FROM by_src;
CREATE QUERY q AS SELECT avg(bytes) AS mean FROM top [RANGE 1 HOUR]
-- =>
-- q: (mean = a0, window_start, window_end) from top [range 3600000000 slide 3600000000] of avg(bytes)

-- # names that are words of SQL
CREATE STREAM `from` (`range` TIMESTAMP, `order` INT, `select` INT, `group` STRING, `by` INT) PROGRESSING ON `range` SLACK 5 SECONDS FROM 'parquet';
CREATE QUERY `having` AS SELECT `group`, `order`, sum(`select`) AS `where`, max(`by` + `from`.`by`) AS `as` FROM `from` [RANGE 1 MINUTE WA `range`] GROUP BY `group`, `order` HAVING sum(`select`) > 1 AND `as` > 0
-- =>
-- having: (group = k0, order = k1, where = a0, as = a1, window_start, window_end) from from [range 60000000 slide 60000000] by group, order of sum(select), max(by + by) having a0 > 1 AND a1 > 0

-- # a group under the name of a word of SQL
SELECT `order`, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP AS `order`
-- =>
-- q: (order = k0, n = a0, window_start, window_end) from tcp [range 60000000 slide 60000000] by srcIP of count()

-- # letters of all languages
CREATE STREAM größe (zeit TIMESTAMP, länge INT, 名前 STRING) PROGRESSING ON zeit ORDERED FROM 'parquet';
CREATE QUERY été AS SELECT 名前, sum(größe.länge) AS μήκος FROM größe [RANGE 1 MINUTE WA zeit] GROUP BY 名前 HAVING μήκος > 1
-- =>
-- été: (名前 = k0, μήκος = a0, window_start, window_end) from größe [range 60000000 slide 60000000] by `名前` of sum(länge) having a0 > 1

-- # fields of a struct
CREATE STREAM s (ts TIMESTAMP, st STRUCT<a: INT, b: STRUCT<c: STRING>>) PROGRESSING ON ts ORDERED FROM 'parquet';
CREATE QUERY q AS SELECT st.a, st.b.c AS c, count(*) AS n, max(s.st.a) AS m FROM s [RANGE 1 MINUTE] GROUP BY st.a, s.st.b.c
-- =>
-- q: (a = k0, c = k1, n = a0, m = a1, window_start, window_end) from s [range 60000000 slide 60000000] by st.`a`, st.`b`.`c` of count(), max(st.`a`)

-- # an element of a map
CREATE STREAM s (ts TIMESTAMP, m MAP<STRING, INT>) PROGRESSING ON ts ORDERED FROM 'parquet';
CREATE QUERY q AS SELECT m['a'] AS a, max(m['b']) AS b FROM s [RANGE 1 MINUTE] WHERE m['c'] > 1 GROUP BY m['a']
-- =>
-- q$1: rows (ts, m) from s where m['c'] > 1, progress on ts
-- q: (a = k0, b = a0, window_start, window_end) from q$1 [range 60000000 slide 60000000] by m['a'] of max(m['b'])

-- # fifty parentheses
SELECT ((((((((((((((((((((((((((((((((((((((((((((((((((srcIP)))))))))))))))))))))))))))))))))))))))))))))))))) AS k, ((((((((((((((((((((((((((((((((((((((((((((((((((max(len))))))))))))))))))))))))))))))))))))))))))))))))))) AS m FROM tcp [RANGE 1 MINUTE] GROUP BY ((((((((((((((((((((((((((((((((((((((((((((((((((srcIP))))))))))))))))))))))))))))))))))))))))))))))))))
-- =>
-- q: (k = k0, m = (a0), window_start, window_end) from tcp [range 60000000 slide 60000000] by (srcIP) of max(len)

-- # rows that only punctuate are in no query
CREATE STREAM m (ts TIMESTAMP, link INT, kind STRING) PROGRESSING ON ts PUNCTUATED BY (KIND = 'mark') NOT DATA FOR (link) FROM 'kafka';
CREATE QUERY q AS SELECT link, count(*) AS n FROM m [RANGE 1 MINUTE] WHERE link > 1 GROUP BY link
-- =>
-- q$1: rows (ts, link, kind) from m where NOT COALESCE((kind = 'mark'), FALSE) AND link > 1, progress on ts
-- q: (link = k0, n = a0, window_start, window_end) from q$1 [range 60000000 slide 60000000] by link of count()

-- # every clause of progress together
CREATE STREAM m (ts TIMESTAMP, link INT) PROGRESSING ON ts SLACK 100 ROWS PER (link) HORIZON 2 DAYS IDLE AFTER 1 MINUTE FROM 'kafka';
CREATE QUERY q AS SELECT link FROM m
-- =>
-- q: rows (link) from m, no progress

-- # all columns but one
SELECT * EXCEPT (name, flags) FROM tcp
-- =>
-- q: rows (ts, srcIP, destIP, srcPort, len) from tcp, progress on ts

-- # a column replaced and one renamed
SELECT t.* REPLACE (len * 8 AS len) RENAME (srcIP AS sender) FROM tcp AS t
-- =>
-- q: rows (ts, sender = srcIP, destIP, srcPort, len = len * 8, flags, name) from tcp, progress on ts

-- # columns of a stream under other names
SELECT x.sender, sum(x.bytes) AS bytes FROM udp [RANGE 1 MINUTE] AS x(at, sender, bytes) GROUP BY x.sender
-- =>
-- q$1: rows (at = ts, sender = srcIP, bytes = len) from udp, progress on at
-- q: (sender = k0, bytes = a0, window_start, window_end) from q$1 [range 60000000 slide 60000000] by sender of sum(bytes)

-- # columns of a windowed sub-select under other names
SELECT ip, most FROM (SELECT srcIP, max(cnt) AS m FROM flows GROUP BY srcIP) AS x(ip, most)
-- =>
-- q$1: (srcIP = k0, m = a0, window_start, window_end) from flows, same window by srcIP of max(cnt)
-- q$2: (ip = `srcIP`, most = `m`, window_start, window_end) from q$1
-- q: (ip, most, window_start, window_end) from q$2

-- # columns of a union under other names
SELECT a, b FROM (SELECT ts, srcIP FROM tcp UNION ALL SELECT ts, srcIP FROM udp) AS x(a, b)
-- =>
-- q: rows (a = ts, b = srcIP) from tcp + (a = ts, b = srcIP) from udp, progress on a

-- # what aggregates are given
SELECT percentile(len, 0.5, flags) AS a, percentile_cont(0.1) WITHIN GROUP (ORDER BY len DESC) AS b, max_by(name, len, 3) AS c,
  median(DISTINCT len) AS d, mode() WITHIN GROUP (ORDER BY len DESC) AS e, min(DISTINCT len) AS f FROM tcp [RANGE 1 MINUTE]
-- =>
-- q: (a = a0, b = a1, c = a2, d = a3, e = a4, f = a5, window_start, window_end) from tcp [range 60000000 slide 60000000] of percentile_weighted(len, flags, 0.5), percentile_desc(len, 0.1), max_by_k(name, len, 3), median_distinct(len), mode_desc(len), min(len)
