Which functions a text may call, with how many arguments of which types, and what conditions are.

-- # a function nobody has
SELECT ts, uper(name) AS x FROM tcp
-- =>
-- SqlError: query q: there is no function 'uper'. Did you mean 'upper'?
--   line 1: SELECT ts, uper(name) AS x FROM tcp
--                      ^^^^

-- # a function of another system
SELECT ts, iff(len > 1, 1, 2) AS x FROM tcp
-- =>
-- SqlError: query q: there is no function 'iff'. Did you mean 'if'?
--   line 1: SELECT ts, iff(len > 1, 1, 2) AS x FROM tcp
--                      ^^^

-- # a function far from all others
SELECT ts, ai_summarize(name) AS x FROM tcp
-- =>
-- SqlError: query q: there is no function 'ai_summarize'. There are Spark's, aggregates registered with Session.aggregate, and those registered with the session's Spark; one that an extension of Spark brings is named with --allow-functions
--   line 1: SELECT ts, ai_summarize(name) AS x FROM tcp
--                      ^^^^^^^^^^^^

-- # a function too few arguments
SELECT ts, nvl2(name, len) AS x FROM tcp
-- =>
-- SqlError: query q: nvl2 takes 3 arguments, not 2
--   line 1: SELECT ts, nvl2(name, len) AS x FROM tcp
--                      ^^^^

-- # substring without a place
SELECT ts, substring(name) AS x FROM tcp
-- =>
-- SqlError: substring takes 2 or 3 arguments, not 1
--   line 1: SELECT ts, substring(name) AS x FROM tcp
--                      ^^^^^^^^^

-- # substring with too much
SELECT ts, substring(name, 1, 2, 3) AS x FROM tcp
-- =>
-- SqlError: substring takes 2 or 3 arguments, not 4
--   line 1: SELECT ts, substring(name, 1, 2, 3) AS x FROM tcp
--                      ^^^^^^^^^

-- # datediff of one
SELECT ts, datediff(ts) AS x FROM tcp
-- =>
-- SqlError: query q: datediff takes 2 or 3 arguments, not 1
--   line 1: SELECT ts, datediff(ts) AS x FROM tcp
--                      ^^^^^^^^

-- # datediff with a unit
SELECT ts, datediff(DAY, ts, ts) AS x FROM tcp
-- =>
-- q: rows (ts, x = DATEDIFF(DAY, ts, ts)) from tcp, progress on ts

-- # day of nothing
SELECT ts, day() AS x FROM tcp
-- =>
-- SqlError: query q: day takes 1 argument, not 0
--   line 1: SELECT ts, day() AS x FROM tcp
--                      ^^^

-- # pmod of one
SELECT ts, pmod(len) AS x FROM tcp
-- =>
-- SqlError: query q: pmod takes 2 arguments, not 1
--   line 1: SELECT ts, pmod(len) AS x FROM tcp
--                      ^^^^

-- # regexp_replace with nothing to put in
SELECT ts, regexp_replace(name, 'a') AS x FROM tcp
-- =>
-- SqlError: regexp_replace takes 3 or 4 arguments, not 2
--   line 1: SELECT ts, regexp_replace(name, 'a') AS x FROM tcp
--                      ^^^^^^^^^^^^^^

-- # a struct of nothing
SELECT ts, struct() AS x FROM tcp
-- =>
-- SqlError: query q: struct makes a struct of no fields; give it one
--   line 1: SELECT ts, struct() AS x FROM tcp
--                      ^^^^^^

-- # half a pair
SELECT ts, named_struct('a') AS x FROM tcp
-- =>
-- SqlError: named_struct takes pairs of a name and a value, not 1
--   line 1: SELECT ts, named_struct('a') AS x FROM tcp
--                      ^^^^^^^^^^^^

-- # words between arguments are no commas
SELECT ts, substring(name FROM 2 FOR 3) AS a, trim(BOTH 'x' FROM name) AS b, overlay(name PLACING 'x' FROM 2) AS c, extract(YEAR FROM ts) AS d FROM tcp
-- =>
-- q: rows (ts, a = SUBSTRING(name, 2, 3), b = TRIM(BOTH 'x' FROM name), c = OVERLAY(name PLACING 'x' FROM 2), d = EXTRACT(YEAR FROM ts)) from tcp, progress on ts

-- # a wrong number of arguments where the parser stumbles
SELECT ts, split_part(name) AS x FROM tcp
-- =>
-- SqlError: query q: split_part takes 3 arguments, not 1
--   line 1: SELECT ts, split_part(name) AS x FROM tcp
--                      ^^^^^^^^^^

-- # code on the machine
SELECT ts, java_method('java.lang.System', 'getenv', 'HOME') AS x FROM tcp
-- =>
-- SqlError: query q: java_method is not open to the text of a query: it reaches the machine that the set runs on. If you trust the texts of this run, name it: headrace run --allow-functions java_method, or Session(allow_functions=['java_method'])
--   line 1: SELECT ts, java_method('java.lang.System', 'getenv', 'HOME') AS x FROM tcp
--                      ^^^^^^^^^^^

-- # code on the machine, in backticks
SELECT ts, `Reflect`('java.lang.System', 'getenv', 'HOME') AS x FROM tcp
-- =>
-- SqlError: query q: reflect is not open to the text of a query: it reaches the machine that the set runs on. If you trust the texts of this run, name it: headrace run --allow-functions reflect, or Session(allow_functions=['reflect'])
--   line 1: SELECT ts, `Reflect`('java.lang.System', 'getenv', 'HOME') AS x FROM tcp
--                      ^^^^^^^^^

-- # code on the machine, inside a lambda
SELECT ts, transform(array(1), e -> try_reflect('java.lang.System', 'exit', 0)) AS x FROM tcp
-- =>
-- SqlError: query q: try_reflect is not open to the text of a query: it reaches the machine that the set runs on. If you trust the texts of this run, name it: headrace run --allow-functions try_reflect, or Session(allow_functions=['try_reflect'])
--   line 1: SELECT ts, transform(array(1), e -> try_reflect('java.lang.System', 'exit', 0)) AS x FROM tcp
--                                               ^^^^^^^^^^^

-- # code on the machine, in a condition of a join
SELECT a.ts FROM tcp a JOIN udp b WITHIN 1 MINUTE ON a.srcIP = b.srcIP AND java_method('a', 'b') = 'c'
-- =>
-- SqlError: query q: java_method is not open to the text of a query: it reaches the machine that the set runs on. If you trust the texts of this run, name it: headrace run --allow-functions java_method, or Session(allow_functions=['java_method'])
--   line 1: SELECT a.ts FROM tcp a JOIN udp b WITHIN 1 MINUTE ON a.srcIP = b.srcIP AND java_method('a', 'b') = 'c'
--                                                                                      ^^^^^^^^^^^

-- # code on the machine, in EXISTS
SELECT a.ts FROM tcp a WHERE EXISTS (SELECT * FROM udp b WHERE b.srcIP = a.srcIP AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE AND reflect('a', 'b') = 'c')
-- =>
-- SqlError: query q: reflect is not open to the text of a query: it reaches the machine that the set runs on. If you trust the texts of this run, name it: headrace run --allow-functions reflect, or Session(allow_functions=['reflect'])
--   line 1: SELECT a.ts FROM tcp a WHERE EXISTS (SELECT * FROM udp b WHERE b.srcIP = a.srcIP AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE AND reflect('a', 'b') = 'c')
--                                                                                                                                                   ^^^^^^^

-- # code on the machine, to group by
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY java_method('a', 'b')
-- =>
-- SqlError: query q: java_method is not open to the text of a query: it reaches the machine that the set runs on. If you trust the texts of this run, name it: headrace run --allow-functions java_method, or Session(allow_functions=['java_method'])
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY java_method('a', 'b')
--                                                                   ^^^^^^^^^^^

-- # code on the machine, to filter an aggregate
SELECT count(*) FILTER (WHERE java_method('a', 'b') = 'c') AS n FROM tcp [RANGE 1 MINUTE]
-- =>
-- SqlError: query q: java_method is not open to the text of a query: it reaches the machine that the set runs on. If you trust the texts of this run, name it: headrace run --allow-functions java_method, or Session(allow_functions=['java_method'])
--   line 1: SELECT count(*) FILTER (WHERE java_method('a', 'b') = 'c') AS n FROM tcp [RANGE 1 MINUTE]
--                                         ^^^^^^^^^^^

-- # code on the machine, in a mark
CREATE STREAM m (ts TIMESTAMP, k STRING) PROGRESSING ON ts PUNCTUATED BY (java_method('a', 'b') = 'c') FROM 'parquet'
-- =>
-- SqlError: java_method is not open to the text of a query: it reaches the machine that the set runs on. If you trust the texts of this run, name it: headrace run --allow-functions java_method, or Session(allow_functions=['java_method'])
--   line 1: CREATE STREAM m (ts TIMESTAMP, k STRING) PROGRESSING ON ts PUNCTUATED BY (java_method('a', 'b') = 'c') FROM 'parquet'
--                                                                                     ^^^^^^^^^^^

-- # code on the machine, in a partitioning
CREATE STREAM m (ts TIMESTAMP, k STRING) PROGRESSING ON ts ORDERED PARTITIONED BY (java_method('a', k)) FROM 'parquet'
-- =>
-- SqlError: java_method is not open to the text of a query: it reaches the machine that the set runs on. If you trust the texts of this run, name it: headrace run --allow-functions java_method, or Session(allow_functions=['java_method'])
--   line 1: CREATE STREAM m (ts TIMESTAMP, k STRING) PROGRESSING ON ts ORDERED PARTITIONED BY (java_method('a', k)) FROM 'parquet'
--                                                                                              ^^^^^^^^^^^

-- # a function by its catalog
SELECT ts, system.builtin.java_method('a', 'b') AS x FROM tcp
-- =>
-- SqlError: query q: system.builtin.java_method: a function is called by its name alone
--   line 1: SELECT ts, system.builtin.java_method('a', 'b') AS x FROM tcp
--                                     ^^^^^^^^^^^

-- # a function of a database
SELECT ts, mine.upper(name) AS x FROM tcp
-- =>
-- SqlError: query q: mine.upper: a function is called by its name alone
--   line 1: SELECT ts, mine.upper(name) AS x FROM tcp
--                           ^^^^^

-- # the files that are read
SELECT ts, input_file_name() AS x FROM tcp
-- =>
-- SqlError: query q: input_file_name is not open to the text of a query: it reaches files of the machine that the set runs on. If you trust the texts of this run, name it: headrace run --allow-functions input_file_name, or Session(allow_functions=['input_file_name'])
--   line 1: SELECT ts, input_file_name() AS x FROM tcp
--                      ^^^^^^^^^^^^^^^

-- # a schema in a file
SELECT ts, from_xml(name, 'a INT', map('rowValidationXSDPath', '/etc/passwd')) AS x FROM tcp
-- =>
-- SqlError: query q: from_xml is not open to the text of a query: it reaches files of the machine that the set runs on. If you trust the texts of this run, name it: headrace run --allow-functions from_xml, or Session(allow_functions=['from_xml'])
--   line 1: SELECT ts, from_xml(name, 'a INT', map('rowValidationXSDPath', '/etc/passwd')) AS x FROM tcp
--                      ^^^^^^^^

-- # a schema in the text
SELECT ts, from_xml(name, 'a INT') AS x FROM tcp
-- =>
-- q: rows (ts, x = FROM_XML(name, 'a INT')) from tcp, progress on ts

-- # who runs it
SELECT ts, current_user AS x FROM tcp
-- =>
-- SqlError: query q: current_user is not open to the text of a query: it tells of the session that the set runs in. If you trust the texts of this run, name it: headrace run --allow-functions current_user, or Session(allow_functions=['current_user'])
--   in: CURRENT_USER()

-- # who runs it, with parentheses
SELECT ts, session_user() AS x FROM tcp
-- =>
-- SqlError: query q: session_user is not open to the text of a query: it tells of the session that the set runs in. If you trust the texts of this run, name it: headrace run --allow-functions session_user, or Session(allow_functions=['session_user'])
--   line 1: SELECT ts, session_user() AS x FROM tcp
--                      ^^^^^^^^^^^^

-- # an end for all
SELECT ts, raise_error('now') AS x FROM tcp
-- =>
-- SqlError: query q: raise_error is not open to the text of a query: it ends the run of the whole set. If you trust the texts of this run, name it: headrace run --allow-functions raise_error, or Session(allow_functions=['raise_error'])
--   line 1: SELECT ts, raise_error('now') AS x FROM tcp
--                      ^^^^^^^^^^^

-- # a function of rows
SELECT ts, range(3) AS x FROM tcp
-- =>
-- SqlError: query q: range gives rows, not a value; FROM takes streams, queries and sub-selects
--   line 1: SELECT ts, range(3) AS x FROM tcp
--                      ^^^^^

-- # a condition that is a number
SELECT ts FROM tcp WHERE len
-- =>
-- UnfitTypeError: query q: WHERE or ON takes a condition, true or false; len is INT
--   line 1: SELECT ts FROM tcp WHERE len
--                                    ^^^

-- # a condition that is a text
SELECT ts FROM tcp WHERE 'true'
-- =>
-- UnfitTypeError: query q: WHERE or ON takes a condition, true or false; 'true' is STRING

-- # a condition of a condition
SELECT ts FROM tcp WHERE len > 1 AND name
-- =>
-- UnfitTypeError: query q: AND takes a condition, true or false; name is STRING
--   line 1: SELECT ts FROM tcp WHERE len > 1 AND name
--                                                ^^^^

-- # not a number
SELECT ts FROM tcp WHERE NOT len
-- =>
-- UnfitTypeError: query q: NOT takes a condition, true or false; len is INT
--   line 1: SELECT ts FROM tcp WHERE NOT len
--                                        ^^^

-- # a condition that is unknown
SELECT ts FROM tcp WHERE NULL
-- =>
-- UnfitTypeError: query q: WHERE or ON takes a condition, true or false; NULL is VOID

-- # a part of a condition that is unknown
SELECT ts FROM tcp WHERE len > 1 OR NULL
-- =>
-- q: rows (ts) from tcp where len > 1 OR NULL, progress on ts

-- # HAVING a number
SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP HAVING count(*)
-- =>
-- UnfitTypeError: query q: HAVING takes a condition, true or false; count(*) is BIGINT

-- # a FILTER that is a number
SELECT sum(len) FILTER (WHERE flags) AS n FROM tcp [RANGE 1 MINUTE]
-- =>
-- UnfitTypeError: query q: CASE WHEN or FILTER takes a condition, true or false; flags is INT
--   line 1: SELECT sum(len) FILTER (WHERE flags) AS n FROM tcp [RANGE 1 MINUTE]
--                                         ^^^^^

-- # the FILTER of a count
SELECT count(*) FILTER (WHERE flags & 2) AS n FROM tcp [RANGE 1 MINUTE]
-- =>
-- UnfitTypeError: query q: COUNT(*) FILTER(WHERE flags & 2): count_if takes no INT; add a cast
--   line 1: SELECT count(*) FILTER (WHERE flags & 2) AS n FROM tcp [RANGE 1 MINUTE]
--                                         ^^^^^

-- # a CASE of a number
SELECT ts, CASE WHEN len THEN 1 END AS x FROM tcp
-- =>
-- UnfitTypeError: query q: CASE WHEN or FILTER takes a condition, true or false; len is INT
--   line 1: SELECT ts, CASE WHEN len THEN 1 END AS x FROM tcp
--                                ^^^

-- # an if of a text
SELECT ts, if(name, 1, 2) AS x FROM tcp
-- =>
-- UnfitTypeError: query q: if takes a condition, true or false; name is STRING
--   line 1: SELECT ts, if(name, 1, 2) AS x FROM tcp
--                         ^^^^

-- # a join on a number
SELECT a.ts FROM tcp a JOIN udp b WITHIN 1 MINUTE ON a.srcIP = b.srcIP AND a.len
-- =>
-- UnfitTypeError: query q: WHERE or ON takes a condition, true or false; len is INT
--   line 1: SELECT a.ts FROM tcp a JOIN udp b WITHIN 1 MINUTE ON a.srcIP = b.srcIP AND a.len
--                                                                                      ^^^^^

-- # the misprint of document 003, Q7-2
SELECT a.ts FROM tcp a, udp b WHERE a.ts BETWEEN b.ts AND b.ts + INTERVAL 1 MINUTE AND a.destIP AND b.srcIP
-- =>
-- UnfitTypeError: query q: WHERE or ON takes a condition, true or false; destIP is INT
--   line 1: SELECT a.ts FROM tcp a, udp b WHERE a.ts BETWEEN b.ts AND b.ts + INTERVAL 1 MINUTE AND a.destIP AND b.srcIP
--                                                                                                  ^^^^^^^^

-- # a condition on results
SELECT srcIP FROM flows WHERE cnt
-- =>
-- UnfitTypeError: query q: WHERE or ON takes a condition, true or false; cnt is BIGINT
--   line 1: SELECT srcIP FROM flows WHERE cnt
--                                         ^^^

-- # a condition on a query's column
SELECT ts FROM big WHERE len + 1
-- =>
-- UnfitTypeError: query q: AND takes a condition, true or false; len + 1 is INT
--   line 1: SELECT ts FROM big WHERE len + 1
--                                    ^^^

-- # a count_if of a number
SELECT count_if(len) AS n FROM tcp [RANGE 1 MINUTE]
-- =>
-- UnfitTypeError: query q: COUNT_IF(len): count_if takes no INT; add a cast
--   line 1: SELECT count_if(len) AS n FROM tcp [RANGE 1 MINUTE]
--                           ^^^

-- # a sum of conditions
SELECT sum(len > 1) AS n FROM tcp [RANGE 1 MINUTE]
-- =>
-- UnfitTypeError: query q: SUM(len > 1): sum takes no BOOLEAN; add a cast
--   line 1: SELECT sum(len > 1) AS n FROM tcp [RANGE 1 MINUTE]
--                      ^^^

-- # a number and a struct
SELECT ts, len + named_struct('a', 1) AS x FROM tcp
-- =>
-- UnfitTypeError: query q: len + STRUCT(1 AS a): INT and STRUCT<A:INT> do not fit; add a cast
--   line 1: SELECT ts, len + named_struct('a', 1) AS x FROM tcp
--                      ^^^^^^^^^^^^^^^^^^

-- # a number and a condition
SELECT ts, len + (len > 1) AS x FROM tcp
-- =>
-- UnfitTypeError: query q: len + (len > 1): INT and BOOLEAN do not fit; add a cast
--   line 1: SELECT ts, len + (len > 1) AS x FROM tcp
--                      ^^^^^^^^^^

-- # a text of an array
SELECT ts, upper(array(name)) AS x FROM tcp
-- =>
-- UnfitTypeError: query q: UPPER(ARRAY(name)): upper takes no ARRAY<STRING>; add a cast
--   line 1: SELECT ts, upper(array(name)) AS x FROM tcp
--                      ^^^^^^^^^^^^^^^^

-- # an array of no array
SELECT ts, array_max(len) AS x FROM tcp
-- =>
-- UnfitTypeError: query q: ARRAY_MAX(len): array_max takes no INT; add a cast
--   line 1: SELECT ts, array_max(len) AS x FROM tcp
--                      ^^^^^^^^^^^^^

-- # the year of a number
SELECT ts, year(len) AS x FROM tcp
-- =>
-- UnfitTypeError: query q: YEAR(len): year takes no INT; add a cast
--   line 1: SELECT ts, year(len) AS x FROM tcp
--                      ^^^^^^^^

-- # a number compared with a time
SELECT ts FROM tcp WHERE ts > 5
-- =>
-- UnfitTypeError: query q: ts > 5: TIMESTAMP and INT do not fit; add a cast
--   line 1: SELECT ts FROM tcp WHERE ts > 5
--                                    ^^

-- # a text is a number, a time and a condition is none
SELECT ts, name + 1 AS a, ts > '2024-01-01' AS b, abs(name) AS c FROM tcp
-- =>
-- q: rows (ts, a = name + 1, b = ts > '2024-01-01', c = ABS(name)) from tcp, progress on ts

-- # a field of an inner column, or a column of the outer input
SELECT len.srcIP FROM tcp len WHERE EXISTS (SELECT * FROM udp b WHERE len.srcIP = b.srcIP AND b.ts BETWEEN len.ts AND len.ts + INTERVAL 1 MINUTE)
-- =>
-- SqlError: query q: 'len.srcIP' is a column of the outer input len, or a field of b.len: give the outer input another name
--   line 1: SELECT len.srcIP FROM tcp len WHERE EXISTS (SELECT * FROM udp b WHERE len.srcIP = b.srcIP AND b.ts BETWEEN len.ts AND len.ts + INTERVAL 1 MINUTE)
--                                                                                 ^^^^^^^^^
