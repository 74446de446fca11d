-- Left outer interval join: packets of a flow at the first tap with those near them at the second, or alone (one in ten).
-- In Spark SQL, where both streams carry a watermark of 5 seconds.

CREATE TEMPORARY VIEW answered AS
  SELECT a.ts, b.ts AS answer, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS answer_len
  FROM tap1 AS a LEFT JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts - INTERVAL 75 SECONDS AND a.ts + INTERVAL 90 SECONDS;
