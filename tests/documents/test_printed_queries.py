"""Every query that document 000 prints, as it is printed, and document 002's operator: it binds, it has a
plan, and its results are those of batch SQL over the same rows.

`time/60` in GROUP BY is a number of a minute here as in the document; `tr/2 = ts+1` is an equality of times, as in Spark.
Document 002 prints no SQL: its operator, a statistic of the last rows of each group, is refused in words.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import duckdb
import pytest

from headrace.errors import SqlError
from headrace.session import Session
from headrace.testing import LocalRun

COLUMNS = {
    "TCP": "time BIGINT, timestamp BIGINT, srcIP INT, destIP INT, srcPort INT, destPort INT, len INT, flags INT",
    "PKT": "time BIGINT, srcIP INT, destIP INT, len INT",
    "PKT1": "time BIGINT, srcIP INT, destIP INT, len INT",
    "PKT2": "time BIGINT, srcIP INT, destIP INT, len INT",
    "R": "tr BIGINT, a INT",
    "S": "ts BIGINT, b INT",
}


@dataclass(frozen=True)
class PrintedSet:
    """Queries of a section by name, and batch SQL for each whose results are compared."""

    queries: dict[str, str]
    batch: dict[str, str]


FLOWS = "SELECT tb,srcIP,destIP,COUNT(*) as cnt FROM TCP GROUP BY time/60 as tb,srcIP,destIP"
HEAVY = "SELECT tb,srcIP,max(cnt) as max_cnt FROM flows GROUP BY tb, srcIP"
PAIRS = """SELECT S1.tb, S1.srcIP, {} FROM heavy_flows S1, heavy_flows S2
  WHERE S1.srcIP = S2.srcIP and S1.tb = S2.tb+1"""
PACKETS = """SELECT {}, PKT1.srcIP, PKT1.destIP, PKT1.len + PKT2.len FROM PKT1 JOIN PKT2
  WHERE PKT1.time = PKT2.time and PKT1.srcIP = PKT2.srcIP and PKT1.destIP = PKT2.destIP"""
COUNTED = "SELECT time, srcIP, destIP, srcPort, COUNT(*) {} FROM TCP GROUP BY time, srcIP, destIP, srcPort"
FLOWS_IN_BATCH = "SELECT time // 60 AS tb, srcIP, destIP, count(*) AS cnt FROM TCP GROUP BY ALL"
HEAVY_IN_BATCH = f"SELECT tb, srcIP, max(cnt) AS max_cnt FROM ({FLOWS_IN_BATCH}) GROUP BY ALL"
PAIRS_IN_BATCH = f"""WITH heavy AS ({HEAVY_IN_BATCH}) SELECT a.tb, a.srcIP, a.max_cnt, b.max_cnt
  FROM heavy AS a JOIN heavy AS b ON a.srcIP = b.srcIP AND a.tb = b.tb + 1"""
WIDE = "srcIP, destIP, srcPort, destPort"

PRINTED = {
    "1, flows": PrintedSet(
        {
            "flows": f"SELECT time,{WIDE}, COUNT(*) ,SUM(len) , MIN(timestamp),MAX(timestamp) FROM TCP "
            f"GROUP BY time,{WIDE}"
        },
        {"flows": f"SELECT time, {WIDE}, count(*), sum(len), min(timestamp), max(timestamp) FROM TCP GROUP BY ALL"},
    ),
    "3.1, bytes": PrintedSet(
        {"bytes": "SELECT tb, srcIP, destIP, sum(len) FROM PKT GROUP BY time/60 as tb, srcIP, destIP"},
        {"bytes": "SELECT time // 60, srcIP, destIP, sum(len) FROM PKT GROUP BY ALL"},
    ),
    "3.1, packets with matching addresses": PrintedSet(
        {"pairs": PACKETS.format("PKT1.time")}, {"pairs": PACKETS.format("PKT1.time").replace("WHERE", "ON")}
    ),
    "3.1, packets with matching addresses, as printed": PrintedSet(
        {"pairs": PACKETS.format("time")}, {"pairs": PACKETS.format("PKT1.time").replace("WHERE", "ON")}
    ),
    "3.1, times that are equal": PrintedSet(
        {"q": "SELECT R.tr, S.ts, R.a, S.b FROM R JOIN S ON R.a = S.b WHERE R.tr=S.ts"},
        {"q": "SELECT R.tr, S.ts, R.a, S.b FROM R JOIN S ON R.a = S.b WHERE R.tr = S.ts"},
    ),
    "3.1, times that are related": PrintedSet(
        {"q": "SELECT R.tr, S.ts, R.a, S.b FROM R JOIN S ON R.a = S.b WHERE R.tr/2=S.ts+1"},
        {"q": "SELECT R.tr, S.ts, R.a, S.b FROM R JOIN S ON R.a = S.b WHERE R.tr / 2 = S.ts + 1"},
    ),
    "3.2 and 6.3, flows, heavy flows and pairs": PrintedSet(
        {"flows": FLOWS, "heavy_flows": HEAVY, "flow_pairs": PAIRS.format("S1.max_cnt,S2.max_cnt AS before")},
        {"flows": FLOWS_IN_BATCH, "heavy_flows": HEAVY_IN_BATCH, "flow_pairs": PAIRS_IN_BATCH},
    ),
    "3.2, two results of one name": PrintedSet(
        {"flows": FLOWS, "heavy_flows": HEAVY, "flow_pairs": PAIRS.format("S1.max_cnt,S2.max_cnt")},
        {"flow_pairs": PAIRS_IN_BATCH},
    ),
    "4, flows and their number": PrintedSet(
        {
            "tcp_flows": f"SELECT tb, {WIDE}, COUNT(*), SUM(len) FROM TCP GROUP BY time/60 as tb, {WIDE}",
            "flow_cnt": "SELECT tb, srcIP, destIP, count(*) FROM tcp_flows GROUP BY tb, srcIP, destIP",
        },
        {
            "tcp_flows": f"SELECT time // 60, {WIDE}, count(*), sum(len) FROM TCP GROUP BY ALL",
            "flow_cnt": f"""SELECT tb, srcIP, destIP, count(*)
              FROM (SELECT DISTINCT time // 60 AS tb, {WIDE} FROM TCP) GROUP BY ALL""",
        },
    ),
    "5.2.2, counts": PrintedSet({"tcp_count": COUNTED.format("")}, {"tcp_count": COUNTED.format("")}),
    "5.2.2, counts in two steps": PrintedSet(
        {
            "sub_tcp_count": COUNTED.format("as cnt"),
            "super_tcp_count": """SELECT time, srcIP, destIP, srcPort, SUM(cnt) FROM sub_tcp_count
              GROUP BY time, srcIP, destIP, srcPort""",
        },
        {"super_tcp_count": COUNTED.format("")},
    ),
    "6.1, suspicious flows": PrintedSet(
        {
            "suspicious": f"""SELECT tb, {WIDE}, OR_AGGR(flags) as orflag, COUNT(*), SUM(len) FROM TCP
              GROUP BY time as tb, {WIDE} HAVING OR_AGGR(flags) = 41"""
        },
        {
            "suspicious": f"""SELECT time, {WIDE}, bit_or(flags), count(*), sum(len) FROM TCP GROUP BY ALL
              HAVING bit_or(flags) = 41"""
        },
    ),
}


def write_script(queries: dict[str, str]) -> str:
    """The queries, and the streams that they read."""
    text = " ".join(queries.values())
    words = set(text.replace(",", " ").replace(".", " ").split())
    streams = [
        f"CREATE STREAM {name} ({columns}) PROGRESSING ON {columns.split()[0]} SLACK 5 FROM 'memory';\n"
        for name, columns in COLUMNS.items()
        if name in words
    ]
    return "".join(streams) + "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in queries.items())


def make_rows(stream: str, seed: int) -> list[tuple[int, ...]]:
    """Rows of few values, nearly in order of time."""
    rng = random.Random(f"{stream}{seed}")
    names = [column.split()[0] for column in COLUMNS[stream].split(", ")]
    values = [{"len": (40, 1500), "flags": (1, 8, 32, 33, 41)}.get(name, (0, 1)) for name in names[1:]]
    return [(i + rng.randrange(4), *map(rng.choice, values)) for i in range(400)]


@pytest.mark.parametrize("name", PRINTED)
def test_a_printed_set_gives_what_batch_sql_gives(name: str) -> None:
    """Over all of its rows, in some batches, whatever the number of slots."""
    printed = PRINTED[name]
    run = LocalRun(write_script(printed.queries), slots=3)
    con = duckdb.connect()
    rows = {stream: make_rows(stream, 1) for stream in run.graph.streams}
    for stream, some in rows.items():
        con.execute(f"CREATE TABLE {stream} ({COLUMNS[stream]})")
        con.executemany(f"INSERT INTO {stream} VALUES ({', '.join('?' * len(some[0]))})", some)
    for part in range(0, 400, 100):
        run.push(**{stream: some[part : part + 100] for stream, some in rows.items()})
    run.flush()
    for query, batch in printed.batch.items():
        expected = Counter(con.sql(batch).fetchall())
        width = len(next(iter(expected)))
        assert Counter(row[:width] for row in run.rows(query)) == expected, query
    run.close()


@pytest.mark.parametrize("name", PRINTED)
def test_a_printed_set_has_a_plan_and_advice(name: str) -> None:
    """EXPLAIN shows every query; advice weighs those that bring rows together."""
    session = Session().sql(write_script(PRINTED[name].queries))
    text = session.explain(verbose=True)
    assert all(query in text for query in PRINTED[name].queries)
    assert "chosen: " in session.advise()


def test_the_last_rows_of_each_group_are_refused() -> None:
    """Document 002's operator: the message says what to write."""
    query = "SELECT srcIP, avg(len) AS a FROM TCP [PARTITION BY srcIP ROWS 100] GROUP BY srcIP"
    with pytest.raises(SqlError, match="windows per key are not supported; write a RANGE"):
        Session().sql(write_script({"q": query}))
