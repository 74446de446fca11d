"""Laws of the filter lattice and of views."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import NetworkError
from headrace.network.filter_text import parse_duration, parse_filter
from headrace.network.join_view import combine_views, restrict_view
from headrace.network.stream_catalog import BaseStream, Catalog, ColumnStatistics
from headrace.network.stream_filters import Atom, Condition, StreamFilter, conjoin_conditions

from .worlds import random_query, random_world

values = st.sampled_from([str(i) for i in range(5)]).map(lambda v: Atom(0.1, v))
ranges = st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans(), st.booleans()).map(
    lambda t: Atom((abs(t[0] - t[1]) + 1) / 10, None, min(t[:2]), max(t[:2]), t[2], t[3])
)
texts = st.sampled_from(["a like 'x%'", "b is null"]).map(lambda v: Atom(0.3, v))


def condition(name: str, atoms: st.SearchStrategy) -> st.SearchStrategy:
    return st.frozensets(atoms, min_size=1, max_size=3).map(lambda a: Condition(name, frozenset((name,)), a))


filters = st.tuples(
    st.none() | condition("x", values), st.none() | condition("y", ranges), st.none() | condition("z", texts)
).map(lambda cs: conjoin_conditions(c for c in cs if c is not None))


@given(filters, filters)
@settings(deadline=None)
def test_the_hull_is_looser_than_both(a: StreamFilter, b: StreamFilter):
    """Relaxing admits everything either admitted, and never keeps a smaller share."""
    hull = a.hull(b)
    assert a.implies(hull)
    assert b.implies(hull)
    assert hull.selectivity >= max(a.selectivity, b.selectivity) - 1e-12


@given(filters, filters, filters)
@settings(deadline=None)
def test_the_hull_is_a_lattice_join(a: StreamFilter, b: StreamFilter, c: StreamFilter):
    """Idempotent, commutative and associative up to what is admitted: the order of consumers does not
    matter.
    """
    assert a.hull(a) == a
    for one, other in ((a.hull(b), b.hull(a)), (a.hull(b).hull(c), a.hull(b.hull(c)))):
        assert one.implies(other)
        assert other.implies(one)


def test_implication_of_ranges():
    """x < 5 implies x <= 5 and x < 9, not the other way; a number implies a range it lies in."""
    below, at_most = Atom(0.5, None, high=5, high_open=True), Atom(0.5, None, high=5)
    assert below.implies(at_most)
    assert not at_most.implies(below)
    assert Atom(0.1, "4").implies(below)
    assert not Atom(0.1, "ATL").implies(below)


def test_residual_columns_are_those_of_conditions_that_were_loosened():
    """After a looser filter, a stricter one needs the columns it still has to test."""
    one = StreamFilter((Condition("f", frozenset("f"), frozenset((Atom(0.1, "1"),))),))
    two = StreamFilter((Condition("f", frozenset("f"), frozenset((Atom(0.1, "2"),))),))
    assert one.residual(one) == frozenset()
    assert one.residual(one.hull(two)) == {"f"}


def test_restricting_twice_is_restricting_once():
    """What a set of streams carries does not depend on the tree above it."""
    for seed in range(30):
        rng = random.Random(seed)
        world = random_world(rng, 3, 5)
        query = random_query(rng, world, "Q", 5)
        from headrace.network.join_query import normalize_query

        view = normalize_query(world.catalog, query)
        wide = frozenset(rng.sample(sorted(view.names), 4))
        narrow = frozenset(rng.sample(sorted(wide), 2))
        assert restrict_view(restrict_view(view, wide), narrow) == restrict_view(view, narrow)


def test_combine_serves_all_and_is_associative():
    """The least relaxation of three consumers is the same in any grouping, and serving it again changes
    nothing.
    """
    from headrace.network.join_query import normalize_query

    for seed in range(60):
        rng = random.Random(seed)
        world = random_world(rng, 3, 3)
        first = normalize_query(world.catalog, random_query(rng, world, "Q", 3))
        views = [first]
        while len(views) < 3:
            other = normalize_query(world.catalog, random_query(rng, world, "Q", 3))
            if other.signature == first.signature:
                views.append(other)
        a, b, c = views
        assert (
            combine_views((combine_views((a, b)), c))
            == combine_views((a, combine_views((b, c))))
            == combine_views(views)
        )
        assert combine_views((combine_views(views), a)) == combine_views(views)


def test_durations_in_seconds():
    """A number is seconds; units are words or letters, whole or not."""
    texts = {
        90: 90,
        "90": 90,
        "5 minutes": 300,
        "1.5 h": 5400,
        "2 days": 172800,
        "250 ms": 0.25,
        "1 second": 1,
    }
    assert {t: parse_duration(t) for t in texts} == pytest.approx(texts)
    for wrong in ("5 fortnights", "minutes", "0", "-5", "", True, "1.2.3"):
        with pytest.raises(NetworkError, match="expected a duration"):
            parse_duration(wrong)


def test_what_a_comparison_keeps():
    """By declaration, else by the column's range, else guessed; bounds open or closed as written."""
    column = ColumnStatistics("d", 4, None, 20.0, 120.0)
    free = ColumnStatistics("e", 4)
    catalog = Catalog((BaseStream("S", "a", 1.0, 8, (column, free)),), (), (("S", "e < 7", 0.9),))
    shares = {"d < 45": 0.25, "d >= 45": 0.75, "d > 200": 0.0, "d < 200": 1.0, "e < 7": 0.9, "e < 8": 1 / 3}
    for text, share in shares.items():
        assert parse_filter(catalog, "S", text).selectivity == pytest.approx(share), text
    (below,) = parse_filter(catalog, "S", "d < 45").atoms
    assert (below.low, below.high, below.low_open, below.high_open) == (float("-inf"), 45.0, False, True)
    (above,) = parse_filter(catalog, "S", "d >= 45").atoms
    assert (above.low, above.high, above.low_open, above.high_open) == (45.0, float("inf"), False, False)
