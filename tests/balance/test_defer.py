"""The transient skew buffer: who waits, for how long at most, and that nobody sees it in the results (document 002, section 4)."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from headrace.balance.choose_deferred import (
    HOT,
    MOST_PIECES,
    TOLERANCE,
    PidLoad,
    choose_deferred,
    choose_pieces,
    find_piece,
    find_room,
)
from headrace.cli import main
from headrace.errors import OptionError
from headrace.program.limits import SHIPPED, Limits
from headrace.program.messages import Deferral
from headrace.report.load import list_load
from headrace.report.log import log_line
from headrace.report.model import BatchReport
from headrace.testing import LocalRun

SECOND = 1_000_000
SCRIPT = """
CREATE STREAM s (t BIGINT, k INT, v INT) PROGRESSING ON t ORDERED FROM 'memory';
CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 10] GROUP BY k;
CREATE QUERY total AS SELECT sum(n) AS n FROM q;
"""
LOOKED_UP = """
CREATE STREAM s (t BIGINT, k INT, v INT) PROGRESSING ON t ORDERED FROM 'memory';
CREATE TABLE names (k INT, name STRING) FROM 'memory';
CREATE QUERY q AS SELECT names.name, count(*) AS n FROM s [RANGE 10] JOIN names ON s.k = names.k GROUP BY names.name;
"""
HOT_KEY = 7

loads = st.lists(
    st.builds(PidLoad, st.integers(0, 200), st.integers(0, 80_000), st.integers(0, 1000), st.integers(0, 100)),
    max_size=12,
    unique_by=lambda one: one.pid,
)


@given(loads, st.integers(0, 60), st.integers(0, 20), st.integers(0, 3000), st.floats(0, 20_000), st.floats(0, 5000))
def test_who_waits(loads: list[PidLoad], time: int, pace: int, size: int, slot_mean: float, pid_mean: float) -> None:
    """Only the hot, only in time, within the bytes, only in a slot that has too much; and none of them for nothing."""
    deferral, now = Deferral(time, size, pace), 100
    out = choose_deferred(deferral, now, loads, slot_mean, pid_mean)
    waiting = [one for one in loads if one.pid in out]
    assert len(waiting) == len(out)
    room = max(SHIPPED.least_rows, TOLERANCE * slot_mean)
    total = sum(one.rows for one in loads)
    if total <= room or slot_mean == 0:
        assert not out
    assert all(one.rows > HOT * pid_mean and now + pace <= one.since + time for one in waiting)
    assert sum(one.bytes for one in waiting) <= size
    left = total - sum(one.rows for one in waiting)
    assert all(left + one.rows > room for one in waiting), "as few as are enough"
    overdue = sum(one.rows for one in loads if one.rows > HOT * pid_mean and now + pace > one.since + time)
    if overdue > room:
        assert not out
    elif left > room and slot_mean > 0:  # then nobody else could have waited
        spare = size - sum(one.bytes for one in waiting)
        others = [one for one in loads if one.pid not in out and one.rows > HOT * pid_mean]
        assert not [one for one in others if now + pace <= one.since + time and one.bytes <= spare]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(1, 50)), unique_by=lambda one: one[:2]), st.integers(-20, 200))
def test_which_pieces_are_taken(pieces: list[tuple[str, int, int]], room: int) -> None:
    """As many as there is room for, the first that fit; what is left out would not have fitted when its turn came."""
    taken = choose_pieces(pieces, room)
    left = room
    for path, pid, rows in pieces:
        assert (pid in taken.get(path, ())) == (rows <= left)
        left -= rows if rows <= left else 0
    assert sum(map(len, taken.values())) == sum(pid in taken.get(path, ()) for path, pid, _ in pieces)


class Clock:
    def __init__(self) -> None:
        self.now = SECOND

    def __call__(self) -> int:
        return self.now


def batch(i: int, burst: int = 0) -> list[tuple[int, int, int]]:
    rows = [(10 * i + 1, k, k) for k in range(40)] + [(10 * i + 2, HOT_KEY, j) for j in range(burst)]
    return [*rows, (10 * i + 9, 0, 0)]


def start(clock: Clock, defer: str | None = "2 seconds", waiting_bytes: int = SHIPPED.waiting_bytes, **more: Any) -> LocalRun:
    """Each row comes by itself: a burst of one key is a burst of rows."""
    limits = Limits(least_rows=100, waiting_bytes=waiting_bytes)
    return LocalRun(SCRIPT, slots=2, defer=defer, clock=clock, preaggregate=False, limits=limits, **more)


def keys_of(run: LocalRun, manifest: Any) -> set[int]:
    return {row[0] for row in run._read(manifest.results.get("q", ()), False)}


def test_a_burst_waits_and_the_others_do_not() -> None:
    """Windows of other mini-partitions close in time; those of the one with the burst, and the total of all, within two seconds."""
    clock = Clock()
    run, calm = start(clock), start(clock, None)
    behind = []
    for i in range(9):
        clock.now += SECOND // 2
        rows = batch(i, 300 if i in (3, 4) else 0)
        found, usual = run.push(s=rows), calm.push(s=rows)
        report = BatchReport.from_json(found.report)
        assert usual.waiting == {}
        behind.append(report.behind_seconds if found.waiting else None)
        if found.waiting:
            assert report.waiting_rows >= (300 if i in (3, 4) else 1), "less is left as there is room"
            assert report.waiting_rows == sum(one.rows for one in found.waiting.values())
            assert f" waiting_rows={report.waiting_rows} behind={report.behind_seconds:.3f}s " in log_line(report) + " "
            assert keys_of(run, found) < keys_of(calm, usual), "others are not held up"
            assert not found.results.get("total"), "the total waits for the burst"
            assert HOT_KEY not in keys_of(run, found)
            assert {m.node for m in found.segments} & {node.waiting for node in run.program.nodes}
    assert behind[:3] == [None] * 3
    assert behind[3] == 0.0
    assert 0.5 <= max(b for b in behind if b is not None) <= 1.5
    assert behind[-1] is None
    for query in ("q", "total"):
        assert run.rows(query) == calm.rows(query) != []


def test_a_burst_is_spread_over_the_batches_that_follow() -> None:
    """What fits of the rows that wait is absorbed batch by batch, and no slot ever has more than its share; the results are those of
    a run in which nothing waits.
    """
    clock = Clock()
    run, calm = start(clock, "10 seconds"), start(clock, None)
    waiting, most = [], []
    for i in range(11):
        clock.now += SECOND // 2
        rows = batch(i, 400 if i == 3 else 0)
        found = run.push(s=rows)
        calm.push(s=rows)
        waiting.append(sum(one.rows for one in found.waiting.values()))
        most.append(max(sum(a["rows"] for a in list_load(run.log, "pid") if a["slot"] == slot) for slot in range(2)))
    assert waiting[3] >= 400 and waiting[-1] == 0, waiting
    going = [w for w in waiting if w]
    assert len(going) > 3 and all(later < sooner for sooner, later in pairwise(going)), waiting
    assert max(most) <= 100, most
    for query in ("q", "total"):
        assert run.rows(query) == calm.rows(query) != []


@pytest.mark.parametrize("usual", [6_000, 20_000, 36_000, 44_000, 60_000])
def test_a_burst_drains_at_usual_loads(usual: int) -> None:
    """With the limits as they are, whatever the load: a burst of 60,000 rows waits, each batch after it
    absorbs a piece or more, as much as there is room for, and no slot has more than its share.
    """
    clock = Clock()
    run = LocalRun(SCRIPT, slots=4, defer="1000 seconds", clock=clock, preaggregate=False)
    waiting, most = [], []
    for i in range(6):
        clock.now += SECOND
        burst = [(10 * i + 2, HOT_KEY, j) for j in range(60_000 if i == 1 else 0)]
        found = run.push(s=[*((10 * i + 1, j % 997, j) for j in range(usual)), *burst, (10 * i + 9, 0, 0)])
        waiting.append(sum(one.rows for one in found.waiting.values()))
        loads = list_load(run.log, "pid")
        most.append(max(sum(a["rows"] for a in loads if a["slot"] == slot) for slot in range(4)))
    share = max(SHIPPED.least_rows, TOLERANCE * usual / 4)
    assert waiting[0] == 0 and waiting[1] >= 60_000, waiting
    taken = [sooner - later for sooner, later in pairwise(waiting[1:])]
    assert min(taken) > 0 and min(taken[1:]) >= share / 10, taken
    assert max(most[2:]) <= 1.02 * share, (most, share)
    run.close()


def test_a_drained_burst_is_counted_once() -> None:
    """With the limits as they are: the burst drains, and results are those of a run in which nothing waits.
    """
    clock = Clock()
    runs = [LocalRun(SCRIPT, slots=4, defer=defer, clock=clock, preaggregate=False) for defer in ("1000 seconds", None)]
    waiting = []
    for i in range(12):
        clock.now += SECOND
        burst = [(10 * i + 2, HOT_KEY, j) for j in range(60_000 if i == 1 else 0)]
        for run in runs:
            found = run.push(s=[*((10 * i + 1, j % 997, j) for j in range(2000)), *burst, (10 * i + 9, 0, 0)])
            waiting.append(sum(one.rows for one in found.waiting.values()))
    assert waiting[2] >= 60_000 and waiting[-2:] == [0, 0], waiting
    for query in ("q", "total"):
        assert runs[0].rows(query) == runs[1].rows(query) != []


def test_pieces_of_a_huge_burst() -> None:
    """A burst is written in a limited number of files, and one piece is taken wherever there is room at all.
    """
    assert find_piece(1_000, 60_000, SHIPPED.least_rows) == SHIPPED.least_rows // 8
    assert find_piece(100_000, 60_000, SHIPPED.least_rows) == int(TOLERANCE * 100_000) // 8
    assert -(-10_000_000 // find_piece(1_000, 10_000_000, SHIPPED.least_rows)) <= MOST_PIECES
    assert find_room(10_000, 9_999, 50_000) == 50_000
    assert find_room(10_000, 10_000, 50_000) == 0
    assert find_room(10_000, 2_000, 1_250) == 8_000


def test_rows_wait_no_longer_than_the_pace_allows() -> None:
    """With batches that come every three seconds nothing may wait for two."""
    clock = Clock()
    run = start(clock)
    for i in range(5):
        clock.now += 3 * SECOND
        assert run.push(s=batch(i, 300 if i == 3 else 0)).waiting == {}


def test_no_more_bytes_wait_than_may() -> None:
    """Where the rows of a burst are more bytes than may wait, they are processed at once."""
    clock = Clock()
    run = start(clock, waiting_bytes=1000)
    for i in range(5):
        clock.now += SECOND // 2
        assert run.push(s=batch(i, 300 if i == 3 else 0)).waiting == {}


def test_what_waits_is_taken_when_nothing_comes() -> None:
    """A heartbeat takes it; it is due when its time is over."""
    clock = Clock()
    run = start(clock)
    for i in range(4):
        clock.now += SECOND // 2
        run.push(s=batch(i, 300 if i == 3 else 0))
    assert run.manifest.waiting
    assert not run.driver.is_overdue()
    clock.now += 2 * SECOND
    assert run.driver.is_overdue()
    assert run.beat()
    assert not run.manifest.waiting
    assert not run.driver.is_overdue()
    assert not run.beat()
    assert (HOT_KEY, 1, 20, 30) in run.rows("q")


def test_a_run_without_the_option_takes_what_waits(tmp_path: Path) -> None:
    """Rows that wait are in the checkpoint: `headrace state` tells of them, and a later run takes them."""
    clock = Clock()
    path = str(tmp_path / "checkpoint")
    run = start(clock, path=path)
    for i in range(4):
        clock.now += SECOND // 2
        run.push(s=batch(i, 300 if i == 3 else 0))
    waiting = run.manifest.waiting
    run.close()
    shown = CliRunner().invoke(main, ["state", path, "--format", "json"])
    (told,) = json.loads(shown.output)["waiting"]
    assert {told["pid"]: told["rows"]} == {pid: one.rows for pid, one in waiting.items()}
    assert "mini-partitions whose rows wait" in CliRunner().invoke(main, ["state", path]).output
    later = start(clock, None, path=path)
    clock.now += SECOND // 2
    assert later.push(s=batch(4)).waiting == {}
    later.flush()
    assert Counter(r for r in later.rows("q") if r[0] == HOT_KEY)[(HOT_KEY, 301, 30, 40)] == 1


def test_a_set_in_which_nothing_may_wait_says_so() -> None:
    """Rows of streams that go to a later level could be late there by the wrong progress: then nothing waits, with a note."""
    clock = Clock()
    names = [(k, f"n{k % 3}") for k in range(40)]
    run = LocalRun(LOOKED_UP, slots=2, defer="2 seconds", clock=clock, tables={"names": names}, preaggregate=False, limits=Limits(least_rows=0))
    notes = []
    for i in range(4):
        clock.now += SECOND // 2
        found = run.push(s=batch(i, 300))
        assert found.waiting == {}
        notes.append([n for n in BatchReport.from_json(found.report).notes if "no row waits in this set" in n])
    assert list(map(len, notes)) == [1, 0, 0, 0], "it is said once"


def test_what_is_no_time_to_wait(tmp_path: Path) -> None:
    """Refused before anything starts."""
    for wrong in ("0 seconds", "soon"):
        with pytest.raises(OptionError, match="defer"):
            LocalRun(SCRIPT, defer=wrong)
    file = tmp_path / "set.sql"
    file.write_text(SCRIPT)
    refused = CliRunner().invoke(main, ["run", str(file), "--checkpoint", str(tmp_path / "c"), "--defer", "soon"])
    assert refused.exit_code == 2
    assert "defer" in refused.output
