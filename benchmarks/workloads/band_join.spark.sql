-- Band join: packets of a flow at the first tap with those up to two minutes later at the second.
-- In Spark SQL, where both streams carry a watermark of 5 seconds.

CREATE TEMPORARY VIEW flow_pairs AS
  SELECT a.ts, b.ts AS later, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS later_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 2 MINUTES;
