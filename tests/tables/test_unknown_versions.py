"""Rows whose version one slot knows and another does not: both send the same columns, whatever the type of the version's."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from headrace.errors import InternalError
from headrace.physical import lower_temporal
from headrace.testing import LocalRun

SECOND = 1_000_000
SCRIPT = """
CREATE STREAM rates (ts TIMESTAMP, k INT, m {type}) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE STREAM orders (ts TIMESTAMP, k INT) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE QUERY p AS
  SELECT o.ts AS ts, o.k AS k, r.m AS rate FROM orders o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.k = r.k;
CREATE QUERY counted AS SELECT rate, count(*) AS n FROM p [RANGE 1 MINUTE] GROUP BY rate;
CREATE QUERY met AS SELECT x.k AS k, y.rate AS rate FROM p x JOIN p y WITHIN 5 SECONDS ON x.rate = y.rate;
"""
VALUES = {
    "INT": 7,
    "BIGINT": 1 << 40,
    "DECIMAL(10,2)": Decimal("1.25"),
    "DOUBLE": 0.5,
    "BOOLEAN": True,
    "STRING": "u",
    "BINARY": b"u",
    "DATE": date(2024, 1, 1),
    "TIMESTAMP": 5,
    "ARRAY<INT>": [1, 2],
    "STRUCT<a: INT, b: STRING>": {"a": 1, "b": "x"},
}


def run_rates(type_: str, value: Any, slots: int) -> LocalRun:
    run = LocalRun(SCRIPT.format(type=type_), slots=slots)
    run.push(rates=[(5 * SECOND, 1, value)], orders=[(10 * SECOND, k) for k in range(20)])
    run.push(rates=[(65 * SECOND, 2, value)], orders=[(70 * SECOND, k) for k in range(20)])
    run.flush()
    return run


@pytest.mark.parametrize("slots", [1, 2, 4])
@pytest.mark.parametrize("type_", VALUES)
def test_a_window_and_a_join_over_versions_that_one_slot_does_not_know(type_: str, slots: int) -> None:
    """Of twenty keys one has a version, then two."""
    value = VALUES[type_]
    run = run_rates(type_, value, slots)
    minute = 60 * SECOND
    expected = [(None, 18, minute, 2 * minute), (None, 19, 0, minute), (value, 1, 0, minute), (value, 2, minute, 2 * minute)]
    assert run.rows("counted") == expected
    assert run.rows("met") == [(1, value), (1, value), (1, value), (2, value), (2, value)]
    run.close()


def test_a_version_of_no_type() -> None:
    """A column that is NULL in every version has Spark's type void, in every slot."""
    script = SCRIPT.replace("r.m AS rate FROM orders o LEFT JOIN rates", "r.nothing AS rate FROM orders o LEFT JOIN latest")
    script = script.replace("CREATE QUERY p", "CREATE QUERY latest AS SELECT ts, k, NULL AS nothing FROM rates;\nCREATE QUERY p", 1)
    run = LocalRun(script.format(type="INT"), slots=4)
    run.push(rates=[(5 * SECOND, 1, 1)], orders=[(10 * SECOND, k) for k in range(20)])
    run.flush()
    assert run.rows("counted") == [(None, 20, 0, 60 * SECOND)]
    run.close()


def test_a_left_join_beside_nulls_of_no_type() -> None:
    """What an outer join fills with NULLs has the type that partners would have."""
    script = """
    CREATE STREAM a (ts TIMESTAMP, k INT) PROGRESSING ON ts ORDERED FROM 'memory';
    CREATE STREAM b (ts TIMESTAMP, k INT) PROGRESSING ON ts ORDERED FROM 'memory';
    CREATE QUERY latest AS SELECT ts, k, NULL AS nothing FROM b;
    CREATE QUERY p AS SELECT a.ts AS ts, l.nothing AS rate FROM a LEFT JOIN latest l WITHIN 5 SECONDS ON a.k = l.k;
    CREATE QUERY counted AS SELECT rate, count(*) AS n FROM p [RANGE 1 MINUTE] GROUP BY rate;
    """
    run = LocalRun(script, slots=4)
    run.push(a=[(10 * SECOND, k) for k in range(20)], b=[(10 * SECOND, 1)])
    run.flush()
    assert run.rows("counted") == [(None, 20, 0, 60 * SECOND)]
    run.close()


def test_columns_without_a_type_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot that sends another type than the others is found in every test of this kind."""
    spell = lower_temporal.spell_null
    monkeypatch.setattr(lower_temporal, "spell_null", lambda type_: "NULL" if type_ == "int" else spell(type_))
    with pytest.raises(InternalError, match="in another slot or batch"):
        run_rates("INT", 7, 4)
