-- Left outer interval join: packets of a flow at the first tap with those near them at the second, or alone (one in ten).
-- In DuckDB, once over all rows: the floor. Two buckets of time are a key too, or the join would compare all rows of a flow.

CREATE TEMPORARY VIEW answered AS
  WITH numbered AS MATERIALIZED (SELECT *, row_number() OVER () AS id FROM tap1),
  met AS MATERIALIZED (
    SELECT a.ts, b.ts AS answer, a.srcIP, a.destIP, a.srcPort, a.destPort, a.len AS len, b.len AS answer_len, a.id
    FROM (SELECT *, unnest(range((us - 75000000) // 165000000, (us + 90000000) // 165000000 + 1)) AS bucket
          FROM numbered) AS a
    JOIN (SELECT *, us // 165000000 AS bucket FROM tap2) AS b
      ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
        AND a.bucket = b.bucket AND b.us BETWEEN a.us - 75000000 AND a.us + 90000000
  )
  SELECT * EXCLUDE (id) FROM met
  UNION ALL
  SELECT ts, NULL::TIMESTAMPTZ, srcIP, destIP, srcPort, destPort, len, NULL::INTEGER
  FROM numbered ANTI JOIN met USING (id);
