What is refused, where it points, and what it suggests.

-- # not a statement
CREATE VIEW t (a INT)
-- =>
-- SqlError: CREATE VIEW is not a statement here: a query is a view that keeps itself up to date: write CREATE QUERY <name> AS SELECT …
--   line 1: CREATE VIEW t (a INT)
--                  ^^^^

-- # a misspelt statement
CREATE QUERRY q AS SELECT 1
-- =>
-- SqlError: expected CREATE STREAM, CREATE TABLE or CREATE QUERY, found CREATE QUERRY. Did you mean 'QUERY'?
--   line 1: CREATE QUERRY q AS SELECT 1
--                  ^^^^^^

-- # a query without a SELECT
CREATE QUERY q AS
-- =>
-- SqlError: expected a SELECT after AS
--   line 1: CREATE QUERY q AS
--                          ^^

-- # an expression cut short
SELECT srcIP, count( FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP
-- =>
-- SqlError: expected )
--   line 1: SELECT srcIP, count( FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP
--                                                                   ^^^^^

-- # a word too many
SELECT srcIP FROM tcp WHERE len > 1 GROUP srcIP
-- =>
-- SqlError: did not expect 'GROUP' here
--   line 1: SELECT srcIP FROM tcp WHERE len > 1 GROUP srcIP
--                                               ^^^^^

-- # a text not closed
SELECT srcIP FROM tcp WHERE name = 'x
-- =>
-- SqlError: query q: this is not closed: expected '
--   line 1: SELECT srcIP FROM tcp WHERE name = 'x
--                                              ^

-- # an unknown stream
SELECT count(*) AS n FROM tpc [RANGE 1 MINUTE]
-- =>
-- SqlError: query q: there is no stream or query 'tpc'. Did you mean 'tcp'?
--   line 1: SELECT count(*) AS n FROM tpc [RANGE 1 MINUTE]
--                                     ^^^

-- # an unknown stream with a catalog
SELECT count(*) AS n FROM other.tcp [RANGE 1 MINUTE]
-- =>
-- SqlError: query q: there is no stream or query 'other.tcp'. Did you mean 'tcp'?
--   line 1: SELECT count(*) AS n FROM other.tcp [RANGE 1 MINUTE]
--                                     ^^^^^^^^^

-- # an unknown column
SELECT srcIQ, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIQ
-- =>
-- SqlError: query q: tcp has no column 'srcIQ'. Did you mean 'srcIP'?
--   line 1: SELECT srcIQ, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIQ
--                                                                          ^^^^^

-- # an unknown column in the second line
SELECT srcIP,
  sum(lenn) AS s
FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP
-- =>
-- SqlError: query q: tcp has no column 'lenn'. Did you mean 'len'?
--   line 2:   sum(lenn) AS s
--                 ^^^^

-- # an unknown column of an alias
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] AS t WHERE u.len > 1
-- =>
-- SqlError: query q: tcp has no column 'u.len'. Did you mean 'len'?
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] AS t WHERE u.len > 1
--                                                                     ^^^^^

-- # a column that is neither grouped nor aggregated
SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP
-- =>
-- SqlError: query q: 'destIP' is neither in GROUP BY nor inside an aggregate; add it to GROUP BY
--   line 1: SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP
--                         ^^^^^^

-- # an aggregate in WHERE
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] WHERE sum(len) > 1
-- =>
-- SqlError: query q: an aggregate in WHERE: use HAVING
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] WHERE sum(len) > 1
--                                                                ^^^^^^^

-- # an aggregate of an aggregate
SELECT sum(count(*)) AS n FROM tcp [RANGE 1 MINUTE]
-- =>
-- SqlError: query q: an aggregate inside an aggregate: make the inner one a query of its own and read it
--   line 1: SELECT sum(count(*)) AS n FROM tcp [RANGE 1 MINUTE]
--                      ^^^^^

-- # an aggregate nobody has
SELECT array_agg(len) AS a FROM tcp [RANGE 1 MINUTE]
-- =>
-- SqlError: query q: the aggregate array_agg is not supported. There is: and_aggr, any, approx_count_distinct, approx_percentile, avg, bit_and, bit_or, bit_xor, bool_and, bool_or, count, count_if, every, first, last, max, max_by, median, min, min_by, mode, or_aggr, percentile, percentile_approx, percentile_cont, some, std, stddev_pop, stddev_samp, sum, var_pop, var_samp, xor_aggr.
--   line 1: SELECT array_agg(len) AS a FROM tcp [RANGE 1 MINUTE]
--                  ^^^^^^^^^

-- # an aggregate without its argument
SELECT sum() AS a FROM tcp [RANGE 1 MINUTE]
-- =>
-- SqlError: sum takes 1 argument, not 0
--   line 1: SELECT sum() AS a FROM tcp [RANGE 1 MINUTE]
--                  ^^^

-- # a percentage that is none
SELECT percentile(len, 1.5) AS a FROM tcp [RANGE 1 MINUTE]
-- =>
-- PlanError: query q: PERCENTILE(len, 1.5): a percentage is between 0 and 1

-- # an error that is too small
SELECT approx_count_distinct(srcIP, 0.0001) AS a FROM tcp [RANGE 1 MINUTE]
-- =>
-- PlanError: query q: APPROX_COUNT_DISTINCT(srcIP, 0.0001): the relative error is a number between 0.005 and 0.5

-- # HAVING without anything to have
SELECT srcIP FROM tcp HAVING srcIP > 1
-- =>
-- SqlError: query q: HAVING without GROUP BY or an aggregate: use WHERE
--   line 1: SELECT srcIP FROM tcp HAVING srcIP > 1
--                                        ^^^^^

-- # a position there is not
SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY 3
-- =>
-- SqlError: query q: GROUP BY 3: the SELECT list has no such position

-- # a star with groups
SELECT *, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP
-- =>
-- SqlError: query q: SELECT * with GROUP BY: name the columns
--   in: *

-- # a name twice
SELECT srcIP AS a, count(*) AS A FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP
-- =>
-- SqlError: query q: two result columns are called 'a'; give one of them another name with AS

-- # a result called like a window column
SELECT count(*) AS window_start FROM tcp [RANGE 1 MINUTE]
-- =>
-- SqlError: query q: a result column is called 'window_start', which is the window's; give it another name with AS

-- # ORDER BY
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] ORDER BY n
-- =>
-- SqlError: ORDER BY: results are published once, in any order; order them when you read them
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] ORDER BY n
--                                                          ^^^^^

-- # LIMIT
SELECT srcIP FROM tcp LIMIT 10
-- =>
-- SqlError: LIMIT: a continuous query has no last row to count to; for the best k of a window write max_by(x, y, k)
--   line 1: SELECT srcIP FROM tcp LIMIT 10
--                                 ^^^^^

-- # a join
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] JOIN udp ON tcp.srcIP = udp.srcIP
-- =>
-- PlanError: query q: nothing bounds this join in time: a row of udp could meet rows of tcp that come at any later time, so it would be kept for ever; bound it in time, like tcp.ts BETWEEN udp.ts - INTERVAL 5 MINUTES AND udp.ts + INTERVAL 5 MINUTES, or by windows, like udp [RANGE 5 MINUTES], tcp [RANGE 5 MINUTES]

-- # two streams with a comma
SELECT count(*) AS n FROM tcp, udp
-- =>
-- PlanError: query q: nothing bounds this join in time: a row of tcp could meet rows of udp that come at any later time, so it would be kept for ever; bound it in time, like udp.ts BETWEEN tcp.ts - INTERVAL 5 MINUTES AND tcp.ts + INTERVAL 5 MINUTES, or by windows, like tcp [RANGE 5 MINUTES], udp [RANGE 5 MINUTES]

-- # WITH
WITH x AS (SELECT * FROM tcp) SELECT count(*) AS n FROM x [RANGE 1 MINUTE]
-- =>
-- SqlError: WITH is not supported: register the part as a query of its own and read it by name
--   line 1: WITH x AS (SELECT * FROM tcp) SELECT count(*) AS n FROM x [RANGE 1 MINUTE]
--           ^^^^

-- # OVER
SELECT sum(len) OVER (PARTITION BY srcIP) AS s FROM tcp
-- =>
-- SqlError: OVER (…) is not supported: group by a window instead. For the best row of each group write max_by(x, y) or min_by(x, y), max_by(x, y, k) for the best k, and GROUP BY the key; to drop rows that are there twice write SELECT DISTINCT
--   line 1: SELECT sum(len) OVER (PARTITION BY srcIP) AS s FROM tcp
--                           ^^^^

-- # a sub-select in an expression
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] WHERE len > (SELECT max(len) FROM tcp)
-- =>
-- SqlError: query q: a sub-select in an expression is not supported
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] WHERE len > (SELECT max(len) FROM tcp)
--                                                                              ^^^^^^^^^^^^^^^^^

-- # ROLLUP
SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY ROLLUP (srcIP)
-- =>
-- SqlError: GROUP BY takes expressions; ROLLUP, CUBE and GROUPING SETS are not supported: write a query for each grouping
--   line 1: SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY ROLLUP (srcIP)
--                                                                                  ^^^^^

-- # UNION without ALL
SELECT srcIP FROM tcp UNION SELECT srcIP FROM udp
-- =>
-- SqlError: query q: UNION removes duplicates, which needs all rows for ever: write UNION ALL

-- # arms of different width
SELECT ts, srcIP FROM tcp UNION ALL SELECT ts FROM udp
-- =>
-- SqlError: query q: the arms of UNION ALL have different widths, (ts, srcIP) and (ts)

-- # arms with and without windows
SELECT srcIP, cnt FROM flows UNION ALL SELECT srcIP, len FROM tcp
-- =>
-- PlanError: query q: UNION ALL of rows with windows and rows without: give all arms a window, or none

-- # arms whose window columns are elsewhere
SELECT srcIP, cnt FROM flows UNION ALL SELECT window_start, srcIP, cnt FROM flows
-- =>
-- SqlError: query q: the arms of UNION ALL have their window columns in different places: (srcIP, cnt, window_start, window_end) and (window_start, srcIP, cnt, window_end); list the same columns in the same order

-- # arms of types that do not meet
SELECT srcIP, cnt FROM flows UNION ALL SELECT srcIP, cnt > 1 FROM flows
-- =>
-- SqlError: query q: column 2 of UNION ALL is bigint in one arm, boolean elsewhere

-- # a window over results of two streams, in the window of neither
CREATE QUERY a AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY b AS SELECT srcIP, count(*) AS n FROM udp [RANGE 1 MINUTE] GROUP BY srcIP;
CREATE QUERY c AS SELECT * FROM a UNION ALL SELECT * FROM b;
CREATE QUERY q AS SELECT srcIP, sum(n) AS n FROM c GROUP BY srcIP
-- =>
-- PlanError: query q: c unites queries over different streams, whose windows close at different times; give this query a window of its own, like [RANGE 1 HOUR], or unite the streams first

-- # a function that is not known on results
SELECT soundex(max(name)) AS s FROM tcp [RANGE 1 MINUTE]
-- =>
-- PlanError: query q: SOUNDEX is not available on results of windows (in SOUNDEX(max(name))). Compute it in a query over the stream, before the window, or when you read the results

-- # types that do not meet on results
SELECT max(name) + interval 1 day AS s FROM tcp [RANGE 1 MINUTE]
-- =>
-- PlanError: query q: max(name) + INTERVAL '1' DAY: no common type for string and interval; add a cast

-- # a name that is taken
CREATE QUERY Flows AS SELECT * FROM tcp
-- =>
-- SqlError: the name 'Flows' is taken by another stream or query

-- # a name that is a path
CREATE QUERY `a/../b` AS SELECT * FROM tcp
-- =>
-- SqlError: 'a/../b' cannot be the name of a stream or query: names become names of folders; use letters, digits and _, and start with a letter or _

-- # a name with a dollar
CREATE QUERY `q$1` AS SELECT * FROM tcp
-- =>
-- SqlError: 'q$1' cannot be the name of a stream or query: names become names of folders; use letters, digits and _, and start with a letter or _

-- # a stream's name that is a path
CREATE STREAM `..` (a INT) PROGRESSING ON a ORDERED FROM 'parquet'
-- =>
-- SqlError: '..' cannot be the name of a stream or query: names become names of folders; use letters, digits and _, and start with a letter or _

-- # a stream without progress
CREATE STREAM s (a INT) FROM 'parquet'
-- =>
-- SqlError: expected PROGRESSING, found 'FROM'
--   line 1: CREATE STREAM s (a INT) FROM 'parquet'
--                                   ^^^^

-- # a stream whose progress is not said
CREATE STREAM s (a INT) PROGRESSING ON a FROM 'parquet'
-- =>
-- SqlError: expected how the progress of s is known: SLACK <duration> (how late a row may be), SLACK <n> ROWS, PUNCTUATED BY (<predicate>), PUNCTUATED FROM '<table>', or ORDERED
--   line 1: CREATE STREAM s (a INT) PROGRESSING ON a FROM 'parquet'
--                                                    ^^^^

-- # progress on a column there is not
CREATE STREAM s (a INT) PROGRESSING ON b ORDERED FROM 'parquet'
-- =>
-- SqlError: stream s: the progressing attribute 'b' is not a column. There is: a.

-- # progress on a text
CREATE STREAM s (a STRING) PROGRESSING ON a ORDERED FROM 'parquet'
-- =>
-- SqlError: stream s: a is STRING, but a progressing attribute is a TIMESTAMP, a DATE or an integer

-- # a column twice
CREATE STREAM s (a INT, A INT) PROGRESSING ON a ORDERED FROM 'parquet'
-- =>
-- SqlError: stream s: column 'a' is declared twice

-- # a column called like a result's
CREATE STREAM s (a INT, window_end INT) PROGRESSING ON a ORDERED FROM 'parquet'
-- =>
-- SqlError: stream s: 'window_end' is the name of a result column; rename it

-- # a column without a type
CREATE STREAM s (a, b INT) PROGRESSING ON a ORDERED FROM 'parquet'
-- =>
-- SqlError: expected the type of column a
--   line 1: CREATE STREAM s (a, b INT) PROGRESSING ON a ORDERED FROM 'parquet'
--                             ^

-- # a slack of an unknown unit
CREATE STREAM s (a TIMESTAMP) PROGRESSING ON a SLACK 5 LIGHTYEARS FROM 'parquet'
-- =>
-- SqlError: stream s: duration: unknown unit 'LIGHTYEARS' in '5 LIGHTYEARS'; units are microsecond, millisecond, second, minute, hour, day, week

-- # a negative slack
CREATE STREAM s (a INT) PROGRESSING ON a SLACK -5 FROM 'parquet'
-- =>
-- SqlError: stream s: SLACK must not be negative, got -5; 0 means an ordered stream

-- # a format without quotes
CREATE STREAM s (a INT) PROGRESSING ON a ORDERED FROM parquet
-- =>
-- SqlError: expected a source format, like 'parquet' in quotes, found 'parquet'
--   line 1: CREATE STREAM s (a INT) PROGRESSING ON a ORDERED FROM parquet
--                                                                 ^^^^^^^

-- # something after the options
CREATE STREAM s (a INT) PROGRESSING ON a ORDERED FROM 'parquet' OPTIONS (path 'x') AND MORE
-- =>
-- SqlError: did not expect 'AND' after the stream's options
--   line 1: CREATE STREAM s (a INT) PROGRESSING ON a ORDERED FROM 'parquet' OPTIONS (path 'x') AND MORE
--                                                                                              ^^^

-- # a lost regular expression
SELECT regexp_extract(max(name), '(?=x)', 0) AS s FROM tcp [RANGE 1 MINUTE]
-- =>
-- PlanError: query q: REGEXP_EXTRACT(max(name), '(?=x)', 0) cannot be computed on results: Invalid Input Error: invalid perl operator: (?=

-- # a key of a type that does not meet
SELECT name + interval 1 day AS s, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY name
-- =>
-- PlanError: query q: name + INTERVAL '1' DAY: no common type for string and interval; add a cast

-- # a column with a quote in its name
CREATE STREAM s (a INT, `b"c` INT) PROGRESSING ON a ORDERED FROM 'parquet'
-- =>
-- SqlError: stream s: 'b"c' cannot be the name of a column; rename it in the source

-- # a result with a quote in its name
SELECT count(*) AS `a"b` FROM tcp [RANGE 1 MINUTE]
-- =>
-- SqlError: query q: a result column cannot be called 'a"b'; give it another name with AS

-- # a result with an inner name
SELECT count(*) AS _ws FROM tcp [RANGE 1 MINUTE]
-- =>
-- SqlError: query q: a result column cannot be called '_ws'; give it another name with AS

-- # a comment not closed
SELECT count(*) AS n /* of rows FROM tcp [RANGE 1 MINUTE]
-- =>
-- SqlError: query q: the text cannot be read; is there a comment that is not closed?

-- # a text not closed in a script
CREATE QUERY q AS SELECT srcIP
  FROM tcp WHERE name = "x
-- =>
-- SqlError: this is not closed: expected "
--   line 2:   FROM tcp WHERE name = "x
--                                   ^

-- # a query of itself
CREATE QUERY q AS SELECT count(*) AS n FROM q
-- =>
-- SqlError: query q: there is no stream or query 'q'. There is: big, flows, hosts, sites, tcp, ticks, udp.
--   line 1: CREATE QUERY q AS SELECT count(*) AS n FROM q
--                                                       ^

-- # a misspelt aggregate
SELECT coutn(*) AS n FROM tcp [RANGE 1 MINUTE]
-- =>
-- SqlError: query q: there is no function 'coutn'. Did you mean 'count'?
--   line 1: SELECT coutn(*) AS n FROM tcp [RANGE 1 MINUTE]
--                  ^^^^^

-- # a misspelt aggregate of groups
SELECT srcIP, coutn(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP
-- =>
-- SqlError: query q: there is no function 'coutn'. Did you mean 'count'?
--   line 1: SELECT srcIP, coutn(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP
--                         ^^^^^

-- # a misspelt aggregate of a column
SELECT srcIP, smu(len) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP
-- =>
-- SqlError: query q: there is no function 'smu'. Did you mean 'sum'?
--   line 1: SELECT srcIP, smu(len) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP
--                         ^^^

-- # SELEC
SELEC srcIP FROM tcp
-- =>
-- SqlError: expected SELECT, found 'SELEC'. Did you mean 'SELECT'?
--   line 1: SELEC srcIP FROM tcp
--           ^^^^^

-- # SELEC in a script
CREATE QUERY q AS SELEC srcIP FROM tcp
-- =>
-- SqlError: expected SELECT, found 'SELEC'. Did you mean 'SELECT'?
--   line 1: CREATE QUERY q AS SELEC srcIP FROM tcp
--                             ^^^^^

-- # FORM
SELECT srcIP FORM tcp
-- =>
-- SqlError: 'FORM' is not understood. Did you mean FROM?
--   line 1: SELECT srcIP FORM tcp
--                        ^^^^

-- # WHER
SELECT srcIP FROM tcp WHER len > 1
-- =>
-- SqlError: 'WHER' is not understood. Did you mean WHERE?
--   line 1: SELECT srcIP FROM tcp WHER len > 1
--                                 ^^^^

-- # a name that is a word of SQL
SELECT order FROM tcp
-- =>
-- SqlError: query q: tcp has no column 'order'. There is: destIP, flags, len, name, srcIP, srcPort, ts.
--   line 1: SELECT order FROM tcp
--                  ^^^^^

-- # a comma too many
SELECT srcIP,, destIP FROM tcp
-- =>
-- SqlError: expected something after this comma
--   line 1: SELECT srcIP,, destIP FROM tcp
--                       ^

-- # groups of nothing
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY
-- =>
-- SqlError: expected something to group by
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY
--                                                          ^^^^^^^^

-- # a SELECT in a script
CREATE QUERY q AS SELECT * FROM tcp; SELECT 1
-- =>
-- SqlError: expected CREATE STREAM or CREATE QUERY, found 'SELECT'. Write CREATE QUERY <name> AS before a SELECT.
--   line 1: CREATE QUERY q AS SELECT * FROM tcp; SELECT 1
--                                                ^^^^^^

-- # FORM before a format
CREATE STREAM s (a INT) PROGRESSING ON a SLACK 5 FORM 'parquet'
-- =>
-- SqlError: expected FROM before the source's format, found 'FORM'
--   line 1: CREATE STREAM s (a INT) PROGRESSING ON a SLACK 5 FORM 'parquet'
--                                                            ^^^^

-- # a column that a sub-select does not have
SELECT sum(x) AS s FROM (SELECT k, max(v) AS m FROM ticks [RANGE 60] GROUP BY k)
-- =>
-- SqlError: query q: the sub-select has no column 'x'. There is: k, m, window_end, window_start.
--   line 1: SELECT sum(x) AS s FROM (SELECT k, max(v) AS m FROM ticks [RANGE 60] GROUP BY k)
--                      ^

-- # a function on the number of a window
SELECT sequence(1, time/60) AS b, count(*) AS n FROM ticks GROUP BY time/60
-- =>
-- PlanError: query q: SEQUENCE is not available on results of windows (in SEQUENCE(1, the window's number)). Compute it in a query over the stream, before the window, or when you read the results

-- # a field of what has none
SELECT k.a AS x, count(*) AS n FROM ticks [RANGE 60] GROUP BY k.a
-- =>
-- SqlError: query q: `k`.`a`: there is no field 'a' in string

-- # a name that is too long
CREATE QUERY `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` AS SELECT * FROM tcp
-- =>
-- SqlError: the name nnnnnnnnnnnnnnnnnnnn… is 204 bytes long; names become names of folders and have at most 200 bytes

-- # punctuation that would import code
CREATE STREAM s (ts TIMESTAMP, k STRING) PROGRESSING ON ts PUNCTUATED FROM 'module:function' FROM 'parquet'
-- =>
-- SqlError: stream s: PUNCTUATED FROM 'module:function': a text does not import code. Register the function in Python, session.bounds('name', function), and write PUNCTUATED FROM 'name'; or name a table, a file or a folder

-- # punctuation without a predicate
CREATE STREAM s (ts TIMESTAMP, k STRING) PROGRESSING ON ts PUNCTUATED BY () FROM 'parquet'
-- =>
-- SqlError: expected a predicate that is true for punctuating rows, like (kind = 'mark')
--   line 1: CREATE STREAM s (ts TIMESTAMP, k STRING) PROGRESSING ON ts PUNCTUATED BY () FROM 'parquet'
--                                                                                    ^

-- # punctuation by something unknown
CREATE STREAM s (ts TIMESTAMP, kind STRING) PROGRESSING ON ts PUNCTUATED BY (knd = 'mark') FROM 'parquet'
-- =>
-- SqlError: s has no column 'knd'. Did you mean 'kind'?
--   line 1: CREATE STREAM s (ts TIMESTAMP, kind STRING) PROGRESSING ON ts PUNCTUATED BY (knd = 'mark') FROM 'parquet'
--                                                                                        ^^^

-- # punctuation by an aggregate
CREATE STREAM s (ts TIMESTAMP, v INT) PROGRESSING ON ts PUNCTUATED BY (max(v) > 1) FROM 'parquet'
-- =>
-- SqlError: stream s: a row punctuates by its own columns, not by an aggregate
--   line 1: CREATE STREAM s (ts TIMESTAMP, v INT) PROGRESSING ON ts PUNCTUATED BY (max(v) > 1) FROM 'parquet'
--                                                                                  ^^^^^

-- # punctuation by two things
CREATE STREAM s (ts TIMESTAMP, v INT, w INT) PROGRESSING ON ts PUNCTUATED BY (v = 1, w = 1) FROM 'parquet'
-- =>
-- SqlError: expected one predicate over the columns of the stream
--   line 1: CREATE STREAM s (ts TIMESTAMP, v INT, w INT) PROGRESSING ON ts PUNCTUATED BY (v = 1, w = 1) FROM 'parquet'
--                                                                                         ^^^^^^^^^^^^

-- # punctuation by what is no predicate
CREATE STREAM s (ts TIMESTAMP, v INT) PROGRESSING ON ts PUNCTUATED BY (v + 1) FROM 'parquet';
CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 1 MINUTE]
-- =>
-- PlanError: stream s: PUNCTUATED BY takes a predicate, true for rows that punctuate; v + 1 is int

-- # a predicate that is not closed
CREATE STREAM s (ts TIMESTAMP, v INT) PROGRESSING ON ts PUNCTUATED BY (v = 1 FROM 'parquet'
-- =>
-- SqlError: expected ')' after the predicate of punctuating rows, but the statement ends here
--   line 1: CREATE STREAM s (ts TIMESTAMP, v INT) PROGRESSING ON ts PUNCTUATED BY (v = 1 FROM 'parquet'
--                                                                                             ^^^^^^^^^

-- # groups of punctuation with the word for slack
CREATE STREAM s (ts TIMESTAMP, v INT) PROGRESSING ON ts PUNCTUATED BY (v = 1) PER (v) FROM 'parquet'
-- =>
-- SqlError: punctuation is FOR groups: write FOR (column, …)
--   line 1: CREATE STREAM s (ts TIMESTAMP, v INT) PROGRESSING ON ts PUNCTUATED BY (v = 1) PER (v) FROM 'parquet'
--                                                                                         ^^^

-- # groups of slack with the word for punctuation
CREATE STREAM s (ts TIMESTAMP, v INT) PROGRESSING ON ts SLACK 10 ROWS FOR (v) FROM 'parquet'
-- =>
-- SqlError: ORDERED and SLACK hold PER group: write PER (column, …)
--   line 1: CREATE STREAM s (ts TIMESTAMP, v INT) PROGRESSING ON ts SLACK 10 ROWS FOR (v) FROM 'parquet'
--                                                                                 ^^^

-- # groups by an unknown column
CREATE STREAM s (ts TIMESTAMP, link INT) PROGRESSING ON ts ORDERED PER (lnk) FROM 'parquet'
-- =>
-- SqlError: stream s: 'lnk' is not a column, so there are no groups by it. Did you mean 'link'?

-- # groups by a column twice
CREATE STREAM s (ts TIMESTAMP, link INT) PROGRESSING ON ts ORDERED PER (link, LINK) FROM 'parquet'
-- =>
-- SqlError: stream s: link is named twice among the columns of its groups

-- # groups by a number that has no equals
CREATE STREAM s (ts TIMESTAMP, x DOUBLE) PROGRESSING ON ts ORDERED PER (x) FROM 'parquet'
-- =>
-- SqlError: stream s: x is DOUBLE, but groups that make progress by themselves are told apart by texts, integers or booleans

-- # part of a row of slack
CREATE STREAM s (ts TIMESTAMP, x DOUBLE) PROGRESSING ON ts SLACK 1.5 ROWS FROM 'parquet'
-- =>
-- SqlError: expected a whole number of rows, found '1.5'
--   line 1: CREATE STREAM s (ts TIMESTAMP, x DOUBLE) PROGRESSING ON ts SLACK 1.5 ROWS FROM 'parquet'
--                                                                            ^^^

-- # too many rows of slack
CREATE STREAM s (ts TIMESTAMP, x DOUBLE) PROGRESSING ON ts SLACK 5000000 ROWS FROM 'parquet'
-- =>
-- SqlError: stream s: SLACK in rows: expected 0 to 500000, got 5000000

-- # a lull where there is no clock
CREATE STREAM s (n BIGINT, k STRING) PROGRESSING ON n ORDERED IDLE AFTER 10 SECONDS FROM 'parquet'
-- =>
-- SqlError: stream s: IDLE AFTER advances to the clock, but n is BIGINT and knows no clock; leave it out, or punctuate the stream

-- # a lull of no time
CREATE STREAM s (ts TIMESTAMP, k STRING) PROGRESSING ON ts ORDERED IDLE AFTER 0 SECONDS FROM 'parquet'
-- =>
-- SqlError: stream s: IDLE AFTER must be longer than nothing, got 0 SECONDS

-- # a lull said twice
CREATE STREAM s (ts TIMESTAMP, k STRING) PROGRESSING ON ts ORDERED IDLE AFTER 1 SECOND HORIZON 1 DAY IDLE AFTER 2 SECONDS FROM 'parquet'
-- =>
-- SqlError: IDLE AFTER is there twice
--   line 1: CREATE STREAM s (ts TIMESTAMP, k STRING) PROGRESSING ON ts ORDERED IDLE AFTER 1 SECOND HORIZON 1 DAY IDLE AFTER 2 SECONDS FROM 'parquet'
--                                                                                                                     ^^^^^

-- # a window inside EXISTS
SELECT ts FROM tcp WHERE EXISTS (SELECT 1 FROM udp [RANGE 1 MINUTE] WHERE udp.srcIP = tcp.srcIP)
-- =>
-- SqlError: query q: a window in a sub-select of WHERE says nothing: write how near in time as a condition
--   line 1: SELECT ts FROM tcp WHERE EXISTS (SELECT 1 FROM udp [RANGE 1 MINUTE] WHERE udp.srcIP = tcp.srcIP)
--                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # a stream partitioned by nothing
CREATE STREAM s (ts TIMESTAMP, a INT) PROGRESSING ON ts ORDERED PARTITIONED BY () FROM 'parquet'
-- =>
-- SqlError: expected columns or expressions, like (srcIP, destIP)
--   line 1: CREATE STREAM s (ts TIMESTAMP, a INT) PROGRESSING ON ts ORDERED PARTITIONED BY () FROM 'parquet'
--                                                                                          ^

-- # a stream partitioned by everything
CREATE STREAM s (ts TIMESTAMP, a INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONABLE BY (a, *) FROM 'parquet'
-- =>
-- SqlError: expected columns of the stream or expressions over them, separated by commas
--   line 1: CREATE STREAM s (ts TIMESTAMP, a INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONABLE BY (a, *) FROM 'parquet'
--                                                                                                     ^^^^

-- # a stream partitioned by an aggregate
CREATE STREAM s (ts TIMESTAMP, a INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY (max(a)) FROM 'parquet'
-- =>
-- SqlError: expected columns of the stream or expressions over them, separated by commas
--   line 1: CREATE STREAM s (ts TIMESTAMP, a INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY (max(a)) FROM 'parquet'
--                                                                                                   ^^^^^^

-- # a partitioning that does not end
CREATE STREAM s (ts TIMESTAMP, a INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY ((a & 15) FROM 'parquet'
-- =>
-- SqlError: expected ')' after the expressions, but the statement ends here
--   line 1: CREATE STREAM s (ts TIMESTAMP, a INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY ((a & 15) FROM 'parquet'
--                                                                                                                 ^^^^^^^^^

-- # bounds in either order, which Spark does not know
CREATE QUERY q AS SELECT a FROM s WHERE a BETWEEN SYMMETRIC 3 AND 1
-- =>
-- SqlError: BETWEEN SYMMETRIC is not supported: write the lesser bound first, without SYMMETRIC
--   line 1: CREATE QUERY q AS SELECT a FROM s WHERE a BETWEEN SYMMETRIC 3 AND 1
--                                                             ^^^^^^^^^

-- # a partitioning without its list
CREATE STREAM s (ts TIMESTAMP, a INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED (a) FROM 'parquet'
-- =>
-- SqlError: expected BY, found '('
--   line 1: CREATE STREAM s (ts TIMESTAMP, a INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED (a) FROM 'parquet'
--                                                                                               ^

-- # two windows behind one stream
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] [RANGE 2 MINUTES]
-- =>
-- SqlError: this is a second window; a stream or query has one
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] [RANGE 2 MINUTES]
--                                                          ^^^^^^^^^^^^^^^^^

-- # two windows behind a sub-select
SELECT count(*) AS n FROM (SELECT ts FROM tcp) t [RANGE 1 MINUTE] [RANGE 2 MINUTES]
-- =>
-- SqlError: this is a second window; a stream or query has one
--   line 1: SELECT count(*) AS n FROM (SELECT ts FROM tcp) t [RANGE 1 MINUTE] [RANGE 2 MINUTES]
--                                                                             ^^^^^^^^^^^^^^^^^

-- # a window longer than there are times
SELECT count(*) AS n FROM tcp [RANGE 99999999999999 DAYS]
-- =>
-- SqlError: query q: RANGE is too long, got 99999999999999 DAYS, at most 13,343,998 days are possible
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 99999999999999 DAYS]
--                                          ^^^^^^^^^^^^^^^^^^^^^^^^^

-- # a slack longer than there are times
CREATE STREAM t (ts TIMESTAMP) PROGRESSING ON ts SLACK 99999999999999 DAYS FROM 'parquet' OPTIONS (path 'x')
-- =>
-- SqlError: stream t: SLACK is too long, got 99999999999999 DAYS, at most 13,343,998 days are possible

-- # WITHIN without a length
SELECT a.ts FROM tcp a JOIN tcp b WITHIN ON a.srcIP = b.srcIP
-- =>
-- SqlError: WITHIN takes a length of time, before ON, like JOIN b WITHIN 10 SECONDS ON a.k = b.k
--   line 1: SELECT a.ts FROM tcp a JOIN tcp b WITHIN ON a.srcIP = b.srcIP
--                                             ^^^^^^

-- # a misspelt WITHIN
SELECT a.ts FROM tcp a JOIN tcp b WITHN 5 MINUTES ON a.srcIP = b.srcIP
-- =>
-- SqlError: 'WITHN' is not understood. Did you mean WITHIN?
--   line 1: SELECT a.ts FROM tcp a JOIN tcp b WITHN 5 MINUTES ON a.srcIP = b.srcIP
--                                             ^^^^^

-- # WITHIN of an unknown unit
SELECT a.ts FROM tcp a JOIN tcp b WITHIN 5 MINUET ON a.srcIP = b.srcIP
-- =>
-- SqlError: query q: duration: unknown unit 'MINUET' in '5 MINUET'; did you mean minutes?
--   line 1: SELECT a.ts FROM tcp a JOIN tcp b WITHIN 5 MINUET ON a.srcIP = b.srcIP
--                                             ^^^^^^^^^^^^^^^

-- # an option twice
CREATE STREAM t (ts TIMESTAMP) PROGRESSING ON ts ORDERED FROM 'parquet' OPTIONS (path 'x', Path 'y')
-- =>
-- SqlError: option Path is given twice
--   line 1: CREATE STREAM t (ts TIMESTAMP) PROGRESSING ON ts ORDERED FROM 'parquet' OPTIONS (path 'x', Path 'y')
--                                                                                                      ^^^^

-- # no semicolon between statements
CREATE STREAM t (ts TIMESTAMP) PROGRESSING ON ts ORDERED FROM 'parquet' OPTIONS (path 'x') CREATE QUERY q AS SELECT ts FROM t
-- =>
-- SqlError: expected ; before the next statement
--   line 1: CREATE STREAM t (ts TIMESTAMP) PROGRESSING ON ts ORDERED FROM 'parquet' OPTIONS (path 'x') CREATE QUERY q AS SELECT ts FROM t
--                                                                                                      ^^^^^^

-- # more digits than a DECIMAL has
CREATE STREAM t (ts TIMESTAMP, m MAP<STRING, DECIMAL(50,2)>) PROGRESSING ON ts ORDERED FROM 'parquet' OPTIONS (path 'x')
-- =>
-- SqlError: stream t: m is MAP<STRING, DECIMAL(50,2)>; a DECIMAL has 1 to 38 digits, and no more of them behind the point

-- # a misspelt type of the progressing attribute
CREATE STREAM t (ts TIMESTMAP) PROGRESSING ON ts ORDERED FROM 'parquet' OPTIONS (path 'x')
-- =>
-- SqlError: column ts: TIMESTMAP is not a type Headrace knows. Did you mean 'TIMESTAMP'?
--   line 1: CREATE STREAM t (ts TIMESTMAP) PROGRESSING ON ts ORDERED FROM 'parquet' OPTIONS (path 'x')
--                               ^^^^^^^^^

-- # a column that a star does not stand for
SELECT * EXCEPT (nam) FROM tcp
-- =>
-- SqlError: query q: EXCEPT: * stands for no column 'nam'. Did you mean 'name'?
--   line 1: SELECT * EXCEPT (nam) FROM tcp
--                            ^^^

-- # no column is left
SELECT udp.* EXCEPT (ts, srcIP, len) FROM udp
-- =>
-- SqlError: query q: EXCEPT leaves no column of *
--   line 1: SELECT udp.* EXCEPT (ts, srcIP, len) FROM udp
--                                ^^

-- # a star of several inputs
SELECT * EXCEPT (ts) FROM tcp t JOIN udp u ON t.srcIP = u.srcIP AND t.ts = u.ts
-- =>
-- SqlError: query q: EXCEPT: 'ts' is a column of several inputs: write t.ts or u.ts
--   line 1: SELECT * EXCEPT (ts) FROM tcp t JOIN udp u ON t.srcIP = u.srcIP AND t.ts = u.ts
--                            ^^

-- # a star of no input
SELECT z.* FROM tcp
-- =>
-- SqlError: query q: there is no input 'z' in FROM. There is: tcp.
--   line 1: SELECT z.* FROM tcp
--                  ^

-- # too few names
SELECT a FROM udp AS x(a, b)
-- =>
-- SqlError: query q: x has 3 columns, (ts, srcIP, len), and 2 names are given
--   line 1: SELECT a FROM udp AS x(a, b)
--                                ^^^^^^

-- # a star in a call
SELECT struct(*) AS s FROM tcp
-- =>
-- SqlError: query q: * stands for columns in the SELECT list and in count(*) alone: list the columns
--   line 1: SELECT struct(*) AS s FROM tcp
--                  ^^^^^^

-- # a number that is no number of rows
SELECT max_by(name, len, 0) AS best FROM tcp [RANGE 1 MINUTE]
-- =>
-- SqlError: query q: max_by: the third argument is how many are wanted, a whole number from 1 to 100000
--   line 1: SELECT max_by(name, len, 0) AS best FROM tcp [RANGE 1 MINUTE]
--                  ^^^^^^^^^^^^^^^^

-- # mode of distinct values
SELECT mode(DISTINCT len) AS m FROM tcp [RANGE 1 MINUTE]
-- =>
-- SqlError: query q: mode(DISTINCT …) is not supported; leave DISTINCT out
--   line 1: SELECT mode(DISTINCT len) AS m FROM tcp [RANGE 1 MINUTE]
--                  ^^^^^^^^^^^^^^^^^

-- # IGNORE NULLS where it says nothing
SELECT max_by(name, len) IGNORE NULLS AS m FROM tcp [RANGE 1 MINUTE]
-- =>
-- SqlError: query q: IGNORE NULLS is for first and last; the other aggregates ignore NULLs anyway
--   line 1: SELECT max_by(name, len) IGNORE NULLS AS m FROM tcp [RANGE 1 MINUTE]
--                  ^^^^^^^^^^^^^^^^

-- # an aggregate that there is not
SELECT latest_by_offset(len) AS m FROM tcp [RANGE 1 MINUTE]
-- =>
-- SqlError: query q: there is no function 'latest_by_offset'. There are Spark's, aggregates registered with Session.aggregate, and those registered with the session's Spark; one that an extension of Spark brings is named with --allow-functions
--   line 1: SELECT latest_by_offset(len) AS m FROM tcp [RANGE 1 MINUTE]
--                  ^^^^^^^^^^^^^^^^

-- # an aggregate that there is not, by group
SELECT srcIP, latest_by_offset(len) AS m FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP
-- =>
-- SqlError: query q: there is no function 'latest_by_offset'. There are Spark's, aggregates registered with Session.aggregate, and those registered with the session's Spark; one that an extension of Spark brings is named with --allow-functions
--   line 1: SELECT srcIP, latest_by_offset(len) AS m FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP
--                         ^^^^^^^^^^^^^^^^

-- # a sink
CREATE SINK s FROM flows
-- =>
-- SqlError: CREATE SINK is not a statement here: results are written by the run, not by a statement: give --sink to headrace run, or sinks= in Python
--   line 1: CREATE SINK s FROM flows
--                  ^^^^

-- # replacing a query
CREATE OR REPLACE QUERY q AS SELECT 1
-- =>
-- SqlError: OR REPLACE is not supported: a set is what its script says: change the script; a query that changes needs another name
--   line 1: CREATE OR REPLACE QUERY q AS SELECT 1
--           ^^^^^^

-- # a version that is no time
SELECT t.ts, u.len FROM tcp t JOIN udp VERSION AS OF t.ts AS u ON t.srcIP = u.srcIP
-- =>
-- SqlError: query q: expected FOR SYSTEM_TIME AS OF a column, the progressing attribute of another input
--   line 1: SELECT t.ts, u.len FROM tcp t JOIN udp VERSION AS OF t.ts AS u ON t.srcIP = u.srcIP
--                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # other names for the columns of a table
SELECT t.ts, h.o FROM tcp t JOIN hosts AS h(i, o, s) ON t.srcIP = h.i
-- =>
-- SqlError: query q: hosts is a table and its columns keep their names: write h.a AS x where it is read
--   line 1: SELECT t.ts, h.o FROM tcp t JOIN hosts AS h(i, o, s) ON t.srcIP = h.i
--                                                     ^^^^^^^^^

-- # words behind the type of a column
CREATE STREAM t (ts TIMESTAMP, s STRING DEFAULT 'x') PROGRESSING ON ts ORDERED FROM 'parquet' OPTIONS (path 'x')
-- =>
-- SqlError: column s: a column is a name and a type; 'DEFAULT' would be ignored
--   line 1: CREATE STREAM t (ts TIMESTAMP, s STRING DEFAULT 'x') PROGRESSING ON ts ORDERED FROM 'parquet' OPTIONS (path 'x')
--                                                   ^^^^^^^

-- # a constraint of a field
CREATE STREAM t (ts TIMESTAMP, s STRUCT<a: ARRAY<STRUCT<b: INT>>, c: INT NOT NULL>) PROGRESSING ON ts ORDERED FROM 'parquet' OPTIONS (path 'x')
-- =>
-- SqlError: expected >, found 'NOT'
--   line 1: CREATE STREAM t (ts TIMESTAMP, s STRUCT<a: ARRAY<STRUCT<b: INT>>, c: INT NOT NULL>) PROGRESSING ON ts ORDERED FROM 'parquet' OPTIONS (path 'x')
--                                                                                    ^^^

-- # digits of a second
CREATE STREAM t (ts TIMESTAMP(3), s STRING) PROGRESSING ON ts ORDERED FROM 'parquet' OPTIONS (path 'x')
-- =>
-- SqlError: column ts: a column is a name and a type; '(' would be ignored
--   line 1: CREATE STREAM t (ts TIMESTAMP(3), s STRING) PROGRESSING ON ts ORDERED FROM 'parquet' OPTIONS (path 'x')
--                                        ^

-- # a collation of a column
CREATE TABLE t (s STRING COLLATE UTF8_LCASE) FROM 'csv' OPTIONS (path 'x')
-- =>
-- SqlError: column s: a column is a name and a type; 'COLLATE' would be ignored
--   line 1: CREATE TABLE t (s STRING COLLATE UTF8_LCASE) FROM 'csv' OPTIONS (path 'x')
--                                    ^^^^^^^

-- # a time of the day, which is not a TIMESTAMP
SELECT CAST(name AS TIME) AS t, ts FROM tcp
-- =>
-- SqlError: TIME is not a type Headrace knows
--   line 1: SELECT CAST(name AS TIME) AS t, ts FROM tcp
--                               ^^^^

-- # many rows of one
SELECT ts, explode(array(len, flags)) AS e FROM tcp
-- =>
-- SqlError: query q: explode makes many rows of one, and a query here makes at most one; take arrays apart in what writes the source, or in the frame that Session.stream is given
--   line 1: SELECT ts, explode(array(len, flags)) AS e FROM tcp
--                      ^^^^^^^

-- # DISTINCT in a call that is no aggregate
SELECT ts, upper(DISTINCT name) AS u FROM tcp
-- =>
-- SqlError: query q: DISTINCT is for aggregates, and upper is none; leave it out
--   line 1: SELECT ts, upper(DISTINCT name) AS u FROM tcp
--                      ^^^^^^^^^^^^^^^^^^^

-- # FILTER behind a call that is no aggregate
SELECT srcIP, abs(bytes) FILTER (WHERE cnt > 1) AS u FROM flows
-- =>
-- SqlError: query q: FILTER is for aggregates, and abs is none; leave it out
--   line 1: SELECT srcIP, abs(bytes) FILTER (WHERE cnt > 1) AS u FROM flows
--                         ^^^^^^^^^

-- # IGNORE NULLS behind a call that is no aggregate
SELECT ts, abs(len) IGNORE NULLS AS u FROM tcp
-- =>
-- SqlError: query q: IGNORE NULLS is for aggregates, and abs is none; leave it out
--   line 1: SELECT ts, abs(len) IGNORE NULLS AS u FROM tcp
--                      ^^^^^^^

-- # an aggregate in EXISTS, which is there for any rows or none
SELECT ts FROM tcp WHERE EXISTS (SELECT count(*) FROM udp WHERE udp.ts = tcp.ts)
-- =>
-- SqlError: query q: an aggregate in a sub-select of WHERE is not supported: make it a query, and read that
--   line 1: SELECT ts FROM tcp WHERE EXISTS (SELECT count(*) FROM udp WHERE udp.ts = tcp.ts)
--                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # an order in a call
SELECT first(len ORDER BY ts DESC) AS f FROM tcp [RANGE 1 MINUTE]
-- =>
-- SqlError: ORDER BY in a call is not supported: first and last go by the progressing attribute; for another order write min_by(x, y) or max_by(x, y)
--   line 1: SELECT first(len ORDER BY ts DESC) AS f FROM tcp [RANGE 1 MINUTE]
--                            ^^^^^

-- # EXCEPT between SELECTs
SELECT srcIP FROM tcp EXCEPT SELECT srcIP FROM udp
-- =>
-- SqlError: EXCEPT is not supported; write NOT EXISTS (SELECT 1 FROM b WHERE …), bounded in time
--   line 1: SELECT srcIP FROM tcp EXCEPT SELECT srcIP FROM udp
--                                 ^^^^^^

-- # a function that is for OVER
SELECT ts, row_number() AS n FROM tcp
-- =>
-- SqlError: query q: row_number is for OVER (…), which is not supported: group by a window instead
--   line 1: SELECT ts, row_number() AS n FROM tcp
--                      ^^^^^^^^^^
