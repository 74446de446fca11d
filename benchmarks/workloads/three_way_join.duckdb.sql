-- Three-way join on one key: packets of two hosts and a protocol in the same minute at three taps.
-- In DuckDB, once over all rows: the floor. `us` is ts in microseconds.

CREATE TEMPORARY VIEW triples AS
  SELECT a.ts, b.ts AS second, c.ts AS third, a.srcIP, a.destIP, a.protocol, a.len AS len, b.len AS second_len, c.len AS third_len
  FROM tap1 AS a
  JOIN tap2 AS b ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.protocol = b.protocol AND a.us // 60000000 = b.us // 60000000
  JOIN tap3 AS c ON a.srcIP = c.srcIP AND a.destIP = c.destIP AND a.protocol = c.protocol AND a.us // 60000000 = c.us // 60000000;
