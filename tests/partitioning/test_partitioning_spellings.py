"""However a query spells its keys: a table that was made coarse for a reader needs no exchange to it."""

from __future__ import annotations

from collections import Counter

import pytest

from headrace.optimizer import Plan, Settings, optimize
from headrace.partitioning.plan_cost import RateStatistics
from headrace.physical.duck_typer import DuckTyper
from headrace.sql import parse_script
from headrace.sql.bind import Binder
from headrace.testing import LocalRun

STREAM = """CREATE STREAM s (ts TIMESTAMP, a INT, b INT, big BIGINT, tiny TINYINT, host STRING, d DATE, seen TIMESTAMP, yes BOOLEAN)
  PROGRESSING ON ts SLACK 1 SECOND FROM 'parquet' OPTIONS (path 'data');"""
SPELLINGS = [
    "a",
    "a & -256",
    "a & 0xFFF0",
    "a & 0xFFFFFF00",
    "a & 4294901760",
    "a >> 8",
    "shiftright(a, 8)",
    "shiftright(a, 8) & 255",
    "shiftrightunsigned(a, 8)",
    "shiftleft(a, 8)",
    "a DIV 60",
    "a DIV 60 + 1",
    "floor(a / 60)",
    "floor(a / 64)",
    "CAST(a / 60 AS INT)",
    "a % 100",
    "pmod(a, 100)",
    "pmod(a, 128)",
    "pmod(a, 4294967296)",
    "a + 7",
    "7 - a",
    "a ^ 85",
    "-a",
    "~a",
    "CAST(a AS BIGINT)",
    "CAST(a AS STRING)",
    "CAST(a & 255 AS STRING)",
    "CAST(-a AS BIGINT) + 1",
    "tiny",
    "shiftright(tiny, 3)",
    "tiny & 240",
    "big & 0xFFFFFFFFFF00",
    "shiftright(big, 16)",
    "big DIV 1000",
    "substring(host, 1, 3)",
    "left(host, 3)",
    "substring_index(host, '.', 2)",
    "lower(host)",
    "trunc(d, 'MM')",
    "date_trunc('YEAR', d)",
    "CAST(d AS STRING)",
    "date_trunc('DAY', seen)",
    "CAST(seen AS DATE)",
    "CAST(yes AS INT)",
    "a * 2 + b",
]
FEW = ("CAST(yes AS INT)", "tiny & 240")  # few values are for few slots
COLUMNS = "a, b, big, tiny, host, d, seen, yes"
MEASURED = RateStatistics(origins={"s": "measured"})  # else the worst is assumed of masks
READERS = {
    "in place": "CREATE QUERY nets AS SELECT {key} AS net, sum(n) AS n FROM flows GROUP BY {key};",
    "in a window of its own": "CREATE QUERY nets AS SELECT {key} AS net, sum(n) AS n FROM flows [RANGE 1 HOUR] GROUP BY {key};",
    "one after the other": """CREATE QUERY nets AS SELECT {key} AS net, b, sum(n) AS n FROM flows GROUP BY {key}, b;
      CREATE QUERY later AS SELECT net, sum(n) AS n FROM nets [RANGE 1 HOUR] GROUP BY net;""",
    "in a join": """CREATE QUERY nets AS SELECT {key} AS net, sum(n) AS n FROM flows GROUP BY {key};
      CREATE QUERY pairs AS SELECT x.window_end AS at, x.net, y.n FROM nets x JOIN nets y ON x.net = y.net AND x.window_end = y.window_end;""",
}
FLOWS = f"CREATE QUERY flows AS SELECT {COLUMNS}, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY {COLUMNS};"


def make_plan(text: str) -> Plan:
    binder = Binder()
    for statement in parse_script(STREAM + text):
        binder.create(statement)
    graph = binder.graph()
    return optimize(graph, DuckTyper(graph, {}), Settings(measured=MEASURED))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("key", SPELLINGS)
def test_coarse_implies_no_exchange(key: str, reader: str) -> None:
    """The table of flows is partitioned for its reader, and all that stands on it runs in the same slots."""
    plan = make_plan(FLOWS + READERS[reader].format(key=key))
    chosen = plan.tables["t0"].partition
    assert len(chosen) < 8 or key in FEW, "nothing was made coarse"
    if len(chosen) < 8:
        assert plan.parts["nets"][0].level == 0
    if len(chosen) == 1:
        assert plan.levels == 1, [e.reason for e in plan.exchanges]


@pytest.mark.parametrize("first", ["a & 0xFFFFFF00", "a & -256", "CAST(a AS BIGINT)"])
def test_coarser_and_coarser(first: str) -> None:
    """Networks of networks, each spelled over the one before."""
    wider = "CREATE QUERY wider AS SELECT net & 0xFFFF0000 AS w, sum(n) AS n FROM nets GROUP BY net & 0xFFFF0000;"
    plan = make_plan(FLOWS + READERS["in place"].format(key=first) + wider + wider.replace("wider", "again").replace("nets", "nets [RANGE 1 HOUR]"))
    assert plan.tables["t0"].partition == ("k0 & -65536",)
    assert plan.levels == 1


LIVE = "CREATE STREAM s (t BIGINT, a INT, b INT) PROGRESSING ON t SLACK 0 FROM 'memory';"
KEYS = ["a & 4294967040", "shiftright(a, 8)", "shiftrightunsigned(a, 8)", "7 - a", "CAST(a AS STRING)", "floor(a / 64)", "pmod(a, 128)"]


@pytest.mark.parametrize("key", KEYS)
def test_results_are_whole(key: str) -> None:
    """Groups of differently spelled keys over one table, in place, in windows of their own and joined, in many slots."""
    text = f"""{LIVE} CREATE QUERY flows AS SELECT a, b, count(*) AS n FROM s [RANGE 10] GROUP BY a, b;
    CREATE QUERY nets AS SELECT {key} AS net, sum(n) AS n FROM flows GROUP BY {key};
    CREATE QUERY later AS SELECT net, sum(n) AS n FROM nets [RANGE 20] GROUP BY net;
    CREATE QUERY pairs AS SELECT x.window_end AS at, x.net, x.n, y.n AS m FROM nets x JOIN later y
      ON x.net = y.net AND x.window_end = y.window_end;"""
    run, alone = LocalRun(text, slots=5), LocalRun(f"{LIVE} CREATE QUERY nets AS SELECT {key} AS net, count(*) AS n FROM s [RANGE 10] GROUP BY {key};")
    assert run.plan.levels == 1
    rows = [(i // 20, i * 7919 % 1009 * 2117 - 1_000_000, i % 3) for i in range(400)]
    for start in (0, 200):
        run.push(s=rows[start : start + 200])
        alone.push(s=rows[start : start + 200])
        run.rescale(3)
    run.flush()
    alone.flush()
    nets = Counter(run.rows("nets"))
    assert nets == Counter(alone.rows("nets")) and len(nets) > 2
    both = Counter()
    for net, n, *_, end in alone.rows("nets"):
        both[net, -(-end // 20)] += n
    assert Counter(r[1] for r in run.rows("later")) == Counter(both.values())
    assert len(run.rows("pairs")) == len([1 for *_, end in alone.rows("nets") if end % 20 == 0])
    run.close()
    alone.close()
