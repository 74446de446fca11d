-- Three-way join on one key: packets of two hosts and a protocol in the same minute at three taps.
-- In Spark SQL, where all streams carry a watermark of 5 seconds: two joins, one after the other. Times are numbers, since between
-- two joins Spark wants one column with a watermark, the window.

CREATE TEMPORARY VIEW triples AS
  SELECT a.ts, b.ts AS second, c.ts AS third, a.srcIP, a.destIP, a.protocol, a.len AS len, b.len AS second_len, c.len AS third_len
  FROM (SELECT unix_micros(ts) AS ts, srcIP, destIP, protocol, len, window(ts, '1 minute') AS w FROM tap1) AS a
  JOIN (SELECT unix_micros(ts) AS ts, srcIP, destIP, protocol, len, window(ts, '1 minute') AS w FROM tap2) AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.protocol = b.protocol AND a.w = b.w
  JOIN (SELECT unix_micros(ts) AS ts, srcIP, destIP, protocol, len, window(ts, '1 minute') AS w FROM tap3) AS c
    ON a.srcIP = c.srcIP AND a.destIP = c.destIP AND a.protocol = c.protocol AND a.w = c.w;
