"""Select-project-join queries out of SQL text."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import NetworkError
from headrace.network.from_sql import queries_from_sql
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


REFUSED = {  # text: the message, and the words it underlines
    "SELECT GATE, count(*) FROM FLIGHTS GROUP BY GATE": ("GROUP: across sites, queries are select-project-join", "GATE"),
    "SELECT max(DELAY) FROM FLIGHTS": ("an aggregate: across sites", "max(DELAY"),
    "SELECT DISTINCT GATE FROM FLIGHTS": ("DISTINCT: across sites", None),
    "SELECT GATE FROM FLIGHTS UNION ALL SELECT GATE FROM FLIGHTS": ("a UNION: across sites", None),
    "SELECT FL.GATE FROM FLIGHTS FL LEFT JOIN CHECKINS CI ON FL.NUM = CI.FLIGHT": ("a LEFT JOIN: across", "CHECKINS CI"),
    "SELECT FL.GATE FROM FLIGHTS FL LEFT SEMI JOIN CHECKINS CI ON FL.NUM = CI.FLIGHT": ("a SEMI JOIN: across", "CHECKINS CI"),
    "SELECT GATE FROM FLIGHTS WHERE EXISTS (SELECT 1 FROM CHECKINS WHERE FLIGHT = NUM)": ("a sub-select in WHERE: across", "CHECKINS WHERE FLIGHT = NUM"),
    "SELECT x.GATE FROM (SELECT GATE FROM FLIGHTS) AS x": ("a sub-select in FROM: across sites", "GATE FROM FLIGHTS) AS x"),
    "SELECT FL.GATE FROM FLIGHTS FL, CHECKINS CI WHERE FL.NUM + CI.FLIGHT = 3": ("the predicate FL.NUM + CI.FLIGHT = 3 is no", "FL.NUM + CI.FLIGHT"),
    "SELECT FL.GATE FROM FLIGHTS FL, CHECKINS CI WHERE FL.NUM = CI.FLIGHT + 1": ("the predicate FL.NUM = CI.FLIGHT + 1 is no", "FL.NUM = CI.FLIGHT"),
    "SELECT GATE FROM FLIGHTS WHERE 1 = 0": ("the predicate 1 = 0 is no comparison of columns of two streams", None),
    "SELECT x.GATE FROM FLIGHTS FL": ("there is no column 'x.GATE'. Did you mean 'FL.GATE'?", "x.GATE"),
    "SELECT FL.COLOUR FROM FLIGHTS FL": ("there is no column 'FL.COLOUR'", "FL.COLOUR"),
    "SELECT STATUS, NUM FROM FLIGHTS, CHECKINS WHERE FLIGHT = NUMBER": ("there is no column 'NUMBER'. There is: CHECKINS.FLIGHT", "NUMBER"),
    "SELECT FL.GATE FROM FLIGHTS FL, CHECKINS FL": ("'FL' is in FROM twice", "CHECKINS FL"),
    "SELECT GATE FROM TRAINS": ("unknown stream 'TRAINS'. There is: CHECKINS, FLIGHTS. Declare it under `streams`", "TRAINS"),
    "SELECT FL.GATE FROM FLIGHTS FL [RANGE 1 MINUTE], CHECKINS CI WHERE FL.NUM = CI.FLIGHT": ("how much later rows of FL may be than rows of CI", "FLIGHTS FL"),
    "SELECT FL.GATE FROM FLIGHTS FL [RANGE ALL SLIDE 1 MINUTE], CHECKINS CI [RANGE 1 MINUTE]": ("RANGE ALL would keep rows for ever", "RANGE ALL SLIDE 1 MINUTE"),
    "SELECT FL.GATE FROM FLIGHTS FL [RANGE 9 SECONDS SLIDE 1 SECOND], CHECKINS CI [RANGE 8 SECONDS SLIDE 2 SECONDS]": ("different SLIDEs in one join", "RANGE 8 SECONDS SLIDE 2 SECONDS"),
    "SELECT FL.GATE FROM FLIGHTS FL [RANGE TUMBLING 9 SECONDS ORIGIN 1 SECOND], CHECKINS CI [RANGE TUMBLING 9 SECONDS ORIGIN 1 SECOND]": ("windows begin at the epoch", "CHECKINS CI"),
    "SELECT FL.GATE, window_start FROM FLIGHTS FL [RANGE TUMBLING 9 SECONDS], CHECKINS CI [RANGE TUMBLING 9 SECONDS]": ("window_start: across sites", "window_start"),
    "SELECT FL.GATE FROM FLIGHTS FL [RANGE 1 MINUTE ON COLOUR]": ("FL makes progress on nothing, not on COLOUR", "RANGE 1 MINUTE ON COLOUR"),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_other_queries_are_refused_with_the_place(text):
    """What is not select-project-join, or not known, is said, and the words are underlined."""
    message, words = REFUSED[text]
    with pytest.raises(NetworkError) as refused:
        one(text)
    said = str(refused.value)
    assert message in said
    assert said.startswith("query 'q': ")
    assert underlined(said) == words


def underlined(message: str) -> str | None:
    """The words of the text that a message points at."""
    *_, line, marks = ["", *message.splitlines()]
    return line[marks.index("^") : marks.rindex("^") + 1] if set(marks) == {" ", "^"} else None


TIMED = Catalog(
    (
        BaseStream("A", "a", 5, time="ts"),
        BaseStream("B", "a", 5, 100, (ColumnStatistics("ts"), ColumnStatistics("k")), "ts"),
        BaseStream("C", "a", 5, time="ts"),
    )
)
WINDOWS = {  # conditions on time: the windows they are, in seconds
    "A.ts BETWEEN B.ts - INTERVAL 1 MINUTE AND B.ts": (60, 0.001),
    "A.ts < B.ts AND A.ts >= B.ts - INTERVAL 1 MINUTE": (60, 0.001),
    "A.ts > B.ts AND A.ts <= B.ts + INTERVAL 1 MINUTE": (0.001, 60),
    "abs(A.ts - B.ts) < INTERVAL 2 SECONDS": (2, 2),
    "A.ts = B.ts": (0.001, 0.001),
    "A.k = B.k": (None, None),
}


@pytest.mark.parametrize("text", WINDOWS)
def test_bands_are_windows(text):
    """A band on the times of both is a window on each; without one, a join is priced all the same."""
    (query,) = queries_from_sql(f"CREATE QUERY q AS SELECT A.v FROM A, B WHERE {text}", TIMED, {"q": "a"})
    assert tuple(i.window for i in query.inputs) == WINDOWS[text]
    (turned,) = queries_from_sql(f"CREATE QUERY q AS SELECT A.v FROM B, A WHERE {text}", TIMED, {"q": "a"})
    assert tuple(i.window for i in reversed(turned.inputs)) == WINDOWS[text]


UNTOLD = {  # bands that windows cannot tell
    "A.ts < B.ts": "how much later rows of B may be than rows of A",
    "A.ts BETWEEN B.ts - INTERVAL 3 MINUTES AND B.ts - INTERVAL 1 MINUTE": "joined with are all earlier than its own",
    "A.ts BETWEEN B.ts - INTERVAL 1 MINUTE AND B.ts - INTERVAL 3 MINUTES": "the band is empty",
    "date_trunc('minute', A.ts) = date_trunc('minute', B.ts) AND A.ts < B.ts": "rows of one window are joined, or rows of a band",
    "date_trunc('hour', A.ts) = date_trunc('hour', B.ts)": "the predicate DATE_TRUNC('HOUR', A.ts) = DATE_TRUNC('HOUR', B.ts) is no comparison",
    "abs(A.ts - B.ts) < INTERVAL 2 SECONDS AND abs(A.ts - C.ts) < INTERVAL 2 SECONDS": "by different lengths of time",
}


@pytest.mark.parametrize("text", UNTOLD)
def test_other_bands_are_refused(text):
    """Rather than priced as something else, or shared with queries that mean something else."""
    streams = "A, B, C" if "C.ts" in text else "A, B"
    with pytest.raises(NetworkError) as refused:
        queries_from_sql(f"CREATE QUERY q AS SELECT A.v FROM {streams} WHERE {text}", TIMED, {"q": "a"})
    assert UNTOLD[text] in str(refused.value)


def test_windows_of_different_lengths_and_without_units():
    """A join that nobody keeps may have them; numbers count seconds."""
    query = one("SELECT FL.GATE FROM FLIGHTS FL [RANGE 90], CHECKINS CI [RANGE 30] WHERE FL.NUM = CI.FLIGHT")
    assert [i.window for i in query.inputs] == [90.0, 30.0]
    query = one("SELECT FL.GATE FROM FLIGHTS FL [RANGE TUMBLING 1 MINUTE], CHECKINS CI [RANGE TUMBLING 1 MINUTE]")
    assert [i.window for i in query.inputs] == [60.0, 60.0]
    assert query.slide == 60.0
    assert [i.window for i in one("SELECT GATE FROM FLIGHTS [RANGE 5 MINUTES]").inputs] == [300.0]


def test_a_window_may_name_its_attribute():
    """Then conditions on it are bounds on time, though the catalog knows of none."""
    query = one(
        "SELECT a.GATE FROM FLIGHTS a [RANGE 1 MINUTE ON DELAY], FLIGHTS b [RANGE 2 MINUTES ON DELAY]"
        " WHERE a.NUM = b.NUM AND a.DELAY <= b.DELAY + INTERVAL 30 SECONDS"
    )
    assert [i.window for i in query.inputs] == [60.0, 30.0]
    assert len(query.predicates) == 1


def test_comparisons_of_columns_are_predicates():
    """Their selectivity must be declared, so they are kept as they are."""
    query = one("SELECT FL.GATE FROM FLIGHTS FL, CHECKINS CI WHERE FL.NUM = CI.FLIGHT AND CI.STATUS < FL.GATE")
    assert set(query.predicates) == {
        parse_predicate("FLIGHTS.NUM", "CHECKINS.FLIGHT"),
        parse_predicate("CHECKINS.STATUS", "FLIGHTS.GATE", "<"),
    }


def test_declared_filters_are_found_whole():
    """BETWEEN and OR are taken apart to be compared, unless the catalog says how much the whole keeps."""
    between, either = "DELAY BETWEEN 10 AND 20", "(NUM = 1 AND DELAY < 5) OR (NUM = 1 AND GATE = 'A')"
    known = Catalog(CATALOG.streams, CATALOG.selectivities, (("FLIGHTS", between, 0.25), ("FLIGHTS", either, 0.125)))
    for text, alone, declared in ((between, 0.1, 0.25), (either, 1 / 1500 / 3, 0.125)):
        script = f"CREATE QUERY q AS SELECT NUM FROM FLIGHTS WHERE {text}"
        for catalog, share in ((CATALOG, alone), (known, declared)):
            (query,) = queries_from_sql(script, catalog, {"q": "a"})
            assert query.inputs[0].filter.selectivity == pytest.approx(share)


def test_using_equates_columns():
    """And shows them once."""
    (query,) = queries_from_sql("CREATE QUERY q AS SELECT k FROM A, B JOIN B AS D USING (k)", TIMED, {"q": "a"})
    assert query.predicates == (parse_predicate("B.k", "B#2.k"),)
    assert [i.columns for i in query.inputs] == [frozenset(), {"k"}, frozenset()]


def test_a_query_needs_a_sink():
    """The SQL does not say where results go; the network file does."""
    with pytest.raises(NetworkError, match="has no sink"):
        queries_from_sql("CREATE QUERY q AS SELECT GATE FROM FLIGHTS", CATALOG, {})
