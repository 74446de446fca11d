-- Ten joins and ten aggregates over the same two streams.

CREATE QUERY flow_pairs AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 120 SECONDS;

CREATE QUERY flow_neighbours AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts - INTERVAL 60 SECONDS AND a.ts + INTERVAL 60 SECONDS;

CREATE QUERY longer_next AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 120 SECONDS AND b.len > a.len;

CREATE QUERY host_pairs AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP
      AND b.ts BETWEEN a.ts - INTERVAL 10 SECONDS AND a.ts + INTERVAL 10 SECONDS;

CREATE QUERY other_targets AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP
      AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 SECONDS AND a.destIP <> b.destIP;

CREATE QUERY handshakes AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 120 SECONDS AND a.flags = 2 AND b.flags = 18;

CREATE QUERY answered AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a LEFT JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts - INTERVAL 75 SECONDS AND a.ts + INTERVAL 90 SECONDS;

CREATE QUERY large_answered AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a LEFT JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 90 SECONDS
  WHERE a.len = 1500;

CREATE QUERY flow_minutes AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND window(a.ts, '60 seconds') = window(b.ts, '60 seconds');

CREATE QUERY host_seconds AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP
      AND window(a.ts, '10 seconds') = window(b.ts, '10 seconds');

CREATE QUERY first_flows_1m AS
  SELECT srcIP, destIP, srcPort, destPort, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap1 [RANGE 1 MINUTE]
  GROUP BY srcIP, destIP, srcPort, destPort;

CREATE QUERY second_flows_1m AS
  SELECT srcIP, destIP, srcPort, destPort, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap2 [RANGE 1 MINUTE]
  GROUP BY srcIP, destIP, srcPort, destPort;

CREATE QUERY first_hosts_5m AS
  SELECT srcIP, destIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap1 [RANGE 5 MINUTES]
  GROUP BY srcIP, destIP;

CREATE QUERY second_hosts_5m AS
  SELECT srcIP, destIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap2 [RANGE 5 MINUTES]
  GROUP BY srcIP, destIP;

CREATE QUERY first_sources_1m AS
  SELECT srcIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap1 [RANGE 1 MINUTE]
  GROUP BY srcIP;

CREATE QUERY second_sources_1m AS
  SELECT srcIP, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap2 [RANGE 1 MINUTE]
  GROUP BY srcIP;

CREATE QUERY first_ports_1m AS
  SELECT destPort, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap1 [RANGE 1 MINUTE]
  GROUP BY destPort;

CREATE QUERY second_ports_1m AS
  SELECT destPort, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap2 [RANGE 1 MINUTE]
  GROUP BY destPort;

CREATE QUERY first_protocols_10m AS
  SELECT protocol, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap1 [RANGE 10 MINUTES]
  GROUP BY protocol;

CREATE QUERY second_protocols_10m AS
  SELECT protocol, count(*) AS n, sum(len) AS volume, max(len) AS longest
  FROM tap2 [RANGE 10 MINUTES]
  GROUP BY protocol;
