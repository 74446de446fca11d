"""What tables are partitioned by: as was chosen when they were new, else as the search chooses now (`partitioning/`).

A query never changes the partitioning of a table that was there before it: only readers that are no younger than a
table are asked, and what was chosen for a table that may have state (`Settings.placements`, kept in the checkpoint) is taken
as it is, whatever rates are measured or declared since. Those that were measured place new tables. For the same reason removed
queries are placed like the others: what they read is stored in tables that they share (`release_tables` lets go of the rest).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import parse_one

from headrace.dialect.duck import translate
from headrace.errors import PlanError
from headrace.logical.graph import Aggregate, Join, KeyedJoin
from headrace.optimizer.plan import SharedPlan
from headrace.partitioning.advise_partitioning import NOTHING, fix_streams
from headrace.partitioning.choose_exchange_keys import choose_exchange_keys
from headrace.partitioning.choose_table_keys import TablePlacement, choose_join_keys, choose_table_keys
from headrace.partitioning.follow_rows import TableKey
from headrace.partitioning.plan_cost import RateStatistics
from headrace.partitioning.restrictions import read_restrictions


class PlacementChooser:
    """`placements` is what was chosen of every aggregation and join, to be kept."""

    def __init__(self, plan: SharedPlan) -> None:
        self.plan, self.graph = plan, plan.graph
        self.placements: dict[str, TablePlacement] = {}
        self.limits = {s: one for s, one in read_restrictions(self.graph).items() if not one.fixed}
        self.limits |= fix_streams(self.graph, plan.settings.partition_by)

    def choose_keys(self, members: list[Aggregate]) -> tuple[TableKey, ...]:
        """Of a table over rows: as chosen for all it is read together with, if tasks can compute that."""
        name, readers = members[0].name, self._list_readers(members)
        placement = self._find_settled(name)
        if placement is None:
            pids, known = self.plan.settings.pids, self._find_rates(name)
            placement = choose_table_keys(self.graph, members, readers, pids, self.limits, known)
            if placement is None or not self._can_compute(members[0], placement.keys):
                placement = self._choose_own_keys(members)
        self.placements |= dict.fromkeys((m.name for m in members), placement)
        return placement.keys

    def _find_settled(self, name: str) -> TablePlacement | None:
        """What needs no search: as its state is kept, or by nothing, as in the partition-agnostic plan."""
        settings = self.plan.settings
        return settings.placements.get(name) or (TablePlacement(()) if settings.partition_by == NOTHING else None)

    def _choose_own_keys(self, members: list[Aggregate]) -> TablePlacement:
        """Of a table that no partitioning of the streams serves: keys for what reads it, or all."""
        name, readers, given = members[0].name, self._list_readers(members), members[0].input
        types, pids = self.plan.types[given], self.plan.settings.pids
        placement = choose_exchange_keys(self.graph, members, readers, pids, types, self._find_rates(name))
        can = self._can_compute(members[0], placement.keys)
        return placement if can else TablePlacement(tuple(range(len(members[0].keys))))

    def _list_readers(self, members: Sequence[Aggregate | Join]) -> list[str]:
        born = self.plan.settings.cohort(members[0].name)
        return [n for n in self.plan.relations if self.plan.settings.cohort(n) <= born]

    def _find_rates(self, name: str) -> RateStatistics | None:
        """What was measured, for what is new; what is older was placed without."""
        settings = self.plan.settings
        return settings.measured if settings.cohort(name) > settings.settled else None

    def _can_compute(self, reader: Aggregate | Join, keys: tuple[TableKey, ...]) -> bool:
        """Whether tasks can compute these keys of a table."""
        types = {f"k{i}": t for i, t in enumerate(self.plan.types_of_keys(reader.name))}
        try:
            for key in keys:
                translate(parse_one(key if isinstance(key, str) else f"k{key}", dialect="spark"), types)
        except PlanError:
            return False
        return True

    def choose_exchange(self, relation: Aggregate) -> tuple[TableKey, ...]:
        """Of a table to which results are sent."""
        placement = self._find_settled(relation.name) or self._choose_own_keys([relation])
        self.placements[relation.name] = placement
        return placement.keys

    def choose_join_keys(self, join: KeyedJoin) -> tuple[TableKey, ...]:
        """Of the rows a join keeps: as serves what reads it, or by all keys."""
        placement = self._find_settled(join.name)
        if placement is None and isinstance(join, Join):
            limits = {s: one for s, one in self.limits.items() if not one.fixed}
            readers, pids = self._list_readers([join]), self.plan.settings.pids
            placement = choose_join_keys(self.graph, join, readers, pids, limits, self._find_rates(join.name))
            if placement is not None and not self._can_compute(join, placement.keys):
                placement = None
        if placement is None:
            placement = TablePlacement(tuple(range(len(join.inputs[0].keys))))
        self.placements[join.name] = placement
        return placement.keys
