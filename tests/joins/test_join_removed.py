"""A join is removed from a running set, and what shared its tables of rows goes on with what it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.testing import LocalRun

STREAMS = """
CREATE STREAM a (ts BIGINT, k INT, v INT) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE STREAM b (ts BIGINT, k INT, w INT) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE TABLE m (k INT, name STRING) FROM 'memory';
"""
STAYS = {
    "inner": "SELECT a.ts, a.k, b.ts AS other FROM a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts - 9 AND a.ts + 9",
    "left": "SELECT a.ts, a.k, b.ts AS other FROM a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts - 9 AND a.ts + 9",
    "versions": "SELECT a.ts, a.k, x.ts AS other FROM a LEFT JOIN b FOR SYSTEM_TIME AS OF a.ts x ON x.k = a.k",
    "again": "SELECT named.ts, named.k, b.ts AS other FROM named JOIN b ON named.k = b.k AND b.ts BETWEEN named.ts - 9 AND named.ts + 9",
}
NAMED = "CREATE QUERY named AS SELECT a.ts, a.k, a.v, m.name FROM a JOIN m ON a.k = m.k;"


@pytest.mark.parametrize("kind", STAYS)
def test_rows_that_another_join_has_stay(kind: str, tmp_path: Path) -> None:
    """The one that goes read more columns of the same rows; those of the one that stays are found all the same."""
    stays = STREAMS + (NAMED if kind == "again" else "") + f"CREATE QUERY stays AS {STAYS[kind]};"
    goes = STAYS[kind].replace("a.k,", "a.k, a.v,").replace("named.k,", "named.k, named.name,")
    goes = goes.replace("b.ts AS", "b.w, b.ts AS").replace("x.ts AS", "x.w, x.ts AS")
    both = stays + f"CREATE QUERY goes AS {goes};"
    alone, path = LocalRun(stays, tables={"m": [(1, "x")]}), str(tmp_path / "checkpoint")
    run = LocalRun(both, path=path, tables={"m": [(1, "x")]})
    for i in range(4):
        batch = {"a": [(10 * i, 1, i), (10 * i + 8, 1, i)], "b": [(10 * i + 3, 1, i), (10 * i + 5, 2, i)]}
        if i == 2:
            run.close()
            run = LocalRun(stays, path=path, tables={"m": [(1, "x")]})
        alone.push(**batch)
        run.push(**batch)
        assert run.rows("stays") == alone.rows("stays")
    run.flush()
    alone.flush()
    assert run.rows("stays") == alone.rows("stays") != []
