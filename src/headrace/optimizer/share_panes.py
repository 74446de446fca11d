"""Which aggregations share one table of panes (document 003 §6.2, across queries).

Aggregations over streams that agree on source, filter and keys can live on the same panes: the gcd of their
windows. They share only if that is no finer than the finest of them needs by itself, or sharing would cost
more than it saves (panes of 1 s for windows of 60 s and 7 s). Landmark windows, whose old panes melt into
one, share with their like. A later *generation* never joins an earlier one's table: its state exists
already.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from headrace.logical.plan import Aggregate
from headrace.windows import WindowSpec, shared_pane


@dataclass
class PaneGroup:
    """Aggregations that share their panes; `signature` is what they agree on."""

    signature: Hashable
    generation: int
    members: list[Aggregate] = field(default_factory=list)

    @property
    def specs(self) -> list[WindowSpec]:
        return [m.window for m in self.members if m.window is not None]

    def accepts(self, window: WindowSpec) -> bool:
        together = [*self.specs, window]
        if any(s.range is None for s in together):
            return window in self.specs
        width, _ = shared_pane(together)
        return width >= min(s.pane for s in together)


def share_panes(
    aggregations: Iterable[Aggregate],
    signature: Callable[[Aggregate], Hashable],
    generation: Callable[[Aggregate], int],
) -> list[PaneGroup]:
    """Aggregations over streams, in order, put into groups."""
    groups: list[PaneGroup] = []
    for aggregation in aggregations:
        assert aggregation.window is not None
        key, born = signature(aggregation), generation(aggregation)
        for group in groups:
            if (group.signature, group.generation) == (key, born) and group.accepts(aggregation.window):
                group.members.append(aggregation)
                break
        else:
            groups.append(PaneGroup(key, born, [aggregation]))
    return groups
