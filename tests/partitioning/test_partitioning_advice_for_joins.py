"""Advice for sets with joins whose results are wanted: serving one never costs more than not serving it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from partitioning_kit import read_graph

from headrace.generate.packets import SCHEMA
from headrace.partitioning.advise_partitioning import advise_graph
from headrace.partitioning.explain_partitioning import explain_partitioning
from headrace.sql import parse_script
from headrace.sql.bind import Binder

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks is a program of the repository, not installed

from benchmarks.partitioning.experiments import EXPERIMENTS

TYPES = {"timestamp[us, tz=UTC]": "TIMESTAMP", "int32": "INT"}
PACKETS = ", ".join(f"{field.name} {TYPES[str(field.type)]}" for field in SCHEMA)
STREAM = "CREATE STREAM {} ({}) PROGRESSING ON ts SLACK 5 SECONDS FROM 'parquet' OPTIONS (path 'data');\n"
JOIN = """CREATE QUERY j AS SELECT {}
  FROM r JOIN s ON r.k = s.k AND s.ts BETWEEN r.ts AND r.ts + INTERVAL 1 SECOND;"""


def advise(script: str) -> tuple[list[str], list[str]]:
    """Lines of advice and of EXPLAIN."""
    binder = Binder()
    for statement in parse_script(script):
        binder.create(statement)
    return advise_graph(binder.graph()), explain_partitioning(binder.graph())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_documents_sets_over_generated_packets(name: str) -> None:
    """The sets of document 000, section 6, are served whole, by what the document finds best."""
    experiment = EXPERIMENTS[name]
    (best,) = (text for text, configuration in experiment.candidates.items() if configuration == "full")
    advice, explained = advise(STREAM.format("tcp", PACKETS) + experiment.sql)
    (chosen,) = (line for line in advice if line.startswith("chosen: "))
    assert chosen.startswith(f"chosen: {best}, ")
    assert advice[-1] == f"partition tcp by {best.partition('{')[2].rstrip('}')}"
    assert any(line.startswith("  because: it serves every query; ") for line in explained)


@pytest.mark.parametrize("more", range(0, 40, 8))
def test_a_plain_join_is_served_however_wide_its_results_are(more: int) -> None:
    """Two streams joined by a key are partitioned by it, whether few columns of them are wanted or all."""
    columns = [f"a{i} INT" for i in range(more)]
    streams = "".join(STREAM.format(s, ", ".join(["ts TIMESTAMP", "k INT", *columns])) for s in "rs")
    wanted = ["r.ts", "r.k", *(f"{s}.a{i} AS {s}{i}" for s in "rs" for i in range(more))]
    advice, explained = advise(streams + JOIN.format(", ".join(wanted)))
    assert advice[-2:] == ["partition r by k", "partition s by k"]
    assert any(line.startswith("  because: it serves every query; j receives ") for line in explained)
    table = advice[advice.index("what each query pays:") + 1 :]
    (total,) = (line.split()[1:] for line in table if line.startswith("  total "))
    assert float(total[2]) < float(total[0]) and total[1] == total[3], table


def test_why_a_stream_is_best_partitioned_evenly() -> None:
    """Nothing serves a query over it; or what does costs more than serving a larger query elsewhere."""
    lines = advise_graph(read_graph("CREATE QUERY q AS SELECT count(*) AS n FROM tcp [RANGE 60];"))
    assert lines[-1] == "partition tcp evenly: no partitioning serves a query over it"
    script = """
    CREATE QUERY ports AS SELECT destPort, count(*) AS n, sum(len) AS s, min(len) AS least, max(len) AS most FROM tcp [RANGE 60] GROUP BY destPort;
    CREATE QUERY few AS SELECT a.srcIP, b.len AS len
      FROM tcp AS a JOIN udp AS b ON a.srcIP = b.srcIP AND a.time = b.time WHERE a.len > 9 AND b.len > 9;"""
    said = advise_graph(read_graph(script))
    assert said[-2] == "partition tcp by destPort"
    why = "tcp, udp by {srcIP} serves few's join, but costs 192 MB at most and "
    assert said[-1].startswith(f"partition udp evenly: {why}")
