"""A run that chooses its number of slots: what it looks at, when that counts, and that no row differs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from balance.test_live_balance import BATCHES, SCRIPT, results_of
from headrace.balance.choose_slots import LATER, SOON
from headrace.balance.statistics import Statistics, make_pid_statistics, make_slot_statistics
from headrace.cli import main
from headrace.coordinator.slot_follower import (
    Capacity,
    SlotFollower,
    files_reach_limit,
    is_behind,
)
from headrace.runtime.spark_capacity import read_capacity
from headrace.testing import LocalRun


def seen(busy: list[float]) -> Statistics:
    return Statistics(max(busy), make_pid_statistics([1.0]), make_slot_statistics(busy, [0.0] * len(busy)))


def follow(cores: int = 8, trigger: float = 1.0, reach: int = 0, pids: int = 256) -> SlotFollower:
    return SlotFollower(lambda: Capacity(cores, reach or cores), pids, trigger)


def test_slots_follow_the_cores_of_spark_and_no_row_differs() -> None:
    """Executors come and go before every batch; a batch that is lost is done again with what is there then."""
    quiet = LocalRun(SCRIPT, slots=2)
    moving = LocalRun(SCRIPT, slots=2, balance="headrace")
    cores = [2, 5, 5, 1, 8, 3, 3, 3]
    now: list[int] = []
    moving.driver.follower = SlotFollower(lambda: Capacity(now[-1], now[-1]), moving.program.pids)
    for batch, count in zip([*BATCHES, None], cores, strict=True):
        now.append(7)
        assert moving.driver.make_orders().slots == 7  # asked for, and lost
        now.append(count)
        for run in (quiet, moving):
            run.flush() if batch is None else run.push(**batch)
    assert [m.slots for m in moving.log.since(0)] == cores
    assert results_of(moving) == results_of(quiet)
    notes = [m.report["notes"] for m in moving.log.since(0)]
    assert notes[1] == ["slots 2 to 5: Spark has 5 cores"] and notes[2] == []
    assert notes[3] == ["slots 5 to 1: Spark has 1 core"]


def test_a_number_somebody_asks_for_ends_it() -> None:
    """A request outranks the policy, from its batch to the end of the run."""
    run = LocalRun(SCRIPT, slots=2)
    run.driver.follower = follow(cores=4, trigger=0.0)
    assert run.push(**BATCHES[0]).slots == 4
    run.rescale(3)
    assert [run.push(**b).slots for b in BATCHES[1:4]] == [3, 3, 3]
    assert run.driver.follower is None and not run.manifest.report["notes"]


def test_only_committed_batches_with_rows_count() -> None:
    """Asked again before a batch is committed, the answer is the same; late batches count one by one, empty ones not at all."""
    follower = follow()
    slots = [follower.choose(2)]
    for _ in range(SOON):
        follower.observe(seen([1.1, 1.0]), rows=10, seconds=1.3)
        slots += [follower.choose(2), follower.choose(2), follower.choose(2)]
        follower.observe(seen([0.001, 0.001]), rows=0, seconds=0.001)
        follower.choose(2)
    assert slots[0] == 2 and slots[-1] == 4
    quick = follow()
    chosen = []
    for _ in range(LATER):
        chosen.append(quick.choose(8))
        quick.observe(seen([0.05] * 8), rows=10, seconds=0.2)
    assert chosen == [8] * LATER and quick.choose(8) == 4


def test_what_slots_took_is_the_slowest_or_all_of_them_in_turn() -> None:
    """Four slots on two cores take twice as long as each; never more than the batch. So prediction starts from the truth."""
    follower = follow(cores=2)
    follower.choose(4)
    follower.observe(seen([0.3] * 4), rows=10, seconds=1.0)
    assert follower._seen is not None and follower._seen.in_slots == pytest.approx(0.6)
    follower.observe(seen([0.9, 0.1]), rows=10, seconds=1.0)
    assert follower._seen.in_slots == pytest.approx(0.9)
    follower.observe(seen([3.0, 3.0]), rows=10, seconds=1.0)
    assert follower._seen.in_slots == 1.0


def test_there_are_never_more_slots_than_mini_partitions() -> None:
    """Whatever Spark has."""
    assert follow(cores=5000, trigger=0.0, pids=64).choose(2) == 64
    assert follow(cores=5000, trigger=0.0, pids=65536).choose(2) == 1024


class Conf(dict[str, str]):
    def contains(self, key: str) -> bool:
        return key in self


def spark_with(master: str, parallelism: int, executors: int, **conf: str) -> Any:
    """What `read_capacity` asks of a session; keys without spark and dots."""
    names = {"cores": "spark.executor.cores", "default": "spark.default.parallelism"}
    names |= {"dynamic": "spark.dynamicAllocation.enabled", "most": "spark.dynamicAllocation.maxExecutors"}
    status = SimpleNamespace(size=lambda: executors + 1)
    java = SimpleNamespace(sc=lambda: SimpleNamespace(getExecutorMemoryStatus=lambda: status))
    settings = Conf({names[k]: v for k, v in conf.items()})
    context = SimpleNamespace(master=master, defaultParallelism=parallelism, _jsc=java, getConf=lambda: settings)
    return SimpleNamespace(sparkContext=context)


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        (spark_with("local[3,4]", 3, 0), (3, 3)),
        (spark_with("spark://h:7077", 6, 3), (6, 6)),
        (spark_with("spark://h:7077", 2, 1, cores="1"), (1, 1)),  # Spark never says less than 2
        (spark_with("yarn", 200, 3, cores="4", default="200"), (12, 12)),
        (spark_with("yarn", 8, 2, cores="4", dynamic="true", most="5"), (8, 20)),
        (spark_with("yarn", 8, 2, dynamic="true"), (8, 1024)),
        (spark_with("yarn", 8, 2, dynamic="true", most="1"), (8, 8)),
    ],
)
def test_the_cores_of_spark_are_counted(session: Any, expected: tuple[int, int]) -> None:
    """Embedded, on executors, with a parallelism somebody has set, and where Spark may add executors."""
    assert read_capacity(session) == Capacity(*expected)


def test_a_backlog_is_told_by_kafka_and_by_full_batches_of_files() -> None:
    """What cannot be read as a number is no backlog."""
    assert is_behind({"sources": [{"metrics": {"maxOffsetsBehindLatest": "12"}}]})
    assert not is_behind({"sources": [{"metrics": {"maxOffsetsBehindLatest": "0"}}, {"metrics": None}, {}]})
    assert not is_behind({"sources": [{"metrics": {"maxOffsetsBehindLatest": "?"}}]}) and not is_behind(None)
    streams = {"a": SimpleNamespace(options=(("maxFilesPerTrigger", "2"),)), "b": SimpleNamespace(options=())}
    graph: Any = SimpleNamespace(streams=streams)
    assert files_reach_limit(graph, [(0, "x", 1), (0, "y", 1)])
    assert not files_reach_limit(graph, [(0, "x", 1), (1, "y", 1), (1, "z", 1)])


@pytest.mark.parametrize("bad", ["0", "1025", "-1", "2.5", "many", "AUTO", ""])
def test_what_is_neither_a_number_nor_auto_is_refused(bad: str) -> None:
    """With what was expected, before anything starts."""
    said = CliRunner().invoke(main, ["run", __file__, "--checkpoint", "x", "--slots", bad])
    assert said.exit_code == 2 and "expected a number from 1 to 1024, or auto" in said.output
