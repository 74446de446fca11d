"""Laws of windows/extent/wids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from window_strategies import all_windows, bounded, landmark, sliding, specs, ticks_

from headrace.errors import OptionError
from headrace.windows import FOREVER, LONGEST, WindowSpec, make_window

MINUTE = 60


@given(specs, ticks_)
def test_wids_is_the_inverse_of_extent(spec: WindowSpec, t: int) -> None:
    """A value lies in an extent exactly when the window-id is among the value's window-ids."""
    ids = spec.wids(t)
    for w in all_windows(spec):
        assert (w.start <= t < w.end) == (w.wid in ids)


@given(bounded, ticks_)
def test_wids_names_nothing_outside_the_extents(spec: WindowSpec, t: int) -> None:
    """Every id that wids() gives is a window that contains the value."""
    for w in spec.wids(t):
        start, end = spec.extent(w)
        assert start <= t < end


@given(specs, ticks_, st.integers(0, 40))
def test_windows_are_those_that_meet_the_interval(spec: WindowSpec, lo: int, length: int) -> None:
    """windows(lo, hi) is the union of wids over the interval, plus windows that lie strictly inside it."""
    hi = lo + length
    expected = {w.wid for w in all_windows(spec) if w.start < hi and w.end > lo and lo < hi}
    found = spec.windows(lo, hi)
    assert {w.wid for w in all_windows(spec) if w.wid in found} == expected
    assert set(found[:200]) <= expected or spec.kind == "landmark"


@given(specs, st.integers(0, 30))
def test_ids_are_dense_and_grow_with_the_end(spec: WindowSpec, wid: int) -> None:
    """The next id ends exactly one slide later and does not start earlier."""
    start, end = spec.extent(wid)
    after = spec.extent(wid + 1)
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
    wid = spec.first_open(at)
    assert spec.extent(wid)[1] > at
    if spec.kind != "landmark" or wid > 0:
        assert spec.extent(wid - 1)[1] <= at


@given(specs, st.lists(ticks_, min_size=1), ticks_)
def test_a_row_has_missed_a_window_if_the_first_that_holds_it_is_closed(
    spec: WindowSpec, values: list[int], low: int
) -> None:
    """For one value and for many at once; a value in no window has missed none."""
    ends = [min((w.end for w in all_windows(spec) if w.start <= t < w.end), default=None) for t in values]
    expected = [end is not None and end <= low for end in ends]
    assert [bool(spec.missed(t, low)) for t in values] == expected
    assert spec.missed(np.array(values), low).tolist() == expected


@given(bounded, ticks_)
def test_a_flush_goes_to_the_last_window_of_a_value(spec: WindowSpec, t: int) -> None:
    """No window that holds it ends later; in a gap nothing is open, so nothing is waited for."""
    ends = [w.end for w in all_windows(spec) if w.start <= t < w.end]
    assert spec.last_end(t) == max(ends, default=t)


@given(landmark, ticks_)
def test_a_flush_of_a_landmark_goes_to_the_next_slide_point(spec: WindowSpec, t: int) -> None:
    """It has no last window: the first report that holds the row is enough."""
    assert spec.last_end(t) == min(w.end for w in all_windows(spec) if w.end > max(t, spec.origin))


@given(landmark, ticks_)
def test_a_landmark_value_stays_for_ever(spec: WindowSpec, t: int) -> None:
    """From its first window on, a value is in all of them; before the origin it is in none."""
    ids = spec.wids(t)
    assert bool(ids) == (t >= spec.origin)
    if ids:
        assert ids.stop == FOREVER
        assert ids.start >= 0


def test_the_example_of_the_thesis() -> None:
    """RANGE 10 minutes SLIDE 1 minute aligned by ends: 00:00:05 is in windows 0 to 9, window 10 is [1, 11)
    minutes.
    """
    spec = make_window(10 * MINUTE, MINUTE, align="end")
    assert spec.wids(5) == range(10)
    assert spec.extent(10) == (1 * MINUTE, 11 * MINUTE)


def test_starts_are_aligned_as_in_spark_and_flink() -> None:
    """RANGE 5 SLIDE 2 has windows that start at even ticks; aligned by ends they end at even ticks."""
    assert [make_window(5, 2).extent(w) for w in make_window(5, 2).wids(0)] == [(-4, 1), (-2, 3), (0, 5)]
    end = make_window(5, 2, align="end")
    assert [end.extent(w) for w in end.wids(0)] == [(-3, 2), (-1, 4)]


def test_gaps_hold_no_windows() -> None:
    """With SLIDE above RANGE a value between two windows belongs to none, also before the epoch."""
    spec = make_window(3, 10)
    assert [t for t in range(-12, 12) if spec.wids(t)] == [-10, -9, -8, 0, 1, 2, 10, 11]


def test_cumulative_windows_start_over() -> None:
    """Steps of 5 that reset at 15 give [0,5) [0,10) [0,15), then [15,20)."""
    spec = make_window(None, 5, reset=15)
    assert [spec.extent(w) for w in range(-1, 4)] == [(-15, 0), (0, 5), (0, 10), (0, 15), (15, 20)]
    assert spec.wids(7) == range(1, 3)


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
        ({"range": LONGEST + 1, "slide": 4}, "RANGE is too long"),
        ({"range": None, "slide": LONGEST + 1}, "SLIDE is too long"),
        ({"range": 8, "slide": 4, "origin": -LONGEST - 1}, "ORIGIN is too far away"),
    ],
)
def test_an_impossible_window_is_refused(arguments: dict, message: str) -> None:
    """The message names the parameter and the value that came."""
    with pytest.raises(OptionError, match=message):
        make_window(**arguments)


def test_kinds_have_names() -> None:
    """The four shapes are told apart, and only tumbling is tumbling."""
    shapes = [make_window(5, 5), make_window(5, 2), make_window(None, 5), make_window(None, 5, reset=10)]
    assert [s.kind for s in shapes] == ["tumbling", "sliding", "landmark", "cumulative"]
    assert [s.tumbling for s in shapes] == [True, False, False, False]


def test_a_landmark_has_no_negative_ids() -> None:
    """Asking for one is an error, not a window that ends before it starts."""
    with pytest.raises(OptionError, match="from 0 on, got -1"):
        make_window(None, 5).extent(-1)
