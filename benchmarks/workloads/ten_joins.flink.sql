-- Ten joins and ten aggregates over the same two streams.
-- In Flink SQL: interval joins, window joins, window table functions. Times of joins are given back as numbers.

CREATE TEMPORARY VIEW flow_pairs AS
  SELECT a.ms * 1000 AS ts, b.ms * 1000 AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '2' MINUTE;

CREATE TEMPORARY VIEW flow_neighbours AS
  SELECT a.ms * 1000 AS ts, b.ms * 1000 AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts - INTERVAL '60' SECOND AND a.ts + INTERVAL '60' SECOND;

CREATE TEMPORARY VIEW longer_next AS
  SELECT a.ms * 1000 AS ts, b.ms * 1000 AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '2' MINUTE AND b.len > a.len;

CREATE TEMPORARY VIEW host_pairs AS
  SELECT a.ms * 1000 AS ts, b.ms * 1000 AS other, a.srcIP, a.destIP, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP
      AND b.ts BETWEEN a.ts - INTERVAL '10' SECOND AND a.ts + INTERVAL '10' SECOND;

CREATE TEMPORARY VIEW other_targets AS
  SELECT a.ms * 1000 AS ts, b.ms * 1000 AS other, a.srcIP, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP
      AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' SECOND AND a.destIP <> b.destIP;

CREATE TEMPORARY VIEW handshakes AS
  SELECT a.ms * 1000 AS ts, b.ms * 1000 AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '2' MINUTE AND a.flags = 2 AND b.flags = 18;

CREATE TEMPORARY VIEW answered AS
  SELECT a.ms * 1000 AS ts, b.ms * 1000 AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a LEFT JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts - INTERVAL '75' SECOND AND a.ts + INTERVAL '90' SECOND;

CREATE TEMPORARY VIEW large_answered AS
  SELECT a.ms * 1000 AS ts, b.ms * 1000 AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a LEFT JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '90' SECOND
  WHERE a.len = 1500;

CREATE TEMPORARY VIEW flow_minutes AS
  SELECT a.ms * 1000 AS ts, b.ms * 1000 AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM TABLE(TUMBLE(TABLE tap1, DESCRIPTOR(ts), INTERVAL '60' SECOND)) AS a
  JOIN TABLE(TUMBLE(TABLE tap2, DESCRIPTOR(ts), INTERVAL '60' SECOND)) AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND a.window_start = b.window_start AND a.window_end = b.window_end;

CREATE TEMPORARY VIEW host_seconds AS
  SELECT a.ms * 1000 AS ts, b.ms * 1000 AS other, a.srcIP, a.destIP, a.len AS len, b.len AS other_len
  FROM TABLE(TUMBLE(TABLE tap1, DESCRIPTOR(ts), INTERVAL '10' SECOND)) AS a
  JOIN TABLE(TUMBLE(TABLE tap2, DESCRIPTOR(ts), INTERVAL '10' SECOND)) AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP
      AND a.window_start = b.window_start AND a.window_end = b.window_end;

CREATE TEMPORARY VIEW first_flows_1m AS
  SELECT window_start, window_end,
         srcIP, destIP, srcPort, destPort, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(TUMBLE(TABLE tap1, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY window_start, window_end, srcIP, destIP, srcPort, destPort;

CREATE TEMPORARY VIEW second_flows_1m AS
  SELECT window_start, window_end,
         srcIP, destIP, srcPort, destPort, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(TUMBLE(TABLE tap2, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY window_start, window_end, srcIP, destIP, srcPort, destPort;

CREATE TEMPORARY VIEW first_hosts_5m AS
  SELECT window_start, window_end,
         srcIP, destIP, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(TUMBLE(TABLE tap1, DESCRIPTOR(ts), INTERVAL '5' MINUTE))
  GROUP BY window_start, window_end, srcIP, destIP;

CREATE TEMPORARY VIEW second_hosts_5m AS
  SELECT window_start, window_end,
         srcIP, destIP, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(TUMBLE(TABLE tap2, DESCRIPTOR(ts), INTERVAL '5' MINUTE))
  GROUP BY window_start, window_end, srcIP, destIP;

CREATE TEMPORARY VIEW first_sources_1m AS
  SELECT window_start, window_end,
         srcIP, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(TUMBLE(TABLE tap1, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY window_start, window_end, srcIP;

CREATE TEMPORARY VIEW second_sources_1m AS
  SELECT window_start, window_end,
         srcIP, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(TUMBLE(TABLE tap2, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY window_start, window_end, srcIP;

CREATE TEMPORARY VIEW first_ports_1m AS
  SELECT window_start, window_end,
         destPort, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(TUMBLE(TABLE tap1, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY window_start, window_end, destPort;

CREATE TEMPORARY VIEW second_ports_1m AS
  SELECT window_start, window_end,
         destPort, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(TUMBLE(TABLE tap2, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
  GROUP BY window_start, window_end, destPort;

CREATE TEMPORARY VIEW first_protocols_10m AS
  SELECT window_start, window_end,
         protocol, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(TUMBLE(TABLE tap1, DESCRIPTOR(ts), INTERVAL '10' MINUTE))
  GROUP BY window_start, window_end, protocol;

CREATE TEMPORARY VIEW second_protocols_10m AS
  SELECT window_start, window_end,
         protocol, COUNT(*) AS n, SUM(CAST(len AS BIGINT)) AS volume, MAX(len) AS longest
  FROM TABLE(TUMBLE(TABLE tap2, DESCRIPTOR(ts), INTERVAL '10' MINUTE))
  GROUP BY window_start, window_end, protocol;
