"""Where rows are: the partitioning every relation has, the one it needs, and the exchanges that follow.

A table over rows is partitioned by those of its keys that the aggregations downstream also group by
(`partitioning/common_keys.py`), so that these run in the same slots. An aggregation over windowed rows whose groups
are not together where it reads them needs an exchange of its own, to the slots of the next level. Derivations keep
the partitioning of their input as long as its columns survive; the hash of another type may be another slot, so a
union that changes the type of a partitioning column loses it.

The inputs of a join are kept as tables of rows, by its keys; joins that agree on an input and its keys share one. They
run in the slots of the highest level any input comes from, or of the next one where the rows are not together.

A lookup in a static table needs no rows together, so it runs where its input is. Rows over streams are nowhere yet: they are
sent to slots by the lookup's keys, and nothing is kept of them.

A query never changes the partitioning of a table that was there before it: only readers that are no younger than a
table are asked.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

from sqlglot import exp

from headrace.dialect.duck_expression import spark_sql
from headrace.logical.graph import Aggregate, Derive, Join, Lookup, Merge, Rows, TemporalJoin
from headrace.optimizer.describe import describe_input
from headrace.optimizer.plan import (
    Exchange,
    GatherTable,
    PaneTable,
    Part,
    Plan,
    RowTable,
    Table,
    TransitTable,
)
from headrace.optimizer.trace_columns import cast_to, find_leaves, name_column
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
        self.inputs_of: dict[str, tuple[str, ...]] = {}
        self.shared: dict[Hashable, str] = {}  # what tables of rows agree on -> table

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
            elif isinstance(relation, (Join, TemporalJoin)):
                if name in self.plan.used:
                    self._place_join(relation)
            elif isinstance(relation, Lookup):
                if name in self.plan.used:
                    self._place_lookup(relation)
            elif isinstance(relation, Derive):
                self.parts[name] = tuple(_derive(relation, p) for p in self.parts.get(relation.input, ()))
            elif isinstance(relation, Aggregate) and name in self.plan.used:
                if isinstance(self.graph.relations[relation.input], Rows):
                    self._place_over_rows(relation)
                else:
                    self._place_over_slots(relation)
        return self.plan.with_(
            tables=self.tables,
            table_of=self.table_of,
            parts=self.parts,
            exchanges=tuple(self.exchanges),
            inputs_of=self.inputs_of,
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

    # -- joins --------------------
    def _place_join(self, join: Join | TemporalJoin) -> None:
        """The tables of a join's inputs, and where its results are."""
        wanted = self._partition_join(join)
        level = 0
        for i, given in enumerate(join.inputs):
            for part in self.parts.get(given.relation, ()):
                level = max(level, part.level + (not self._is_local(join, i, part, wanted)))
        tables = tuple(self._keep_rows(join, i, level, wanted) for i in range(len(join.inputs)))
        self.inputs_of[join.name] = tables
        shown = {c.column: c.name for c in join.visible if c.input == 0}
        keys = join.inputs[0].keys
        named = [shown.get(k.name) if isinstance(k, exp.Column) else None for k in keys]
        types = self.plan.joins.get(join.name)
        same = types is None or types.keys == types.inputs[0]
        by = tuple(n for i in wanted if (n := named[i]) is not None)
        partition = by if same and len(by) == len(wanted) and join.kind != "full" else None
        self.parts[join.name] = (Part(level, partition, tables[0]),)

    def _partition_join(self, join: Join | TemporalJoin) -> tuple[int, ...]:
        """The keys to partition a join by: those its inputs are partitioned by already, or all."""
        for i, given in enumerate(join.inputs):
            columns = {k.name: n for n, k in enumerate(given.keys) if isinstance(k, exp.Column)}
            for part in self.parts.get(given.relation, ()):
                if part.partition and all(c in columns for c in part.partition):
                    by = tuple(columns[c] for c in part.partition)
                    if self._is_local(join, i, part, by):
                        return by
        return tuple(range(len(join.inputs[0].keys)))

    def _is_local(self, join: Join | TemporalJoin, number: int, part: Part, wanted: tuple[int, ...]) -> bool:
        """Whether rows of an input are in the slots where the join wants them."""
        keys, types = join.inputs[number].keys, self.plan.joins.get(join.name)
        if types is not None and any(types.keys[i] != types.inputs[number][i] for i in wanted):
            return False
        return bool(wanted) and part.partition == tuple(keys[i].name if isinstance(keys[i], exp.Column) else None for i in wanted)

    def _keep_rows(self, join: Join | TemporalJoin, number: int, level: int, partition: tuple[int, ...]) -> str:
        """The table of an input's rows, shared with the joins before that agree on it."""
        given, types = join.inputs[number], self.plan.joins.get(join.name)
        keys, key_types = given.keys, types.keys if types is not None else ()
        if types is not None:
            keys = tuple(map(cast_to, given.keys, types.inputs[number], types.keys))
        generation = self.plan.settings.generation(join.name)
        rows = self._describe_rows(given.relation)
        temporal = number if isinstance(join, TemporalJoin) else None  # keeps other rows than a join does
        agreed = (rows, tuple(map(spark_sql, keys)), key_types, level, partition, given.time, generation, temporal)
        columns = {c.column for c in (*join.visible, *join.hidden) if c.input == number}
        if temporal == 1:  # which of two versions at one time counts must not depend on who reads what
            columns = set(self.graph.relations[given.relation].columns)
        found = self.shared.get(agreed)
        if found is not None:
            old = self.tables[found]
            assert isinstance(old, RowTable)
            every = tuple(c for c in self.graph.relations[old.input].columns if c in columns or c in old.columns)
            self.tables[found] = replace(old, columns=every, readers=(*old.readers, (join.name, number)))
            return found
        by = ", ".join(k.sql(dialect="spark") for k in given.keys) or "all"
        kept = tuple(c for c in self.graph.relations[given.relation].columns if c in columns)
        label = f"rows of {describe_input(self.graph, given.relation)} by {by}"
        id_ = f"t{len(self.tables)}"
        table = RowTable(id_, label, given.relation, keys, key_types, kept, ((join.name, number),), level, partition, generation)
        self.tables[id_] = table
        self.shared[agreed] = id_
        reason = f"rows of {describe_input(self.graph, given.relation)} meet the others of {join.name.split('$')[0]}"
        local = all(p.level == level for p in self.parts.get(given.relation, ()))
        if find_leaves(self.graph, given.relation) or not local or not self.parts.get(given.relation):
            exchanged = tuple(given.keys[i].sql(dialect="spark") for i in partition)
            self.exchanges.append(Exchange(id_, level, exchanged, reason))
        return id_

    # -- lookups --------------------
    def _place_lookup(self, lookup: Lookup) -> None:
        shown = {c.column: c.name for c in lookup.visible if c.input == 0}
        parts = self.parts.get(lookup.input, ())
        if find_leaves(self.graph, lookup.input):
            parts = (self._send_through(lookup),)
        self.parts[lookup.name] = tuple(_rename_partition(part, shown) for part in parts)

    def _send_through(self, lookup: Lookup) -> Part:
        """Rows of streams in slots, by the keys of the lookup; lookups that agree on them share the way."""
        mine, types = tuple(k for k, _ in lookup.keys), self.plan.joins.get(lookup.name)
        keys, key_types = mine, types.keys if types is not None else ()
        if types is not None:
            keys = tuple(map(cast_to, mine, types.inputs[0], types.keys))
        if not keys:  # any slot will do
            times = tuple(self.plan.passages[lookup.input].columns)[:1]
            keys = tuple(name_column(c) for c in times)
            key_types = tuple(self.plan.types.get(lookup.input, {}).get(c, "bigint") for c in times)
        wanted = {c.column for c in (*lookup.visible, *lookup.hidden) if c.input == 0}
        columns = tuple(c for c in self.graph.relations[lookup.input].columns if c in wanted)
        level = max((p.level + 1 for p in self.parts.get(lookup.input, ())), default=0)
        agreed = ("transit", self._describe_rows(lookup.input), tuple(map(spark_sql, keys)), key_types, level)
        found = self.shared.get(agreed)
        if found is None:
            found = self.shared[agreed] = f"t{len(self.tables)}"
            label = f"rows of {describe_input(self.graph, lookup.input)} for {lookup.alias}"
            by = tuple(range(len(keys)))
            table = TransitTable(found, label, lookup.input, keys, key_types, columns, (lookup.name,), level, by)
            self.tables[found] = table
            reason = f"rows of {describe_input(self.graph, lookup.input)} are looked up in {lookup.table}"
            self.exchanges.append(Exchange(found, level, tuple(k.sql(dialect="spark") for k in keys), reason))
        else:
            old = self.tables[found]
            assert isinstance(old, TransitTable)
            every = tuple(c for c in self.graph.relations[old.input].columns if c in columns or c in old.columns)
            self.tables[found] = replace(old, columns=every, members=(*old.members, lookup.name))
        plain = [k.name if isinstance(k, exp.Column) else None for k in keys]
        named = tuple(n for n in plain if n is not None)
        return Part(level, named if len(named) == len(plain) and named else None, found)

    def _describe_rows(self, name: str) -> Hashable:
        """What relations must agree on to be the same rows: for those over streams, streams and filters."""
        relation = self.graph.relations[name]
        if not isinstance(relation, Rows):
            return name
        return tuple(
            (b.stream, spark_sql(b.where) if b.where is not None else None, *((c, spark_sql(e)) for c, e in b.columns))
            for b in relation.branches
        )

    # -- aggregations over what slots hold --------------------
    def _place_over_slots(self, relation: Aggregate) -> None:
        """An aggregation over the rows of slots: in the window of its input, or in a window of its own."""
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
        local = local and not find_leaves(self.graph, relation.input)
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
    return _rename_partition(part, {e.name: n for n, e in relation.outputs if isinstance(e, exp.Column)})


def _rename_partition(part: Part, carried: Mapping[str, str]) -> Part:
    """A part of a relation whose columns are carried on under other names."""
    if part.partition is None or not all(c in carried for c in part.partition):
        return replace(part, partition=None)
    return replace(part, partition=tuple(carried[c] for c in part.partition))


def _name_keys(relation: Aggregate, partition: tuple[int, ...]) -> tuple[str, ...] | None:
    """The output columns that show the partitioning keys, if all are shown."""
    shown = {key: name for name, key in find_key_outputs(relation)}
    return tuple(shown[k] for k in partition) if all(k in shown for k in partition) else None
