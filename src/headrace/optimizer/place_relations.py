"""Where rows are: the partitioning every relation has, the one it needs, and the exchanges that follow.

A table over rows is partitioned as the search over all that reads it chooses (`partitioning/choose_table_keys.py`): by
some of its keys, or by expressions of them, so that aggregations downstream run in the same slots. An aggregation over
windowed rows whose groups are not together where it reads them needs an exchange of its own, to the slots of the next
level, by those of its keys that its readers also group by (`partitioning/common_keys.py`). Derivations keep the
partitioning of their input as long as it can be told from their columns; the hash of another type may be another slot,
so a union that changes the type of a partitioning column loses it.

A query never changes the partitioning of a table that was there before it: only readers that are no younger than a
table are asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp, parse_one

from headrace.dialect.duck import translate
from headrace.errors import PlanError
from headrace.logical.graph import Aggregate, Derive, Merge, Rows
from headrace.optimizer.describe import describe_input, describe_part_keys, describe_table_keys
from headrace.optimizer.plan import Exchange, GatherTable, PaneTable, Part, Plan, Table
from headrace.partitioning.choose_table_keys import TableKey, choose_table_keys
from headrace.partitioning.common_keys import common_keys
from headrace.partitioning.express_key import express_key, number_columns
from headrace.partitioning.recognize_key import recognize_key
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
                self.parts[name] = tuple(self._derive(relation, p) for p in self.parts.get(relation.input, ()))
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

    def _list_readers(self, members: list[Aggregate]) -> list[str]:
        born = self.plan.settings.generation(members[0].name)
        return [n for n in self.plan.relations if self.plan.settings.generation(n) <= born]

    def _choose_keys(self, members: list[Aggregate]) -> tuple[TableKey, ...]:
        """Of a table over rows: as chosen for all it is read together with, if tasks can compute that."""
        readers = self._list_readers(members)
        chosen = choose_table_keys(self.graph, members, readers, self.plan.settings.pids)
        try:
            for key in chosen or ():
                if isinstance(key, str):
                    self._type_of_key(members[0].name, key)
        except PlanError:
            chosen = None
        return common_keys(self.graph, members, readers) if chosen is None else chosen

    def _place_over_rows(self, relation: Aggregate) -> None:
        table = self.table_of.get(relation.name)
        if table is not None:
            self._give(relation, self.tables[table])

    def _give(self, relation: Aggregate, table: Table) -> None:
        keys = tuple(f"k{k}" if isinstance(k, int) else parse_one(k, dialect="spark") for k in table.partition)
        self.parts[relation.name] = (Part(table.level, carry_partition(keys, relation.outputs, {}), table.id),)

    def _place_over_windows(self, relation: Aggregate) -> None:
        """An aggregation over windowed rows: in the same window, or in a window of its own."""
        parts = self.parts.get(relation.input, ())
        if not parts:
            return
        sets = {p.partition for p in parts}
        partition = next(iter(sets)) if len(sets) == 1 else None
        together = len({p.level for p in parts}) == 1 and partition is not None
        named = [(f"k{i}", k) for i, k in enumerate(relation.keys)]
        kept = carry_partition(partition, named, self.plan.types.get(relation.input, {})) if together else None
        if kept is not None and relation.window is None and len(parts) == 1:
            self.table_of[relation.name] = None
            shown = carry_partition(kept, relation.outputs, {})
            self.parts[relation.name] = (Part(parts[0].level, shown, parts[0].table),)
            return
        local_keys = self._hash_alike(relation, kept, parts) if kept is not None else None
        local = local_keys is not None
        by = local_keys if local_keys is not None else common_keys(self.graph, [relation], self._list_readers([relation]))
        table = self._make_table(relation, max(p.level for p in parts) + (not local), by)
        self.tables[table.id] = table
        self.table_of[relation.name] = table.id
        if not local:
            self._exchange(table, relation, self._explain_exchange(relation, parts))
        self._give(relation, table)

    def _hash_alike(
        self, relation: Aggregate, kept: tuple[str | exp.Expr, ...], parts: tuple[Part, ...]
    ) -> tuple[TableKey, ...] | None:
        """Keys of a table for rows that stay in their slots: they have the hash by which these came there."""
        found: list[TableKey] = []
        for i, key in enumerate(kept):
            text = int(key[1:]) if isinstance(key, str) else key.sql(dialect="spark")
            hashed = {self._type_of(self.tables[p.table], i) for p in parts}
            if isinstance(text, str) and hashed != {self._type_of_key(relation.name, text)}:
                return None
            found.append(text)
        return tuple(found)

    def _type_of(self, table: Table, position: int) -> str:
        return self._type_of_key(table.members[0], table.partition[position])

    def _type_of_key(self, member: str, key: TableKey) -> str:
        """The type in which a table's partitioning key is hashed; unknown where a set is only checked."""
        typed = self.plan.aggregates.get(member)
        if typed is None:
            return ""
        text = f"k{key}" if isinstance(key, int) else key
        return translate(parse_one(text, dialect="spark"), {f"k{i}": t for i, t in enumerate(typed.keys)}).type

    def _make_table(self, relation: Aggregate, level: int, partition: tuple[TableKey, ...]) -> Table:
        keys = ", ".join(k.sql(dialect="spark") for k in relation.keys) or "all"
        id_, label = f"t{len(self.tables)}", f"{describe_input(self.graph, relation.input)} by {keys}"
        if relation.window is None:
            return GatherTable(id_, label, (relation.name,), level, partition)
        generation = self.plan.settings.generation(relation.name)
        grid = share_grid([relation.window])
        return PaneTable(id_, label, (relation.name,), level, partition, grid, (relation.window,), generation)

    def _derive(self, relation: Derive, part: Part) -> Part:
        carried = carry_partition(part.partition, relation.outputs, self.plan.types.get(relation.input, {}))
        return replace(part, partition=carried)

    def _arm(self, union: str, arm: str, part: Part) -> Part:
        theirs, ours = self.plan.types.get(arm, {}), self.plan.types.get(union, {})
        used = {c if isinstance(c, str) else d.name for c in part.partition or () for d in _columns(c)}
        changed = [c for c in used if theirs.get(c) != ours.get(c)]
        return replace(part, partition=None) if changed else part

    def _exchange(self, table: Table, relation: Aggregate, reason: str) -> None:
        self.exchanges.append(Exchange(table.id, table.level, describe_table_keys(table, relation), reason))

    def _explain_exchange(self, relation: Aggregate, parts: tuple[Part, ...]) -> str:
        name, source = relation.name.split("$")[0], describe_input(self.graph, relation.input)
        if len({p.level for p in parts}) > 1:
            return f"{name} unites rows that are in the slots of different levels"
        if len({p.partition for p in parts}) > 1:
            return f"{name} unites rows that are partitioned in different ways"
        has = describe_part_keys(parts[0])
        if has is None:
            return f"{source} does not show what its rows are partitioned by"
        return f"{source} is partitioned by ({', '.join(has)}), which {name} does not group by"


def _columns(key: str | exp.Expr) -> list[exp.Column]:
    return [exp.column(key)] if isinstance(key, str) else list(key.find_all(exp.Column))


def carry_partition(
    partition: tuple[str | exp.Expr, ...] | None, outputs: Sequence[tuple[str, exp.Expr]], types: Mapping[str, str]
) -> tuple[str | exp.Expr, ...] | None:
    """A partitioning as it shows in outputs computed of its columns; None if it does not."""
    if partition is None:
        return None
    names = {e.name: n for n, e in reversed(outputs) if isinstance(e, exp.Column)}
    given = [recognize_key(e, types, as_value=True) for _, e in outputs]
    found: list[str | exp.Expr] = []
    for key in partition:
        if isinstance(key, str):
            if key not in names:
                return None
            found.append(names[key])
            continue
        recognized = recognize_key(key, types, as_value=True)
        ways = express_key(recognized, given, types) if recognized is not None else frozenset()
        if not ways:
            return None
        found.append(parse_one(number_columns(min(ways), [n for n, _ in outputs]), dialect="spark"))
    return tuple(found)
