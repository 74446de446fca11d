"""Rates, selectivities and skew as the last batches of a checkpoint measured them (document 000 §4.2.1).

The manifests of a run tell the rows of each stream, the results of each query and how far each stream has come. A rate
is of the time that passed in the stream, between the largest times seen, so it is the same whether a day is read in a
day or in a minute. Where none is known to have passed it is by the clock, and says so: of integers, and of a first batch
alone. The results of a query are a share of the rows of its streams.

Only what is the same there and in the set that is weighed counts: streams with the same columns, queries with the same
text. A new checkpoint can borrow what an older one measured; one that has begun has numbers of its own.

Of every table a manifest has the few mini-partitions that most of its rows went to: a hot one is among them batch after
batch, while those of an even table change, so the sum over batches tells the share of the largest. It is one of what
came through the exchange: of groups, where source tasks pre-aggregate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

import pyarrow as pa

from headrace.coordinator.committed_results import schema_of
from headrace.coordinator.epoch_record import describe_streams, load_record
from headrace.errors import OptionError
from headrace.logical.graph import Graph
from headrace.partitioning.plan_cost import EPOCH, NodeStatistics, RateStatistics
from headrace.program.limits import SHIPPED
from headrace.report.model import BatchReport
from headrace.state import Manifest, ManifestLog, Store

_TEXT = 20.0  # bytes of a value that has no fixed width


def find_rates(store: Store | None, graph: Graph, rates_from: str | None) -> RateStatistics | None:
    """What was measured for a set that is to run in `store`: there, or in the checkpoint whose rates it borrows."""
    if rates_from is None:
        return read_measured_rates(store, graph) if store is not None else None
    if store is not None:
        check_new(store, ManifestLog(store).latest())
    return borrow_rates(rates_from, graph)


def check_new(store: Store, latest: Manifest | None) -> None:
    """Refuse to borrow rates for a checkpoint that has begun."""
    if latest is not None:
        raise OptionError(
            f"checkpoint {store.uri} has begun: its tables are partitioned for good, and what is added to it is placed by "
            "what it measured itself. Leave out --rates-from (rates_from=), or use a new checkpoint"
        )


def borrow_rates(rates_from: str, graph: Graph, last: int = SHIPPED.measured_batches) -> RateStatistics:
    """What the `last` batches of another checkpoint measured, which it must have."""
    store = Store.open(rates_from)
    if load_record(store, ManifestLog(store).latest()) is None:
        raise OptionError(
            f"rates from {store.uri}: that is no checkpoint; expected the --checkpoint of a run that has read rows"
        )
    found = read_measured_rates(store, graph, last)
    if found is None:
        raise OptionError(
            f"rates from {store.uri}: its last batches have measured nothing, since no row came; expected a run that reads rows"
        )
    if not found.rows:
        raise OptionError(
            f"rates from {store.uri}: it has none of the streams {', '.join(graph.streams)} with the columns they have here; "
            "expected a run of the same streams"
        )
    return replace(
        found, origins={name: f"{origin} of {store.uri}" for name, origin in found.origins.items()}
    )


def read_measured_rates(
    store: Store, graph: Graph, last: int = SHIPPED.measured_batches
) -> RateStatistics | None:
    """What the `last` batches of a checkpoint measured of a set; None if there was no row yet."""
    log = ManifestLog(store)
    file = load_record(store, log.latest())
    manifests = [log.read(v) for v in log.versions()[-last - 1 :]] if file is not None else []
    every = [BatchReport.from_json(m.report) for m in manifests if m.report]
    before, reports = every[:-last], every[-last:]
    seconds = reports[-1].started_at + reports[-1].seconds - reports[0].started_at if reports else 0.0
    if file is None or not any(r.rows for r in reports) or seconds <= 0:
        return None
    measured = f"measured in {len(reports)} batch{'es' if len(reports) > 1 else ''}"
    by_clock = f"{measured} by the clock"
    known = describe_streams(graph)
    rates: dict[str, float] = {}
    origins: dict[str, str] = {}
    for name in (s for s in graph.streams if s in file.streams):
        rate = _find_own_rate(name, before, reports)
        origins[name] = by_clock if rate is None else measured
        rates[name] = EPOCH * (_count_rows([name], reports) / seconds if rate is None else rate)
    streams = {s: n for s, n in rates.items() if file.streams[s]["columns"] == known[s]["columns"]}
    nodes: dict[str, NodeStatistics] = {}
    for query, text in graph.queries.items():
        sources = graph.streams_of(query)
        there = [r for r in reports if query in r.queries]  # since the query was added
        came = _count_rows(sources, there)
        if file.queries.get(query, {}).get("text") == text and came and rates.keys() >= set(sources):
            given = sum(r.queries[query].results for r in there) / came * sum(rates[s] for s in sources)
            nodes[query] = NodeStatistics(tuple_size=size_rows(schema_of(file.schemas[query])), rows=given)
            origins[query] = by_clock if by_clock in (origins[s] for s in sources) else measured
    origins = {name: origin for name, origin in origins.items() if name in streams or name in nodes}
    shares = _find_shares(
        reports, {label: sets for label, sets in file.sets.items() if sets.keys() <= streams.keys()}
    )
    return RateStatistics(streams, nodes=nodes, shares=shares, origins=origins)


def _find_own_rate(
    stream: str, before: Sequence[BatchReport], reports: Sequence[BatchReport]
) -> float | None:
    """Rows for a second that passed in the stream, after the first time seen; None if no time is known to have passed."""
    there = [r.streams[stream] for r in (*before, *reports) if stream in r.streams]
    times = [one.max_value for one in there if one.unit == "us" and one.max_value is not None]
    if not times or times[-1] == times[0]:
        return None
    rows = sum(one.rows for one in there[len(there) - len(times) + 1 :])
    return rows / (times[-1] - times[0]) * 1e6


def _count_rows(streams: Collection[str], reports: Sequence[BatchReport]) -> int:
    return sum(r.streams[s].rows for r in reports for s in streams if s in r.streams)


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


__all__ = ["borrow_rates", "check_new", "find_rates", "read_measured_rates", "size_rows"]
