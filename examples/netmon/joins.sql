-- Packets that belong together: joins of a stream with itself, and of a query's windows with the next ones.
-- Data: headrace generate packets --rows 1000000 --groups 5000 --disorder band --lulls 1 --replies --out data/packets

CREATE STREAM tcp (
  ts TIMESTAMP, srcIP INT, destIP INT, srcPort INT, destPort INT, protocol INT, len INT, flags INT
)
  PROGRESSING ON ts SLACK 5 SECONDS
  FROM 'parquet' OPTIONS (path 'data/packets', maxFilesPerTrigger '2');

-- Connections: a SYN, and a SYN-ACK (2 + 16) the other way within three seconds. A pair appears in the batch that completes it.
CREATE QUERY connections AS
  SELECT syn.ts, syn.srcIP, syn.destIP, syn.srcPort, syn.destPort,
         unix_micros(ack.ts) - unix_micros(syn.ts) AS round_trip
  FROM tcp syn JOIN tcp ack
    ON syn.srcIP = ack.destIP AND syn.destIP = ack.srcIP AND syn.srcPort = ack.destPort AND syn.destPort = ack.srcPort
  WHERE syn.flags = 2 AND ack.flags = 18
    AND ack.ts > syn.ts AND ack.ts <= syn.ts + INTERVAL 3 SECONDS;

-- Round trips per server, minute by minute: an aggregate over a query that joins, on the time of the SYN.
CREATE QUERY round_trips AS
  SELECT destIP, count(*) AS connections, min(round_trip) AS least, avg(round_trip) AS mean
  FROM connections [RANGE 1 MINUTE]
  GROUP BY destIP;

-- A SYN that nobody answered, reported when progress has passed its three seconds.
CREATE QUERY unanswered AS
  SELECT syn.ts, syn.srcIP, syn.destIP, syn.srcPort, syn.destPort
  FROM tcp syn
  WHERE syn.flags = 2
    AND NOT EXISTS (SELECT 1 FROM tcp ack
                    WHERE syn.srcIP = ack.destIP AND syn.destIP = ack.srcIP
                      AND syn.srcPort = ack.destPort AND syn.destPort = ack.srcPort AND ack.flags = 18
                      AND ack.ts > syn.ts AND ack.ts <= syn.ts + INTERVAL 3 SECONDS);

-- Jitter. The delay of a packet is the time to the next one of its connection, if that comes within two seconds;
CREATE QUERY delays AS
  SELECT p.srcIP, p.destIP, p.srcPort, p.destPort, p.ts AS sent, min(unix_micros(n.ts) - unix_micros(p.ts)) AS delay
  FROM tcp p JOIN tcp n
    ON p.srcIP = n.srcIP AND p.destIP = n.destIP AND p.srcPort = n.srcPort AND p.destPort = n.destPort
   AND n.ts > p.ts AND n.ts <= p.ts + INTERVAL 2 SECONDS
  WHERE p.protocol = 6 AND n.protocol = 6
  GROUP BY window(p.ts, '1 minute'), p.srcIP, p.destIP, p.srcPort, p.destPort, p.ts;

-- how much that varies is the jitter of the connection in that minute.
CREATE QUERY jitter AS
  SELECT srcIP, destIP, srcPort, destPort, count(*) AS delays, avg(delay) AS mean, stddev_pop(delay) AS jitter
  FROM delays
  GROUP BY srcIP, destIP, srcPort, destPort
  HAVING count(*) >= 20;

-- Flows per minute, the heaviest of each source, and those of a minute beside those of the minute before.
CREATE QUERY flows AS
  SELECT tb, srcIP, destIP, count(*) AS cnt FROM tcp GROUP BY ts/60 AS tb, srcIP, destIP;

CREATE QUERY heavy_flows AS
  SELECT tb, srcIP, max(cnt) AS max_cnt FROM flows GROUP BY tb, srcIP;

CREATE QUERY flow_pairs AS
  SELECT S1.tb, S1.srcIP, S1.max_cnt, S2.max_cnt AS max_cnt_before
  FROM heavy_flows S1, heavy_flows S2
  WHERE S1.srcIP = S2.srcIP AND S1.tb = S2.tb + 1;
