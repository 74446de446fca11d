-- Ten joins and ten aggregates over the same two streams.
-- In Spark SQL, where both streams carry a watermark of 5 seconds. Times beside a window are numbers, since a
-- join may give one column with a watermark.

CREATE TEMPORARY VIEW flow_pairs AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 120 SECONDS;

CREATE TEMPORARY VIEW flow_neighbours AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts - INTERVAL 60 SECONDS AND a.ts + INTERVAL 60 SECONDS;

CREATE TEMPORARY VIEW longer_next AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 120 SECONDS AND b.len > a.len;

CREATE TEMPORARY VIEW host_pairs AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP
      AND b.ts BETWEEN a.ts - INTERVAL 10 SECONDS AND a.ts + INTERVAL 10 SECONDS;

CREATE TEMPORARY VIEW other_targets AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP
      AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 SECONDS AND a.destIP <> b.destIP;

CREATE TEMPORARY VIEW handshakes AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 120 SECONDS AND a.flags = 2 AND b.flags = 18;

CREATE TEMPORARY VIEW answered AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a LEFT JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts - INTERVAL 75 SECONDS AND a.ts + INTERVAL 90 SECONDS;

CREATE TEMPORARY VIEW large_answered AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a LEFT JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 90 SECONDS
  WHERE a.len = 1500;

CREATE TEMPORARY VIEW flow_minutes AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM (SELECT unix_micros(ts) AS ts, srcIP, destIP, srcPort, destPort, len, window(ts, '60 seconds') AS w FROM tap1) AS a
  JOIN (SELECT unix_micros(ts) AS ts, srcIP, destIP, srcPort, destPort, len, window(ts, '60 seconds') AS w FROM tap2) AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort AND a.w = b.w;

CREATE TEMPORARY VIEW host_seconds AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.len AS len, b.len AS other_len
  FROM (SELECT unix_micros(ts) AS ts, srcIP, destIP, len, window(ts, '10 seconds') AS w FROM tap1) AS a
  JOIN (SELECT unix_micros(ts) AS ts, srcIP, destIP, len, window(ts, '10 seconds') AS w FROM tap2) AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.w = b.w;

CREATE TEMPORARY VIEW first_flows_1m AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP, destIP, srcPort, destPort, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap1
  GROUP BY window(ts, '1 minute'), srcIP, destIP, srcPort, destPort;

CREATE TEMPORARY VIEW second_flows_1m AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP, destIP, srcPort, destPort, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap2
  GROUP BY window(ts, '1 minute'), srcIP, destIP, srcPort, destPort;

CREATE TEMPORARY VIEW first_hosts_5m AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP, destIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap1
  GROUP BY window(ts, '5 minutes'), srcIP, destIP;

CREATE TEMPORARY VIEW second_hosts_5m AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP, destIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap2
  GROUP BY window(ts, '5 minutes'), srcIP, destIP;

CREATE TEMPORARY VIEW first_sources_1m AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap1
  GROUP BY window(ts, '1 minute'), srcIP;

CREATE TEMPORARY VIEW second_sources_1m AS
  SELECT window.start AS window_start, window.end AS window_end,
         srcIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap2
  GROUP BY window(ts, '1 minute'), srcIP;

CREATE TEMPORARY VIEW first_ports_1m AS
  SELECT window.start AS window_start, window.end AS window_end,
         destPort, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap1
  GROUP BY window(ts, '1 minute'), destPort;

CREATE TEMPORARY VIEW second_ports_1m AS
  SELECT window.start AS window_start, window.end AS window_end,
         destPort, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap2
  GROUP BY window(ts, '1 minute'), destPort;

CREATE TEMPORARY VIEW first_protocols_10m AS
  SELECT window.start AS window_start, window.end AS window_end,
         protocol, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap1
  GROUP BY window(ts, '10 minutes'), protocol;

CREATE TEMPORARY VIEW second_protocols_10m AS
  SELECT window.start AS window_start, window.end AS window_end,
         protocol, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap2
  GROUP BY window(ts, '10 minutes'), protocol;
