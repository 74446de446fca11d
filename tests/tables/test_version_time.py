"""From when on a version holds, where its query has several columns that make progress."""

from __future__ import annotations

import pytest

from headrace.errors import SqlError
from headrace.testing import LocalRun

SECOND = 1_000_000
STREAM = "CREATE STREAM a (ts TIMESTAMP, k INT, v INT) PROGRESSING ON ts ORDERED FROM 'memory';\n"
BEFORE = "CREATE QUERY q AS SELECT n.ts AS ts, p.v AS before FROM a n LEFT JOIN {} FOR SYSTEM_TIME AS OF n.ts AS p ON n.k = p.k;"


def run_versions(queries: str, versions: str) -> list[tuple[int, int | None]]:
    run = LocalRun(STREAM + queries + BEFORE.format(versions), slots=2)
    run.push(a=[(0, 1, 1), (5 * SECOND, 1, 2)])
    run.flush()
    rows = run.rows("q")
    run.close()
    return rows


LATER = "CREATE QUERY later AS SELECT ts + INTERVAL 1 SECOND AS due, ts AS t0, k, v FROM a;\n"


def test_the_copied_time_counts_before_functions_of_it() -> None:
    """By its own time each row is its own version."""
    assert run_versions(LATER, "later") == [(0, 1), (5 * SECOND, 2)]


def test_a_query_that_keeps_only_the_other_names_it() -> None:
    """A second later, each row meets the one before."""
    assert run_versions(LATER + "CREATE QUERY by_due AS SELECT due, k, v FROM later;\n", "by_due") == [(0, None), (5 * SECOND, 1)]


def test_copies_of_one_time_are_one_time() -> None:
    """Whichever counts, it is the same."""
    assert run_versions("CREATE QUERY twice AS SELECT ts AS one, ts AS two, k, v FROM a;\n", "twice") == [(0, 1), (5 * SECOND, 2)]


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("SELECT x.ts AS one, y.ts AS two, x.k, y.v FROM a x JOIN a y WITHIN 5 SECONDS ON x.k = y.k", "one, k, v"),
        ("SELECT ts + INTERVAL 1 SECOND AS due, date_trunc('minute', ts) AS m, k, v FROM a", "due, k, v"),
    ],
)
def test_of_several_times_none_is_guessed(query: str, kept: str) -> None:
    """The message has the query to write."""
    with pytest.raises(SqlError, match=rf"either could be the time of a version; .* SELECT {kept} FROM several"):
        run_versions(f"CREATE QUERY several AS {query};\n", "several")
