"""SQL text and what becomes of it: the bound plan in a few words, or the error with the place it points at.

A case in a `.sql` file is a comment that names it, the text, and after `-- =>` what is expected, as comments.
Text that starts with CREATE is a script that goes on from PREAMBLE; anything else is the SELECT of a query
`q`. New cases are text only. `HEADRACE_FIXTURES=write` writes what is found into the files, to be read
before it is committed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sqlglot import exp

from headrace.errors import HeadraceError
from headrace.logical.graph import Aggregate, Call, Derive, Graph, Join, Lookup, Merge, Rows
from headrace.logical.temporal_join import TemporalJoin
from headrace.optimizer import check_graph, optimize
from headrace.physical.duck_typer import DuckTyper
from headrace.physical.lower import lower
from headrace.sql import CreateStream, parse_query, parse_script
from headrace.sql.bind import Binder
from headrace.windows import Cumulative, Sliding, WindowSpec
from sql_cases import read_cases, write_case

PREAMBLE = """
CREATE STREAM tcp (ts TIMESTAMP, srcIP INT, destIP INT, srcPort INT, len INT, flags INT, name STRING)
  PROGRESSING ON ts SLACK 5 SECONDS FROM 'parquet';
CREATE STREAM ticks (time BIGINT, k STRING, v DOUBLE) PROGRESSING ON time ORDERED FROM 'parquet';
CREATE STREAM udp (ts TIMESTAMP, srcIP INT, len BIGINT) PROGRESSING ON ts SLACK 1 MINUTE FROM 'parquet';
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS cnt, sum(len) AS bytes
  FROM tcp [RANGE 10 MINUTES SLIDE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY big AS SELECT * FROM tcp WHERE len > 1000;
CREATE TABLE hosts (ip INT, owner STRING, site STRING) FROM 'csv' OPTIONS (path 'hosts.csv', header 'true') REFRESH EVERY 1 HOUR;
CREATE TABLE sites (site STRING, city STRING) FROM 'table' OPTIONS (name 'geo.sites');
"""
FILES = sorted(Path(__file__).parent.glob("*.sql"))


ALL = [pytest.param(p, *case, id=f"{p.stem}: {case[0]}") for p in FILES for case in read_cases(p)]


@pytest.mark.parametrize(("path", "name", "text", "expected"), ALL)
def test_sql(path: Path, name: str, text: str, expected: str) -> None:
    """What becomes of the text is what the file says."""
    found = outcome(text)
    if os.environ.get("HEADRACE_FIXTURES") == "write":
        write_case(path, name, found)
    else:
        assert found == expected


def outcome(text: str) -> str:
    binder = Binder(["geo_mean"])
    script = text if text.upper().startswith("CREATE") else ""
    try:
        for statement in [*parse_script(PREAMBLE), *parse_script(script)]:
            binder.create(statement)
        if not script:
            binder.create_query(parse_query("q", text))
        graph = binder.graph()
        check_graph(graph)
        last = list(graph.queries)[-1]
        shown = "\n".join(summary(graph, last))
        if "geo_mean" not in text.lower():
            lower(optimize(graph, DuckTyper(graph, {})))
        return shown
    except HeadraceError as e:
        return f"{type(e).__name__}: {e}"


def summary(graph: Graph, name: str) -> list[str]:
    """A relation and the parts it was made of, the innermost first."""
    relation = graph.relations[name]
    if isinstance(relation, Rows):
        arms = [_listed(b.columns) + f" from {b.stream}" + _where(b.where) for b in relation.branches]
        progress = f", progress on {relation.time}" if relation.time else ", no progress"
        return [f"{name}: rows " + " + ".join(arms) + progress]
    if isinstance(relation, Merge):
        parts = [line for i in relation.inputs if "$" in i for line in summary(graph, i)]
        return [*parts, f"{name}: union of {', '.join(relation.inputs)}"]
    if isinstance(relation, Join):
        parts = [line for i in relation.inputs if "$" in i.relation for line in summary(graph, i.relation)]
        return [*parts, f"{name}: {relation.kind} join of {_join(relation)}"]
    if isinstance(relation, TemporalJoin):
        one, two = relation.inputs
        keys = " and ".join(f"{_sql(a)} = {_sql(b)}" for a, b in zip(one.keys, two.keys, strict=True))
        what = f"{relation.kind} join of {one.relation} with the version of {two.relation} at {one.time} by {keys}"
        return [f"{name}: {what}{_where(relation.condition)} giving {', '.join(relation.columns)}"]
    inner = summary(graph, relation.input) if "$" in relation.input else []
    if isinstance(relation, Derive):
        return [*inner, f"{name}: {_listed(relation.outputs)} from {relation.input}{_where(relation.where)}"]
    if isinstance(relation, Lookup):
        keys = " and ".join(f"{_sql(a)} = {_sql(b)}" for a, b in relation.keys) or "nothing"
        shown = ", ".join(relation.columns) + (f" ({', '.join(c.name for c in relation.hidden)})" if relation.hidden else "")
        what = f"{relation.kind} lookup of {relation.input} in {relation.table} by {keys}{_where(relation.condition)}"
        return [*inner, f"{name}: {what} giving {shown}"]
    assert isinstance(relation, Aggregate)
    window = f" [{_window(relation.window)}]" if relation.window else ", same window"
    keys = f" by {', '.join(map(_sql, relation.keys))}" if relation.keys else ""
    calls = f" of {', '.join(map(_call, relation.calls))}" if relation.calls else ""
    having = f" having {_sql(relation.having)}" if relation.having is not None else ""
    return [*inner, f"{name}: {_listed(relation.outputs)} from {relation.input}{window}{keys}{calls}{having}"]


def _join(join: Join) -> str:
    """The inputs with their keys and times, how near they are, and the rest of the condition."""
    inputs = [f"{i.relation} by ({', '.join(map(_sql, i.keys))}) on {i.time}" for i in join.inputs]
    near = [f"t{g.after} <= t{g.before} {g.ticks:+}" for g in join.bounds.gaps]
    near += [
        f"t{w.one}, t{w.other} in one window of {w.width}" + (f" from {w.offset}" if w.offset else "")
        for w in join.bounds.windows
    ]
    window = f" [{_window(join.window)}]" if join.window is not None else ""
    order = f", {join.order}" if join.order else ""
    return f"{', '.join(inputs)}: {', '.join(near)}{_where(join.condition)}{window}{order}"


def _sql(node: exp.Expr) -> str:
    return node.sql(dialect="spark")


def _call(call: Call) -> str:
    arguments = [*map(_sql, call.arguments), *map(str, call.parameters)]
    return f"{call.function}({', '.join(arguments)})" + (f" where {_sql(call.where)}" if call.where else "")


def _listed(outputs: tuple[tuple[str, exp.Expr], ...]) -> str:
    return "(" + ", ".join(n if _sql(e) == n else f"{n} = {_sql(e)}" for n, e in outputs) + ")"


def _where(where: exp.Expr | None) -> str:
    return f" where {_sql(where)}" if where is not None else ""


def _window(spec: WindowSpec) -> str:
    more = f" origin {spec.origin}" if spec.origin else ""
    more += " align end" if isinstance(spec, Sliding) and spec.align == "end" else ""
    more += f" reset {spec.reset}" if isinstance(spec, Cumulative) else ""
    return f"range {spec.range if isinstance(spec, Sliding) else 'all'} slide {spec.slide}{more}"


def test_option_values_that_read_like_signs_and_words() -> None:
    """A text is a value whatever it says."""
    options = "path '.', sep '=', quote ')', header = 'FROM', a.b ','"
    script = f"CREATE STREAM s (a INT) PROGRESSING ON a ORDERED FROM 'csv' OPTIONS ({options})"
    (stream,) = parse_script(script)
    assert isinstance(stream, CreateStream)
    assert stream.options == {"path": ".", "sep": "=", "quote": ")", "header": "FROM", "a.b": ","}


def test_a_map_is_asked_for_a_word_of_windows() -> None:
    """A text in brackets is a key, not a window."""
    found = parse_query("q", "SELECT m['range'] AS r FROM s").body
    assert found.sql(dialect="spark") == "SELECT m['range'] AS r FROM s"
