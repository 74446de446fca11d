"""Select-project-join queries out of SQL text."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import NetworkError
from headrace.network.from_sql import catalog_from_sql, queries_from_sql
from headrace.network.join_query import normalize_query, parse_predicate
from headrace.network.network_files import load_queries, load_world, read_mapping
from headrace.network.stream_catalog import BaseStream, Catalog, ColumnStatistics, Selectivity

EXAMPLES = Path(__file__).parents[2] / "examples" / "network"
CATALOG = Catalog(
    (
        BaseStream(
            "FLIGHTS",
            "a",
            5,
            100,
            (
                ColumnStatistics("NUM", 4, 1500),
                ColumnStatistics("GATE", 6),
                ColumnStatistics("DELAY", 4, None, 0, 100),
            ),
        ),
        BaseStream(
            "CHECKINS", "a", 4, 100, (ColumnStatistics("FLIGHT", 4, 120), ColumnStatistics("STATUS", 16))
        ),
    ),
    (Selectivity("FLIGHTS.NUM", "CHECKINS.FLIGHT", 1 / 1500),),
)


def one(text: str):
    return queries_from_sql(f"CREATE QUERY q AS {text}", CATALOG, {"q": "a"})[0]


def test_the_documents_queries_mean_the_same_in_sql_and_yaml():
    """Q1 and Q2 of section 2.1 from both files are one view each."""
    world = load_world(EXAMPLES / "airline.yaml")
    listed = {q.name: q for q in load_queries(EXAMPLES / "queries.yaml", world.catalog)}
    sinks = read_mapping(EXAMPLES / "airline.yaml")["sinks"]
    for query in queries_from_sql((EXAMPLES / "airline.sql").read_text(), world.catalog, sinks):
        assert normalize_query(world.catalog, query) == normalize_query(world.catalog, listed[query.name])
        assert query.sink == listed[query.name].sink


def test_comma_and_join_on_are_the_same():
    """As are upper and lower case of names."""
    comma = one("SELECT f.gate, c.status FROM flights f, checkins c WHERE f.num = c.flight AND f.num = 7")
    joined = one(
        "SELECT FL.GATE, CI.STATUS FROM FLIGHTS FL JOIN CHECKINS CI ON CI.FLIGHT = FL.NUM WHERE FL.NUM = 7"
    )
    assert normalize_query(CATALOG, comma) == normalize_query(CATALOG, joined)
    assert comma.predicates == (parse_predicate("FLIGHTS.NUM", "CHECKINS.FLIGHT"),)


def test_windows_filters_and_columns():
    """Bracket windows in seconds, one SLIDE, ranges and lists, columns of the select list only."""
    query = one(
        "SELECT FL.GATE FROM FLIGHTS FL [RANGE 5 MINUTES SLIDE 1 MINUTE], CHECKINS CI [RANGE 1 MINUTE"
        " SLIDE 1 MINUTE]"
        " WHERE FL.NUM = CI.FLIGHT AND FL.DELAY > 25 AND CI.STATUS IN ('late', 'open') AND upper(FL.GATE)"
        " LIKE 'A%'"
    )
    flights, checkins = query.inputs
    assert (flights.window, checkins.window, query.slide) == (300.0, 60.0, 60.0)
    assert flights.columns == {"GATE"}
    assert checkins.columns == frozenset()
    assert flights.filter.on("DELAY").selectivity == pytest.approx(0.75)
    assert checkins.filter.on("STATUS").selectivity == pytest.approx(0.2)
    assert len(flights.filter.conditions) == 2


def test_a_stream_can_be_used_twice():
    """The second use has a name of its own."""
    query = one(
        "SELECT a.GATE, b.GATE FROM FLIGHTS a, FLIGHTS b, CHECKINS c"
        " WHERE a.NUM = c.FLIGHT AND b.NUM = c.FLIGHT"
    )
    assert [i.name for i in query.inputs] == ["FLIGHTS", "FLIGHTS#2", "CHECKINS"]
    assert len(normalize_query(CATALOG, query).inputs) == 3


def test_star_takes_whole_tuples():
    """`*` and `alias.*`."""
    assert [i.columns for i in one("SELECT * FROM FLIGHTS").inputs] == [None]
    query = one("SELECT FL.*, CI.STATUS FROM FLIGHTS FL, CHECKINS CI WHERE FL.NUM = CI.FLIGHT")
    assert [i.columns for i in query.inputs] == [None, {"STATUS"}]


REFUSED = {
    "SELECT GATE, count(*) FROM FLIGHTS GROUP BY GATE": "GROUP",
    "SELECT max(DELAY) FROM FLIGHTS": "an aggregate",
    "SELECT FL.GATE FROM FLIGHTS FL LEFT JOIN CHECKINS CI ON FL.NUM = CI.FLIGHT": "LEFT JOIN",
    "SELECT FL.GATE FROM FLIGHTS FL, CHECKINS CI WHERE FL.NUM + CI.FLIGHT = 3": "the predicate",
    "SELECT x.GATE FROM FLIGHTS FL": "not in FROM",
    "SELECT FL.COLOUR FROM FLIGHTS FL": "no column 'COLOUR'",
    "SELECT GATE FROM TRAINS": "unknown stream 'TRAINS'",
}


@pytest.mark.parametrize("text", REFUSED)
def test_other_queries_are_refused_by_name(text):
    """What is not select-project-join, or not known, is said."""
    with pytest.raises(NetworkError, match=REFUSED[text]):
        one(text)


def test_a_query_needs_a_sink():
    """The SQL does not say where results go; the network file does."""
    with pytest.raises(NetworkError, match="has no sink"):
        queries_from_sql("CREATE QUERY q AS SELECT GATE FROM FLIGHTS", CATALOG, {})


def test_catalog_from_create_stream():
    """Columns from the statement, rate and place from beside it."""
    script = (
        "CREATE STREAM S (ts TIMESTAMP, k INT, name STRING) PROGRESSING ON ts SLACK 5 SECONDS"
        " FROM 'parquet' OPTIONS (path 'x')"
    )
    catalog = catalog_from_sql(script, {"S": ("a", 12.0)})
    assert catalog.stream("S").size == 8 + 4 + 20
    with pytest.raises(NetworkError, match="not known"):
        catalog_from_sql(script, {})
