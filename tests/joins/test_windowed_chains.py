"""Queries with windows, joined one after the other, give what batch SQL gives of their tables and equal windows.

Each of the queries is over a stream of its own, and is joined with those before it that its ON speaks of, in the same window;
queries, windows and lookups of versions stand on the joins by `window_end`. A flush completes them all.
`HEADRACE_CHAINS=2000` tries that many random ones in `make test-all`.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import Any

import duckdb
import pytest

from headrace.testing import LocalRun

SECOND = 1_000_000
STREAMS = ("a", "b", "c")
ROUNDS = int(os.environ.get("HEADRACE_CHAINS", "100"))
Rows = dict[str, list[tuple[int, int, int]]]


def script(query: str, window: int, slack: int = 0) -> str:
    """Sums of three streams in windows of so many seconds, and what is asked of them."""
    streams = [
        f"CREATE STREAM {s} (ts TIMESTAMP, k INT, v INT) PROGRESSING ON ts SLACK {slack} SECONDS FROM 'memory';" for s in STREAMS
    ]
    sums = [f"CREATE QUERY s{s} AS SELECT k, sum(v) AS s FROM {s} [RANGE {window} SECONDS] GROUP BY k;" for s in STREAMS]
    return "\n".join([*streams, *sums, query])


def batch(query: str, rows: Rows, window: int) -> Counter[tuple[Any, ...]]:
    """What DuckDB answers over all rows."""
    con, width = duckdb.connect(), window * SECOND
    for stream in STREAMS:
        con.execute(f"CREATE TABLE {stream} (t BIGINT, k INT, v INT)")
        con.executemany(f"INSERT INTO {stream} VALUES (?, ?, ?)", rows[stream] or [(None, None, None)])
        end = f"(t // {width} + 1) * {width}"
        con.execute(
            f"CREATE TABLE s{stream} AS SELECT k, sum(v)::BIGINT AS s, {end} AS e FROM {stream} WHERE t IS NOT NULL GROUP BY k, {end}"
        )
    return Counter(con.execute(query).fetchall())


def push(run: LocalRun, rng: random.Random, rows: Rows, batches: int, flushes: bool = False) -> None:
    """The rows in so many batches, and a flush at the end; with `flushes` some between."""
    for i in range(batches):
        run.push(**{s: each[i * len(each) // batches : (i + 1) * len(each) // batches] for s, each in rows.items()})
    run.flush()


def draw_rows(rng: random.Random) -> Rows:
    """Rows in order; few keys and sums, so that some meet and some do not."""
    return {
        s: sorted((rng.randrange(40) * SECOND, rng.randrange(4), rng.randrange(3)) for _ in range(rng.randrange(14)))
        for s in STREAMS
    }


def draw_joins(rng: random.Random) -> tuple[str, str]:
    """A FROM of two or three of them, as a continuous query says it and as batch SQL does."""
    aliases = ["x0", "x1", "x2"][: rng.choice([2, 3, 3, 3])]
    names = [f"s{rng.choice(STREAMS)}" for _ in aliases]
    ours = theirs = f"FROM {names[0]} x0"
    for i in range(1, len(aliases)):
        kind = rng.choice(["", "", "LEFT ", "LEFT ", "RIGHT ", "FULL "])
        other = rng.randrange(i)
        mine, its = rng.choice(["k", "s"]), rng.choice(["k", "s"])
        on = f"x{i}.{mine} = x{other}.{its}"
        ours += f" {kind}JOIN {names[i]} x{i} ON {on}"
        theirs += f" {kind}JOIN {names[i]} x{i} ON {on} AND x{i}.e = x{other}.e"
    return ours, theirs


def check_chain(seed: object) -> None:
    rng = random.Random(f"chain {seed}")
    window, rows = rng.choice([1, 5, 7]), draw_rows(rng)
    ours, theirs = draw_joins(rng)
    count = ours.count("JOIN") + 1
    shown = ", ".join(f"x{i}.{c} AS {c}{i}" for i in range(count) for c in ("k", "s"))
    run = LocalRun(script(f"CREATE QUERY q AS SELECT {shown} {ours};", window), slots=rng.randint(1, 4))
    push(run, rng, rows, rng.choice([1, 2, 5]))
    found = Counter(run.rows("q"))
    run.close()
    assert found == batch(f"SELECT {shown} {theirs}", rows, window), ours


@pytest.mark.parametrize("seed", range(20))
def test_random_chains(seed: int) -> None:
    """Inner and outer joins of two or three queries on one key or different ones."""
    check_chain(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1000 + ROUNDS))
def test_many_random_chains(seed: int) -> None:
    """Many more."""
    check_chain(seed)
