"""The source stage: one pass over a task's share of the batch for the whole query set.

In: chunks of rows of a stream, either sent by Spark (`rows`) or read from files in the task (`scan`); each
becomes the relation `src` with `_t` (ticks of the progressing attribute) and `c0…` (the scalar expressions
the set needs). Out: for each node the partial rows per (pane, keys), by slot; and PROGRESS to every slot, so
that progress travels with the data, as punctuation does (document 003 §4.1), and one Spark job is enough
for a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from headrace.kernels import codec
from headrace.kernels.duck import arrow, connect
from headrace.kernels.judge import Judge, Screened, Seen, judge, write_parquet
from headrace.kernels.spec import Batch, Feed, Node, Program, RawQuery
from headrace.kernels.sql import group_by, pane_sql, pid_sql


class Chunk(Protocol):
    """Rows of one stream, as many as are aggregated at once."""

    @property
    def stream(self) -> str: ...

    @property
    def num_rows(self) -> int: ...

    def screen(self, con: duckdb.DuckDBPyConnection, rule: Judge, late: pa.Schema) -> Screened:
        """Makes the relation `src` of the rows that are part of the stream."""
        ...

    def leave(self, con: duckdb.DuckDBPyConnection) -> None:
        """Takes `src` away again."""
        ...


def run_source(program: Program, batch: Batch, chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
    """The source stage over one task's chunks."""
    con = connect(program.time_zone, program.user)
    seen = {spec.name: Seen() for spec in program.streams}
    rules = {spec.name: judge(batch, spec) for spec in program.streams}
    results: list[dict[str, object]] = []
    for chunk in chunks:
        name = chunk.stream
        seen[name].rows += chunk.num_rows
        late_schema = program.late_schemas[name]
        screened = chunk.screen(con, rules[name], pa.ipc.read_schema(pa.py_buffer(late_schema)))
        _note(seen[name], screened)
        if screened.kept is not None:
            seen[name].files.append(write_parquet(batch, f"late/{name}", screened.kept, late_schema))
        for node in program.nodes:
            for feed in node.feeds:
                if feed.stream == name:
                    partial = arrow(con, preaggregate_sql(node, feed, program.pids))
                    for slot, part in codec.split(partial, batch.route, batch.slots):
                        yield from codec.tables(slot, node.name, part)
        for query in program.raw:
            if query.stream == name:
                results += _write_raw(con, batch, program, query)
        chunk.leave(con)
    note = {"streams": {n: vars(s) for n, s in seen.items()}, "results": results}
    short = {"streams": {n: {"max_seen": s.max_seen} for n, s in seen.items()}}
    for slot in range(batch.slots):
        yield codec.message(slot, codec.PROGRESS, note if slot == 0 else short)


def _note(seen: Seen, screened: Screened) -> None:
    if screened.largest is not None:
        seen.max_seen = screened.largest if seen.max_seen is None else max(seen.max_seen, screened.largest)
    if screened.kept is not None:
        late = pc.sum(pc.equal(screened.kept.column("_reason"), "late")).as_py()
        seen.late += late
        seen.rejected += screened.kept.num_rows - late


def preaggregate_sql(node: Node, feed: Feed, pids: int) -> str:
    """Rows of `src` to partial rows (pid, pane, k…, p…) of a node."""
    keys = [f"{c} AS k{i}" for i, c in enumerate(feed.keys)]
    subs = [f"{s} AS p{i}" for i, s in enumerate(feed.subs)]
    where = f" WHERE {feed.where}" if feed.where else ""
    pane = f"{pane_sql('_t', node.width, node.offset)} AS pane"
    inner = f"SELECT {', '.join([pane, *keys, *subs])} FROM src{where}"
    inner += group_by(["pane", *(f"k{i}" for i in range(len(keys)))])
    return f"SELECT {pid_sql(node, pids)} AS pid, * FROM ({inner})"


def _write_raw(
    con: duckdb.DuckDBPyConnection, batch: Batch, program: Program, query: RawQuery
) -> list[dict[str, object]]:
    schema = pa.ipc.read_schema(pa.py_buffer(program.schemas[query.query]))
    names = ", ".join(f'{c} AS "{f.name}"' for c, f in zip(query.columns, schema, strict=True))
    rows = arrow(con, f"SELECT {names} FROM src" + (f" WHERE {query.where}" if query.where else ""))
    if rows.num_rows == 0:
        return []
    file = write_parquet(batch, f"results/{query.query}", rows, program.schemas[query.query])
    return [{"query": query.query, **file}]
