-- Ten joins and ten aggregates over the same two streams.
-- In DuckDB, once over all rows: the floor. `us` is ts in microseconds; buckets of time are keys of the bands.

CREATE TEMPORARY VIEW flow_pairs AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM (SELECT *, unnest(range(us // 120000000, (us + 120000000) // 120000000 + 1)) AS bucket FROM tap1) AS a
  JOIN (SELECT *, us // 120000000 AS bucket FROM tap2) AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND a.bucket = b.bucket AND b.us BETWEEN a.us AND a.us + 120000000;

CREATE TEMPORARY VIEW flow_neighbours AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM (SELECT *, unnest(range((us - 60000000) // 120000000, (us + 60000000) // 120000000 + 1)) AS bucket FROM tap1) AS a
  JOIN (SELECT *, us // 120000000 AS bucket FROM tap2) AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND a.bucket = b.bucket AND b.us BETWEEN a.us - 60000000 AND a.us + 60000000;

CREATE TEMPORARY VIEW longer_next AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM (SELECT *, unnest(range(us // 120000000, (us + 120000000) // 120000000 + 1)) AS bucket FROM tap1) AS a
  JOIN (SELECT *, us // 120000000 AS bucket FROM tap2) AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND a.bucket = b.bucket AND b.us BETWEEN a.us AND a.us + 120000000 AND b.len > a.len;

CREATE TEMPORARY VIEW host_pairs AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.len AS len, b.len AS other_len
  FROM (SELECT *, unnest(range((us - 10000000) // 20000000, (us + 10000000) // 20000000 + 1)) AS bucket FROM tap1) AS a
  JOIN (SELECT *, us // 20000000 AS bucket FROM tap2) AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP
      AND a.bucket = b.bucket AND b.us BETWEEN a.us - 10000000 AND a.us + 10000000;

CREATE TEMPORARY VIEW other_targets AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.len AS len, b.len AS other_len
  FROM (SELECT *, unnest(range(us // 1000000, (us + 1000000) // 1000000 + 1)) AS bucket FROM tap1) AS a
  JOIN (SELECT *, us // 1000000 AS bucket FROM tap2) AS b
    ON a.srcIP = b.srcIP
      AND a.bucket = b.bucket AND b.us BETWEEN a.us AND a.us + 1000000 AND a.destIP <> b.destIP;

CREATE TEMPORARY VIEW handshakes AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM (SELECT *, unnest(range(us // 120000000, (us + 120000000) // 120000000 + 1)) AS bucket FROM tap1) AS a
  JOIN (SELECT *, us // 120000000 AS bucket FROM tap2) AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND a.bucket = b.bucket AND b.us BETWEEN a.us AND a.us + 120000000 AND a.flags = 2 AND b.flags = 18;

CREATE TEMPORARY VIEW answered AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a LEFT JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.us BETWEEN a.us - 75000000 AND a.us + 90000000;

CREATE TEMPORARY VIEW large_answered AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a LEFT JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND b.us BETWEEN a.us AND a.us + 90000000
  WHERE a.len = 1500;

CREATE TEMPORARY VIEW flow_minutes AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
      AND a.us // 60000000 = b.us // 60000000;

CREATE TEMPORARY VIEW host_seconds AS
  SELECT a.ts, b.ts AS other, a.srcIP, a.destIP, a.len AS len, b.len AS other_len
  FROM tap1 AS a JOIN tap2 AS b
    ON a.srcIP = b.srcIP AND a.destIP = b.destIP
      AND a.us // 10000000 = b.us // 10000000;

CREATE TEMPORARY VIEW first_flows_1m AS
  SELECT us // 60000000 * 60000000 AS window_start, window_start + 60000000 AS window_end,
         srcIP, destIP, srcPort, destPort, count(*) AS n, sum(len)::BIGINT AS volume, max(len) AS longest
  FROM tap1
  GROUP BY ALL;

CREATE TEMPORARY VIEW second_flows_1m AS
  SELECT us // 60000000 * 60000000 AS window_start, window_start + 60000000 AS window_end,
         srcIP, destIP, srcPort, destPort, count(*) AS n, sum(len)::BIGINT AS volume, max(len) AS longest
  FROM tap2
  GROUP BY ALL;

CREATE TEMPORARY VIEW first_hosts_5m AS
  SELECT us // 300000000 * 300000000 AS window_start, window_start + 300000000 AS window_end,
         srcIP, destIP, count(*) AS n, sum(len)::BIGINT AS volume, max(len) AS longest
  FROM tap1
  GROUP BY ALL;

CREATE TEMPORARY VIEW second_hosts_5m AS
  SELECT us // 300000000 * 300000000 AS window_start, window_start + 300000000 AS window_end,
         srcIP, destIP, count(*) AS n, sum(len)::BIGINT AS volume, max(len) AS longest
  FROM tap2
  GROUP BY ALL;

CREATE TEMPORARY VIEW first_sources_1m AS
  SELECT us // 60000000 * 60000000 AS window_start, window_start + 60000000 AS window_end,
         srcIP, count(*) AS n, sum(len)::BIGINT AS volume, max(len) AS longest
  FROM tap1
  GROUP BY ALL;

CREATE TEMPORARY VIEW second_sources_1m AS
  SELECT us // 60000000 * 60000000 AS window_start, window_start + 60000000 AS window_end,
         srcIP, count(*) AS n, sum(len)::BIGINT AS volume, max(len) AS longest
  FROM tap2
  GROUP BY ALL;

CREATE TEMPORARY VIEW first_ports_1m AS
  SELECT us // 60000000 * 60000000 AS window_start, window_start + 60000000 AS window_end,
         destPort, count(*) AS n, sum(len)::BIGINT AS volume, max(len) AS longest
  FROM tap1
  GROUP BY ALL;

CREATE TEMPORARY VIEW second_ports_1m AS
  SELECT us // 60000000 * 60000000 AS window_start, window_start + 60000000 AS window_end,
         destPort, count(*) AS n, sum(len)::BIGINT AS volume, max(len) AS longest
  FROM tap2
  GROUP BY ALL;

CREATE TEMPORARY VIEW first_protocols_10m AS
  SELECT us // 600000000 * 600000000 AS window_start, window_start + 600000000 AS window_end,
         protocol, count(*) AS n, sum(len)::BIGINT AS volume, max(len) AS longest
  FROM tap1
  GROUP BY ALL;

CREATE TEMPORARY VIEW second_protocols_10m AS
  SELECT us // 600000000 * 600000000 AS window_start, window_start + 600000000 AS window_end,
         protocol, count(*) AS n, sum(len)::BIGINT AS volume, max(len) AS longest
  FROM tap2
  GROUP BY ALL;
