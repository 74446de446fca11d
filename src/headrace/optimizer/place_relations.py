"""Where rows are: the partitioning every relation has, the one it needs, and the exchanges that follow.

A table over rows is partitioned by those of its keys that the aggregations downstream also group by
(`partitioning/common_keys.py`), so that these run in the same slots. An aggregation over windowed rows whose groups
are not together where it reads them needs an exchange of its own, to the slots of the next level. Derivations keep
the partitioning of their input as long as its columns survive; the hash of another type may be another slot, so a
union that changes the type of a partitioning column loses it.

The inputs of a join are kept as tables of rows, by its keys; joins that agree on an input and its keys share one. They
run in the slots of the highest level any input comes from, or of the next one where the rows are not together.

A query never changes the partitioning of a table that was there before it: only readers that are no younger than a
table are asked.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from sqlglot import exp

from headrace.dialect.duck_expression import spark_sql
from headrace.logical.graph import Aggregate, Derive, Join, Merge, Rows
from headrace.optimizer.describe import describe_input
from headrace.optimizer.plan import Exchange, GatherTable, PaneTable, Part, Plan, RowTable, Table
from headrace.optimizer.trace_columns import cast_to, find_leaves
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
            elif isinstance(relation, Join):
                if name in self.plan.used:
                    self._place_join(relation)
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
    def _place_join(self, join: Join) -> None:
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

    def _partition_join(self, join: Join) -> tuple[int, ...]:
        """The keys to partition a join by: those its inputs are partitioned by already, or all."""
        for i, given in enumerate(join.inputs):
            columns = {k.name: n for n, k in enumerate(given.keys) if isinstance(k, exp.Column)}
            for part in self.parts.get(given.relation, ()):
                if part.partition and all(c in columns for c in part.partition):
                    by = tuple(columns[c] for c in part.partition)
                    if self._is_local(join, i, part, by):
                        return by
        return tuple(range(len(join.inputs[0].keys)))

    def _is_local(self, join: Join, number: int, part: Part, wanted: tuple[int, ...]) -> bool:
        """Whether rows of an input are in the slots where the join wants them."""
        keys, types = join.inputs[number].keys, self.plan.joins.get(join.name)
        if types is not None and any(types.keys[i] != types.inputs[number][i] for i in wanted):
            return False
        return bool(wanted) and part.partition == tuple(keys[i].name if isinstance(keys[i], exp.Column) else None for i in wanted)

    def _keep_rows(self, join: Join, number: int, level: int, partition: tuple[int, ...]) -> str:
        """The table of an input's rows, shared with the joins before that agree on it."""
        given, types = join.inputs[number], self.plan.joins.get(join.name)
        keys, key_types = given.keys, types.keys if types is not None else ()
        if types is not None:
            keys = tuple(map(cast_to, given.keys, types.inputs[number], types.keys))
        generation = self.plan.settings.generation(join.name)
        rows = self._describe_rows(given.relation)
        agreed = (rows, tuple(map(spark_sql, keys)), key_types, level, partition, given.time, generation)
        columns = {c.column for c in (*join.visible, *join.hidden) if c.input == number}
        columns -= find_implied(self.plan, join, number).keys()
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


def find_implied(plan: Plan, join: Join, number: int) -> dict[str, str]:
    """The columns of an input that its stored rows have anyway, each as what it is there: a key, or the progressing value."""
    given, types = join.inputs[number], plan.joins.get(join.name)
    declared = plan.types.get(given.relation, {})
    if types is None:
        return {}
    found = {
        key.name: f"k{i}"
        for i, key in enumerate(given.keys)
        if isinstance(key, exp.Column)
        and types.keys[i] == types.inputs[number][i]
        and (join.kind == "distinct" or types.keys[i] not in ("float", "double"))  # 0.0 stands for -0.0 among keys
    }
    if declared.get(given.time) in ("timestamp", "timestamp_ntz", "bigint"):
        found[given.time] = "_t"
    return found


def _derive(relation: Derive, part: Part) -> Part:
    carried = {e.name: n for n, e in relation.outputs if isinstance(e, exp.Column)}
    if part.partition is None or not all(c in carried for c in part.partition):
        return replace(part, partition=None)
    return replace(part, partition=tuple(carried[c] for c in part.partition))


def _name_keys(relation: Aggregate, partition: tuple[int, ...]) -> tuple[str, ...] | None:
    """The output columns that show the partitioning keys, if all are shown."""
    shown = {key: name for name, key in find_key_outputs(relation)}
    return tuple(shown[k] for k in partition) if all(k in shown for k in partition) else None
