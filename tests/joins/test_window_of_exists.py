"""A window behind the only stream of FROM is that of the aggregation; what EXISTS reads may come at any time that its WHERE says."""

from __future__ import annotations

import pytest

from headrace.testing import LocalRun

STREAMS = """
CREATE STREAM a (t BIGINT, k INT) PROGRESSING ON t ORDERED FROM 'memory';
CREATE STREAM b (t BIGINT, k INT) PROGRESSING ON t ORDERED FROM 'memory';
"""
PARTNER = "(SELECT 1 FROM b WHERE a.k = b.k AND b.t BETWEEN a.t AND a.t + 9)"
WINDOWS = ["RANGE 4", "RANGE TUMBLING 4", "RANGE 4 SLIDE 2", "RANGE 2 SLIDE 2 ORIGIN 1"]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("test", [f"EXISTS {PARTNER}", f"NOT EXISTS {PARTNER}", "a.k IN (SELECT k FROM b WHERE b.t BETWEEN a.t AND a.t + 9)"])
def test_it_bounds_no_partner(window: str, test: str) -> None:
    """The partner comes five later, which is within nine and not within the window."""
    two = f"""
    CREATE QUERY kept AS SELECT a.t AS t, a.k AS k FROM a WHERE {test};
    CREATE QUERY apart AS SELECT count(*) AS n FROM kept [{window}];
    CREATE QUERY one AS SELECT count(*) AS n FROM a [{window}] WHERE {test};
    CREATE QUERY behind AS SELECT count(*) AS n [{window}] FROM a WHERE {test};
    """
    run = LocalRun(STREAMS + two, slots=1)
    run.push(a=[(3, 1), (20, 2)], b=[(8, 1), (40, 3)])
    run.flush()
    assert run.rows("one") == run.rows("apart") == run.rows("behind") != []
