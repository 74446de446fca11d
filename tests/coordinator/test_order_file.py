"""Orders as one file: each task reads its part, and the parts together are the whole."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.simulate.random_routes import draw_route

from headrace.optimizer import Settings
from headrace.program.limits import SHIPPED, Limits
from headrace.program.messages import Orders, Split
from headrace.program.order_file import OrderReader, cut_orders
from headrace.state.leaf_numbers import find_owner
from headrace.testing import LocalRun

SCRIPT = """
CREATE STREAM s (ts BIGINT, k INT, v INT) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE QUERY q AS SELECT k, sum(v) AS n FROM s [RANGE 1000] GROUP BY k;
CREATE QUERY total AS SELECT sum(n) AS n FROM q [RANGE 1000];
"""


def open_parts(run: LocalRun, orders: Orders) -> tuple[OrderReader, list[int]]:
    """A reader, and the bytes of each of its reads."""
    cut, sizes = cut_orders(run.program, orders), []

    def read(start: int, size: int) -> bytes:
        sizes.append(size)
        return cut.content[start : start + size]

    return OrderReader(read, cut.head), sizes


@pytest.mark.parametrize("seed", range(4))
def test_a_slot_is_told_the_segments_that_hold_rows_of_it(seed: int) -> None:
    """Also of numbers that are stale, on any route; nothing else of the orders differs."""
    rng = random.Random(seed)
    run = LocalRun(SCRIPT, slots=3, limits=Limits(mini_partitions=8))
    for batch in range(4):
        run.push(s=[(batch * 10 + i % 10, rng.randrange(40), i) for i in range(40)])
    run.driver.manifest = replace(run.manifest, route=draw_route(rng, run.manifest, 3, splits=1.0))
    orders = replace(run.driver.make_orders(), own_splits=tuple((Split(0, str(slot), 0, 1),) for slot in range(3)))
    file, _ = open_parts(run, orders)
    level_of = {node.name: node.level for node in run.program.nodes}
    told = set()
    for level in range(len(run.program.levels)):
        for slot in range(3):
            own = file.read_slot(level, slot)
            held = [
                m
                for m in orders.segments
                if level_of[m.node] == level and slot in {find_owner(orders.route, pid) for pid in m.pids}
            ]
            assert list(own.segments) == held
            assert own.own_splits == ((orders.own_splits[slot],) if level == 0 else ())
            assert replace(own, segments=orders.segments, own_splits=orders.own_splits) == orders
            told |= {m.path for m in held}
    assert told == {m.path for m in orders.segments} != set()


def test_a_source_task_is_told_its_files() -> None:
    """A task that has none, since there are fewer files than tasks, is told so."""
    run = LocalRun(SCRIPT, slots=2)
    splits = tuple((Split(0, f"file{task}", 0, 9),) for task in range(3))
    file, _ = open_parts(run, replace(run.driver.make_orders(), splits=splits))
    assert tuple(map(file.read_splits, range(3))) == splits
    assert file.read_splits(3) == ()
    assert file.common.splits == file.common.segments == ()


def test_what_tasks_read_does_not_grow_with_the_segments_of_others() -> None:
    """With four times the slots and as many segments each, a task reads no more than the places of the parts."""
    sizes = {}
    for slots in (8, 32):
        run = LocalRun(SCRIPT, slots=slots)
        for batch in range(3):
            run.push(s=[(batch, k, 1) for k in range(400)])
        file, read = open_parts(run, run.driver.make_orders())
        parts = [file.read_slot(0, slot).segments for slot in range(slots)]
        assert {len(part) for part in parts} == {3}
        sizes[slots] = sum(read[:1]) + max(read[1:])
    assert sizes[32] < sizes[8] + 8 * 2 * 24 + 100


def test_limits_are_those_of_the_orders(tmp_path: Path) -> None:
    """What is shipped reaches the tasks, and so does what somebody else sets."""
    assert LocalRun(SCRIPT).driver.make_orders().limits == SHIPPED == Limits()
    assert Settings().pids == SHIPPED.mini_partitions
    few = LocalRun(SCRIPT, limits=Limits(mini_partitions=4, round_rows=7))
    assert few.driver.make_orders().limits.round_rows == 7
    assert len(few.manifest.route) == 4
