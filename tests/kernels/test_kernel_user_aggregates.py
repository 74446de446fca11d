"""Aggregates written in Python: any type of state, NULLs, filters, and one name in several query sets."""

from __future__ import annotations

import math
from typing import Any

import pytest

from headrace.errors import SqlError
from headrace.logical.user_aggregate import UserAggregate
from headrace.testing import LocalRun

STREAM = "CREATE STREAM s (t BIGINT, k STRING, v BIGINT, x DOUBLE) PROGRESSING ON t SLACK 0 FROM 'none';"
ROWS = [(1, "a", 1, 1.5), (2, "a", 2, None), (3, "b", None, 2.5), (4, None, 7, None), (50, "z", 0, 0.0)]


def results(select: str, *aggregates: UserAggregate) -> list[tuple[Any, ...]]:
    run = LocalRun(f"{STREAM} CREATE QUERY q AS {select};", user={a.name: a for a in aggregates})
    for row in ROWS:
        run.push(s=[row])
    return run.rows("q")


def test_a_state_of_a_number() -> None:
    """Sub and super see lists of values and of states; a NULL is a value like any other."""
    mean = UserAggregate(
        "geometric", lambda v: math.prod(x for x in v if x), math.prod, lambda s: math.sqrt(s)
    )
    assert results("SELECT k, round(geometric(x), 3) AS g FROM s [RANGE 10] GROUP BY k", mean) == [
        (None, 1.0, 0, 10),
        ("a", 1.225, 0, 10),
        ("b", 1.581, 0, 10),
    ]


def test_a_state_of_a_struct() -> None:
    """A state may be a struct; partial states of overlapping windows are merged in any order."""
    mean = UserAggregate(
        "mean",
        lambda v: {"n": len(v), "s": sum(x or 0 for x in v)},
        lambda s: {"n": sum(q["n"] for q in s), "s": sum(q["s"] for q in s)},
        lambda q: q["s"] / q["n"],
        "DOUBLE",
        "STRUCT(n BIGINT, s DOUBLE)",
        "DOUBLE",
    )
    found = results("SELECT mean(v) AS m FROM s [RANGE 10 SLIDE 5]", mean)
    assert found == [(2.5, -5, 5), (2.5, 0, 10)]


def test_a_filter_leaves_rows_out() -> None:
    """FILTER gives the function fewer values, not NULLs; a group it empties has a NULL answer."""
    text = UserAggregate(
        "letters",
        lambda v: "".join(sorted(x or "?" for x in v)),
        lambda s: "".join(sorted("".join(s))),
        lambda s: s,
        "VARCHAR",
        "VARCHAR",
        "VARCHAR",
    )
    select = (
        "letters(k) AS a, upper(letters(k) FILTER (WHERE v > 1)) AS b, letters(k) FILTER (WHERE v > 9) AS c"
    )
    assert results(f"SELECT {select} FROM s [RANGE 10]", text) == [("?aab", "?A", None, 0, 10)]


def test_one_name_two_functions() -> None:
    """A worker that has run another query set with an aggregate of that name takes the new one."""
    once = UserAggregate("mine", lambda v: len(v), sum, lambda s: s)
    twice = UserAggregate("mine", lambda v: 2 * len(v), sum, lambda s: s)
    select = "SELECT mine(x) AS n FROM s [RANGE 10]"
    assert [results(select, a)[0][0] for a in (once, twice, once)] == [4.0, 8.0, 4.0]


def test_names_are_case_insensitive() -> None:
    """The aggregate is found however it is spelled."""
    mine = UserAggregate("MyCount", lambda v: len(v), sum, lambda s: s)
    assert results("SELECT MYCOUNT(x) + mycount(x) AS n FROM s [RANGE 10]", mine) == [(8.0, 0, 10)]


def test_wrong_calls() -> None:
    """A second argument, or the name of a built-in, is an error when the query is registered."""
    mine = UserAggregate("mine", lambda v: 1, sum, lambda s: s)
    with pytest.raises(SqlError, match="takes 1 argument, got 2"):
        results("SELECT mine(x, v) AS n FROM s [RANGE 10]", mine)
    with pytest.raises(SqlError, match="'count' is built in"):
        results("SELECT count(x) AS n FROM s [RANGE 10]", UserAggregate("count", len, sum, lambda s: s))
