"""Tables that are divided by key against tables that every slot holds, and both against plain SQL over the rows of each batch.

The limit between the two is shrunk: to nothing, so that every table is divided, and to the middle of the sizes that the tables
happen to have, so that refreshes cross it in both directions. So are the files, so that there are many.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from headrace.program.limits import SHIPPED, Limits
from headrace.testing import LocalRun

SECOND = 1_000_000
DECLARED = """
CREATE STREAM s (ts TIMESTAMP, i INT, d DOUBLE, k STRING, v INT) PROGRESSING ON ts SLACK 5 SECONDS FROM 'memory';
CREATE TABLE t (b BIGINT, f FLOAT, k STRING, x INT) FROM 'memory' REFRESH EVERY 1 MICROSECOND;
CREATE TABLE other (k STRING, name STRING) FROM 'memory' REFRESH EVERY 1 MICROSECOND;
"""
ROWS = {  # each is also what DuckDB is asked
    "numbers": "SELECT s.v, t.x, t.k FROM s JOIN t ON s.i = t.b",
    "letters": "SELECT s.v, t.x, t.b FROM s LEFT JOIN t ON s.k = t.k",
    "doubles": "SELECT s.v, t.x FROM s JOIN t ON s.d = t.f",
    "both": "SELECT s.v, t.x FROM s LEFT JOIN t ON s.k = t.k AND s.i = t.b AND s.v > t.x",
    "computed": "SELECT s.v, t.x FROM s JOIN t ON s.i - 1 = t.b * 2",
    "semi": "SELECT v FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.b = s.i AND t.x < s.v)",
    "anti": "SELECT v FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = s.k)",
    "twice": "SELECT s.v, t.x, o.name FROM s JOIN t ON s.i = t.b LEFT JOIN other o ON t.k = o.k",
    "again": "SELECT s.v, a.x, b.x AS y FROM s LEFT JOIN t a ON s.i = a.b LEFT JOIN t b ON s.k = b.k",
    "nearby": "SELECT s.v, t.x FROM s JOIN t ON s.i < t.b",
}
WINDOWS = {
    "sums": "SELECT t.k, count(*) AS n FROM s [RANGE 10 SECONDS] LEFT JOIN t ON s.i = t.b GROUP BY t.k",
    "named": "SELECT q.k, q.n, o.name FROM sums q LEFT JOIN other o ON q.k = o.k",
}
SCRIPT = DECLARED + "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in (ROWS | WINDOWS).items())
LETTERS = ["a", "b", "c", "", None]
NUMBERS = [*range(-3, 6), 2**31 - 1, None]
FLOATS = [0.0, -0.0, 0.5, float("nan"), float("inf"), None]


def make_batch(rng: random.Random, batch: int) -> list[tuple[Any, ...]]:
    count = rng.choice([0, 1, 12])
    times = [(3 * batch + rng.randint(0, 3)) * SECOND for _ in range(count)]
    return [(ts, rng.choice(NUMBERS), rng.choice(FLOATS), rng.choice(LETTERS), rng.randint(0, 99)) for ts in times]


def make_tables(rng: random.Random) -> dict[str, list[tuple[Any, ...]]]:
    count = rng.choice([0, 3, 40])
    numbers = [*NUMBERS, 2**33]
    rows = [(rng.choice(numbers), rng.choice(FLOATS), rng.choice(LETTERS), rng.randint(0, 99)) for _ in range(count)]
    return {"t": rows, "other": [(rng.choice(LETTERS), rng.choice("xyz")) for _ in range(rng.choice([0, 4]))]}


def ask_duckdb(batch: list[tuple[Any, ...]], tables: dict[str, list[tuple[Any, ...]]]) -> dict[str, Counter[tuple[Any, ...]]]:
    """The answers of plain SQL to one batch."""
    con = duckdb.connect()
    types = {
        "s": {"ts": pa.int64(), "i": pa.int32(), "d": pa.float64(), "k": pa.string(), "v": pa.int32()},
        "t": {"b": pa.int64(), "f": pa.float32(), "k": pa.string(), "x": pa.int32()},
        "other": {"k": pa.string(), "name": pa.string()},
    }
    for name, rows in {"s": batch, **tables}.items():
        columns = {c: pa.array([r[i] for r in rows], t) for i, (c, t) in enumerate(types[name].items())}
        con.register(name, pa.table(columns))
    return {name: Counter(con.sql(text).fetchall()) for name, text in ROWS.items()}


class World:
    """Tables that change, and runs that read them, each with its own limit."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.tables: dict[str, list[tuple[Any, ...]]] = {"t": [], "other": []}
        self.path, self.limit, self.clock = str(folder), limit, 1000 * SECOND
        self.limits = Limits(piece_bytes=200, range_bytes=150, broadcast_bytes=limit)
        self.run = self.start(2)

    def start(self, slots: int | None) -> LocalRun:
        given: dict[str, Callable[[], Any]] = {"t": lambda: self.tables["t"], "other": lambda: self.tables["other"]}
        return LocalRun(SCRIPT, slots, path=self.path, clock=lambda: self.clock, tables=given, limits=self.limits)

    def push(self, rows: list[tuple[Any, ...]], tables: dict[str, list[tuple[Any, ...]]]) -> None:
        self.tables, self.clock = tables, self.clock + SECOND
        self.run.push(s=rows)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))])
def test_divided_tables_answer_as_broadcast_ones_and_as_plain_sql(
    seed: int, tmp_path: Path
) -> None:
    """Every kind of lookup, by two sets of keys of one table, types that differ, no value and no keys; slots and runs change."""
    rng = random.Random(seed)
    worlds = [World(tmp_path / str(i), limit) for i, limit in enumerate((SHIPPED.broadcast_bytes, 0, 500))]
    expected: dict[str, Counter[tuple[Any, ...]]] = {name: Counter() for name in ROWS}
    ways = set()
    for batch in range(7 if seed else 4):
        rows, tables = make_batch(rng, batch), make_tables(rng)
        for world in worlds:
            if rng.random() < 0.3:
                world.run.rescale(rng.choice([1, 2, 3, 5]))
            elif rng.random() < 0.3:
                world.run.close()
                world.run = world.start(rng.choice([1, 2, 4, None]))
            world.push(rows, tables)
        ways |= {(i, w.run.manifest.tables["t"].divided) for i, w in enumerate(worlds) if tables["t"]}
        for name, found in ask_duckdb(rows, tables).items():
            expected[name] += found
    for world in worlds:
        world.run.flush()
        for name in ROWS:
            assert spell(world.run.rows(name)) == spell(expected[name].elements()), (name, world.limit)
        for name in WINDOWS:
            assert world.run.rows(name) == worlds[0].run.rows(name), (name, world.limit)
    assert {(0, False), (1, True)} <= ways <= {(0, False), (1, True), (2, True), (2, False)}
    for world in worlds:
        world.run.close()


def spell(rows: Any) -> Counter[str]:
    """Rows as text: NaN is not itself."""
    return Counter(map(repr, rows))
