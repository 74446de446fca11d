"""Out-of-order against in-order plans when some inputs are behind others (document 003, section 8.4, Figures 8-8 to 8-11).

Out of order is the product as it is (`LocalRun`): what its checkpoint holds after each batch. In order are the plans of
`in_order_plans`. Both get the same batches, of two or five seconds; their results are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from benchmarks.out_of_order.arrivals import SCHEMA_SQL, SECOND, START, Arrivals, as_tuples, make_arrivals
from benchmarks.out_of_order.in_order_plans import AgnosticTumblingJoin, InOrderCount, InOrderTumblingJoin
from benchmarks.out_of_order.kernel_join import BACK, FLOW, keyed
from headrace.testing import LocalRun

STREAM = "CREATE STREAM {name} ({columns}) PROGRESSING ON ts ORDERED FROM 'memory';\n"
SAME_FLOW = (
    "m1.srcIP = m2.destIP AND m1.destIP = m2.srcIP AND m1.srcPort = m2.destPort AND m1.destPort = m2.srcPort"
)
UNION_COUNT = """CREATE QUERY q AS SELECT srcIP, destIP, count(*) AS n
  FROM (SELECT * FROM m1 UNION ALL SELECT * FROM m2) [RANGE 1 MINUTE, SLIDE 1 MINUTE, WA ts] GROUP BY srcIP, destIP;"""
SLIDING_COUNT = """CREATE QUERY q AS SELECT count(*) AS n
  FROM (SELECT * FROM m1 UNION ALL SELECT * FROM m2 UNION ALL SELECT * FROM c) [RANGE 5 MINUTES, SLIDE 1 MINUTE, WA ts];"""
UNION_JOIN = f"""CREATE QUERY q AS SELECT m1.srcIP, m1.destIP, m1.ts
  FROM (SELECT * FROM a UNION ALL SELECT * FROM b) AS m1 [RANGE TUMBLING 10 SECONDS, WA ts],
       (SELECT * FROM c UNION ALL SELECT * FROM d) AS m2 [RANGE TUMBLING 10 SECONDS, WA ts] WHERE {SAME_FLOW};"""
LATE_JOIN = f"""CREATE QUERY q AS SELECT m1.srcIP, m1.destIP, m1.ts
  FROM m1 [RANGE TUMBLING 1 MINUTE, WA ts],
       (SELECT * FROM m3 UNION ALL SELECT * FROM c) AS m2 [RANGE TUMBLING 1 MINUTE, WA ts] WHERE {SAME_FLOW};"""

Batches = list[dict[str, pa.Table]]  # by stream


@dataclass(frozen=True)
class Held:
    """The most rows and bytes held, and what came out: a count and a checksum."""

    rows: int
    bytes: int
    results: tuple[int, int]


def compare_unions(
    skews: Sequence[int] = (0, 10, 20, 30, 40),
    delays: Sequence[int] = (0, 3, 6, 10),
    rate: int = 500,
    groups: int = 300,
    seconds: int = 130,
    batch: int = 2,
) -> dict[str, Any]:
    """Figure 8-8: groups per minute of a union, M2 behind. Figure 8-11: a sliding count, the thin C behind."""
    packets = make_arrivals(2 * rate, seconds, groups)
    found = []
    for skew in skews:
        streams = {"m1": packets.every(2), "m2": packets.every(2, 1).delayed(skew * SECOND)}
        counted = InOrderCount(2, 2, 60 * SECOND, 60 * SECOND)
        found += _compare("Q8-2", skew, UNION_COUNT, streams, counted, FLOW[:2], batch)
    half = rate // 2
    packets = make_arrivals(2 * half, 1.5 * seconds, groups)
    for delay in delays:
        streams = {
            "m1": packets.every(2),
            "m2": packets.every(2, 1),
            "c": packets.every(2 * half, 3).delayed(delay * SECOND),
        }
        counted = InOrderCount(3, 0, 300 * SECOND, 60 * SECOND)
        found += _compare("Q8-5", delay, SLIDING_COUNT, streams, counted, (), batch)
    return {"rate": rate, "groups": groups, "rows": found}


def compare_joins(
    skews: Sequence[int] = (0, 25, 50, 75, 100),
    delays: Sequence[int] = (0, 3, 6, 10),
    rate: int = 150,
    groups: int = 5000,
    seconds: int = 130,
    batches: tuple[int, int] = (5, 2),
) -> dict[str, Any]:
    """Figure 8-9: a join of two unions, B and D behind. Figure 8-10: a join with a union whose thin part C is behind."""
    packets = make_arrivals(4 * rate, seconds, groups, skew=0.2)
    quarters = [packets.every(4, i) for i in range(4)]
    found = []
    for skew in skews:
        streams = {
            "a": quarters[0],
            "b": quarters[1].delayed(skew * SECOND),
            "c": quarters[2].opposite(),
            "d": quarters[3].opposite().delayed(skew * SECOND),
        }
        found += _compare_join("Q8-3", skew, UNION_JOIN, streams, (("a", "b"), ("c", "d")), batches[0])
    halves = packets.every(2), packets.every(2, 1).opposite()
    for delay in delays:
        streams = {
            "m1": halves[0],
            "m3": halves[1],
            "c": halves[1].every(2 * rate, 5).delayed(delay * SECOND),
        }
        found += _compare_join("Q8-4", delay, LATE_JOIN, streams, (("m1",), ("m3", "c")), batches[1])
    return {"rate": rate, "groups": groups, "rows": found}


def _compare(
    query: str,
    skew: int,
    text: str,
    streams: Mapping[str, Arrivals],
    counted: InOrderCount,
    keys: Sequence[str],
    batch: int,
) -> list[dict[str, Any]]:
    def step(tables: Mapping[str, pa.Table]) -> list[tuple[int, ...]]:
        return counted.absorb([keyed(tables[s], keys) for s in streams])

    batches = cut_batches(streams, batch * SECOND)
    product = run_product(_make_run(text, streams), batches, len(keys) + 2)
    return _tell(query, skew, {"OOP": product, "IOP": run_in_memory(step, counted.held, batches)})


def _compare_join(
    query: str,
    skew: int,
    text: str,
    streams: Mapping[str, Arrivals],
    inputs: Sequence[Sequence[str]],
    batch: int,
) -> list[dict[str, Any]]:
    run = _make_run(text, streams)
    batches = cut_batches(streams, batch * SECOND)
    held = {"OOP": run_product(run, batches, 3)}
    keys = {s: FLOW if s in inputs[0] else BACK for s in streams}
    plans: dict[str, AgnosticTumblingJoin | InOrderTumblingJoin] = {
        "OOP, rows needed": AgnosticTumblingJoin(run.program, inputs),
        "IOP": InOrderTumblingJoin(run.program, inputs, early=False),
        "IOP, early purge": InOrderTumblingJoin(run.program, inputs, early=True),
    }
    for name, join in plans.items():
        sql = f'SELECT "m1.srcIP" AS a, "m1.destIP" AS b, epoch_us("m1.ts") AS t FROM {join.join.step.view}'
        empty = {s: keyed(streams[s].rows.slice(0, 0), keys[s]) for s in streams}

        def step(tables: Mapping[str, pa.Table], join: Any = join, sql: str = sql) -> list[tuple[int, ...]]:
            found = join.absorb({s: keyed(tables[s], keys[s]) for s in streams}, sql)
            return [] if found is None else as_tuples(found)

        def finish(join: Any = join, sql: str = sql, empty: Any = empty) -> list[tuple[int, ...]]:
            found = join.finish(empty, sql)
            return [] if found is None else as_tuples(found)

        held[name] = run_in_memory(step, join.held, batches, finish)
    return _tell(query, skew, held)


def _tell(query: str, skew: int, held: Mapping[str, Held]) -> list[dict[str, Any]]:
    return [
        {
            "query": query,
            "skew": skew,
            "plan": plan,
            "held_rows": h.rows,
            "held_bytes": h.bytes,
            "results": h.results,
        }
        for plan, h in held.items()
    ]


def _make_run(text: str, streams: Mapping[str, Arrivals]) -> LocalRun:
    return LocalRun(
        "".join(STREAM.format(name=s, columns=SCHEMA_SQL) for s in streams) + text, slots=1, tasks=1
    )


def cut_batches(streams: Mapping[str, Arrivals], width: int) -> Batches:
    """The rows of every stream, by arrival."""
    last = max(int(s.at[-1]) for s in streams.values())
    return [{n: s.between(t, t + width) for n, s in streams.items()} for t in range(START, last + 1, width)]


def run_product(run: LocalRun, batches: Batches, width: int) -> Held:
    """The product: the most that its checkpoint holds after a batch. The first `width` columns of results are compared."""
    rows = size = 0
    for tables in batches:
        manifest = run.push(**{n: as_tuples(t) for n, t in tables.items()})
        rows = max(rows, sum(s.live_rows for s in manifest.segments))
        size = max(size, sum(s.bytes for s in manifest.segments))
    return Held(rows, size, _digest([r[:width] for r in run.rows("q")]))


def run_in_memory(
    step: Callable[[Mapping[str, pa.Table]], list[tuple[int, ...]]],
    count: Callable[[], tuple[int, int]],
    batches: Batches,
    finish: Callable[[], list[tuple[int, ...]]] = list,
) -> Held:
    """A plan in memory, over the same batches; `finish` gives what it still owes at the end."""
    rows = size = 0
    out: list[tuple[int, ...]] = []
    for tables in batches:
        out += step(tables)
        held = count()
        rows, size = max(rows, held[0]), max(size, held[1])
    return Held(rows, size, _digest(out + finish()))


def _digest(rows: Sequence[tuple[int, ...]]) -> tuple[int, int]:
    """How many rows, and a sum over them that their order does not change."""
    return len(rows), sum(hash(row) % 1_000_003 for row in rows)
