"""Rates, selectivities and skew as the last batches of a checkpoint measured them (document 000 §4.2.1).

The manifests of a run tell the rows of each stream and the results of each query; with the clock these are rates. Only
what is the same there and in the set that is weighed counts: streams with the same columns, queries with the same
text. Of every table a manifest has the few mini-partitions that most of its rows went to: a hot one is among them batch after
batch, while those of an even table change, so the sum over batches tells the share of the largest. It is one of what came through
the exchange: of groups, where source tasks pre-aggregate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from headrace.coordinator.committed_results import schema_of
from headrace.coordinator.epoch_record import describe_streams, load_record
from headrace.logical.graph import Graph
from headrace.partitioning.plan_cost import EPOCH, NodeStatistics, RateStatistics
from headrace.program.limits import SHIPPED
from headrace.report.model import BatchReport
from headrace.state import ManifestLog, Store

_TEXT = 20.0  # bytes of a value that has no fixed width


def read_measured_rates(
    store: Store, graph: Graph, last: int = SHIPPED.measured_batches
) -> RateStatistics | None:
    """What the `last` batches of a checkpoint measured of a set; None if there was no row yet."""
    log = ManifestLog(store)
    file = load_record(store, log.latest())
    manifests = [log.read(v) for v in log.versions()[-last:]] if file is not None else []
    reports = [BatchReport.from_json(m.report) for m in manifests if m.report]
    rows = sum(r.rows for r in reports)
    seconds = reports[-1].started_at + reports[-1].seconds - reports[0].started_at if reports else 0.0
    if file is None or not rows or seconds <= 0:
        return None
    origin = f"measured in {len(reports)} batches" if len(reports) > 1 else "measured in 1 batch"
    known = describe_streams(graph)
    same = [s for s in graph.streams if file.streams.get(s, {}).get("columns") == known[s]["columns"]]
    streams = {s: sum(r.streams[s].rows for r in reports if s in r.streams) * EPOCH / seconds for s in same}
    nodes: dict[str, NodeStatistics] = {}
    for query, text in graph.queries.items():
        there = [r for r in reports if query in r.queries]
        came = sum(r.rows for r in there)  # since the query was added
        if file.queries.get(query, {}).get("text") == text and came:
            given = sum(r.queries[query].results for r in there) / came * rows * EPOCH / seconds
            nodes[query] = NodeStatistics(tuple_size=size_rows(schema_of(file.schemas[query])), rows=given)
    shares = _find_shares(
        reports, {label: sets for label, sets in file.sets.items() if sets.keys() <= set(same)}
    )
    return RateStatistics(
        streams, nodes=nodes, shares=shares, origins=dict.fromkeys([*streams, *nodes], origin)
    )


def size_rows(schema: pa.Schema) -> float:
    """Bytes of a row by its types."""
    return sum(_size_value(field.type) for field in schema)


def _size_value(kind: pa.DataType) -> float:
    try:
        return float(max(1.0, kind.bit_width / 8))
    except ValueError:
        return _TEXT


def _find_shares(
    reports: Sequence[BatchReport], sets: dict[str, dict[str, str]]
) -> dict[tuple[str, str], float]:
    """By stream and partitioning set: the largest share of a mini-partition in any table that is partitioned so."""
    shares: dict[tuple[str, str], float] = {}
    for label, by_stream in sets.items():
        there = [r for r in reports if label in r.fullest]
        rows = sum(r.tables[label] for r in there)
        by_pid: Counter[int] = Counter()
        for report in there:
            by_pid.update(dict(report.fullest[label]))
        for pair in by_stream.items() if rows else ():
            shares[pair] = max(shares.get(pair, 0.0), max(by_pid.values(), default=0) / rows)
    return shares


__all__ = ["read_measured_rates", "size_rows"]
