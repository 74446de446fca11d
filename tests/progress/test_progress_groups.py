"""Laws of slack in rows, of groups that make progress by themselves, of punctuation and of silence."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import OptionError
from headrace.progress import (
    NOTHING_KNOWN,
    NOTHING_SEEN,
    ByGroup,
    Frontier,
    Observation,
    Ordered,
    Punctuated,
    Silence,
    Slack,
    SlackRows,
    advance,
    arrive,
    bound_at,
    find_frontier_of,
    find_promise,
    fold,
    keep_needed,
)
from headrace.progress.observation import STEPS
from headrace.state.record import StreamState
from headrace.state.sealed_lines import decode_line, open_lines, seal_lines

values = st.lists(st.integers(-50, 50), min_size=1, max_size=12)
batches = st.lists(st.lists(values, min_size=1, max_size=3), min_size=1, max_size=6)  # of tasks, of rows


def see(batch: int, rows: list[int], slack: int) -> Observation:
    top = sorted(rows, reverse=True)[: slack + 1]
    return Observation(max(rows), arrivals=(arrive(batch, len(rows), top),))


@given(batches, st.integers(0, 15), st.randoms())
def test_slack_in_rows_is_safe_whatever_the_order_in_a_batch(
    arriving: list[list[list[int]]], slack: int, rng: random.Random
) -> None:
    """The bound is never above the largest value of all but the last n rows, in any order that the batches allow."""
    seen, frontier, order = NOTHING_SEEN, NOTHING_KNOWN, []
    for number, tasks in enumerate(arriving):
        seen = fold([seen, *(see(number, rows, slack) for rows in tasks)])
        frontier = advance(frontier, SlackRows(slack).frontier(seen))
        seen = keep_needed(SlackRows(slack), seen, frontier)
        batch = [t for rows in tasks for t in rows]
        rng.shuffle(batch)
        order += batch
        true = max(order[: max(0, len(order) - slack)], default=None)
        assert not frontier.is_known or (true is not None and frontier.bound <= true)


@given(batches, st.integers(0, 15))
def test_slack_in_rows_is_as_high_as_is_safe(arriving: list[list[list[int]]], slack: int) -> None:
    """It is reached by some order: the largest rows of a batch may be its last."""
    seen, frontier, order = NOTHING_SEEN, NOTHING_KNOWN, []
    best = None
    for number, tasks in enumerate(arriving):
        seen = fold([seen, *(see(number, rows, slack) for rows in tasks)])
        frontier = advance(frontier, SlackRows(slack).frontier(seen))
        seen = keep_needed(SlackRows(slack), seen, frontier)
        order += sorted(t for rows in tasks for t in rows)
        worst = max(order[: max(0, len(order) - slack)], default=None)
        best = worst if best is None else max(best, worst) if worst is not None else best
        assert frontier == bound_at(best)
        assert sum(a.rows for a in seen.arrivals[1:-1]) <= slack


def test_a_long_staircase_is_thinned_on_the_safe_side() -> None:
    """Of thousands of values some steps are kept: the first, the last, and none higher than the truth."""
    found = arrive(1, 5000, list(range(5000, 0, -1)))
    assert len(found.steps) == STEPS
    assert found.find_rank(1) == 5000
    assert found.find_rank(5000) == 1
    assert found.find_rank(5001) is None
    for rank in (2, 77, 1234, 4999):
        value = found.find_rank(rank)
        assert value is not None
        assert 5000 - rank + 1 - 100 < value <= 5000 - rank + 1


@given(batches)
def test_arrivals_of_tasks_add_up_in_any_order(arriving: list[list[list[int]]]) -> None:
    """How rows are spread over tasks does not show."""
    one = fold([see(i, [t for rows in tasks for t in rows], 50) for i, tasks in enumerate(arriving)])
    parts = [see(i, rows, 50) for i, tasks in enumerate(arriving) for rows in tasks]
    many = fold([fold(reversed(parts[: len(parts) // 2])), *parts[len(parts) // 2 :]])
    assert [a.rows for a in many.arrivals] == [a.rows for a in one.arrivals]
    for a, b in zip(many.arrivals, one.arrivals, strict=True):
        assert [a.find_rank(r) for r in range(1, 40)] == [b.find_rank(r) for r in range(1, 40)]


@pytest.mark.parametrize("rows", [-1, 500_001])
def test_a_slack_in_rows_has_limits(rows: int) -> None:
    """What a task would have to keep of its rows is bounded."""
    with pytest.raises(OptionError, match="SLACK in rows: expected 0 to 500000"):
        SlackRows(rows)


def test_groups_are_melded_and_keep_what_they_are_ahead() -> None:
    """The stream has come as far as its last group; a group that never punctuated holds it back."""
    seen = Observation(30, groups=((("a",), Observation(30, 20)), (("b",), Observation(25, 7))))
    assert ByGroup(Slack(5)).frontier(seen) == Frontier(20, ((("a",), 25),))
    assert ByGroup(Punctuated()).frontier(seen) == Frontier(7, ((("a",), 20),))
    silent = fold([seen, Observation(40, groups=((("c",), Observation(40)),))])
    assert ByGroup(Punctuated()).frontier(silent) == Frontier(groups=((("a",), 20), (("b",), 7)))
    assert ByGroup(Ordered()).frontier(NOTHING_SEEN) == NOTHING_KNOWN


def test_a_promise_is_what_punctuation_said_and_no_more() -> None:
    """Slack promises nothing, nor does the meld of groups to a group nobody has heard of."""
    seen = Observation(30, 12, groups=((("a",), Observation(30, 20)), (("b",), Observation(25))))
    assert find_promise(Punctuated(), seen) == Frontier(12)
    assert find_promise(ByGroup(Punctuated()), seen) == Frontier(groups=((("a",), 20),))
    assert find_promise(Slack(1), seen) == find_promise(ByGroup(Slack(1)), seen) == NOTHING_KNOWN


def test_silence_is_counted_from_the_last_rows_or_the_start() -> None:
    """Nothing heard since a run began counts from its beginning, however long ago the last rows were."""
    silence = Silence(clock=100, idle=30, since=50)
    assert silence.covers(Observation(heard=70))
    assert not silence.covers(Observation(heard=71))
    assert silence.covers(NOTHING_SEEN)
    assert not Silence(100, 30, 71).covers(Observation(heard=5))


def test_a_silent_stream_follows_the_clock() -> None:
    """To the clock less silence and slack (section 8.1), and not back."""
    silence = Silence(1000, 30, 0)
    for policy, bound in ((Slack(5), 965), (Ordered(), 970), (SlackRows(3), 970), (ByGroup(Slack(5)), 965)):
        assert find_frontier_of(policy, Observation(10, heard=970), silence).bound == bound
    assert find_frontier_of(Slack(5), Observation(10, heard=971), silence) == Frontier(5)
    assert find_frontier_of(Slack(5), Observation(2000, heard=0), silence) == Frontier(1995)


def test_a_silent_group_is_left_out_and_at_last_forgotten_when_it_is_behind() -> None:
    """What is ahead of the rest stays known, and of what is behind the groups that were heard last."""
    policy, silence = ByGroup(Slack(0)), Silence(100, 30, 0)
    own = {"a": (50, 100), "b": (7, 60), "c": (90, 60), "d": (9, 70)}
    seen = Observation(90, heard=100, groups=tuple(((g,), Observation(t, heard=at)) for g, (t, at) in own.items()))
    frontier = find_frontier_of(policy, seen, silence)
    assert frontier == Frontier(50, ((("c",), 90),))
    assert keep_needed(policy, seen, frontier, silence) == seen
    assert [g for (g,), _ in keep_needed(policy, seen, frontier, silence, 1).groups] == ["a", "c", "d"]
    assert keep_needed(policy, seen, frontier) == seen


def test_a_group_goes_on_from_its_own_bound() -> None:
    """By a slack of no rows a batch says nothing of the groups it has no rows of; what was known of them counts in the meld."""
    policy, frontier, seen = ByGroup(SlackRows(0)), NOTHING_KNOWN, NOTHING_SEEN
    for batch, rows, bound in ((0, {"a": 10, "b": 30}, 10), (1, {"a": 40}, 30), (2, {"b": 35}, 35)):
        news = (((g,), Observation(t, arrivals=(arrive(batch, 1, [t]),))) for g, t in rows.items())
        seen = fold([seen, Observation(max(rows.values()), groups=tuple(news))])
        frontier = find_frontier_of(policy, seen, None, frontier)
        seen = keep_needed(policy, seen, frontier)
        assert frontier.bound == bound


def test_what_was_seen_survives_a_checkpoint() -> None:
    """Written and read again."""
    groups = (((None, 3), Observation(5, 4, 2)), (("a", True), Observation(1, arrivals=(arrive(7, 2, [1, 0]),))))
    state = StreamState(Observation(5, 4, 3, (arrive(9, 3, [5, 4, 4]),), groups), Frontier(1, ((("a", 3), 9),)), contradicting=2)
    assert decode_line(open_lines(seal_lines(state), 1)[0], StreamState) == state
