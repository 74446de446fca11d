"""Laws of low-watermarks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import OptionError
from headrace.progress import Ordered, Slack, advance, low_watermark, meld

bounds = st.one_of(st.none(), st.integers(-100, 100))


@given(st.lists(st.integers(-50, 50), min_size=1), st.integers(0, 40))
def test_slack_is_safe_when_the_stream_keeps_its_word(arrivals: list[int], slack: int) -> None:
    """If no row comes more than the slack behind the largest value seen, none comes behind the
    low-watermark.
    """
    low, largest = None, None
    for t in arrivals:
        if largest is not None and t < largest - slack:
            continue
        assert low is None or t >= low
        largest = t if largest is None else max(largest, t)
        low = advance(low, low_watermark(Slack(slack), largest))


@given(st.integers())
def test_ordered_is_slack_zero(seen: int) -> None:
    """An ordered stream's bound is the largest value itself: equal values may still come."""
    assert low_watermark(Ordered(), seen) == low_watermark(Slack(0), seen) == seen


def test_nothing_seen_is_nothing_known() -> None:
    """Before the first row there is no low-watermark."""
    assert low_watermark(Slack(5), None) is None


@given(bounds, bounds, bounds)
def test_advance_never_goes_back(a: int | None, b: int | None, c: int | None) -> None:
    """It is the maximum with None as minus infinity, in any order and any number of times."""
    assert advance(a, advance(b, c)) == advance(advance(c, a), b)
    assert advance(a, a) == a
    assert a is None or (advance(a, b) or 0) >= a or advance(a, b) == a


@given(st.lists(bounds, min_size=1))
def test_meld_is_the_minimum(inputs: list[int | None]) -> None:
    """A union is as far as its slowest input, and nowhere while one is silent."""
    expected = None if None in inputs else min(i for i in inputs if i is not None)
    assert meld(inputs) == expected
    assert meld([*inputs, *inputs]) == meld(reversed(inputs)) == expected


def test_meld_of_nothing_is_unknown() -> None:
    """No inputs, no progress."""
    assert meld([]) is None


def test_negative_slack_is_refused() -> None:
    """A slack says how far behind rows may come; it cannot be negative."""
    with pytest.raises(OptionError, match="must not be negative, got -1"):
        Slack(-1)
