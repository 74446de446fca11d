"""One text, two readers: the engine's joins and the network's queries say the same of it.

Each case of `same_joins.sql` is bound by the engine into relations, and by the network layer into a query; what both say is
told in the same words and compared with what the file expects. `HEADRACE_FIXTURES=write` writes what the engine says.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
from sqlglot import exp

from headrace.logical.graph import Graph, Join, Rows
from headrace.network.from_sql import collect_query, queries_from_sql
from headrace.network.join_query import JoinQuery
from headrace.network.stream_catalog import BaseStream, Catalog, ColumnStatistics
from headrace.network.stream_filters import Condition
from headrace.sql import parse_query, parse_script
from headrace.sql.bind import Binder
from headrace.sql.join_conditions import split_conjuncts
from sql_cases import read_cases, write_case

from .worlds import catalog_from_sql

STREAMS = """
CREATE STREAM s (ts TIMESTAMP, k INT, v INT, name STRING) PROGRESSING ON ts SLACK 5 SECONDS FROM 'parquet';
CREATE STREAM t (ts TIMESTAMP, k INT, w INT, name STRING) PROGRESSING ON ts SLACK 1 MINUTE FROM 'parquet';
CREATE STREAM u (ts TIMESTAMP, k INT, x INT) PROGRESSING ON ts ORDERED FROM 'parquet';
CREATE STREAM m (time BIGINT, k INT, v INT) PROGRESSING ON time ORDERED FROM 'parquet';
"""
PLACES = dict.fromkeys("stum", ("a", 5.0))
CATALOG = catalog_from_sql(STREAMS, PLACES)
UNTIMED = Catalog(  # as network files declare streams that say nothing of time
    tuple(BaseStream(s.name, s.node, s.rate, s.size, s.columns) for s in CATALOG.streams)
)
FILE = Path(__file__).parent / "same_joins.sql"
CASES = {name: (text, expected) for name, text, expected in read_cases(FILE)}


@pytest.mark.parametrize("name", CASES)
def test_both_readers_say_what_is_expected(name):
    """Keys, bounds on time and filters."""
    text, expected = CASES[name]
    said = engine_says(text)
    if os.environ.get("HEADRACE_FIXTURES") == "write":
        write_case(FILE, name, said)
        expected = said
    assert said == expected
    assert network_says(text, CATALOG) == expected


@pytest.mark.parametrize("name", CASES)
def test_statements_say_what_the_catalog_lacks(name):
    """CREATE STREAM beside the queries gives times to a catalog that has none, and one without columns too."""
    text, expected = CASES[name]
    assert network_says(text, UNTIMED, STREAMS) == expected
    bare = Catalog(tuple(BaseStream(s.name, s.node, s.rate) for s in CATALOG.streams))
    if "USING" not in text:  # whose columns nobody speaks of by name
        assert network_says(text, bare, STREAMS) == expected


@pytest.mark.parametrize("name", [n for n, (text, _) in CASES.items() if "[RANGE" in text])
def test_brackets_need_no_declared_time(name):
    """Windows of FROM bound a join whatever the attribute is called."""
    text, expected = CASES[name]
    assert network_says(text, UNTIMED) == expected


def test_conditions_are_sorted_alike():
    """Not only the outcome: the conditions themselves, of inputs that no single operator joins."""
    text = "SELECT a.v FROM s a [RANGE 3 MINUTES], t b [RANGE 2 MINUTES], u c [RANGE 1 MINUTE] WHERE a.k = b.k AND b.w = c.x AND a.v < c.x"
    found = collect_query(parse_query("q", text), CATALOG).conditions
    binder = bind(text)
    joins = [r for r in binder.relations.values() if isinstance(r, Join)]
    assert len(joins) == 2
    assert equal_keys(binder, joins) == [["a.k", "b.k"], ["b.w", "c.x"]]
    assert [(a.name, b.name) for (_, a), (_, b) in found.equal] == [("a.k", "b.k"), ("b.w", "c.x")]
    assert [c.sql() for c in found.rest] == ['"a.v" < "c.x"']
    assert '"a.v" < "c.x"' in [c.sql() for j in joins for c in split_conjuncts(j.condition)]
    assert {(g.before, g.after): g.ticks for g in found.gaps} == {
        (0, 1): 179_999_999, (1, 0): 120_000_000, (0, 2): 179_999_999, (2, 0): 60_000_000, (1, 2): 119_999_999, (2, 1): 60_000_000,
    }  # fmt: skip


# -- what the engine says --------------------
def bind(text: str) -> Graph:
    binder = Binder()
    for statement in parse_script(STREAMS):
        binder.create(statement)
    binder.create_query(parse_query("q", text))
    return binder.graph()


def engine_says(text: str) -> str:
    graph = bind(text)
    (join,) = (r for r in graph.relations.values() if isinstance(r, Join))
    names = [i.alias.lower() for i in join.inputs]
    scale = 1_000_000 if join.unit == "us" else 1
    times = [
        f"{names[j]} - {names[i]} <= {seconds((join.bounds.reach(i, j) + (scale == 1 and i < j)) / scale)}"
        for i in range(len(names))
        for j in range(len(names))
        if i != j
    ]
    commons = {(w.width, w.width) for w in join.bounds.windows}
    if join.window is not None:
        commons = {(join.window.range, join.window.slide)}
    if commons:
        ((width, slide),) = commons
        times = [f"one window of {seconds(width / scale)}, every {seconds(slide / scale)}"]
    filters = {}
    for one in join.inputs:
        relation = graph.relations[one.relation]
        assert isinstance(relation, Rows)
        filters[one.alias] = [plain(c) for c in split_conjuncts(relation.branches[0].where)]
    return tell(equal_keys(graph, [join]), times, filters)


def equal_keys(graph: Graph, joins: list[Join]) -> list[list[str]]:
    """Classes of columns that joins make equal, as alias.column."""
    pairs = []
    for join in joins:
        spelled = [[c.name if "." in c.name else f"{i.alias}.{c.name}" for c in i.keys] for i in join.inputs]
        pairs += [pair for one, other in pairwise(spelled) for pair in zip(one, other, strict=True)]
    return classes(pairs)


# -- what the network layer says --------------------
def network_says(text: str, catalog: Catalog, beside: str = "") -> str:
    script = f"{beside} CREATE QUERY q AS {text}"
    (query,) = queries_from_sql(script, catalog, {"q": "a"})
    select = parse_query("q", text).body
    aliases = [t.alias_or_name.lower() for t in select.find_all(exp.Table)]
    named = {i.name: alias for i, alias in zip(query.inputs, aliases, strict=True)}
    pairs = [tuple(f"{named[n]}.{c}" for n, c in (p.left, p.right)) for p in query.predicates]
    assert {p.op for p in query.predicates} == {"="}
    filters = {named[i.name]: [w for c in i.filter.conditions for w in words(c)] for i in query.inputs}
    return tell(classes(pairs), network_times(query, aliases), filters)


def network_times(query: JoinQuery, aliases: list[str]) -> list[str]:
    windows = [i.window for i in query.inputs]
    assert all(w is not None for w in windows)
    if query.slide is not None:
        (width,) = set(windows)
        return [f"one window of {seconds(width)}, every {seconds(query.slide)}"]
    return [
        f"{later} - {one} <= {seconds(window)}"
        for one, window in zip(aliases, windows, strict=True)
        for later in aliases
        if later != one
    ]


def words(condition: Condition) -> list[str]:
    """A condition as it was written."""
    values = sorted(a.value for a in condition.atoms if a.value is not None)
    if condition.expression in values:
        return [plain(condition.expression)]
    if values:
        return [
            f"{condition.expression} = {values[0]}"
            if len(values) == 1
            else f"{condition.expression} IN ({', '.join(values)})"
        ]
    (atom,) = condition.atoms
    ends = [(">" if atom.low_open else ">=", atom.low), ("<" if atom.high_open else "<=", atom.high)]
    return [f"{condition.expression} {op} {bound:g}" for op, bound in ends if abs(bound) != float("inf")]


# -- words for both --------------------
def tell(keys: list[list[str]], times: list[str], filters: dict[str, list[str]]) -> str:
    lines = ["keys: " + "; ".join(" = ".join(each) for each in keys), *sorted(times)]
    lines += [f"{alias.lower()}: {'; '.join(sorted(set(each)))}" for alias, each in filters.items() if each]
    return "\n".join(lines)


def classes(pairs) -> list[list[str]]:
    found: list[set[str]] = []
    for pair in pairs:
        both = {name.lower() for name in pair}
        touched = [c for c in found if c & both]
        found = [c for c in found if c not in touched] + [both.union(*touched)]
    return sorted(sorted(c) for c in found)


def plain(node: exp.Expr | str) -> str:
    text = node if isinstance(node, str) else node.sql("spark")
    return text.replace("`", "").replace("'", "")


def seconds(value: float) -> str:
    """To the hundredth: an end that is open is a tick nearer."""
    return f"{round(value, 2):g}"


def test_columns_have_widths_as_declared():
    """The catalog that both readers share has what the statements say."""
    assert CATALOG.stream("s").columns[0] == ColumnStatistics("ts", 8.0)
    assert [s.time for s in CATALOG.streams] == ["ts", "ts", "ts", "time"]
