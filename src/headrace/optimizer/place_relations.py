"""Where rows are: the partitioning every relation has, the one it needs, and the exchanges that follow.

A table over rows is partitioned by those of its keys that the aggregations downstream also group by
(`partitioning/common_keys.py`), so that these run in the same slots. An aggregation over windowed rows whose groups
are not together where it reads them needs an exchange of its own, to the slots of the next level. Derivations keep
the partitioning of their input as long as its columns survive; the hash of another type may be another slot, so a
union that changes the type of a partitioning column loses it.

A query never changes the partitioning of a table that was there before it: only readers that are no younger than a
table are asked.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from headrace.logical.graph import Aggregate, Derive, Merge, Rows
from headrace.optimizer.describe import describe_input
from headrace.optimizer.plan import Exchange, GatherTable, PaneTable, Part, Plan, Table
from headrace.partitioning.common_keys import common_keys, find_key_outputs
from headrace.windows import share_grid


def place_relations(plan: Plan) -> Plan:
    return _Placing(plan).run()


class _Placing:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.graph = plan, plan.graph
        self.tables: dict[str, Table] = {}
        self.table_of = dict(plan.table_of)
        self.parts: dict[str, tuple[Part, ...]] = {}
        self.exchanges: list[Exchange] = []

    def run(self) -> Plan:
        for table in self.plan.tables.values():
            members = [self._aggregate(m) for m in table.members]
            placed = replace(table, partition=self._choose_keys(members))
            self.tables[table.id] = placed
            reason = f"groups of {describe_input(self.graph, members[0].input)} come from every source task"
            self._exchange(placed, members[0], reason)
        for name in self.plan.relations:
            relation = self.graph.relations[name]
            if isinstance(relation, Merge):
                self.parts[name] = tuple(
                    self._arm(name, arm, part) for arm in relation.inputs for part in self.parts.get(arm, ())
                )
            elif isinstance(relation, Derive):
                self.parts[name] = tuple(_derive(relation, p) for p in self.parts.get(relation.input, ()))
            elif isinstance(relation, Aggregate) and name in self.plan.used:
                if isinstance(self.graph.relations[relation.input], Rows):
                    self._place_over_rows(relation)
                else:
                    self._place_over_windows(relation)
        return self.plan.with_(
            tables=self.tables, table_of=self.table_of, parts=self.parts, exchanges=tuple(self.exchanges)
        )

    def _aggregate(self, name: str) -> Aggregate:
        relation = self.graph.relations[name]
        assert isinstance(relation, Aggregate)
        return relation

    def _choose_keys(self, members: list[Aggregate]) -> tuple[int, ...]:
        born = self.plan.settings.generation(members[0].name)
        readers = [n for n in self.plan.relations if self.plan.settings.generation(n) <= born]
        return common_keys(self.graph, members, readers)

    def _place_over_rows(self, relation: Aggregate) -> None:
        table = self.table_of.get(relation.name)
        if table is not None:
            self._give(relation, self.tables[table])

    def _give(self, relation: Aggregate, table: Table) -> None:
        self.parts[relation.name] = (Part(table.level, _name_keys(relation, table.partition), table.id),)

    def _place_over_windows(self, relation: Aggregate) -> None:
        """An aggregation over windowed rows: in the same window, or in a window of its own."""
        parts = self.parts.get(relation.input, ())
        if not parts:
            return
        keys = {k.name: i for i, k in enumerate(relation.keys) if isinstance(k, exp.Column)}
        sets = {p.partition for p in parts}
        partition = next(iter(sets)) if len(sets) == 1 else None
        local = len({p.level for p in parts}) == 1 and partition is not None and all(c in keys for c in partition)
        if local and partition is not None and relation.window is None and len(parts) == 1:
            self.table_of[relation.name] = None
            kept = _name_keys(relation, tuple(keys[c] for c in partition))
            self.parts[relation.name] = (Part(parts[0].level, kept, parts[0].table),)
            return
        by = tuple(keys[c] for c in partition) if local and partition is not None else self._choose_keys([relation])
        table = self._make_table(relation, max(p.level for p in parts) + (not local), by)
        self.tables[table.id] = table
        self.table_of[relation.name] = table.id
        if not local:
            self._exchange(table, relation, self._explain_exchange(relation, parts))
        self._give(relation, table)

    def _make_table(self, relation: Aggregate, level: int, partition: tuple[int, ...]) -> Table:
        keys = ", ".join(k.sql(dialect="spark") for k in relation.keys) or "all"
        id_, label = f"t{len(self.tables)}", f"{describe_input(self.graph, relation.input)} by {keys}"
        if relation.window is None:
            return GatherTable(id_, label, (relation.name,), level, partition)
        generation = self.plan.settings.generation(relation.name)
        grid = share_grid([relation.window])
        return PaneTable(id_, label, (relation.name,), level, partition, grid, (relation.window,), generation)

    def _arm(self, union: str, arm: str, part: Part) -> Part:
        theirs, ours = self.plan.types.get(arm, {}), self.plan.types.get(union, {})
        changed = [c for c in part.partition or () if theirs.get(c) != ours.get(c)]
        return replace(part, partition=None) if changed else part

    def _exchange(self, table: Table, relation: Aggregate, reason: str) -> None:
        by = tuple(relation.keys[i].sql(dialect="spark") for i in table.partition)
        self.exchanges.append(Exchange(table.id, table.level, by, reason))

    def _explain_exchange(self, relation: Aggregate, parts: tuple[Part, ...]) -> str:
        name, source = relation.name.split("$")[0], describe_input(self.graph, relation.input)
        if len({p.level for p in parts}) > 1:
            return f"{name} unites rows that are in the slots of different levels"
        if len({p.partition for p in parts}) > 1:
            return f"{name} unites rows that are partitioned in different ways"
        has = parts[0].partition
        if has is None:
            return f"{source} does not show what its rows are partitioned by"
        return f"{source} is partitioned by ({', '.join(has)}), which {name} does not group by"


def _derive(relation: Derive, part: Part) -> Part:
    carried = {e.name: n for n, e in relation.outputs if isinstance(e, exp.Column)}
    if part.partition is None or not all(c in carried for c in part.partition):
        return replace(part, partition=None)
    return replace(part, partition=tuple(carried[c] for c in part.partition))


def _name_keys(relation: Aggregate, partition: tuple[int, ...]) -> tuple[str, ...] | None:
    """The output columns that show the partitioning keys, if all are shown."""
    shown = {key: name for name, key in find_key_outputs(relation)}
    return tuple(shown[k] for k in partition) if all(k in shown for k in partition) else None
