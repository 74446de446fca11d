"""Every policy of progress against recomputation: what closes in which batch, for which group, and which rows are late.

The bounds are recomputed here from all rows so far, in plain Python, and windows from `extent()`; nothing of the
planner, the kernels or `progress/` is used.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from benchmarks.simulate.compare_rows import same
from benchmarks.simulate.random_routes import shrink_limits
from oracle_cases import w
from oracle_check import _die, move

from headrace.program.limits import SHIPPED, Limits
from headrace.testing import LocalRun
from headrace.windows import WindowSpec

S = 1_000_000
Row = tuple[int, str | None, int, bool]  # t, k, v, mark
FLOOR = -(10**18)

QUERIES: dict[str, tuple[str, WindowSpec, bool]] = {  # text, window, by k
    "tumbling": ("SELECT k, count(*) AS n, sum(v) AS s FROM s [RANGE 10 SECONDS] GROUP BY k", w(10), True),
    "sliding": ("SELECT k, count(*) AS n, sum(v) AS s FROM s [RANGE 15 SECONDS SLIDE 5 SECONDS] GROUP BY k", w(15, 5), True),
    "landmark": ("SELECT k, count(*) AS n, sum(v) AS s FROM s [RANGE ALL SLIDE 20 SECONDS] GROUP BY k", w(None, 20), True),
    "whole": ("SELECT count(*) AS n, sum(v) AS s FROM s [RANGE 10 SECONDS]", w(10), False),
}


@dataclass
class Known:
    """What the oracle knows after a batch: the bound of all, those of groups, and what was promised."""

    bound: int = FLOOR
    groups: dict[Any, int] = field(default_factory=dict)
    promise: Callable[[Row], int] = lambda row: FLOOR

    def of(self, k: Any) -> int:
        return max(self.bound, self.groups.get(k, FLOOR))


Bounds = Callable[[list[list[Row]], list[int]], Known]  # of the batches so far and their clocks


def run_and_compare(
    clause: str,
    batches: list[list[Row]],
    bounds: Bounds,
    tmp_path: Path,
    rng: random.Random,
    by_group: bool = False,
    data: Callable[[Row], bool] = lambda row: True,
    clocks: list[int] | None = None,
    told: list[Any] | None = None,
    kills: bool = True,
    limits: Limits = SHIPPED,
) -> LocalRun:
    """Feed the batches, with restarts, kills and moves between them, and compare results and late rows of each."""
    now = [10**15]
    # each start reads what is told first, and each batch's commit after it
    position = [0]
    tell = {"told": (lambda: told[position[0]])} if told is not None else {}
    script = f"CREATE STREAM s (t TIMESTAMP, k STRING, v INT, mark BOOLEAN) PROGRESSING ON t {clause} FROM 'none';\n"
    script += "\n".join(f"CREATE QUERY {name} AS {text};" for name, (text, _, _) in QUERIES.items())

    def start(slots: int) -> LocalRun:
        return LocalRun(script, slots, rng.randint(1, 3), str(tmp_path / "c"), clock=lambda: now[0], bounds=tell, limits=limits)

    if clocks is not None:
        now[0] = clocks[0]
    run = start(rng.randint(1, 3))
    before, known = Known(), Known()
    first_clock, contradicting = now[0], 0
    for i, rows in enumerate(batches):
        if kills and rng.random() < 0.2:
            run.close()
            run = start(rng.randint(1, 3))
        elif kills and rng.random() < 0.2:
            _die(run, {"s": list(rows)})
            run.close()
            run = start(run.slots)
        elif rng.random() < 0.2:
            move(run, i)
        now[0] = clocks[i] if clocks is not None else now[0] + S
        position[0] = i + 1
        manifest = run.push(s=rows)
        before = known
        known = bounds(batches[: i + 1], [first_clock, *(clocks or [])[: i + 1]])
        known.bound = max(known.bound, before.bound)
        for g, own in before.groups.items():
            known.groups[g] = max(known.groups.get(g, FLOOR), own)
        low = manifest.streams["s"].low_watermark
        assert (FLOOR if low is None else low) == known.bound, f"batch {i}"
        arrived = [r for batch in batches[: i + 1] for r in batch if data(r)]
        for name, (text, window, grouped) in QUERIES.items():
            expected = []
            for k in {r[1] for r in arrived} if grouped else {None}:
                reach = known.of(k) if grouped and by_group else known.bound
                mine = [r for r in arrived if not grouped or r[1] == k]
                if reach == FLOOR or not mine:
                    continue
                passed = before.of(k) if grouped and by_group else before.bound
                first = max(min(int(window.first_wid(r[0])) for r in mine), int(window.first_open(passed)))
                for wid in range(first, int(window.first_open(reach))):
                    a, z = window.extent(wid)
                    inside = [r for r in mine if a <= r[0] < z]
                    if inside:
                        group = (k,) if grouped else ()
                        expected.append((*group, len(inside), sum(r[2] for r in inside), a, z))
            found = run._read(manifest.results.get(name, ()), False)
            same(found, expected, f"{name}, batch {i}: {clause}: {text}")
        late = []
        for row in rows:
            missed = any(
                _missed(window, row[0], before.of(row[1]) if grouped and by_group else before.bound)
                for _, window, grouped in QUERIES.values()
            )
            if data(row) and (row[0] < before.promise(row) or missed):
                late.append((*row, "contradicts" if row[0] < before.promise(row) else "late"))
        same(run._read(manifest.late.get("s", ()), False), late, f"late rows, batch {i}: {clause}")
        contradicting += sum(r[-1] == "contradicts" for r in late)
        assert manifest.streams["s"].contradicting == contradicting
    return run


def _missed(window: WindowSpec, t: int, bound: int) -> bool:
    holding = window.wids(t)
    return len(holding) > 0 and window.extent(holding[0])[1] <= bound


def make_rows(rng: random.Random, count: int, disorder: str, keys: str = "aaabbc") -> list[Row]:
    """Rows in arrival order: each somewhat late (band), or shuffled within blocks (block)."""
    t, rows = 0.0, []
    for _ in range(count):
        t += rng.expovariate(1.0) + (rng.random() < 0.03) * 40
        late = rng.uniform(0, 6) if disorder == "band" else 0
        k = rng.choice(keys) if rng.random() > 0.05 else None
        rows.append((int((t - late) * S), k, rng.randrange(100), False))
    if disorder == "block":
        for i in range(0, count, 9):
            block = rows[i : i + 9]
            rng.shuffle(block)
            rows[i : i + 9] = block
    return rows


def cut_rows(rng: random.Random, rows: list[Row], batches: int) -> list[list[Row]]:
    cuts = [0, *sorted(rng.randrange(len(rows) + 1) for _ in range(batches - 1)), len(rows)]
    return [rows[a:b] for a, b in pairwise(cuts)]


def add_marks(rng: random.Random, rows: list[Row], by_group: bool, lies: float, skipped: Any = "z") -> list[Row]:
    """A mark now and then, at the true low-watermark of what is still to come, or with a lie beyond it."""
    out: list[Row] = []
    for i, row in enumerate(rows):
        out.append(row)
        if rng.random() < 0.15 and row[1] != skipped:
            rest = [r[0] for r in rows[i + 1 :] if not by_group or r[1] == row[1]]
            if rest:
                out.append((min(rest) + (rng.random() < lies) * 25 * S, row[1], rng.randrange(100), True))
    return out


SEEDS = [0, 1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]


@pytest.mark.parametrize("disorder", ["band", "block"])
@pytest.mark.parametrize("seed", SEEDS)
def test_slack_in_rows(seed: int, disorder: str, tmp_path: Path) -> None:
    """The bound is the largest value of all but the last n rows, whichever of a batch were the last."""
    rng = random.Random(f"{seed} {disorder}")
    limits = shrink_limits(rng)
    slack = rng.choice([0, 1, 5, 12])

    def bounds(batches: list[list[Row]], _: list[int]) -> Known:
        found = [FLOOR]
        for j, batch in enumerate(batches):
            after = sum(map(len, batches[j + 1 :]))
            values = sorted((r[0] for r in batch), reverse=True)
            found += values[max(0, slack - after) :][:1]
        return Known(max(found))

    batches = cut_rows(rng, make_rows(rng, 70, disorder), 9)
    run_and_compare(f"SLACK {slack} ROWS", batches, bounds, tmp_path, rng, limits=limits)


@pytest.mark.parametrize("lies", [0.0, 0.4])
@pytest.mark.parametrize("disorder", ["band", "block"])
@pytest.mark.parametrize("data", [True, False])
def test_punctuation_in_the_stream(
    data: bool, disorder: str, lies: float, tmp_path: Path
) -> None:
    """Marked rows tell the bound; rows that contradict one are late for that reason; marks are data unless it says not."""
    rng = random.Random(f"{data} {disorder} {lies}")
    limits = shrink_limits(rng)

    def bounds(batches: list[list[Row]], _: list[int]) -> Known:
        bound = max((r[0] for b in batches for r in b if r[3]), default=FLOOR)
        return Known(bound, promise=lambda row: bound)

    batches = cut_rows(rng, add_marks(rng, make_rows(rng, 80, disorder), False, lies), 9)
    clause = "PUNCTUATED BY (mark)" + ("" if data else " NOT DATA")
    run = run_and_compare(clause, batches, bounds, tmp_path, rng, data=lambda r: data or not r[3], limits=limits)
    assert bool(lies) == bool(run.manifest.streams["s"].contradicting)


@pytest.mark.parametrize("lies", [0.0, 0.4])
@pytest.mark.parametrize("seed", SEEDS)
def test_punctuation_for_groups(seed: int, lies: float, tmp_path: Path) -> None:
    """A group's windows close by its own bound; those over all groups by the least, and never while a group is silent."""
    rng = random.Random(f"{seed} {lies}")
    limits = shrink_limits(rng)

    def bounds(batches: list[list[Row]], _: list[int]) -> Known:
        rows = [r for b in batches for r in b]
        own = {k: max((r[0] for r in rows if r[1] == k and r[3]), default=FLOOR) for k in {r[1] for r in rows}}
        return Known(min(own.values(), default=FLOOR), own, lambda row: own.get(row[1], FLOOR))

    skipped = "c" if seed == 0 else "z"
    rows = add_marks(rng, make_rows(rng, 60, rng.choice(["band", "block"])), True, lies, skipped)
    last = max(r[0] for r in rows)
    rows += [(last, k, 0, True) for k in ("a", "b", "c", None) if k != skipped]
    run = run_and_compare("PUNCTUATED BY (mark) FOR (k)", cut_rows(rng, rows, 9), bounds, tmp_path, rng, by_group=True, limits=limits)
    low = run.manifest.streams["s"].low_watermark
    assert (low is not None and low >= last) == (seed != 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_slack_per_partition(seed: int, tmp_path: Path) -> None:
    """Partitions that run apart are each measured by their own largest value, the stream by the last of them."""
    rng = random.Random(seed)
    limits = shrink_limits(rng)
    skew = {"a": 0, "b": 90 * S, "c": 400 * S, None: 0}
    rows = [(t + skew[k], k, v, m) for t, k, v, m in make_rows(rng, 60, "band")]

    def bounds(batches: list[list[Row]], _: list[int]) -> Known:
        seen = [r for b in batches for r in b]
        own = {k: max(r[0] for r in seen if r[1] == k) - 5 * S for k in {r[1] for r in seen}}
        return Known(min(own.values(), default=FLOOR), own)

    run_and_compare("SLACK 5 SECONDS PER (k)", cut_rows(rng, rows, 8), bounds, tmp_path, rng, by_group=True, limits=limits)


def test_lulls_and_idle_partitions(tmp_path: Path) -> None:
    """A partition silent for long is not waited for; a stream silent for long follows the clock less silence and slack."""
    base = 10**15
    idle = 30 * S

    def bounds(batches: list[list[Row]], clocks: list[int]) -> Known:
        first, *times = clocks
        heard, own = {}, {}
        for batch, clock in zip(batches, times, strict=True):
            for row in batch:
                heard[row[1]] = clock
                own[row[1]] = max(own.get(row[1], FLOOR), row[0] - 5 * S)
        awake = [own[k] for k in own if times[-1] - max(heard[k], first) < idle]
        bound = min(awake, default=FLOOR)
        if times[-1] - max([first, *heard.values()]) >= idle:
            bound = max(bound, times[-1] - idle - 5 * S)
        return Known(bound, own)

    def at(seconds: int, k: str) -> Row:
        return (base + seconds * S, k, 1, False)

    batches = [
        [at(1, "a"), at(2, "b")],
        [at(12, "a")],
        [at(31, "a")],
        [at(33, "a")],  # b is silent for 30 s and more
        [],
        [],  # all are
        [at(40, "a"), at(45, "b")],
        [at(200, "b")],
        [at(205, "b"), at(190, "a")],
    ]
    clocks = [base + c * S for c in (2, 12, 31, 33, 62, 90, 100, 200, 205)]
    clause = "SLACK 5 SECONDS PER (k) IDLE AFTER 30 SECONDS"
    run_and_compare(clause, batches, bounds, tmp_path, random.Random(1), True, clocks=clocks, kills=False)


@pytest.mark.parametrize("lies", [0, 30])
def test_punctuation_beside_the_stream(lies: int, tmp_path: Path) -> None:
    """What is told between two batches binds at the end of the next one."""
    rng = random.Random(lies)
    batches = cut_rows(rng, make_rows(rng, 80, "band"), 8)
    told: list[Any] = [None]
    for i in range(len(batches)):
        rest = [r[0] for b in batches[i + 2 :] for r in b]  # comes after the batch that this binds in
        told.append(min(rest) + lies * S if rest and rng.random() < 0.8 else None)

    def bounds(so_far: list[list[Row]], _: list[int]) -> Known:
        bound = max((t for t in told[: len(so_far)] if t is not None), default=FLOOR)
        return Known(bound, promise=lambda row: bound)

    run = run_and_compare("PUNCTUATED FROM 'told'", batches, bounds, tmp_path, rng, told=told)
    assert bool(run.manifest.streams["s"].contradicting) == bool(lies)


@pytest.mark.parametrize("column", ["k", "upper(k)"])
def test_rows_of_a_stream_without_groups_are_late_by_the_group_they_join(column: str) -> None:
    """Beside a stream whose groups make progress by themselves: late where the group is closed, on time where it is open."""
    run = LocalRun(
        "CREATE STREAM a (t BIGINT, k STRING, mark BOOLEAN) PROGRESSING ON t PUNCTUATED BY (mark) NOT DATA FOR (k) FROM 'none';"
        "CREATE STREAM c (t BIGINT, k STRING) PROGRESSING ON t ORDERED FROM 'none';"
        "CREATE QUERY q AS SELECT k, count(*) AS n FROM"
        f" (SELECT t, k FROM a UNION ALL SELECT t, {column} AS k FROM c) [RANGE 10] GROUP BY k;"
    )
    run.push(a=[(1, "X", False), (3, "Y", False), (30, "X", True)], c=[(2, "X"), (35, "Y")])
    assert run.rows("q") == [("X", 2, 0, 10)]
    run.push(a=[(40, "Z", True)], c=[(5, "X"), (5, "Y"), (36, "Z")])
    assert [row[:2] for row in run.late("c")] == [(5, "X")]
    run.flush()
    assert run.rows("q") == [("X", 2, 0, 10), ("Y", 1, 30, 40), ("Y", 2, 0, 10), ("Z", 1, 30, 40)]
