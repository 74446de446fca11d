"""Thousands of calls with whatever numbers and types of arguments: what is refused is refused in Headrace's own words."""

from __future__ import annotations

import random

import pytest

from headrace.errors import HeadraceError, InternalError
from headrace.logical.functions import NAMES
from headrace.logical.spark_functions import read_functions
from headrace.optimizer import check_graph, optimize
from headrace.physical.duck_typer import DuckTyper
from headrace.physical.lower import lower
from headrace.sql import parse_query, parse_script
from headrace.sql.bind import Binder

STREAM = """
CREATE STREAM s (ts TIMESTAMP, i INT, n BIGINT, d DOUBLE, c DECIMAL(12,2), k STRING, b BOOLEAN, x BINARY, day DATE,
  a ARRAY<INT>, st STRUCT<u: INT, v: STRING>, m MAP<STRING, INT>) PROGRESSING ON ts SLACK 1 SECOND FROM 'memory';
"""
ARGUMENTS = [
    *("ts", "i", "n", "d", "c", "k", "b", "x", "day", "a", "st", "m", "st.u", "a[0]", "m['q']", "NULL", "1", "-1", "0", "2.5", "1e300"),
    *("'a'", "''", "','", "true", "DATE '2020-01-01'", "INTERVAL 1 DAY", "INTERVAL 2 MONTHS", "array()", "map()", "(1)", "*", "e -> e"),
    *("(u, w) -> u", "DISTINCT k", "i AS y", "YEAR", "k = 'a'", "9223372036854775808"),
]
SHAPES = [  # of a query around a call, and what its columns are called there
    "SELECT ts, {} AS r FROM s",
    "SELECT ts FROM s WHERE {}",
    "SELECT ts FROM s WHERE {} = 1",
    "SELECT count(*) AS r FROM s [RANGE 1 MINUTE] GROUP BY {}",
    "SELECT k, sum({}) AS r FROM s [RANGE 1 MINUTE] GROUP BY k",
    "SELECT k, {} AS r FROM s [RANGE 1 MINUTE] GROUP BY k",
    "SELECT max(k) AS r FROM s [RANGE 1 MINUTE] HAVING {}",
    "SELECT CASE WHEN {0} THEN 1 END AS r, {0} + 1 AS t FROM w",
    "SELECT {} AS r FROM w",
]
KEPT = ("ts", "i", "n", "d", "c", "k", "b", "x", "day", "a", "st")
WINDOWED = f"CREATE QUERY w AS SELECT {', '.join(f'max_by({c}, i) AS {c}' for c in KEPT)} FROM s [RANGE 1 MINUTE];"


@pytest.mark.parametrize("seed", range(4))
def test_random_calls_end_in_words(seed: int) -> None:
    """No number and no type of arguments ends in an error of Python, DuckDB or Arrow."""
    known = sorted({*read_functions(), *NAMES, "timestampadd", "cast", "no_such", "if", "nvl2", "date_add"})
    rng, base, slips, refused = random.Random(seed), Binder(), [], 0
    for statement in parse_script(STREAM + WINDOWED):
        base.create(statement)
    for _ in range(700):
        call = make_call(rng, known)
        text = rng.choice(SHAPES).format(call)
        try:
            plan_query(base, text)
        except InternalError as e:
            slips.append(f"{text}: {e!r}")
        except HeadraceError:
            refused += 1
        except Exception as e:
            slips.append(f"{text}: {e!r}")
    assert not slips, "\n".join(slips)
    assert 200 < refused < 695  # some are right


def make_call(rng: random.Random, known: list[str], depth: int = 0) -> str:
    name = rng.choice(known)
    count = rng.choice((0, 1, 1, 2, 2, 3, 4))
    if rng.random() < 0.6 and name in read_functions():
        one = read_functions()[name]
        count = rng.randint(one.least, one.most if one.most is not None else one.least + 2)
    inner = [make_call(rng, known, depth + 1) if rng.random() < 0.1 and depth < 2 else rng.choice(ARGUMENTS) for _ in range(count)]
    return f"{name}({', '.join(inner)})" if name.isidentifier() else f"({rng.choice(ARGUMENTS)} {name} {rng.choice(ARGUMENTS)})"


def plan_query(base: Binder, text: str) -> None:
    binder = Binder()
    binder.streams, binder.relations, binder.queries = dict(base.streams), dict(base.relations), dict(base.queries)
    binder.create_query(parse_query("q", text))
    graph = binder.graph()
    check_graph(graph)
    lower(optimize(graph, DuckTyper(graph, {})))
