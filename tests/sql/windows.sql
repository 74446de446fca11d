The three spellings of a window, and the words in brackets.

-- # tumbling
SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP
-- =>
-- q: (srcIP = k0, n = a0, window_start, window_end) from tcp [range 60000000 slide 60000000] by srcIP of count()

-- # sliding, lower case, aliased stream
select t.srcip, sum(t.len) total from tcp [range 10 minutes slide 90 seconds] as t group by t.srcip
-- =>
-- q: (srcip = k0, total = a0, window_start, window_end) from tcp [range 600000000 slide 90000000] by srcIP of sum(len)

-- # origin, alignment, window on the progressing attribute
SELECT count(*) AS n FROM tcp [RANGE 7 SECONDS SLIDE 3 SECONDS ORIGIN '1970-01-01 00:00:02' ALIGN END WATTR ts]
-- =>
-- q: (n = a0, window_start, window_end) from tcp [range 7000000 slide 3000000 origin 2000000 align end] of count()

-- # negative origin
SELECT count(*) AS n FROM ticks [RANGE 7 SLIDE 3 ORIGIN -4]
-- =>
-- q: (n = a0, window_start, window_end) from ticks [range 7 slide 3 origin -4] of count()

-- # landmark
SELECT count(*) AS n FROM ticks [RANGE ALL SLIDE 60]
-- =>
-- q: (n = a0, window_start, window_end) from ticks [range all slide 60] of count()

-- # cumulative
SELECT count(*) AS n FROM tcp [RANGE ALL SLIDE 1 HOUR RESET 1 DAY]
-- =>
-- q: (n = a0, window_start, window_end) from tcp [range all slide 3600000000 reset 86400000000] of count()

-- # window after the aggregate, as in the thesis
SELECT max(v) [RANGE 300 SLIDE 60 WA time] AS m FROM ticks
-- =>
-- q: (m = a0, window_start, window_end) from ticks [range 300 slide 60] of max(v)

-- # Spark's window()
SELECT window.start, window.end, srcIP, count(*) AS n FROM tcp GROUP BY window(ts, '10 minutes', '5 minutes', '15 seconds'), srcIP
-- =>
-- q: (start = window_start, end = window_end, srcIP = k0, n = a0, window_start, window_end) from tcp [range 600000000 slide 300000000 origin 15000000] by srcIP of count()

-- # the whole window() as a struct
SELECT window, count(*) AS n FROM tcp GROUP BY window(ts, '10 minutes')
-- =>
-- q: (window = NAMED_STRUCT('start', window_start, 'end', window_end), n = a0, window_start, window_end) from tcp [range 600000000 slide 600000000] of count()

-- # window() under another name
SELECT w.start AS s, count(*) AS n FROM tcp GROUP BY window(ts, '10 minutes') AS w
-- =>
-- q: (s = window_start, n = a0, window_start, window_end) from tcp [range 600000000 slide 600000000] of count()

-- # GSQL on an integer
SELECT tb, k, count(*) AS n FROM ticks GROUP BY time/60 AS tb, k
-- =>
-- q: (tb = _BUCKET(60), k = k0, n = a0, window_start, window_end) from ticks [range 60 slide 60] by k of count()

-- # GSQL on a timestamp counts seconds
SELECT ts/60 AS tb, count(*) AS n FROM tcp GROUP BY ts/60
-- =>
-- q: (tb = _BUCKET(60000000), n = a0, window_start, window_end) from tcp [range 60000000 slide 60000000] of count()

-- # GSQL by alias of the SELECT list
SELECT time/60 AS tb, count(*) AS n FROM ticks GROUP BY tb
-- =>
-- q: (tb = _BUCKET(60), n = a0, window_start, window_end) from ticks [range 60 slide 60] of count()

-- # a bucket beside a bracket window is an ordinary key
SELECT floor(time/60) AS m, count(*) AS n FROM ticks [RANGE 600] GROUP BY floor(time/60)
-- =>
-- q: (m = k0, n = a0, window_start, window_end) from ticks [range 600 slide 600] by FLOOR(time / 60) of count()

-- # two windows
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY window(ts, '1 minute')
-- =>
-- SqlError: query q: a query has one window, this is a second one; only tumbling windows of different inputs go together
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY window(ts, '1 minute')
--                                                                   ^^^^^^^^^

-- # two window functions
SELECT count(*) AS n FROM tcp GROUP BY window(ts, '1 minute'), window(ts, '2 minutes')
-- =>
-- SqlError: query q: a query has one window, this is a second one; only tumbling windows of different inputs go together
--   line 1: SELECT count(*) AS n FROM tcp GROUP BY window(ts, '1 minute'), window(ts, '2 minutes')
--                                                                          ^^^^^^^^^

-- # no window
SELECT srcIP, count(*) FROM tcp GROUP BY srcIP
-- =>
-- PlanError: query q: no window: the aggregate over tcp would never be complete, and its state never purged. Write FROM stream [RANGE 10 MINUTES SLIDE 1 MINUTE], or RANGE ALL for a landmark window

-- # a window with nothing to aggregate
SELECT srcIP FROM tcp [RANGE 1 MINUTE]
-- =>
-- PlanError: query q: a window with nothing to aggregate: add GROUP BY, an aggregate or DISTINCT, or leave the window out

-- # window on the wrong attribute
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE ON len]
-- =>
-- PlanError: query q: the window is on 'len', but tcp makes progress on 'ts', so it could never close: put the window on ts

-- # window() on the wrong attribute
SELECT count(*) AS n FROM tcp GROUP BY window(len, '1 minute')
-- =>
-- PlanError: query q: the window is on 'len', but tcp makes progress on 'ts', so it could never close: put the window on ts

-- # window on an attribute of a query's input
SELECT max(cnt) AS m FROM flows [RANGE 1 HOUR ON ts]
-- =>
-- PlanError: query q: the window is on 'ts', but flows makes progress by its own windows; leave the attribute out

-- # a query's progress under window()
SELECT max(cnt) AS m FROM flows GROUP BY window(window_end, '1 hour')
-- =>
-- q: (m = a0, window_start, window_end) from flows [range 3600000000 slide 3600000000] of max(cnt)

-- # no progress left
CREATE QUERY lens AS SELECT len FROM tcp;
CREATE QUERY q AS SELECT count(*) AS n FROM lens [RANGE 1 MINUTE]
-- =>
-- PlanError: query q: lens has no progressing attribute left (it is not among its columns), so the window could never close: keep it in the SELECT of lens

-- # the progressing attribute under another name
CREATE QUERY renamed AS SELECT ts AS moment, len FROM tcp;
CREATE QUERY q AS SELECT sum(len) AS s FROM renamed [RANGE 1 MINUTE ON moment]
-- =>
-- q: (s = a0, window_start, window_end) from renamed [range 60000000 slide 60000000] of sum(len)

-- # a length without a unit on a timestamp
SELECT count(*) AS n FROM tcp [RANGE 60]
-- =>
-- SqlError: query q: duration: 60 has no unit, and the progressing attribute is a timestamp; write for example '60 seconds'
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 60]
--                                          ^^^^^^^^

-- # a unit on an integer
SELECT count(*) AS n FROM ticks [RANGE 1 MINUTE]
-- =>
-- SqlError: query q: duration: the progressing attribute is an integer and has no unit of time; expected a number, got '1 MINUTE'
--   line 1: SELECT count(*) AS n FROM ticks [RANGE 1 MINUTE]
--                                            ^^^^^^^^^^^^^^

-- # a length that is not fixed
SELECT count(*) AS n FROM tcp [RANGE 1 MONTH]
-- =>
-- SqlError: query q: duration: '1 MONTH' uses MONTH, which has no fixed length (28 to 31 days a month, 365 or 366 a year), so windows of it would not be equally long; write a number of days or weeks
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 1 MONTH]
--                                          ^^^^^^^^^^^^^

-- # a misspelt unit
SELECT count(*) AS n FROM tcp [RANGE 10 MINTES]
-- =>
-- SqlError: query q: duration: unknown unit 'MINTES' in '10 MINTES'; did you mean minutes?
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 10 MINTES]
--                                          ^^^^^^^^^^^^^^^

-- # a window of nothing
SELECT count(*) AS n FROM tcp [RANGE 0 SECONDS]
-- =>
-- SqlError: query q: RANGE must be positive, got 0 SECONDS
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 0 SECONDS]
--                                          ^^^^^^^^^^^^^^^

-- # a slide of less than nothing
SELECT count(*) AS n FROM ticks [RANGE 10 SLIDE -5]
-- =>
-- SqlError: query q: SLIDE must be positive, got -5
--   line 1: SELECT count(*) AS n FROM ticks [RANGE 10 SLIDE -5]
--                                            ^^^^^^^^^^^^^^^^^

-- # a landmark without a slide
SELECT count(*) AS n FROM tcp [RANGE ALL]
-- =>
-- SqlError: query q: RANGE ALL needs a SLIDE: how often the running result is reported
--   line 1: SELECT count(*) AS n FROM tcp [RANGE ALL]
--                                          ^^^^^^^^^

-- # reset without a landmark
SELECT count(*) AS n FROM ticks [RANGE 10 RESET 20]
-- =>
-- SqlError: query q: RESET goes with RANGE ALL, but RANGE is 10; write RANGE ALL, or leave RESET out
--   line 1: SELECT count(*) AS n FROM ticks [RANGE 10 RESET 20]
--                                            ^^^^^^^^^^^^^^^^^

-- # reset that the slide does not divide
SELECT count(*) AS n FROM ticks [RANGE ALL SLIDE 7 RESET 20]
-- =>
-- SqlError: query q: RESET must be a multiple of SLIDE so that the last window ends at the reset, but 20 is not a multiple of 7
--   line 1: SELECT count(*) AS n FROM ticks [RANGE ALL SLIDE 7 RESET 20]
--                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # no range
SELECT count(*) AS n FROM tcp [SLIDE 1 MINUTE]
-- =>
-- SqlError: a window needs a RANGE (or RANGE ALL)
--   line 1: SELECT count(*) AS n FROM tcp [SLIDE 1 MINUTE]
--                                          ^^^^^

-- # a word that is none
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE SLDE 1 MINUTE]
-- =>
-- SqlError: 'SLDE' is not a window clause. Did you mean 'SLIDE'?
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE SLDE 1 MINUTE]
--                                                         ^^^^

-- # a word twice
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE RANGE 2 MINUTES]
-- =>
-- SqlError: RANGE is given twice in this window
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE RANGE 2 MINUTES]
--                                                         ^^^^^

-- # an unknown alignment
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE ALIGN MIDDLE]
-- =>
-- SqlError: expected ALIGN START or ALIGN END
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE ALIGN MIDDLE]
--                                                         ^^^^^

-- # a bracket not closed
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE
-- =>
-- SqlError: this window is not closed: expected ]
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE
--                                         ^

-- # an origin that is no time
SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE ORIGIN 'soon']
-- =>
-- SqlError: query q: ORIGIN takes a time like '2024-01-01 00:00:00' or a length, got 'soon'
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE ORIGIN 'soon']
--                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # session windows
SELECT count(*) AS n FROM tcp GROUP BY session_window(ts, '5 minutes')
-- =>
-- SqlError: query q: session windows are not supported; write a RANGE, like [RANGE 10 MINUTES], and GROUP BY the key
--   line 1: SELECT count(*) AS n FROM tcp GROUP BY session_window(ts, '5 minutes')
--                                                  ^^^^^^^^^^^^^^^^^

-- # a length that is not written out
SELECT count(*) AS n FROM tcp GROUP BY window(ts, len)
-- =>
-- SqlError: query q: the lengths in window(…) are written out, like '10 minutes'
--   line 1: SELECT count(*) AS n FROM tcp GROUP BY window(ts, len)
--                                                  ^^^^^^^^^^^^^^

-- # RAGNE
SELECT count(*) AS n FROM tcp [RAGNE 1 MINUTE]
-- =>
-- SqlError: 'RAGNE' is not a window clause. Did you mean 'RANGE'?
--   line 1: SELECT count(*) AS n FROM tcp [RAGNE 1 MINUTE]
--                                          ^^^^^

-- # ROWS
SELECT count(*) AS n FROM tcp [ROWS 2 SLIDE 1]
-- =>
-- SqlError: windows of a number of rows are not supported; a window is a RANGE of the progressing attribute, like [RANGE 10 MINUTES SLIDE 1 MINUTE]
--   line 1: SELECT count(*) AS n FROM tcp [ROWS 2 SLIDE 1]
--                                          ^^^^

-- # SESSION
SELECT count(*) AS n FROM tcp [SESSION 5 MINUTES]
-- =>
-- SqlError: session windows are not supported; write a RANGE, like [RANGE 10 MINUTES SLIDE 1 MINUTE]
--   line 1: SELECT count(*) AS n FROM tcp [SESSION 5 MINUTES]
--                                          ^^^^^^^

-- # PARTITION BY
SELECT count(*) AS n FROM tcp [PARTITION BY srcIP ROWS 5]
-- =>
-- SqlError: windows per key are not supported; write a RANGE, like [RANGE 10 MINUTES SLIDE 1 MINUTE], and GROUP BY the key
--   line 1: SELECT count(*) AS n FROM tcp [PARTITION BY srcIP ROWS 5]
--                                          ^^^^^^^^^^^^

-- # WITHIN
SELECT count(*) AS n FROM tcp [WITHIN 5 MINUTES]
-- =>
-- SqlError: WITHIN is not a window clause; write RANGE and a length, like [RANGE 10 MINUTES]
--   line 1: SELECT count(*) AS n FROM tcp [WITHIN 5 MINUTES]
--                                          ^^^^^^

-- # WITHIN without brackets
SELECT count(*) AS n FROM tcp WITHIN 5 MINUTES
-- =>
-- SqlError: a window is written in brackets behind its stream, like [RANGE 10 MINUTES SLIDE 1 MINUTE]
--   line 1: SELECT count(*) AS n FROM tcp WITHIN 5 MINUTES
--                                         ^^^^^^^^

-- # TUMBLING
SELECT count(*) AS n FROM tcp [TUMBLING 5 MINUTES]
-- =>
-- SqlError: a window starts with RANGE: write [RANGE 10 MINUTES] for a tumbling one, [RANGE 10 MINUTES SLIDE 1 MINUTE] for a sliding one
--   line 1: SELECT count(*) AS n FROM tcp [TUMBLING 5 MINUTES]
--                                          ^^^^^^^^

-- # a length alone
SELECT count(*) AS n FROM tcp [5 MINUTES]
-- =>
-- SqlError: expected RANGE before 5: write for example [RANGE 10 MINUTES SLIDE 1 MINUTE]
--   line 1: SELECT count(*) AS n FROM tcp [5 MINUTES]
--                                          ^

-- # a window of no words
SELECT count(*) AS n FROM tcp []
-- =>
-- SqlError: this window is empty: write for example [RANGE 10 MINUTES SLIDE 1 MINUTE]
--   line 1: SELECT count(*) AS n FROM tcp []
--                                         ^

-- # a reset in words
SELECT count(*) AS n FROM tcp [RANGE ALL SLIDE 7 SECONDS RESET 1 MINUTE]
-- =>
-- SqlError: query q: RESET must be a multiple of SLIDE so that the last window ends at the reset, but 1 MINUTE is not a multiple of 7 SECONDS
--   line 1: SELECT count(*) AS n FROM tcp [RANGE ALL SLIDE 7 SECONDS RESET 1 MINUTE]
--                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # a window function of no length
SELECT window(ts, '0 seconds'), count(*) AS n FROM tcp GROUP BY window(ts, '0 seconds')
-- =>
-- SqlError: query q: the length of a window must be positive, got 0 seconds
--   line 1: SELECT window(ts, '0 seconds'), count(*) AS n FROM tcp GROUP BY window(ts, '0 seconds')
--                                                                           ^^^^^^^^^

-- # a window behind a condition
SELECT count(*) AS n FROM tcp WHERE len > 1 [RANGE 1 MINUTE]
-- =>
-- SqlError: this window follows no stream or query
--   line 1: SELECT count(*) AS n FROM tcp WHERE len > 1 [RANGE 1 MINUTE]
--                                                        ^^^^^^^^^^^^^^

-- # a window on a function of the progressing attribute
CREATE QUERY due AS SELECT ts + INTERVAL 1 HOUR AS due, srcIP FROM tcp; CREATE QUERY q AS SELECT srcIP, count(*) AS n FROM due [RANGE 1 MINUTE] GROUP BY srcIP
-- =>
-- q: (srcIP = k0, n = a0, window_start, window_end) from due [range 60000000 slide 60000000] by srcIP of count()

-- # of a column and its function, the column counts unless the window names the other
CREATE QUERY both AS SELECT date_trunc('MINUTE', ts) AS m, ts, srcIP FROM tcp; CREATE QUERY q AS SELECT count(*) AS n FROM both [RANGE 10 MINUTES, WA m]
-- =>
-- q: (n = a0, window_start, window_end) from both [range 600000000 slide 600000000] of count()

-- # times as integers
SELECT count(*) AS n FROM (SELECT CAST(ts AS BIGINT) DIV 60 AS minute FROM tcp) [RANGE 10]
-- =>
-- q$1: rows (minute = CAST(ts AS BIGINT) DIV 60) from tcp, progress on minute
-- q: (n = a0, window_start, window_end) from q$1 [range 10 slide 10] of count()

-- # a union of a column and of its function
SELECT count(*) AS n FROM (SELECT ts, srcIP FROM tcp UNION ALL SELECT ts - INTERVAL 5 MINUTES AS ts, srcIP FROM udp) [RANGE 1 MINUTE]
-- =>
-- q$1: rows (ts, srcIP) from tcp + (ts = ts - INTERVAL '5' MINUTES, srcIP) from udp, progress on ts
-- q: (n = a0, window_start, window_end) from q$1 [range 60000000 slide 60000000] of count()

-- # a function that falls
SELECT count(*) AS n FROM (SELECT 100 - time AS t FROM ticks) [RANGE 10]
-- =>
-- PlanError: query q: ticks has no progressing attribute left (100 - time falls where time rises), so the window could never close: keep it in the SELECT of the sub-select

-- # a function that depends on the time zone
SELECT count(*) AS n FROM (SELECT ts, date_trunc('DAY', ts) AS day FROM tcp) [RANGE 1 MINUTE, WA day]
-- =>
-- PlanError: query q: the window is on 'day', but tcp makes progress on 'ts', so it could never close (DATE_TRUNC('DAY', ts) depends on the time zone; seconds and minutes do not): put the window on ts

-- # whole days
SELECT count(*) AS n FROM (SELECT ts + INTERVAL 2 DAYS AS t FROM tcp) [RANGE 1 MINUTE]
-- =>
-- PlanError: query q: tcp has no progressing attribute left (ts + INTERVAL '2' DAYS: whole days depend on the time zone, and where clocks change they do not keep the order), so the window could never close: keep it in the SELECT of the sub-select

-- # months
SELECT count(*) AS n FROM (SELECT ts + INTERVAL 1 MONTH AS t FROM tcp) [RANGE 1 MINUTE]
-- =>
-- PlanError: query q: tcp has no progressing attribute left (ts + INTERVAL '1' MONTH: INTERVAL '1' MONTH is no fixed length), so the window could never close: keep it in the SELECT of the sub-select

-- # a division that is not whole
SELECT count(*) AS n FROM (SELECT time / 60 AS t FROM ticks) [RANGE 10]
-- =>
-- PlanError: query q: ticks has no progressing attribute left (time / 60 is a DOUBLE, which counts no windows: write DIV), so the window could never close: keep it in the SELECT of the sub-select

-- # always the same
SELECT count(*) AS n FROM (SELECT time * 0 AS t FROM ticks) [RANGE 10]
-- =>
-- PlanError: query q: ticks has no progressing attribute left (time * 0 is always the same), so the window could never close: keep it in the SELECT of the sub-select

-- # two columns
SELECT count(*) AS n FROM (SELECT ts + make_interval(len) AS t FROM tcp) [RANGE 1 MINUTE]
-- =>
-- PlanError: query q: tcp has no progressing attribute left (ts + MAKE_INTERVAL(len) is no function that is known to keep the order of time), so the window could never close: keep it in the SELECT of the sub-select

-- # a cast that loses values
SELECT count(*) AS n FROM (SELECT CAST(time AS INT) AS t FROM ticks) [RANGE 10]
-- =>
-- PlanError: query q: ticks has no progressing attribute left (CAST(time AS INT): not every BIGINT is INT), so the window could never close: keep it in the SELECT of the sub-select

-- # a cast to a text
SELECT count(*) AS n FROM (SELECT CAST(ts AS STRING) AS t FROM tcp) [RANGE 1 MINUTE]
-- =>
-- PlanError: query q: tcp has no progressing attribute left (CAST(ts AS STRING): progress is on a TIMESTAMP or an integer, by casts that keep the order in every time zone), so the window could never close: keep it in the SELECT of the sub-select

-- # some other function
SELECT count(*) AS n FROM (SELECT abs(time) AS t FROM ticks) [RANGE 10]
-- =>
-- PlanError: query q: ticks has no progressing attribute left (ABS(time) is no function that is known to keep the order of time), so the window could never close: keep it in the SELECT of the sub-select

-- # a function in FROM, as in Flink
SELECT srcIP, count(*) AS n FROM TABLE(TUMBLE(TABLE tcp, DESCRIPTOR(ts), INTERVAL '10' SECONDS)) GROUP BY window_start, window_end, srcIP
-- =>
-- q: (srcIP = k0, n = a0, window_start, window_end) from tcp [range 10000000 slide 10000000] by srcIP of count()

-- # a function in FROM, as in RisingWave
SELECT count(*) AS n FROM HOP(tcp, ts, INTERVAL '1' MINUTE, INTERVAL '5' MINUTES) AS t GROUP BY t.window_start
-- =>
-- q: (n = a0, window_start, window_end) from tcp [range 300000000 slide 60000000] of count()

-- # cumulating windows as a function
SELECT count(*) AS n FROM TABLE(CUMULATE(TABLE tcp, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTES))
-- =>
-- q: (n = a0, window_start, window_end) from tcp [range all slide 60000000 reset 300000000] of count()

-- # sessions as a function
SELECT count(*) AS n FROM TABLE(SESSION(TABLE tcp, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
-- =>
-- SqlError: session windows are not supported; write a window behind its stream, like bid [RANGE 10 SECONDS]
--   line 1: SELECT count(*) AS n FROM TABLE(SESSION(TABLE tcp, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
--                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

-- # a window function without a length
SELECT count(*) AS n FROM TUMBLE(tcp, ts)
-- =>
-- SqlError: expected TUMBLE(TABLE bid, DESCRIPTOR(ts), <length>), with the name of a stream or query; write a window behind its stream, like bid [RANGE 10 SECONDS]
--   line 1: SELECT count(*) AS n FROM TUMBLE(tcp, ts)
--                                     ^^^^^^^^^^^^^^^

-- # the time alone
SELECT time, k, count(*) AS n FROM ticks GROUP BY time, k
-- =>
-- q: (time = window_start, k = k0, n = a0, window_start, window_end) from ticks [range 1 slide 1] by k of count()

-- # a timestamp alone under another name
SELECT ts AS at, count(*) AS n FROM tcp GROUP BY at
-- =>
-- q: (at = window_start, n = a0, window_start, window_end) from tcp [range 1 slide 1] of count()

-- # no window over integers
SELECT count(*) AS n FROM ticks
-- =>
-- PlanError: query q: no window: the aggregate over ticks would never be complete, and its state never purged. Write FROM stream [RANGE 600 SLIDE 60], or RANGE ALL for a landmark window

-- # a window after an aggregate over a sub-select
SELECT srcIP, sum(l) AS s [RANGE 5 MINUTES] FROM (SELECT ts, srcIP, len AS l FROM tcp) AS x GROUP BY srcIP
-- =>
-- q$1: rows (ts, srcIP, l = len) from tcp, progress on ts
-- q: (srcIP = k0, s = a0, window_start, window_end) from q$1 [range 300000000 slide 300000000] by srcIP of sum(l)

-- # windows after an aggregate and inside the sub-select
SELECT srcIP, sum(s) AS s [RANGE 10 MINUTES] FROM (SELECT srcIP, sum(len) AS s FROM tcp [RANGE 5 MINUTES] GROUP BY srcIP) GROUP BY srcIP
-- =>
-- q$1: (srcIP = k0, s = a0, window_start, window_end) from tcp [range 300000000 slide 300000000] by srcIP of sum(len)
-- q: (srcIP = k0, s = a0, window_start, window_end) from q$1 [range 600000000 slide 600000000] by srcIP of sum(s)

-- # PA
SELECT count(*) AS n FROM tcp [RANGE 5 MINUTES, PA ts]
-- =>
-- SqlError: PA names the progressing attribute of a stream, which is said once, with PROGRESSING ON; leave it out, or write WA and the attribute
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 5 MINUTES, PA ts]
--                                                           ^^

-- # RATTR
SELECT count(*) AS n FROM tcp [RANGE 5 MINUTES, RATTR ts]
-- =>
-- SqlError: RATTR and SATTR name what RANGE and SLIDE are counted in, which is the progressing attribute; leave them out, or write WATTR and the attribute
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 5 MINUTES, RATTR ts]
--                                                           ^^^^^

-- # a number of rows
SELECT count(*) AS n FROM tcp [RANGE 5 ROWS]
-- =>
-- SqlError: windows of a number of rows are not supported; a window is a RANGE of the progressing attribute, like [RANGE 10 MINUTES SLIDE 1 MINUTE]
--   line 1: SELECT count(*) AS n FROM tcp [RANGE 5 ROWS]
--                                                  ^^^^
