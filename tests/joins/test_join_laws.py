"""The laws of bounds in time, of waits and of join orders, against brute force on small domains."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.logical.order_joins import JoinStep, order_joins
from headrace.logical.time_bounds import CommonWindow, Gap, TimeBounds
from headrace.progress import LOWEST, NOTHING_KNOWN, Frontier
from headrace.progress.waits import Back, Floor, Wait, meld_waits, unite_waits
from headrace.testing import LocalRun

TICKS = range(-7, 8)


@st.composite
def time_bounds(draw: st.DrawFn, inputs: int | None = None, windows: bool = True) -> TimeBounds:
    """Constraints between two or three inputs, small enough to try every combination."""
    count = inputs or draw(st.integers(2, 3))
    pairs = [(i, j) for i in range(count) for j in range(count) if i != j]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=5))
    gaps = [Gap(i, j, draw(st.integers(-2, 4))) for i, j in chosen]
    common = []
    if windows and draw(st.booleans()):
        i, j = draw(st.sampled_from(pairs))
        common = [CommonWindow(i, j, draw(st.integers(1, 4)), draw(st.integers(-2, 2)))]
    return TimeBounds(count, tuple(gaps), tuple(common))


def meets(bounds: TimeBounds, ticks: Sequence[int]) -> bool:
    """The constraints, word by word."""
    return all(ticks[g.after] - ticks[g.before] <= g.ticks for g in bounds.gaps) and all(
        (ticks[w.one] - w.offset) // w.width == (ticks[w.other] - w.offset) // w.width for w in bounds.windows
    )


def combinations(bounds: TimeBounds) -> list[tuple[int, ...]]:
    return [c for c in itertools.product(TICKS, repeat=bounds.inputs) if meets(bounds, c)]


@given(time_bounds())
def test_within_bounds_every_result(bounds: TimeBounds) -> None:
    """No combination that satisfies the constraints is further apart than `within` says, and an empty one has none."""
    found = combinations(bounds)
    for ticks in found:
        for i, j in itertools.product(range(bounds.inputs), repeat=2):
            most = bounds.within[i][j]
            assert most is None or ticks[j] - ticks[i] <= most
    if bounds.is_empty:
        assert found == []


@given(time_bounds(windows=False))
def test_within_is_tight(bounds: TimeBounds) -> None:
    """Of bands alone, the closure is the largest difference there is, and an impossible band is told."""
    found = combinations(bounds)
    if bounds.is_empty or not found:
        assert bounds.is_empty or not found
        return
    for i, j in itertools.permutations(range(bounds.inputs), 2):
        most = bounds.within[i][j]
        if most is not None and abs(most) <= 6:
            assert any(ticks[j] - ticks[i] == most for ticks in found)


@given(time_bounds())
def test_closure(bounds: TimeBounds) -> None:
    """A difference is at most the sum of two that lead there."""
    if bounds.is_empty:
        return
    w = bounds.within
    for i, j, k in itertools.product(range(bounds.inputs), repeat=3):
        first, second, direct = w[i][k], w[k][j], w[i][j]
        if first is not None and second is not None:
            assert direct is not None
            assert direct <= first + second


@given(time_bounds(), st.lists(st.integers(-3, 3), min_size=3, max_size=3))
@settings(max_examples=60)
def test_complete_and_needed(bounds: TimeBounds, low: list[int]) -> None:
    """Results still to come are behind no bound that `complete` tells, and rows they need are not behind `needed`."""
    if bounds.is_empty or bounds.find_unbounded() is not None:
        return
    frontiers = {f"s{i}": Frontier(low[i]) for i in range(bounds.inputs)}
    waits = [(Wait(f"s{i}"),) for i in range(bounds.inputs)]
    for i in range(bounds.inputs):
        complete = meld_waits(bounds.complete(i, waits), frontiers).bound
        needed = meld_waits(bounds.needed(i, waits), frontiers).bound
        assert complete is not None
        assert needed is not None
        assert complete == min(needed, low[i])
        for ticks in combinations(bounds):
            if any(ticks[j] >= low[j] for j in range(bounds.inputs)):
                assert ticks[i] >= complete
            if any(ticks[j] >= low[j] for j in range(bounds.inputs) if j != i):
                assert ticks[i] >= needed


def test_bounds_are_tight_for_two() -> None:
    """Of two inputs, the first value that is not complete can still get a result: no row waits longer than it must."""
    for bounds in (
        TimeBounds(2, (Gap(0, 1, 3), Gap(1, 0, 2))),
        TimeBounds(2, (Gap(0, 1, 3), Gap(1, 0, -1))),
        TimeBounds(2, (), (CommonWindow(0, 1, 4, 1),)),
    ):
        for low in range(-3, 4):
            needed = meld_waits(bounds.needed(0, [(Wait("a"),), (Wait("b"),)]), {"b": Frontier(low)}).bound
            reached = [
                a
                for a, b in itertools.product(range(-20, 20), repeat=2)
                if b >= low and meets(bounds, (a, b))
            ]
            assert needed == min(reached)


def test_within_a_common_window() -> None:
    """Rows of one window of 4 are at most 3 apart, either way, and a row is no distance from itself."""
    assert TimeBounds(2, (), (CommonWindow(0, 1, 4),)).within == ((0, 3), (3, 0))


def test_one_unbounded_side() -> None:
    """A row that rows of another input may meet at any later time is told, and which."""
    assert TimeBounds(2, (Gap(0, 1, 3),)).find_unbounded() == (1, 0)
    assert TimeBounds(2, (Gap(1, 0, 3),)).find_unbounded() == (0, 1)
    assert TimeBounds(2, (Gap(0, 1, 3), Gap(1, 0, 3))).find_unbounded() is None
    assert TimeBounds(3, (), (CommonWindow(0, 1, 3), CommonWindow(1, 2, 3))).find_unbounded() is None


STEPS = st.one_of(
    st.builds(Back, st.integers(-4, 6)), st.builds(Floor, st.integers(1, 5), st.integers(-3, 3))
)
WAITS = st.builds(Wait, st.sampled_from("ab"), st.lists(STEPS, max_size=4).map(tuple))


@given(WAITS, st.integers(-30, 30), st.integers(-30, 30))
def test_bound_and_reach_are_a_galois_pair(wait: Wait, tick: int, value: int) -> None:
    """A stream makes an attribute complete up to a value exactly when it has come as far as `reach` says."""
    assert (wait.bound(tick) >= value) == (tick >= wait.reach(value))


@given(WAITS, st.integers(-30, 30), STEPS)
def test_waits_are_monotone(wait: Wait, tick: int, step: Back | Floor) -> None:
    """More progress is never less; a further step is applied after the others, melted together or not."""
    assert wait.bound(tick) <= wait.bound(tick + 1)
    assert wait.reach(tick) <= wait.reach(tick + 1)
    assert wait.then(step).bound(tick) == step.bound(wait.bound(tick))


@given(
    st.lists(WAITS, min_size=1, max_size=5),
    st.lists(WAITS, max_size=3),
    st.integers(-30, 30),
    st.integers(-9, 9),
)
def test_united_waits_are_the_least_of_all(some: list[Wait], more: list[Wait], tick: int, apart: int) -> None:
    """Leaving out waits that others cover changes no bound."""
    frontiers = {"a": Frontier(tick), "b": Frontier(tick + apart)}
    united = unite_waits(some, more)
    assert meld_waits(united, frontiers) == meld_waits([*some, *more], frontiers)
    assert len(set(united)) == len(united)


def test_nothing_is_known_before_every_stream_is() -> None:
    """A bound needs all the streams it waits for."""
    waits = [Wait("a", (Back(3),)), Wait("b")]
    assert meld_waits(waits, {"a": Frontier(9), "b": NOTHING_KNOWN}).bound == LOWEST
    assert meld_waits(waits, {"a": Frontier(9), "b": Frontier(7)}).bound == 6


# -- the order of joins ---------------------------------------------------------------------------------------
def leaves(step: JoinStep | int) -> list[int]:
    return [step] if isinstance(step, int) else [i for part in step.parts for i in leaves(part)]


def steps_of(step: JoinStep | int) -> list[JoinStep]:
    return [] if isinstance(step, int) else [step, *(s for part in step.parts for s in steps_of(part))]


@given(
    st.integers(2, 5),
    st.lists(st.frozensets(st.integers(0, 4), min_size=2), max_size=4),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 9)), max_size=8),
)
def test_order_of_joins(count: int, classes: list[frozenset[int]], gaps: list[tuple[int, int, int]]) -> None:
    """Every input is joined once; whenever all are bounded there is an order, and no step of it is unbounded."""
    given_gaps = [Gap(i, j, t) for i, j, t in gaps if i < count and j < count and i != j]
    bounds = TimeBounds(count, tuple(given_gaps))
    known = [c & frozenset(range(count)) for c in classes]
    tree = order_joins(count, [c for c in known if len(c) > 1], bounds, 1)
    if bounds.find_unbounded() is None:
        assert tree is not None
    if tree is None:
        return
    assert sorted(leaves(tree)) == list(range(count))
    for step in steps_of(tree):
        inside = [leaves(part) for part in step.parts]
        for one, other in itertools.combinations(inside, 2):
            assert any(
                bounds.within[i][j] is not None and bounds.within[j][i] is not None
                for i in one
                for j in other
            )
        if len(step.parts) > 2:  # one operator for more than two inputs: they share a key
            assert any(set(leaves(step)) <= c for c in known)


def test_fewest_rows_in_between() -> None:
    """Inputs that share a key are joined first, the one that has none in common with them last."""
    near = tuple(Gap(i, j, 5) for i in range(3) for j in range(3) if i != j)
    tree = order_joins(3, [frozenset({0, 2})], TimeBounds(3, near), 1)
    assert str(tree) == "((0 ⋈ 2) ⋈ 1)"
    assert str(order_joins(3, [frozenset({0, 1, 2})], TimeBounds(3, near), 1)) == "(0 ⋈ 1 ⋈ 2)"
    narrow = (Gap(0, 1, 500), Gap(1, 0, 500), Gap(1, 2, 5), Gap(2, 1, 5))
    two = [frozenset({0, 1}), frozenset({1, 2})]
    assert str(order_joins(3, two, TimeBounds(3, narrow), 1)) == "(0 ⋈ (1 ⋈ 2))"


def test_individual_and_joint_punctuation() -> None:
    """Figure 7-5: of Q7-1 with a band of 2, the group (0, 1) is out with joint punctuation when S0 is at 2 and S1 at 2; on S1
    alone it must wait until S0 is 2 further.
    """
    run = LocalRun("""
        CREATE STREAM s0 (ts BIGINT, k INT) PROGRESSING ON ts ORDERED FROM 'none';
        CREATE STREAM s1 (ts BIGINT, k INT) PROGRESSING ON ts ORDERED FROM 'none';
        CREATE QUERY pairs AS SELECT s0.ts AS t0, s1.ts AS t1, greatest(s0.ts, s1.ts) AS g FROM s0 JOIN s1
          ON s0.k = s1.k AND s1.ts BETWEEN s0.ts - 2 AND s0.ts + 2;
        CREATE QUERY single AS SELECT t0, t1, count(*) AS n FROM pairs [RANGE 1 WA t1] GROUP BY t0, t1;
        CREATE QUERY joint AS SELECT t0, t1, count(*) AS n FROM pairs [RANGE 1 WA g] GROUP BY t0, t1;
    """)
    run.push(s0=[(0, 7)], s1=[(1, 7)])
    assert run.rows("pairs") == [(0, 1, 1)]
    run.push(s0=[(2, 1)], s1=[(2, 2)])
    assert run.rows("joint") == [(0, 1, 1, 1, 2)]
    assert run.rows("single") == []
    run.push(s0=[(3, 1)], s1=[(4, 2)])
    assert run.rows("single") == []
    run.push(s0=[(4, 1)], s1=[(4, 3)])
    assert run.rows("single") == [(0, 1, 1, 1, 2)]
