Scalar expressions on source rows, each once.

-- # keys, arguments and filters of two queries
CREATE QUERY a AS SELECT srcIP, sum(len) AS s FROM tcp [RANGE 1 MINUTE] WHERE len > 9 GROUP BY srcIP;
CREATE QUERY b AS SELECT srcIP, max(len) AS s, first(len) FILTER (WHERE flags = 2) AS f FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
-- =>
-- tcp.c0 = len > 9 (boolean)
-- tcp.c1 = srcIP (int)
-- tcp.c2 = len (int)
-- tcp.c3 = flags = 2 (boolean)
-- t0 from tcp where c0 by c1: {'a': [['c2']]}
-- t1 from tcp where None by c1: {'b': [['c2'], ['c2', 'where c3']]}

-- # through selections
CREATE QUERY big AS SELECT ts, len * 8 AS bits FROM tcp WHERE len > 9;
CREATE QUERY a AS SELECT sum(bits + 1) AS s FROM big [RANGE 1 MINUTE];
-- =>
-- tcp.c0 = len > 9 (boolean)
-- tcp.c1 = (len * 8) + 1 (int)
-- tcp.c2 = ts (timestamp)
-- tcp.c3 = (len * 8) (int)
-- t0 from tcp where c0 by all: {'a': [['c1']]}
-- big from tcp where c0: c2, c3

-- # the arms of a union are cast alike
CREATE QUERY a AS SELECT srcIP, sum(len) AS s FROM (SELECT ts, srcIP, len FROM tcp UNION ALL SELECT ts, srcIP, len FROM udp) [RANGE 1 MINUTE] GROUP BY srcIP;
-- =>
-- tcp.c0 = CAST(srcIP AS BIGINT) (bigint)
-- tcp.c1 = CAST(len AS BIGINT) (bigint)
-- udp.c0 = CAST(srcIP AS BIGINT) (bigint)
-- udp.c1 = CAST(len AS BIGINT) (bigint)
-- t0 from tcp where None by c0: {'a': [['c1']]}
-- t0 from udp where None by c0: {'a': [['c1']]}

-- # what only a removed query reads is not computed
-- retired: a
CREATE QUERY a AS SELECT destIP, sum(len) AS s FROM tcp [RANGE 1 MINUTE] GROUP BY destIP;
CREATE QUERY b AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP;
-- =>
-- tcp.c0 = srcIP (int)
-- t1 from tcp where None by c0: {'b': [[]]}
