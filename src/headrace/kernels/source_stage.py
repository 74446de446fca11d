"""The source stage: one pass over a task's share of the batch for the whole query set.

In: chunks of rows of a stream, either sent by Spark (`spark_rows`) or read from files in the task (`scan`); each
becomes the relation `src` with `_t` (ticks of the progressing attribute) and `c0…` (the scalar expressions
the set needs). Out: for each node the partial rows per (pane, keys), by slot; and a `SourceReport` to every slot, so
that progress travels with the data, as punctuation does (document 003 §4.1), and one Spark job is enough
for a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Protocol

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from headrace.dialect.sql_quotes import quote_name
from headrace.kernels import payloads
from headrace.kernels.connection import connect, fetch_arrow
from headrace.kernels.folder_samples import FolderSampler
from headrace.kernels.late_rows import PART_OF_STREAM, Judge, Screened, drop_late, make_judge
from headrace.kernels.observe import observe_rows
from headrace.kernels.result_files import ResultWriter, read_schema, write_late
from headrace.kernels.slot_kinds import OPERATORS
from headrace.kernels.sql_pieces import name_pid_sql
from headrace.program.messages import Orders, SourceReport, StreamCount
from headrace.program.program import Program, RowsQuery
from headrace.progress import Observation, fold
from headrace.progress.advance_program import ProgressMap, advance_program, pair_up
from headrace.state import OutputFile


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


def run_source(program: Program, orders: Orders, chunks: Iterable[Chunk]) -> Iterator[pa.RecordBatch]:
    """The source stage over one task's chunks."""
    con = connect(program.time_zone, program.user, orders.memory, orders.scratch)
    seen = {s.name: Observation() for s in program.streams}
    counts = {s.name: StreamCount() for s in program.streams}
    streams = {s.name: s for s in program.streams}
    progress = find_progress_before(program, orders)
    rules = {s.name: make_judge(orders, s, progress) for s in program.streams}
    feed = _Feeding(program, orders, progress, by_folder=False)
    results = ResultWriter(orders.store, orders.version, program.schemas, orders.numbers.results, orders.limits)
    late: list[OutputFile] = []
    sent = 0
    for chunk in chunks:
        name = chunk.stream
        schema = program.late_schemas[name]
        screened = chunk.screen(con, rules[name], read_schema(schema))
        seen[name] = fold([seen[name], observe_rows(con, streams[name], orders, screened.largest)])
        counts[name] = _count(counts[name], chunk.num_rows, screened.late)
        if screened.late is not None:
            number = orders.numbers.late[name]
            late.append(write_late(orders.store, name, number, orders.version, screened.late, schema))
        for node, rows in feed.make_rows(con, name):
            sent += rows.num_rows if program.node(node).level == 0 else 0
            for slot, part in payloads.split_by_slot(rows, orders.route, orders.slots):
                yield from payloads.make_payloads(slot, node, part, orders.limits.payload_bytes)
        for query in program.passing:
            if query.stream == name:
                results.write(query.query, _select_rows(con, program, query))
        chunk.leave(con)
    outputs = (*late, *results.close())
    orders.store.sync([file.path for file in outputs])
    yield payloads.make_message(0, SourceReport(seen, counts, outputs, sent))
    if orders.slots > 1:
        yield payloads.make_messages(range(1, orders.slots), SourceReport(seen, sent=sent))


def find_progress_before(program: Program, orders: Orders) -> ProgressMap:
    """What is known of every relation before the batch: rows of a batch are judged by no progress of its own."""
    before = {name: progress.frontier for name, progress in orders.progress.items()}
    return advance_program(program.rules, pair_up(before, before))


def read_own_rows(
    program: Program, orders: Orders, chunks: Iterable[Chunk], sampler: FolderSampler
) -> Iterator[tuple[str, pa.Table]]:
    """In a slot: the rows of folders it owns, for the nodes kept by folder. Source tasks have judged the same rows and told
    what they saw, so here they are only read.
    """
    con = connect(program.time_zone, program.user, orders.memory, orders.scratch)
    progress = find_progress_before(program, orders)
    rules = {s.name: make_judge(orders, s, progress) for s in program.streams}
    feed = _Feeding(program, orders, progress, by_folder=True)
    for chunk in chunks:
        chunk.screen(con, rules[chunk.stream], read_schema(program.late_schemas[chunk.stream]))
        for node, rows in feed.make_rows(con, chunk.stream):
            sampler.add(con, node, rows)
            yield node, rows
        chunk.leave(con)


class _Feeding:
    """What rows of `src` become for nodes: partial rows by group, or rows by key, without those that a node does not take."""

    def __init__(self, program: Program, orders: Orders, progress: ProgressMap, by_folder: bool) -> None:
        self._nodes, self._orders, self._progress = program.fed_nodes(by_folder), orders, progress

    def make_rows(self, con: duckdb.DuckDBPyConnection, stream: str) -> Iterator[tuple[str, pa.Table]]:
        for node in self._nodes:
            for feed in (feed for feed in node.feeds if feed.stream == stream):
                rows = OPERATORS[type(node)].feed_sql(node, feed, self._orders.preaggregate)
                taken = drop_late(node, self._progress[node.name].before, rows)
                yield node.name, fetch_arrow(con, name_pid_sql(node, self._orders.route, taken))


def _count(count: StreamCount, rows: int, late: pa.Table | None) -> StreamCount:
    count = replace(count, rows=count.rows + rows)
    if late is None:
        return count
    missed, contradicting = (pc.sum(pc.equal(late.column("_reason"), r)).as_py() or 0 for r in PART_OF_STREAM)
    return replace(
        count,
        late=count.late + missed,
        contradicting=count.contradicting + contradicting,
        rejected=count.rejected + late.num_rows - missed - contradicting,
    )


def _select_rows(con: duckdb.DuckDBPyConnection, program: Program, query: RowsQuery) -> pa.Table:
    """What a query that keeps no state makes of `src`."""
    fields = read_schema(program.schemas[query.query])
    names = ", ".join(f"{c} AS {quote_name(f.name)}" for c, f in zip(query.columns, fields, strict=True))
    return fetch_arrow(con, f"SELECT {names} FROM src" + (f" WHERE {query.where}" if query.where else ""))
