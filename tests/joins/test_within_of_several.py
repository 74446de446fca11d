"""WITHIN behind the third input and later ones: about the latest time of those before, whichever of them ON speaks of."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest

from headrace.errors import SqlError
from headrace.testing import LocalRun

SECOND = 1_000_000
STREAMS = "".join(
    f"CREATE STREAM {n} (ts TIMESTAMP, k INT, v INT) PROGRESSING ON ts SLACK 6 SECONDS FROM 'memory';\n" for n in "abcd"
)
Row = tuple[int, int, int]


def select(on_c: str, on_d: str) -> str:
    return (
        "SELECT a.v AS a, b.v AS b, c.v AS c, d.v AS d FROM a JOIN b WITHIN 5 SECONDS ON a.k = b.k "
        f"JOIN c WITHIN (2 SECONDS, 4 SECONDS) ON {on_c} JOIN d WITHIN 3 SECONDS ON {on_d}"
    )


def meet(a: Row, b: Row, c: Row, d: Row) -> bool:
    """The definition: each within what stands behind it of the latest before."""
    return (
        abs(b[0] - a[0]) <= 5 * SECOND
        and -2 * SECOND <= c[0] - max(a[0], b[0]) <= 4 * SECOND
        and abs(d[0] - max(a[0], b[0], c[0])) <= 3 * SECOND
    )


def draw(rng: random.Random, count: int, keys: int) -> dict[str, list[Row]]:
    numbers = itertools.count()
    return {n: [(rng.randint(0, 20) * SECOND, rng.randrange(keys), next(numbers)) for _ in range(count)] for n in "abcd"}


def run_queries(queries: dict[str, str], rows: dict[str, list[Row]], slots: int = 2) -> dict[str, list[tuple[int, ...]]]:
    run = LocalRun(STREAMS + "".join(f"CREATE QUERY {n} AS {q};\n" for n, q in queries.items()), slots=slots)
    for start in range(0, 12, 4):  # all rows are within the slack of the first batch
        run.push(**{n: sorted(each)[start : start + 4] for n, each in rows.items()})
    run.flush()
    found = {n: run.rows(n) for n in queries}
    run.close()
    return found


@pytest.mark.parametrize("seed", range(4))
def test_of_four_by_one_key(seed: int) -> None:
    """Whichever equality is written, the same rows meet: those of the definition."""
    rows = draw(random.Random(seed), 12, 2)
    expected = sorted(
        tuple(r[2] for r in rs)
        for rs in itertools.product(*rows.values())
        if len({r[1] for r in rs}) == 1 and meet(*rs)
    )
    queries = {
        f"q{i}": select(f"{c}.k = c.k", f"{d}.k = d.k")
        for i, (c, d) in enumerate([("a", "a"), ("b", "a"), ("a", "c"), ("b", "b"), ("b", "c")])
    }
    assert expected
    assert run_queries(queries, rows) == dict.fromkeys(queries, expected)


@pytest.mark.parametrize("seed", range(3))
def test_of_four_by_several_keys(seed: int) -> None:
    """Joined one after the other: the times of all are kept until the last."""
    rows = draw(random.Random(seed), 12, 2)
    query = select("c.v % 3 = b.v % 3", "d.v % 2 = c.v % 2")
    expected = sorted(
        tuple(r[2] for r in (a, b, c, d))
        for a, b, c, d in itertools.product(*rows.values())
        if a[1] == b[1] and c[2] % 3 == b[2] % 3 and d[2] % 2 == c[2] % 2 and meet(a, b, c, d)
    )
    assert expected
    assert run_queries({"q": query}, rows) == {"q": expected}


def test_windows_and_rows_together() -> None:
    """A row of a window is a tick before its end, here as elsewhere."""
    script = STREAMS.replace("SLACK 6 SECONDS", "ORDERED") + (
        "CREATE QUERY w AS SELECT k, count(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k;\n"
        "CREATE QUERY q AS SELECT c.v AS v FROM w JOIN b WITHIN 1 SECOND ON w.k = b.k JOIN c WITHIN 2 SECONDS ON w.k = c.k;"
    )
    run = LocalRun(script, slots=2)
    end = 5 * SECOND - 1
    run.push(a=[(0, 1, 0)], b=[(4 * SECOND, 1, 0)], c=[(end - 2 * SECOND - 1, 1, 1), (end - 2 * SECOND, 1, 2)])
    run.push(c=[(end + 2 * SECOND, 1, 3), (end + 2 * SECOND + 1, 1, 4)])
    run.flush()
    assert run.rows("q") == [(2,), (3,)]
    run.close()


@pytest.mark.parametrize("words", ["a LEFT JOIN b WITHIN 5 SECONDS ON a.k = b.k JOIN c", "a JOIN b WITHIN 5 SECONDS ON a.k = b.k LEFT JOIN c"])
def test_beside_an_outer_join_it_is_refused(words: str) -> None:
    """With the words of the band that is meant."""
    with pytest.raises(SqlError, match="c.ts BETWEEN a.ts - INTERVAL 5 SECONDS AND a.ts"):
        LocalRun(STREAMS + f"CREATE QUERY q AS SELECT a.k AS k FROM {words} WITHIN 3 SECONDS ON a.k = c.k;")


def test_behind_semi_joins_it_is_about_what_they_keep() -> None:
    """LEFT SEMI JOIN shows nothing of its right input, so the next WITHIN is about the left."""
    query = "SELECT a.v AS v FROM a LEFT SEMI JOIN b WITHIN 5 SECONDS ON a.k = b.k LEFT SEMI JOIN c WITHIN 2 SECONDS ON a.k = c.k"
    rows: dict[str, Sequence[Row]] = {
        "a": [(0, 1, 1), (6 * SECOND, 1, 2)],
        "b": [(5 * SECOND, 1, 0)],
        "c": [(2 * SECOND, 1, 0)],
    }
    run = LocalRun(STREAMS + f"CREATE QUERY q AS {query};", slots=2)
    run.push(**rows)
    run.flush()
    assert run.rows("q") == [(1,)]
    run.close()
