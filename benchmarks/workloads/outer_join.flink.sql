-- Left outer interval join: packets of a flow at the first tap with those near them at the second, or alone (one in ten).
-- In Flink SQL. Times are given back as numbers, since a sink takes one time attribute only.

CREATE TEMPORARY VIEW answered AS
  SELECT a.ms * 1000 AS ts, b.ms * 1000 AS answer, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS answer_len
  FROM tap1 AS a LEFT JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts - INTERVAL '75' SECOND AND a.ts + INTERVAL '90' SECOND;
