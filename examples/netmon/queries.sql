-- What a network operator watches, over one stream of packets.
-- Data: headrace generate packets --rows 1000000 --groups 5000 --disorder band --lulls 1 --out data/packets

CREATE STREAM tcp (
  ts TIMESTAMP, srcIP INT, destIP INT, srcPort INT, destPort INT, protocol INT, len INT, flags INT
)
  PROGRESSING ON ts SLACK 5 SECONDS  -- the generator delays a packet by up to 5 seconds
  FROM 'parquet' OPTIONS (path 'data/packets', maxFilesPerTrigger '2');  -- two files a batch

-- Who talks to whom: the last ten minutes, every minute.
CREATE QUERY flows AS
  SELECT srcIP, destIP, count(*) AS cnt, sum(len) AS bytes
  FROM tcp [RANGE 10 MINUTES SLIDE 1 MINUTE]
  GROUP BY srcIP, destIP;

-- Sources with at least one heavy flow. A query over a query has its windows: one row per source and window.
CREATE QUERY heavy_flows AS
  SELECT srcIP, max(cnt) AS max_cnt, sum(bytes) AS bytes, count(*) AS destinations
  FROM flows
  GROUP BY srcIP
  HAVING max(cnt) >= 200;

-- Attacks: FIN, PSH and URG together (1 + 8 + 32) and never an ACK is a "Christmas tree" scan.
-- No packet need carry all three; the OR over the flow does.
CREATE QUERY suspicious AS
  SELECT srcIP, destIP, srcPort, destPort, protocol, OR_AGGR(flags) AS orflag, count(*) AS cnt, sum(len) AS bytes
  FROM tcp [RANGE 1 MINUTE]
  GROUP BY srcIP, destIP, srcPort, destPort, protocol
  HAVING OR_AGGR(flags) = 41;

-- Traffic per subnet. -256 is 0xFFFFFF00, the mask of a /24, as a 32-bit integer.
CREATE QUERY subnets AS
  SELECT srcIP & -256 AS subnet, count(*) AS cnt, sum(len) AS bytes, avg(len) AS mean_len
  FROM tcp [RANGE 5 MINUTES SLIDE 1 MINUTE]
  GROUP BY srcIP & -256;

-- Services, minute by minute, with Spark's way to write a window.
CREATE QUERY services AS
  SELECT protocol, destPort, count(*) AS cnt, sum(len) AS bytes, count(DISTINCT srcIP) AS clients
  FROM tcp
  GROUP BY window(ts, '1 minute'), protocol, destPort;

-- Sources that reach for many destinations at once.
CREATE QUERY fan_out AS
  SELECT srcIP, count(DISTINCT destIP) AS destinations, count(DISTINCT destPort) AS ports
  FROM tcp [RANGE 5 MINUTES SLIDE 1 MINUTE]
  WHERE protocol = 6
  GROUP BY srcIP
  HAVING count(DISTINCT destIP) >= 6;

-- Destinations that see connections open (SYN) far more often than close (FIN): a flood, or a server in trouble.
CREATE QUERY half_open AS
  SELECT destIP,
         sum(CASE WHEN flags = 2 THEN 1 ELSE 0 END) AS opened,
         sum(CASE WHEN (flags & 1) = 1 THEN 1 ELSE 0 END) AS closed
  FROM tcp [RANGE 10 MINUTES SLIDE 5 MINUTES]
  WHERE protocol = 6
  GROUP BY destIP
  HAVING sum(CASE WHEN flags = 2 THEN 1 ELSE 0 END) >= 10 + 3 * sum(CASE WHEN (flags & 1) = 1 THEN 1 ELSE 0 END);

-- The day so far, every ten minutes, starting over at midnight UTC.
CREATE QUERY today AS
  SELECT protocol, count(*) AS cnt, sum(len) AS bytes
  FROM tcp [RANGE ALL SLIDE 10 MINUTES RESET 1 DAY]
  GROUP BY protocol;
