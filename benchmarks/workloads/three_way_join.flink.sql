-- Three-way join on one key: packets of two hosts and a protocol in the same minute at three taps.
-- In Flink SQL: two window joins, one after the other.

CREATE TEMPORARY VIEW triples AS
  SELECT l.ms * 1000 AS ts, l.second_ms * 1000 AS `second`, c.ms * 1000 AS third, l.srcIP, l.destIP, l.protocol,
         l.len AS len, l.second_len AS second_len, c.len AS third_len
  FROM (
    SELECT a.window_start AS window_start, a.window_end AS window_end, a.ms AS ms, b.ms AS second_ms,
           a.srcIP AS srcIP, a.destIP AS destIP, a.protocol AS protocol, a.len AS len, b.len AS second_len
    FROM TABLE(TUMBLE(TABLE tap1, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) AS a
    JOIN TABLE(TUMBLE(TABLE tap2, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) AS b
      ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.protocol = b.protocol AND a.window_start = b.window_start AND a.window_end = b.window_end
  ) AS l
  JOIN TABLE(TUMBLE(TABLE tap3, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) AS c
    ON l.srcIP = c.srcIP AND l.destIP = c.destIP AND l.protocol = c.protocol AND l.window_start = c.window_start AND l.window_end = c.window_end;
