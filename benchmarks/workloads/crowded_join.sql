-- Band join with many results: packets of a source at the first tap with those up to 30 seconds later at the second.

CREATE QUERY source_pairs AS
  SELECT a.ts, b.ts AS later, a.srcIP, a.len AS len, b.len AS later_len
  FROM tap1 AS a JOIN tap2 AS b ON a.srcIP = b.srcIP
  WHERE b.ts BETWEEN a.ts AND a.ts + INTERVAL 30 SECONDS;
