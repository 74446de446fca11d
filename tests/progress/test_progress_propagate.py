"""The law of every propagation rule: what its output excludes comes of no row that its input does not exclude."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from propagation_rules import (
    pass_aggregate,
    pass_bucket,
    pass_distinct,
    pass_projection,
    pass_selection,
    pass_union,
)
from test_progress_frontier import GROUPS, bounds, excludes, frontiers

from headrace.progress import LOWEST, NOTHING_KNOWN, Frontier, advance, meld
from headrace.progress.propagate import brings_windows, pass_function
from headrace.windows import Sliding

groups = st.sampled_from([*GROUPS, ("other",)])
ticks = st.integers(-40, 40)
windows = st.builds(lambda r, s, o: Sliding(s, o, r), st.integers(1, 9), st.integers(1, 9), st.integers(-5, 5))


@given(frontiers, groups, ticks)
def test_selection_and_distinct_give_rows_of_their_input(f: Frontier, group: tuple[object, ...], t: int) -> None:
    """Their rows come as they are, so exactly as much is excluded."""
    for rule in (pass_selection, pass_distinct):
        assert excludes(rule(f), group, t) == excludes(f, group, t)


@given(frontiers, groups, ticks)
def test_projection_knows_what_its_columns_tell(f: Frontier, group: tuple[object, ...], t: int) -> None:
    """Without the attribute nothing; without the columns of groups only what holds for all."""
    assert excludes(pass_projection(f, True), group, t) == excludes(f, group, t)
    assert excludes(pass_projection(f, True, False), group, t) == (t < f.bound)
    assert pass_projection(f, False) == NOTHING_KNOWN


@given(frontiers, groups, ticks, st.integers(1, 7), st.integers(-9, 9))
def test_a_function_that_never_falls_maps_progress(
    f: Frontier, group: tuple[object, ...], t: int, width: int, shift: int
) -> None:
    """The image of a row that may come is not excluded (date_trunc, a shift, their composition)."""
    apply = lambda x: x // width * width + shift  # noqa: E731
    if not excludes(f, group, t):
        assert not excludes(pass_function(f, apply), group, apply(t))
    if f.is_known:
        assert pass_function(f, apply).bound == apply(f.bound)


@given(frontiers, groups, ticks, windows)
def test_a_bucket_excludes_only_windows_of_excluded_rows(
    f: Frontier, group: tuple[object, ...], t: int, window: Sliding
) -> None:
    """A row that may come is in no excluded window; and the first window not excluded ends after the bound."""
    found = pass_bucket(f, window)
    if not excludes(f, group, t):
        assert not any(excludes(found, group, wid) for wid in window.wids(t))
    if f.is_known and found.is_known:
        assert window.extent(found.bound)[1] > f.bound >= window.extent(found.bound - 1)[1]


@given(st.lists(frontiers, min_size=1, max_size=3), groups, ticks)
def test_a_union_excludes_what_all_its_inputs_do(inputs: list[Frontier], group: tuple[object, ...], t: int) -> None:
    """A row of any input may come of the union."""
    assert excludes(pass_union(inputs), group, t) == all(excludes(f, group, t) for f in inputs)
    assert pass_union(inputs) == meld(inputs)


@given(frontiers, groups, ticks, windows)
def test_an_aggregate_gives_no_result_behind_its_bound(
    f: Frontier, group: tuple[object, ...], t: int, window: Sliding
) -> None:
    """Windows still open for a group end after its bound, and their results are at the last tick of the window."""
    for keeps in (True, False):
        bound = f.bound_of(group) if keeps else f.bound
        if bound > LOWEST:
            still = window.extent(int(window.first_open(bound)))[1] - 1
            assert not excludes(pass_aggregate(f, keeps), group, still)
    assert pass_aggregate(f, True) == f
    assert pass_aggregate(f) == Frontier(f.bound)


@given(frontiers, frontiers, windows)
def test_more_progress_in_means_no_less_out(a: Frontier, b: Frontier, window: Sliding) -> None:
    """Rules keep the order of frontiers, so nothing is taken back."""
    for rule in (pass_distinct, lambda f: pass_bucket(f, window), lambda f: pass_function(f, lambda x: x // 3)):
        assert advance(rule(a), rule(advance(a, b))) == rule(advance(a, b))


@given(bounds, bounds, windows, windows)
def test_news_is_what_closes_a_window(before: int, after: int, one: Sliding, two: Sliding) -> None:
    """Progress that stays between two ends of windows is none; the same bound again is none."""
    ends = [w.end_of(i) for w in (one, two) for i in range(-60, 60)]
    crossed = any(before < e <= after for e in ends)
    assert brings_windows(before, after, [one, two]) == crossed
    assert not brings_windows(after, after, [one, two])
