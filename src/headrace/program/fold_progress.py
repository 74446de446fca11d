"""Progress of streams after a batch, from what its source tasks observed: the same in every slot and in the driver."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.program.messages import Frontiers, Orders, SourceReport, StreamProgress
from headrace.program.program import Program
from headrace.progress import NOTHING_SEEN, Silence, advance, bound_at, find_frontier_of, fold, keep_needed


def fold_progress(program: Program, orders: Orders, sources: Iterable[SourceReport]) -> Frontiers:
    """Progress after this batch: every slot hears from every source task, so all come to the same answer."""
    after: Frontiers = {}
    reports = list(sources)
    for stream in program.streams:
        before = orders.progress[stream.name]
        news = [r.seen[stream.name] for r in reports if stream.name in r.seen]
        seen = fold([before.seen, *news, orders.told.get(stream.name, NOTHING_SEEN)])
        silence = Silence(orders.now, stream.idle, orders.since) if stream.idle is not None else None
        frontier = find_frontier_of(stream.policy, seen, silence, before.frontier)
        if orders.flush is not None:
            frontier = advance(frontier, bound_at(orders.flush.bounds.get(stream.name)))
        kept = keep_needed(stream.policy, seen, frontier, silence, orders.limits.silent_groups)
        after[stream.name] = StreamProgress(kept, frontier)
    return after
