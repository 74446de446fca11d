"""What is relied on of DuckDB where joins have no equality (docs/design/joins.md): inner joins and EXISTS are right, and so are
left, semi- and anti-joins with an equality beside. Compared with looking at every pair.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

Columns = dict[str, Any]  # of both sides, as a matrix; `null` where y is
CONDITIONS: dict[str, Callable[[Columns], Any]] = {
    "b.t >= a.t - 3": lambda c: c["u"] >= c["t"] - 3,
    "b.t <= a.t + 4": lambda c: c["u"] <= c["t"] + 4,
    "a.x <> b.y": lambda c: (c["x"] != c["y"]) & ~c["null"],
    "a.x < b.y": lambda c: (c["x"] < c["y"]) & ~c["null"],
    "a.x IS DISTINCT FROM b.y": lambda c: (c["x"] != c["y"]) | c["null"],
    "a.x + b.y > 7": lambda c: (c["x"] + c["y"] > 7) & ~c["null"],
    "(a.x > 3 OR b.y < 4)": lambda c: (c["x"] > 3) | ((c["y"] < 4) & ~c["null"]),
}


def test_what_is_relied_on() -> None:
    """All sets of up to four conditions, over more rows than DuckDB takes at once."""
    rng, rows, others = np.random.default_rng(1), 2100, 2300
    t, x, u, y = (rng.integers(0, high, n) for high, n in ((3000, rows), (10, rows), (3000, others), (10, others)))
    null = rng.random(others) < 0.1
    con = duckdb.connect(config={"threads": "1"})
    con.register("a", pa.table({"id": np.arange(rows), "t": t, "x": x}))
    con.register("b", pa.table({"t": u, "y": pa.array(y, mask=null)}))
    both = {"t": t[:, None], "x": x[:, None], "u": u[None], "y": y[None], "null": null[None]}
    pairs = {text: np.broadcast_to(meets(both), (rows, others)) for text, meets in CONDITIONS.items()}
    near = (t // 100)[:, None] == (u // 100)[None]

    def count(sql: str) -> Any:
        return np.bincount(con.execute(sql).fetchnumpy()["id"], minlength=rows)

    for size in (1, 2, 3, 4):
        for chosen in combinations(CONDITIONS, size):
            on, met = " AND ".join(chosen), np.logical_and.reduce([pairs[c] for c in chosen])
            beside, partners = f"a.t // 100 = b.t // 100 AND {on}", met.sum(1)
            assert (count(f"SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE {on})") == (partners > 0)).all(), on
            alone = np.maximum((met & near).sum(1), 1)
            assert (count(f"SELECT a.id FROM a LEFT JOIN b ON {beside}") == alone).all(), on
            assert (count(f"SELECT id FROM a SEMI JOIN b ON {beside}") == (met & near).any(1)).all(), on
            assert (count(f"SELECT id FROM a ANTI JOIN b ON {beside}") == ~(met & near).any(1)).all(), on
            if partners.sum() < 1_000_000:
                assert (count(f"SELECT id FROM a JOIN b ON {on}") == partners).all(), on
