-- Flights beside the weather they should have left in, and beside the passengers who checked in.
-- Data: headrace generate flights --checkins --out data

CREATE STREAM flights (
  sched TIMESTAMP, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING,
  dep_delay INT, arr_delay INT, distance INT, air_time INT, cancelled BOOLEAN
)
  PROGRESSING ON sched SLACK 3 HOURS
  FROM 'parquet' OPTIONS (path 'data/flights');

CREATE STREAM weather (
  time_hour TIMESTAMP, origin STRING, wind_dir INT, temp DOUBLE, dewp DOUBLE, humid DOUBLE,
  wind_speed DOUBLE, wind_gust DOUBLE, precip DOUBLE, pressure DOUBLE, visib DOUBLE
)
  PROGRESSING ON time_hour ORDERED
  FROM 'parquet' OPTIONS (path 'data/weather');

CREATE STREAM checkins (ts TIMESTAMP, carrier STRING, flight INT, origin STRING, passengers INT, bags INT)
  PROGRESSING ON ts SLACK 10 MINUTES  -- the desks report within ten minutes
  FROM 'parquet' OPTIONS (path 'data/checkins');

-- Every flight with the weather of its airport and hour; 1,556 of the real flights have none.
CREATE QUERY flight_weather AS
  SELECT f.sched, f.origin, f.carrier, f.flight, f.dep_delay, f.cancelled, w.wind_speed, w.precip, w.visib
  FROM flights f LEFT JOIN weather w
    ON f.origin = w.origin AND f.sched >= w.time_hour AND f.sched < w.time_hour + INTERVAL 1 HOUR;

-- Does weather make late? Per airport and day.
CREATE QUERY weather_delays AS
  SELECT origin,
         count(*) AS flights,
         count(wind_speed) AS with_weather,
         avg(CASE WHEN precip > 0 OR visib < 3 THEN dep_delay END) AS mean_delay_in_bad_weather,
         avg(CASE WHEN precip = 0 AND visib >= 3 THEN dep_delay END) AS mean_delay_otherwise
  FROM flight_weather [RANGE 1 DAY ORIGIN '2013-01-01 05:00:00']
  GROUP BY origin;

-- Who checked in for which flight: between three hours and twenty minutes before it should leave.
CREATE QUERY boarding AS
  SELECT f.sched, f.carrier, f.flight, f.origin, f.cancelled, c.passengers, c.bags
  FROM flights f JOIN checkins c
    ON f.carrier = c.carrier AND f.flight = c.flight AND f.origin = c.origin
   AND c.ts BETWEEN f.sched - INTERVAL 3 HOURS AND f.sched - INTERVAL 20 MINUTES;

-- Passengers and bags that were stranded by cancellations, per airport and day.
CREATE QUERY stranded AS
  SELECT origin, sum(passengers) AS passengers, sum(bags) AS bags
  FROM boarding [RANGE 1 DAY ORIGIN '2013-01-01 05:00:00']
  WHERE cancelled
  GROUP BY origin;

-- Flights that left with nobody checked in at a counter.
CREATE QUERY nobody AS
  SELECT f.sched, f.carrier, f.flight, f.origin
  FROM flights f
  WHERE NOT f.cancelled
    AND NOT EXISTS (SELECT 1 FROM checkins c
                    WHERE f.carrier = c.carrier AND f.flight = c.flight AND f.origin = c.origin
                      AND c.ts BETWEEN f.sched - INTERVAL 3 HOURS AND f.sched - INTERVAL 20 MINUTES);
