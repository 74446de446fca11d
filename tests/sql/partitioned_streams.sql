What a stream may say of its partitioning, and what it may not.

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

-- # a partitioning without its list
CREATE STREAM s (ts TIMESTAMP, a INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED (a) FROM 'parquet'
-- =>
-- SqlError: expected BY, found '('
--   line 1: CREATE STREAM s (ts TIMESTAMP, a INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED (a) FROM 'parquet'
--                                                                                               ^
