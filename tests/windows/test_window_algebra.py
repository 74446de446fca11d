"""Laws of windows/extent/wids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from window_strategies import all_windows, bounded, landmark, sliding, specs, ticks_

from headrace.errors import OptionError
from headrace.windows import FOREVER, WindowSpec, extent, first_end, first_open, wids, windows

MINUTE = 60


@given(specs, ticks_)
def test_wids_is_the_inverse_of_extent(spec: WindowSpec, t: int) -> None:
    """A value lies in an extent exactly when the window-id is among the value's window-ids."""
    ids = wids(spec, t)
    for w in all_windows(spec):
        assert (w.start <= t < w.end) == (w.wid in ids)


@given(bounded, ticks_)
def test_wids_names_nothing_outside_the_extents(spec: WindowSpec, t: int) -> None:
    """Every id that wids() gives is a window that contains the value."""
    for w in wids(spec, t):
        start, end = extent(spec, w)
        assert start <= t < end


@given(specs, ticks_, st.integers(0, 40))
def test_windows_are_those_that_meet_the_interval(spec: WindowSpec, lo: int, length: int) -> None:
    """windows(lo, hi) is the union of wids over the interval, plus windows that lie strictly inside it."""
    hi = lo + length
    expected = {w.wid for w in all_windows(spec) if w.start < hi and w.end > lo and lo < hi}
    found = windows(spec, lo, hi)
    assert {w.wid for w in all_windows(spec) if w.wid in found} == expected
    assert set(found[:200]) <= expected or spec.kind == "landmark"


@given(specs, st.integers(0, 30))
def test_ids_are_dense_and_grow_with_the_end(spec: WindowSpec, wid: int) -> None:
    """The next id ends exactly one slide later and does not start earlier."""
    start, end = extent(spec, wid)
    after = extent(spec, wid + 1)
    assert after[1] == end + spec.slide
    assert after[0] >= start


@given(sliding)
def test_a_sliding_extent_is_one_range_long_and_aligned(spec: WindowSpec) -> None:
    """Starts (or ends, as asked) lie on multiples of the slide from the origin."""
    for w in all_windows(spec):
        assert w.end - w.start == spec.range
        assert ((w.start if spec.align == "start" else w.end) - spec.origin) % spec.slide == 0


@given(specs, ticks_)
def test_first_open_is_the_first_that_ends_later(spec: WindowSpec, at: int) -> None:
    """No window before it ends after the value; it does."""
    wid = first_open(spec, at)
    assert extent(spec, wid)[1] > at
    if spec.kind != "landmark" or wid > 0:
        assert extent(spec, wid - 1)[1] <= at


@given(specs, ticks_)
def test_first_end_is_the_smallest_end_around_a_value(spec: WindowSpec, t: int) -> None:
    """It is what brute force finds, and None where the value is in no window."""
    assert first_end(spec, t) == min((w.end for w in all_windows(spec) if w.start <= t < w.end), default=None)


@given(landmark, ticks_)
def test_a_landmark_value_stays_for_ever(spec: WindowSpec, t: int) -> None:
    """From its first window on, a value is in all of them; before the origin it is in none."""
    ids = wids(spec, t)
    assert bool(ids) == (t >= spec.origin)
    if ids:
        assert ids.stop == FOREVER
        assert ids.start >= 0


def test_the_example_of_the_thesis() -> None:
    """RANGE 10 minutes SLIDE 1 minute aligned by ends: 00:00:05 is in windows 0 to 9, window 10 is [1, 11)
    minutes.
    """
    spec = WindowSpec(10 * MINUTE, MINUTE, align="end")
    assert wids(spec, 5) == range(10)
    assert extent(spec, 10) == (1 * MINUTE, 11 * MINUTE)


def test_starts_are_aligned_as_in_spark_and_flink() -> None:
    """RANGE 5 SLIDE 2 has windows that start at even ticks; aligned by ends they end at even ticks."""
    assert [extent(WindowSpec(5, 2), w) for w in wids(WindowSpec(5, 2), 0)] == [(-4, 1), (-2, 3), (0, 5)]
    end = WindowSpec(5, 2, align="end")
    assert [extent(end, w) for w in wids(end, 0)] == [(-3, 2), (-1, 4)]


def test_gaps_hold_no_windows() -> None:
    """With SLIDE above RANGE a value between two windows belongs to none, also before the epoch."""
    spec = WindowSpec(3, 10)
    assert [t for t in range(-12, 12) if wids(spec, t)] == [-10, -9, -8, 0, 1, 2, 10, 11]


def test_cumulative_windows_start_over() -> None:
    """Steps of 5 that reset at 15 give [0,5) [0,10) [0,15), then [15,20)."""
    spec = WindowSpec(None, 5, reset=15)
    assert [extent(spec, w) for w in range(-1, 4)] == [(-15, 0), (0, 5), (0, 10), (0, 15), (15, 20)]
    assert wids(spec, 7) == range(1, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"range": 0, "slide": 1}, "RANGE must be positive, got 0"),
        ({"range": 5, "slide": -1}, "SLIDE must be positive, got -1"),
        ({"range": None, "slide": 0}, "SLIDE must be positive"),
        ({"range": None, "slide": 4, "reset": 10}, "10 is not a multiple of 4"),
        ({"range": None, "slide": 4, "reset": -4}, "RESET must be positive"),
        ({"range": 8, "slide": 4, "reset": 8}, "RESET goes with RANGE ALL"),
        ({"range": 8, "slide": 4, "align": "middle"}, "ALIGN must be START or END, not 'middle'"),
    ],
)
def test_an_impossible_window_is_refused(arguments: dict, message: str) -> None:
    """The message names the parameter and the value that came."""
    with pytest.raises(OptionError, match=message):
        WindowSpec(**arguments)


def test_kinds_have_names() -> None:
    """The four shapes are told apart, and only tumbling is tumbling."""
    shapes = [WindowSpec(5, 5), WindowSpec(5, 2), WindowSpec(None, 5), WindowSpec(None, 5, reset=10)]
    assert [s.kind for s in shapes] == ["tumbling", "sliding", "landmark", "cumulative"]
    assert [s.tumbling for s in shapes] == [True, False, False, False]


def test_a_landmark_has_no_negative_ids() -> None:
    """Asking for one is an error, not a window that ends before it starts."""
    with pytest.raises(OptionError, match="from 0 on, got -1"):
        extent(WindowSpec(None, 5), -1)
