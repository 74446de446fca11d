"""Laws of policies: what follows from what was seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import OptionError
from headrace.progress import NOTHING_KNOWN, Frontier, Observation, Ordered, Slack, advance, fold

observations = st.builds(Observation, st.one_of(st.none(), st.integers(-100, 100)))


@given(st.lists(st.integers(-50, 50), min_size=1), st.integers(0, 40))
def test_slack_is_safe_when_the_stream_keeps_its_word(arrivals: list[int], slack: int) -> None:
    """If no row comes more than the slack behind the largest value seen, none comes behind the
    frontier.
    """
    frontier, seen = NOTHING_KNOWN, Observation()
    for t in arrivals:
        if seen.largest is not None and t < seen.largest - slack:
            continue
        assert t >= frontier.bound
        seen = fold([seen, Observation(t)])
        frontier = advance(frontier, Slack(slack).frontier(seen))


@given(st.integers())
def test_ordered_is_slack_zero(seen: int) -> None:
    """An ordered stream's bound is the largest value itself: equal values may still come."""
    assert Ordered().frontier(Observation(seen)) == Slack(0).frontier(Observation(seen)) == Frontier(seen)


def test_nothing_seen_is_nothing_known() -> None:
    """Before the first row there is no frontier."""
    assert Slack(5).frontier(Observation()) == Ordered().frontier(Observation()) == NOTHING_KNOWN


@given(st.lists(observations), st.lists(observations))
def test_observations_fold_in_any_order_and_more_than_once(a: list[Observation], b: list[Observation]) -> None:
    """A retried task, or another order of tasks, changes nothing."""
    whole = fold([*a, *b])
    assert whole == fold([fold(b), fold(a)]) == fold([*b, *a, *b])
    values = [o.largest for o in (*a, *b) if o.largest is not None]
    assert whole.largest == max(values, default=None)


def test_negative_slack_is_refused() -> None:
    """A slack says how far behind rows may come; it cannot be negative."""
    with pytest.raises(OptionError, match="must not be negative, got -1"):
        Slack(-1)
    with pytest.raises(OptionError, match="SLACK is too long"):
        Slack(1 << 61)
