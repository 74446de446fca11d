"""Rates: the document's Fig. 5 read as distinct counts, windows, implied predicates."""

from __future__ import annotations

import pytest

from headrace.errors import NetworkError
from headrace.network.filter_text import parse_duration, parse_filter
from headrace.network.join_query import JoinQuery, normalize_query, parse_predicate
from headrace.network.join_view import ViewInput, restrict_view
from headrace.network.network_generators import transit_stub
from headrace.network.rate_estimate import RateEstimator
from headrace.network.stream_catalog import (
    BaseStream,
    Catalog,
    ColumnStatistics,
    Selectivity,
)
from headrace.network.stream_filters import StreamFilter
from headrace.network.workload import enterprise

from .worlds import plain_query


@pytest.fixture(scope="module")
def airline():
    return enterprise(transit_stub(0, 2, 1, 3), 0, 40)


def test_one_flight_gives_eight_rows_a_minute(airline):
    """Fig. 5: 1 flight record, 2 check-ins and 4 bags a minute make 8 joined rows each slide of a minute."""
    world, queries = airline
    gate = next(q for q in queries if q.name.startswith("gate"))
    view = normalize_query(world.catalog, gate)
    assert RateEstimator(world.catalog).tuples(view) * 60 == pytest.approx(8)


def test_a_flight_filter_reaches_the_streams_it_is_equated_with(airline):
    """FL.NUM = ? with FL.NUM = CI.FLIGHT filters CHECKINS too: 2 of 240 rows a minute are shipped."""
    world, queries = airline
    gate = next(q for q in queries if q.name.startswith("gate"))
    checkins = restrict_view(normalize_query(world.catalog, gate), frozenset(("CHECKINS",)))
    assert RateEstimator(world.catalog).tuples(checkins) * 60 == pytest.approx(2)


def test_equalities_are_closed(airline):
    """CI and BG both equal FL.NUM, so joining them first is no cross product: 120 flights with 2 × 4 rows."""
    world, queries = airline
    gate = next(q for q in queries if q.name.startswith("gate"))
    open_gate = JoinQuery(
        "all", gate.sink, tuple(ViewInput(i.name, window=i.window) for i in gate.inputs), gate.predicates, 60
    )
    view = normalize_query(world.catalog, open_gate)
    pair = restrict_view(view, frozenset(("CHECKINS", "BAGGAGE")))
    assert len(pair.predicates) == 1
    estimate = RateEstimator(world.catalog)
    assert estimate.tuples(pair) * 60 == pytest.approx(240 * 500 / 125)
    assert estimate.tuples(view) * 60 == pytest.approx(120 * 8)


def test_two_flights_give_twice_the_rows_of_one(airline):
    """Relaxing a filter from one flight to two doubles the join, it does not square it."""
    world, queries = airline
    gates = [normalize_query(world.catalog, q) for q in queries if q.name.startswith("gate")]
    one = gates[0]
    other = next(g for g in gates if g.inputs[2].filter != one.inputs[2].filter)
    from headrace.network.join_view import combine_views

    estimate = RateEstimator(world.catalog)
    assert estimate.tuples(combine_views((one, other))) == pytest.approx(2 * estimate.tuples(one))


CATALOG = Catalog(
    (
        BaseStream("A", "n", 10, 50, (ColumnStatistics("k", 4), ColumnStatistics("v", 46))),
        BaseStream("B", "n", 20),
        BaseStream("C", "n", 5),
    ),
    (Selectivity("A.k", "B.k", 0.01), Selectivity("B.j", "C.j", 0.1)),
)


def test_three_window_rules():
    """No windows: the product. Windows: the last to arrive meets the others' windows. SLIDE: contents per
    slide.
    """
    estimate = RateEstimator(CATALOG)
    plain = plain_query("q", "n", "AB", [("A.k", "B.k")])
    assert estimate.tuples(normalize_query(CATALOG, plain)) == pytest.approx(10 * 20 * 0.01)
    inputs = (ViewInput("A", window=60.0), ViewInput("B", window=30.0))
    joins = (parse_predicate("A.k", "B.k"),)
    assert estimate.tuples(normalize_query(CATALOG, JoinQuery("q", "n", inputs, joins))) == pytest.approx(
        10 * 20 * 90 * 0.01
    )
    slid = JoinQuery("q", "n", inputs, joins, 15.0)
    assert estimate.tuples(normalize_query(CATALOG, slid)) == pytest.approx(10 * 60 * 20 * 30 * 0.01 / 15)


def test_width_is_of_the_columns_that_travel():
    """A projected stream is as wide as its columns, and joins add their inputs' widths."""
    estimate = RateEstimator(CATALOG)
    narrow = JoinQuery(
        "q", "n", (ViewInput("A", columns=frozenset("v")), ViewInput("B")), (parse_predicate("A.k", "B.k"),)
    )
    view = normalize_query(CATALOG, narrow)
    assert estimate.width(view) == 46 + 100
    assert estimate.width(restrict_view(view, frozenset("A"))) == 46 + 4


def test_a_join_nothing_is_known_about_is_refused():
    """The plan hangs on selectivities: a missing one is named, with what to do."""
    with pytest.raises(NetworkError, match=r"selectivity of A\.v = C\.v.*declare it"):
        normalize_query(CATALOG, plain_query("q", "n", "AC", [("A.v", "C.v")]))


def test_filters_as_written():
    """Equality from distinct counts, ranges from low and high, clock times, declared texts, guesses."""
    catalog = Catalog(
        (
            BaseStream(
                "S",
                "n",
                1,
                10,
                (ColumnStatistics("c", 4, distinct=50), ColumnStatistics("r", 4, None, 0, 200)),
            ),
        ),
        filters=(("S", "c LIKE 'x%'", 0.07),),
    )
    cases = {"c = 'ATL'": 0.02, "c IN (1, 2, 3)": 0.06, "r < 50": 0.25, "r >= 50": 0.75, "c LIKE 'x%'": 0.07}
    for text, share in cases.items():
        assert StreamFilter((parse_filter(catalog, "S", text),)).selectivity == pytest.approx(share), text
    atom = next(iter(parse_filter(catalog, "S", "r - CURRENT_TIME < 12:00:00").atoms))
    assert atom.high == 12 * 3600
    assert parse_duration("5 minutes") == 300
    with pytest.raises(NetworkError, match="duration"):
        parse_duration("soon")


def test_windows_on_some_inputs_only_are_refused():
    """A join cannot purge an input without a window."""
    with pytest.raises(NetworkError, match="window"):
        JoinQuery("q", "n", (ViewInput("A", window=1.0), ViewInput("B")), (parse_predicate("A.k", "B.k"),))
