"""Joins in a slot whose progress is applied in many rounds, because many windows close beside them."""

from __future__ import annotations

from headrace.program.limits import Limits
from headrace.testing import LocalRun

SECOND = 1_000_000


def test_a_row_without_a_partner_is_given_once() -> None:
    """Outer and anti rows appear in one round of a batch, not in each."""
    near = "a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 SECOND"
    run = LocalRun(
        f"""
        CREATE STREAM a (ts TIMESTAMP, k STRING) PROGRESSING ON ts ORDERED FROM 'memory';
        CREATE STREAM b (ts TIMESTAMP, k STRING) PROGRESSING ON ts ORDERED FROM 'memory';
        CREATE QUERY l AS SELECT a.ts, b.ts AS other FROM a LEFT JOIN b ON {near};
        CREATE QUERY x AS SELECT a.ts FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {near});
        CREATE QUERY n AS SELECT k, count(*) AS n FROM a [RANGE 1 SECOND] GROUP BY k;
        """,
        slots=1,
        limits=Limits(round_rows=2),
    )
    run.push(a=[(i * SECOND, "x") for i in range(8)], b=[(0, "x"), (100 * SECOND, "x")])
    assert run.rows("l") == [(0, 0), *((i * SECOND, None) for i in range(1, 8))]
    assert run.rows("x") == [(i * SECOND,) for i in range(1, 8)]
    assert len(run.rows("n")) == 7
