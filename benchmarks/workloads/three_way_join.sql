-- Three-way join on one key: packets of two hosts and a protocol in the same minute at three taps.

CREATE QUERY triples AS
  SELECT a.ts, b.ts AS second, c.ts AS third, a.srcIP, a.destIP, a.protocol, a.len AS len, b.len AS second_len, c.len AS third_len
  FROM tap1 AS a JOIN tap2 AS b ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.protocol = b.protocol
  JOIN tap3 AS c ON a.srcIP = c.srcIP AND a.destIP = c.destIP AND a.protocol = c.protocol
  WHERE window(a.ts, '1 minute') = window(b.ts, '1 minute') AND window(a.ts, '1 minute') = window(c.ts, '1 minute');
