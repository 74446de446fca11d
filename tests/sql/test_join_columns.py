"""Columns of joins that are more than their names: window numbers of queries over queries, and what USING makes one of."""

from __future__ import annotations

import pytest

from headrace.testing import LocalRun

FLOWS = """
  CREATE STREAM tcp (time {type}, srcIP INT, destIP INT) PROGRESSING ON time ORDERED FROM 'memory';
  CREATE QUERY flows AS SELECT tb, srcIP, destIP, count(*) AS cnt FROM tcp GROUP BY time/60 AS tb, srcIP, destIP;
  CREATE QUERY heavy AS SELECT tb, srcIP, max(cnt) AS most FROM flows GROUP BY tb, srcIP;
  CREATE QUERY renamed AS SELECT tb AS minute, window_start AS since, srcIP, most FROM heavy WHERE most > 0;
"""
PACKETS = [(0, 1, 5), (1, 1, 5), (2, 1, 6), (61, 1, 5), (122, 1, 5), (123, 1, 5), (124, 1, 5), (300, 9, 9)]


@pytest.mark.parametrize(
    "condition",
    [
        "heavy b WHERE a.srcIP = b.srcIP AND a.tb = b.tb + 1",
        "heavy b WHERE a.srcIP = b.srcIP AND b.tb - a.tb = -1",
        "heavy b WHERE a.srcIP = b.srcIP AND a.tb > b.tb AND a.tb < b.tb + 2",
        "renamed b WHERE a.srcIP = b.srcIP AND a.tb = b.minute + 1",
        "renamed b WHERE a.srcIP = b.srcIP AND a.window_start > b.since AND a.window_start <= b.since + {minute}",
        "heavy b WHERE a.srcIP = b.srcIP AND a.window_start = b.window_end",
    ],
)
@pytest.mark.parametrize(("type", "unit"), [("BIGINT", 1), ("TIMESTAMP", 1_000_000)])
def test_window_numbers_say_which_windows_meet(condition: str, type: str, unit: int) -> None:
    """However the number or bound of a window is called by then, a condition on it joins a minute with the one before."""
    minute = "60" if type == "BIGINT" else "INTERVAL 1 MINUTE"
    query = "SELECT a.tb, a.most, b.most AS before FROM heavy a, " + condition.format(minute=minute)
    run = LocalRun(FLOWS.format(type=type) + f"CREATE QUERY q AS {query};")
    run.push(tcp=[(t * unit, *rest) for t, *rest in PACKETS])
    assert run.rows("q") == [(1, 1, 2), (2, 3, 1)]


STREAMS = """
  CREATE STREAM a (ts TIMESTAMP, k INT, x INT) PROGRESSING ON ts ORDERED FROM 'memory';
  CREATE STREAM b (seen TIMESTAMP, k INT, y INT) PROGRESSING ON seen ORDERED FROM 'memory';
"""


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("JOIN", [(1, 10, 20)]),
        ("LEFT JOIN", [(1, 10, 20), (3, 11, None)]),
        ("RIGHT JOIN", [(1, 10, 20), (2, None, 21)]),
        ("FULL JOIN", [(1, 10, 20), (2, None, 21), (3, 11, None)]),
    ],
)
def test_using_gives_one_column(kind: str, expected: list[tuple[int | None, ...]]) -> None:
    """`USING (k)` shows k once, from the side that has the row, and k needs no name of an input; so does a star."""
    run = LocalRun(
        f"{STREAMS} CREATE QUERY q AS SELECT k, x, y FROM a {kind} b WITHIN 1 MINUTE USING (k);"
        f"CREATE QUERY star AS SELECT * FROM a {kind} b WITHIN 1 MINUTE USING (k);"
    )
    run.push(a=[(0, 1, 10), (0, 3, 11)], b=[(0, 1, 20), (0, 2, 21)])
    run.push(a=[(600_000_000, 8, 0)], b=[(600_000_000, 9, 0)])
    assert run.rows("q") == expected
    assert [(k, x, y) for _, k, x, _, y in run.rows("star")] == sorted(
        expected, key=lambda row: (row[1] is not None, row[0])
    )


def test_the_star_of_one_input_has_its_own_columns() -> None:
    """`b.*` shows what b has, also the column that USING shares; the join's own k is beside it, under another name."""
    run = LocalRun(
        f"{STREAMS} CREATE QUERY q AS SELECT b.*, k AS key FROM a LEFT JOIN b WITHIN 1 MINUTE USING (k);"
        "CREATE QUERY w AS SELECT x, y, window_start FROM a [RANGE TUMBLING 1 MINUTE] JOIN b [RANGE TUMBLING 1 MINUTE] USING (k);"
    )
    run.push(a=[(60_000_000, 1, 10), (60_000_000, 3, 11)], b=[(70_000_000, 1, 20)])
    run.push(a=[(600_000_000, 1, 0)], b=[(600_000_000, 9, 0)])
    assert run.rows("q") == [(None, None, None, 3), (70_000_000, 1, 20, 1)]
    assert run.rows("w") == [(10, 20, 60_000_000)]
