"""The experiments of document 000 §6: a small version in this process, and what the measured results must show."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks is a program of the repository, not installed

from benchmarks.partitioning.draw_shuffles import RESULTS, WORKERS
from benchmarks.partitioning.experiments import EXPERIMENTS, count_remote, many_queries
from benchmarks.partitioning.measure_plan import STREAM, Measured, measure_here
from benchmarks.partitioning.packet_files import make_packets, split_for

from headrace.partitioning.search_partitioning import describe_workload, search_partitioning
from headrace.sql import parse_script
from headrace.sql.bind import Binder
from headrace.testing import LocalRun


@pytest.fixture(scope="module")
def packets() -> pa.Table:
    return make_packets(3_000, 16, 3)


def measure(name: str, packets: pa.Table, workers: int) -> dict[str, Measured]:
    """Every configuration of a set; all give the same answers."""
    experiment = EXPERIMENTS[name]
    found = {c: measure_here(split_for(packets, workers), plans, workers) for c, plans in experiment.configurations.items()}
    for query in experiment.answers:
        assert found["naive"].answers[query]
        assert all(one.answers[query] == found["naive"].answers[query] for one in found.values()), query
    return found


def test_sub_aggregates_grow_with_the_parts_and_results_do_not(packets: pa.Table) -> None:
    """Every part sends its share of a flow; what is compatible sends the flows asked for, once."""
    few, many = (measure("suspicious", packets, workers) for workers in (1, 2))
    assert few["naive"].rows == 2 * few["optimized"].rows
    assert many["naive"].rows > 1.7 * few["naive"].rows
    assert many["optimized"].rows > 1.7 * few["optimized"].rows
    assert many["full"].rows == few["full"].rows < few["optimized"].rows / 10
    assert many["full"].split_rows == many["naive"].split_rows == packets.num_rows


@pytest.mark.parametrize("name", [pytest.param("jitter", marks=pytest.mark.slow), "pairs"])
def test_a_set_that_serves_some_is_between(packets: pa.Table, name: str) -> None:
    found = measure(name, packets, 2)
    received = [found[c].rows for c in ("naive", "optimized", "partial", "full")]
    assert received == sorted(received, reverse=True)
    assert len(set(received)) == 4


def test_fifty_queries_share_tables_and_one_exchange() -> None:
    run = LocalRun(f"{STREAM}'memory';" + many_queries())
    assert len(run.graph.queries) == 50
    assert run.plan.levels == 1
    assert len(run.plan.tables) == 10
    run.close()


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


MEASURED = [name for name in EXPERIMENTS if (RESULTS / f"{name}.json").exists()]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_chosen_set_is_the_best_that_was_measured(name: str) -> None:
    """Of all candidates of the search, by the most bytes that one node of the aggregator received."""
    experiment = EXPERIMENTS[name]
    binder = Binder()
    for statement in parse_script(f"{STREAM}'memory';" + experiment.sql):
        binder.create(statement)
    choice = search_partitioning(describe_workload(binder.graph()))
    assert {c.partitioning.text for c in choice.candidates} == set(experiment.candidates)
    if name not in MEASURED:
        pytest.skip(f"python -m benchmarks.partitioning run {name}")
    runs = read(name)["runs"]
    most = {text: max(runs[f"{c}, 4"]["nodes"].values()) for text, c in experiment.candidates.items()}
    total = {text: runs[f"{c}, 4"]["bytes"] for text, c in experiment.candidates.items()}
    assert total[choice.partitioning.text] == min(total.values())
    assert most[choice.partitioning.text] == min(most.values())


def test_the_shapes_of_the_documents_figures() -> None:
    """Agnostic plans grow with the workers, compatible ones do not; at four workers a third of the bytes or less."""
    for name in MEASURED:
        experiment, runs = EXPERIMENTS[name], read(name)["runs"]
        received = {c: [runs[f"{c}, {w}"]["bytes"] for w in WORKERS] for c in experiment.configurations}
        for configuration in {"naive", "optimized"} & set(experiment.configurations):
            grows = received[configuration]
            if name == "join":  # all rows of a join are in one place, however many hosts they come from
                grows = [count_remote(size, w) for size, w in zip(grows, WORKERS, strict=True)]
            assert grows == sorted(set(grows))
        assert max(received["full"]) < 1.01 * min(received["full"])
        assert 3 * received["full"][-1] < received["naive"][-1]
        assert runs["naive, 4"]["shuffled"] > 3 * runs["full, 4"]["shuffled"]
        assert runs["naive, 4"]["cpu"] > 2 * runs["full, 4"]["cpu"]


def test_fifty_queries_shuffle_less_than_a_row_for_a_row() -> None:
    found = read("fifty")
    assert found["runs"]["pre-aggregated"]["split_rows"] <= found["rows"]
