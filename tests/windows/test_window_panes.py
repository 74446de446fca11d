"""Laws of panes: tiling, sharing, closing, purging."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from window_strategies import LO, Window, all_windows, bounded, landmark, specs, ticks_

from headrace.errors import OptionError, PlanError
from headrace.windows import Grid, WindowSpec, make_window, share_grid

values = st.lists(ticks_, max_size=12)
progress = st.lists(st.integers(-80, 100), min_size=1, max_size=6).map(sorted)


def brute(spec: WindowSpec, rows: list[int], previous: int | None, current: int) -> list:
    """Closing by definition: look at every window and every row."""
    base = min(rows, default=0) if spec.kind == "landmark" else None
    return [
        w
        for w in all_windows(spec)
        if (previous is None or previous < w.end)
        and w.end <= current
        and any(w.start <= t < w.end for t in rows)
        and (base is None or w.end > base)
    ]


def pane_of(spec: WindowSpec, t: int) -> int:
    """The pane of a value on the window's own grid."""
    return share_grid([spec]).pane_of(t)


def closing(spec: WindowSpec, panes: object, previous: int | None, current: int) -> list[Window]:
    """The windows that close, one by one; every run of them holds just the panes it says."""
    held = np.unique(np.array(list(panes), np.int64))  # type: ignore[call-overload]
    runs = spec.closing(held, previous, current)
    for first, stop, low, high in zip(*runs, strict=True):
        for wid in range(int(first), int(stop)):
            start, end = spec.extent(wid)
            assert list(held[low:high]) == [p for p in held if start <= p < end] != []
    return [Window(int(wid), *spec.extent(int(wid))) for wid in runs.wids()]


@given(specs, ticks_)
def test_a_value_lies_in_its_pane(spec: WindowSpec, t: int) -> None:
    """Panes are the cells of a grid from the origin on."""
    pane = pane_of(spec, t)
    assert pane <= t < pane + spec.pane
    assert (pane - spec.origin) % spec.pane == 0


@given(specs, ticks_)
def test_a_pane_is_inside_or_outside_of_every_window(spec: WindowSpec, t: int) -> None:
    """All values of a pane have the same windows, so each window is a disjoint union of panes."""
    pane = pane_of(spec, t)
    assert {spec.wids(v) for v in range(pane, pane + spec.pane)} == {spec.wids(t)}


@given(st.lists(specs, min_size=1, max_size=4), ticks_)
def test_one_grid_can_serve_several_windows(several: list[WindowSpec], t: int) -> None:
    """A pane of the shared grid lies inside one pane of each window."""
    width, offset = share_grid(several)
    pane = Grid(width, offset).pane_of(t)
    assert pane <= t < pane + width
    for spec in several:
        assert pane_of(spec, pane) == pane_of(spec, pane + width - 1) == pane_of(spec, t)


@given(st.lists(specs, min_size=1, max_size=3))
def test_the_shared_grid_is_the_coarsest(several: list[WindowSpec]) -> None:
    """No wider grid, whatever its offset, keeps every window boundary on it."""
    width, _ = share_grid(several)
    edges = [e for spec in several for w in all_windows(spec) for e in (w.start, w.end)]
    for wider in range(width + 1, 3 * width + 1):
        assert len({e % wider for e in edges}) > 1


def test_sharing_examples() -> None:
    """10/1 and 60/5 minutes share minutes; an origin that is off by 20 seconds narrows the grid to it."""
    assert share_grid([make_window(600, 60), make_window(3600, 300)]) == (60, 0)
    assert share_grid([make_window(600, 60), make_window(600, 60, origin=20)]) == (20, 0)
    assert share_grid([make_window(600, 60, origin=-40)]) == (60, 20)
    with pytest.raises(OptionError, match="at least one"):
        share_grid([])


@given(specs, values, progress)
def test_closing_over_any_steps_gives_each_window_once(
    spec: WindowSpec, rows: list[int], steps: list[int]
) -> None:
    """However progress is cut into steps, the windows closed are those of brute force, in order of their
    ends.
    """
    panes = [pane_of(spec, t) for t in rows]
    closed = []
    previous = None
    for current in steps:
        step = closing(spec, panes, previous, current)
        assert step == brute(spec, rows, previous, current)
        closed += step
        previous = current
    assert closed == brute(spec, rows, None, steps[-1])


@given(bounded, values, progress)
def test_closing_needs_only_the_panes_that_are_kept(
    spec: WindowSpec, rows: list[int], steps: list[int]
) -> None:
    """Dropping panes before needed_from() after every step changes nothing that is still to be closed."""
    panes = {pane_of(spec, t) for t in rows}
    previous = None
    for current in steps:
        assert closing(spec, panes, previous, current) == brute(spec, rows, previous, current)
        panes = {p for p in panes if p >= spec.needed_from(current)}
        previous = current


@given(specs, values, ticks_)
def test_closing_takes_a_finer_grid(spec: WindowSpec, rows: list[int], current: int) -> None:
    """Panes of a shared, finer grid close the same windows."""
    width, offset = share_grid([spec, make_window(1, 1)])
    fine = [Grid(width, offset).pane_of(t) for t in rows]
    assert closing(spec, fine, None, current) == brute(spec, rows, None, current)


@given(specs, ticks_)
def test_needed_from_is_safe_and_tight(spec: WindowSpec, low: int) -> None:
    """No open window covers an earlier pane, and one covers the pane it names."""
    needed = spec.needed_from(low)
    assert pane_of(spec, needed) == needed
    assert all(w.start >= needed for w in all_windows(spec) if w.end > low)
    assert any(w.start <= needed < w.end for w in all_windows(spec) if w.end > low)


@given(bounded, ticks_, ticks_)
def test_a_value_before_needed_from_is_in_no_open_window(spec: WindowSpec, t: int, low: int) -> None:
    """So it can be set aside at once."""
    if t < spec.needed_from(low):
        assert all(w.end <= low for w in all_windows(spec) if w.start <= t < w.end)
    elif spec.wids(t):
        assert any(w.end > low for w in all_windows(spec) if w.start <= t < w.end)


@given(landmark, ticks_)
def test_a_landmark_keeps_everything(spec: WindowSpec, low: int) -> None:
    """State from the origin on is needed for ever."""
    assert spec.needed_from(low) == spec.origin


def test_a_jump_of_fifty_years_is_cheap() -> None:
    """Only windows around the three panes are looked at, not the 26 million minutes between them."""
    second = 1_000_000
    spec = make_window(600 * second, 60 * second)
    jump = 50 * 365 * 86_400 * second
    began = time.perf_counter()
    closed = closing(spec, [0, jump, jump + 120 * second], None, jump + 10_000 * second)
    assert time.perf_counter() - began < 0.1
    assert len(closed) == 10 + 12


def test_a_landmark_jump_is_an_error_with_a_way_out() -> None:
    """A landmark query reports at every slide point; a year of seconds at once is refused."""
    with pytest.raises(PlanError, match=r"would close 31,536,000 windows; at most 100,000 .*longer SLIDE"):
        closing(make_window(None, 1), [0], None, 365 * 86_400)


def test_a_landmark_repeats_without_new_rows() -> None:
    """Every slide point after the first row reports, rows or not."""
    spec = make_window(None, 10)
    assert [w.end for w in closing(spec, [20], None, 55)] == [30, 40, 50]
    assert [w.end for w in closing(spec, [20], 55, 71)] == [60, 70]


def test_no_progress_closes_nothing() -> None:
    """A step that does not move, or an empty state, is free."""
    assert closing(make_window(5, 5), [0], 20, 20) == []
    assert closing(make_window(5, 5), [], None, 1000) == []
    assert closing(make_window(None, 5), [LO], None, 1000) == []


@given(specs, values, progress)
def test_settled_panes_give_the_same_windows(spec: WindowSpec, rows: list[int], steps: list[int]) -> None:
    """Moving rows to the panes they may be kept in, after every step, changes no window still to be closed."""
    width, panes, previous = spec.pane, np.array([pane_of(spec, t) for t in rows], np.int64), None
    for current in steps:
        for window in closing(spec, panes, previous, current):
            kept = int(((panes >= window.start) & (panes < window.end)).sum())
            assert kept == sum(window.start <= t < window.end for t in rows)
        panes = spec.settle(panes, width, current)
        assert not spec.settles or all(p == pane_of(spec, int(p)) for p in panes)
        previous = current


@given(bounded, values.filter(bool), ticks_)
def test_open_windows_are_counted(spec: WindowSpec, rows: list[int], low: int) -> None:
    """Those that meet the values from the first to the last row and end after the low-watermark."""
    first, last = min(rows), max(rows)
    meeting = [w for w in all_windows(spec) if w.start <= last and w.end > first]
    assert spec.count_open(first, last + 1, low) == sum(w.end > low for w in meeting)
    assert spec.count_open(first, last + 1, None) == len(meeting)


def test_runs_are_few_where_windows_are_many() -> None:
    """A million windows over six hundred rows hold a thousand different sets of panes."""
    spec = make_window(1_000_000, 1)
    runs = spec.closing(np.arange(600) * 1000, None, 2_000_000)
    assert len(runs) <= 1200
    assert runs.wids().size == 1_599_000
    part = runs.between(5, 10)
    assert part.wids().tolist() == [5, 6, 7, 8, 9]
