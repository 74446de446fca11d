"""Where rows are: the partitioning every relation has, the one it needs, and the exchanges that follow.

A table over rows is partitioned as the search over all that reads it chooses (`partitioning/choose_table_keys.py`): by
some of its keys, or by expressions of them, so that aggregations downstream run in the same slots. An aggregation over
windowed rows whose groups are not together where it reads them needs an exchange of its own, to the slots of the next
level, by expressions of its keys that serve what stands on it too (`partitioning/choose_exchange_keys.py`). Derivations
keep the partitioning of their input as long as it can be told from their columns; the hash of another type may be another
slot, so a union that changes the type of a partitioning column loses it. A join that compares integers of two types hashes the
wider one, and what reads the narrower column stays in its slots by hashing a cast of it.

The inputs of a join are kept as tables of rows, by its keys, or by fewer or coarser ones where its inputs are partitioned so
already or what reads its results can then stay in the same slots; joins that agree on an input and its keys share one. They
run in the slots of the highest level any input comes from, or of the next one where the rows are not together.

A lookup in a static table needs no rows together, so it runs where its input is. Rows over streams are nowhere yet: they are
sent to slots by the lookup's keys, and nothing is kept of them.

Where a stream comes partitioned (PARTITIONED BY) in folders that are read as they are (`keep_folders.py`), a table whose keys
tell the folder is kept by folder: its rows need no exchange. No hash tells where such rows are, so results of aggregations
bring their mini-partition along, and what reads them stays there too: in place, in a window of its own, or in a join. Results
of joins and lookups do not.

A query never changes the partitioning of a table that was there before it: only readers that are no younger than a
table are asked, and what was chosen for a table that may have state (`Settings.placements`, kept in the checkpoint) is taken
as it is, whatever rates are measured or declared since. Those that were measured place new tables. For the same reason removed
queries are placed like the others: what they read is stored in tables that they share (`release_tables` lets go of the rest).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from sqlglot import exp, parse_one

from headrace.dialect.duck import translate
from headrace.dialect.duck_expression import spark_sql
from headrace.errors import PlanError
from headrace.logical.graph import Aggregate, Derive, Join, Lookup, Merge, Rows, TemporalJoin
from headrace.logical.join_kind import JoinKind
from headrace.optimizer.carry_partition import carry_partition, cast_columns, is_wider
from headrace.optimizer.describe import describe_input, describe_part_keys, describe_table_keys
from headrace.optimizer.keep_folders import find_folder_keys, number_keys, show_folders, uses_key
from headrace.optimizer.plan import (
    Exchange,
    GatherTable,
    JointTable,
    PaneTable,
    Part,
    PlacedPlan,
    RowTable,
    SharedPlan,
    Table,
    TransitTable,
    TypedPlan,
)
from headrace.optimizer.trace_columns import cast_to, describe_rows, find_leaves, name_column
from headrace.partitioning.advise_partitioning import read_proposal
from headrace.partitioning.choose_exchange_keys import choose_exchange_keys
from headrace.partitioning.choose_table_keys import (
    TableKey,
    TablePlacement,
    choose_join_keys,
    choose_table_keys,
)
from headrace.partitioning.common_keys import common_keys
from headrace.partitioning.plan_cost import RateStatistics
from headrace.partitioning.recognize_key import recognize_key
from headrace.partitioning.restrictions import StreamRestriction, read_restrictions
from headrace.windows import share_grid


def place_relations(plan: SharedPlan) -> PlacedPlan:
    return _Placing(plan).run()


class _Placing:
    def __init__(self, plan: SharedPlan) -> None:
        self.plan, self.graph = plan, plan.graph
        self.tables: dict[str, Table] = {}
        self.table_of = dict(plan.table_of)
        self.parts: dict[str, tuple[Part, ...]] = {}
        self.exchanges: list[Exchange] = []
        self.inputs_of: dict[str, tuple[str, ...]] = {}
        self.shared: dict[Hashable, str] = {}  # what tables of rows agree on -> table
        self.by_folder: set[str] = set()  # tables
        self.placements: dict[str, TablePlacement] = {}
        wanted = plan.settings.partition_by
        proposal = read_proposal(self.graph, wanted, "partition by") if wanted is not None else {}
        declared = read_restrictions(self.graph) if plan.settings.limited else {}
        self.limits = {s: one for s, one in declared.items() if not one.fixed}
        self.limits |= {s: StreamRestriction(keys, fixed=True) for s, keys in proposal.items()}

    def run(self) -> PlacedPlan:
        for table in self.plan.tables.values():
            members = [self._aggregate(m) for m in table.members]
            assert isinstance(table, PaneTable)
            kept = find_folder_keys(self.plan, members[0].input, members[0].keys)
            if kept is not None:
                self.tables[table.id] = replace(table, partition=kept)
                self.by_folder.add(table.id)
                continue
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
                self._place_join(relation)
            elif isinstance(relation, Lookup):
                self._place_lookup(relation)
            elif isinstance(relation, Derive):
                self.parts[name] = tuple(self._derive(relation, p) for p in self.parts.get(relation.input, ()))
            elif isinstance(relation, Aggregate):
                if isinstance(self.graph.relations[relation.input], Rows):
                    self._place_over_rows(relation)
                else:
                    self._place_over_slots(relation)
        return self.plan.then(
            PlacedPlan,
            tables=self.tables,
            table_of=self.table_of,
            parts=self.parts,
            exchanges=tuple(self.exchanges),
            inputs_of=self.inputs_of,
            by_folder=frozenset(self.by_folder),
            placements=self.placements,
        )

    def _aggregate(self, name: str) -> Aggregate:
        relation = self.graph.relations[name]
        assert isinstance(relation, Aggregate)
        return relation

    def _list_readers(self, members: Sequence[Aggregate | Join]) -> list[str]:
        born = self.plan.settings.generation(members[0].name)
        return [n for n in self.plan.relations if self.plan.settings.generation(n) <= born]

    def _choose_keys(self, members: list[Aggregate]) -> tuple[TableKey, ...]:
        """Of a table over rows: as chosen for all it is read together with, if tasks can compute that."""
        name, readers = members[0].name, self._list_readers(members)
        placement = self.plan.settings.placements.get(name)
        if placement is None:
            pids, known = self.plan.settings.pids, self._find_rates(name)
            placement = choose_table_keys(self.graph, members, readers, pids, self.limits, known)
            if placement is None or not self._can_compute(name, placement.keys):
                placement = self._choose_own_keys(members)
        self.placements |= dict.fromkeys((m.name for m in members), placement)
        return placement.keys

    def _choose_own_keys(self, members: list[Aggregate]) -> TablePlacement:
        """Of a table that no partitioning of the streams serves: keys for what reads it, or all."""
        name, readers, given = members[0].name, self._list_readers(members), members[0].input
        if not self.plan.settings.by_expressions:
            return TablePlacement(common_keys(self.graph, members, readers))
        types, pids = self.plan.types.get(given, {}), self.plan.settings.pids
        placement = choose_exchange_keys(self.graph, members, readers, pids, types, self._find_rates(name))
        return placement if self._can_compute(name, placement.keys) else TablePlacement(tuple(range(len(members[0].keys))))

    def _find_rates(self, name: str) -> RateStatistics | None:
        """What was measured, for what is new; what is older was placed without."""
        settings = self.plan.settings
        return settings.measured if settings.generation(name) > settings.settled else None

    def _can_compute(self, member: str, keys: tuple[TableKey, ...]) -> bool:
        """Whether tasks can compute these keys of a table."""
        try:
            for key in keys:
                if isinstance(key, str):
                    self._type_of_key(member, key)
        except PlanError:
            return False
        return True

    def _place_over_rows(self, relation: Aggregate) -> None:
        table = self.table_of.get(relation.name)
        if table is not None:
            self._give(relation, self.tables[table])

    def _give(self, relation: Aggregate, table: Table) -> None:
        shown = carry_partition(_write_keys(table.partition), relation.outputs, {})
        kept = table.id in self.by_folder
        self.parts[relation.name] = (Part(table.level, shown, table.id, kept, kept),)

    # -- joins --------------------
    def _place_join(self, join: Join | TemporalJoin) -> None:
        """The tables of a join's inputs, and where its results are."""
        folders = self._find_join_folders(join)
        wanted = self._partition_join(join) if folders is None else folders
        level = 0
        for i, given in enumerate(join.inputs if folders is None else ()):
            for part in self.parts.get(given.relation, ()):
                level = max(level, part.level + (not self._is_local(join, i, part, wanted)))
        by_folder = folders is not None
        tables = tuple(self._keep_rows(join, i, level, wanted, by_folder) for i in range(len(join.inputs)))
        self.inputs_of[join.name] = tables
        self.parts[join.name] = (Part(level, self._show_join_keys(join, wanted), tables[0], by_folder),)

    def _find_join_folders(self, join: Join | TemporalJoin) -> tuple[TableKey, ...] | None:
        """How the keys of a join tell the folder, if they do in the same way for every input: rows of streams, or results that
        bring their mini-partition along.
        """
        types, ways = self.plan.joins.get(join.name), set()
        for number, given in enumerate(join.inputs):
            keys = self._find_folders(given.relation, given.keys)
            changed = [] if types is None else [i for i, t in enumerate(types.keys) if t != types.inputs[number][i]]
            if keys is None or any(uses_key(key, i) for key in keys for i in changed):
                return None
            ways.add(keys)
        return ways.pop() if len(ways) == 1 else None

    def _find_folders(self, name: str, keys: Sequence[exp.Expr]) -> tuple[TableKey, ...] | None:
        """How keys over a relation tell the folder; None if they do not."""
        parts = self.parts.get(name, ())
        if not parts:
            return find_folder_keys(self.plan, name, keys)
        shown = {(p.partition, p.level) for p in parts}
        if find_leaves(self.graph, name) or len(shown) > 1 or not all(p.pid for p in parts):
            return None
        return number_keys(parts[0].partition, keys, self.plan.types.get(name, {}))

    def _partition_join(self, join: Join | TemporalJoin) -> tuple[TableKey, ...]:
        """What to partition a join by: as its inputs are already, as serves what reads it, or by all keys."""
        for i, given in enumerate(join.inputs):
            for part in self.parts.get(given.relation, ()):
                kept = self._find_join_keys(join, i, part)
                if kept is not None:
                    return kept
        placement = self.plan.settings.placements.get(join.name)
        if placement is None and isinstance(join, Join):
            limits = {s: one for s, one in self.limits.items() if not one.fixed}
            readers, pids = self._list_readers([join]), self.plan.settings.pids
            placement = choose_join_keys(self.graph, join, readers, pids, limits, self._find_rates(join.name))
            if placement is not None and not self._can_keep(join, placement.keys):
                placement = None
        if placement is None:
            placement = TablePlacement(tuple(range(len(join.inputs[0].keys))))
        self.placements[join.name] = placement
        return placement.keys

    def _can_keep(self, join: Join, keys: tuple[TableKey, ...]) -> bool:
        """Whether tasks can compute these keys of a join, and its results show them."""
        return self._can_compute(join.name, keys) and self._show_join_keys(join, keys) is not None

    def _show_join_keys(
        self, join: Join | TemporalJoin, keys: tuple[TableKey, ...]
    ) -> tuple[str | exp.Expr, ...] | None:
        """How a join's results show what they are partitioned by: columns that always have the value that was hashed, or casts
        of such columns, where integers of two types were compared.
        """
        types = self.plan.joins.get(join.name)
        same: list[tuple[str, exp.Expr]] = []
        narrower: dict[str, tuple[exp.Expr, str]] = {}
        for column in join.visible:
            for i, key in enumerate(() if column.input in join.kind.padded else join.inputs[column.input].keys):
                if isinstance(key, exp.Column) and key.name == column.column:
                    if types is None or types.keys[i] == types.inputs[column.input][i]:
                        same.append((column.name, exp.column(f"k{i}")))
                    elif self.plan.settings.by_expressions and is_wider(types.keys[i], types.inputs[column.input][i]):
                        narrower[column.name] = exp.column(f"k{i}"), types.keys[i]
        shown = carry_partition(_write_keys(keys), [*same, *((n, k) for n, (k, _) in narrower.items())], {})
        return shown and tuple(cast_columns(key, {n: t for n, (_, t) in narrower.items()}) for key in shown)

    def _is_local(self, join: Join | TemporalJoin, number: int, part: Part, wanted: tuple[TableKey, ...]) -> bool:
        """Whether rows of an input are in the slots where the join wants them."""
        return self._find_join_keys(join, number, part) == wanted

    def _find_join_keys(
        self, join: Join | TemporalJoin, number: int, part: Part
    ) -> tuple[TableKey, ...] | None:
        """What rows of an input are partitioned by, as keys of the join that have the same hash; None if it is not known."""
        given, types = join.inputs[number], self.plan.joins.get(join.name)
        named = [(f"k{i}", k) for i, k in enumerate(given.keys)]
        kept = carry_partition(part.partition, named, self.plan.types.get(given.relation, {}))
        used = {int(c.name[1:]) for key in kept or () for c in _columns(key)}
        if not kept or (types is not None and any(types.keys[i] != types.inputs[number][i] for i in used)):
            return None
        return self._hash_alike(join.name, kept, (part,))

    def _keep_rows(
        self, join: Join | TemporalJoin, number: int, level: int, partition: tuple[TableKey, ...], by_folder: bool
    ) -> str:
        """The table of an input's rows, shared with the joins before that agree on it."""
        given, types = join.inputs[number], self.plan.joins.get(join.name)
        keys, key_types = given.keys, types.keys if types is not None else ()
        if types is not None:
            keys = tuple(map(cast_to, given.keys, types.inputs[number], types.keys))
        generation = self.plan.settings.generation(join.name)
        rows = describe_rows(self.graph, given.relation)
        temporal = number if isinstance(join, TemporalJoin) else None  # keeps other rows than a join does
        agreed = (rows, tuple(map(spark_sql, keys)), key_types, level, partition, given.time, generation, temporal, by_folder)
        columns = {c.column for c in (*join.visible, *join.hidden) if c.input == number}
        if isinstance(join, Join):
            columns -= find_implied(self.plan, join, number).keys()
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
        if by_folder:
            self.by_folder.add(id_)
            return id_
        reason = f"rows of {describe_input(self.graph, given.relation)} meet the others of {join.name.split('$')[0]}"
        local = all(p.level == level for p in self.parts.get(given.relation, ()))
        if find_leaves(self.graph, given.relation) or not local or not self.parts.get(given.relation):
            self.exchanges.append(Exchange(id_, level, describe_table_keys(table, given.keys), reason))
        return id_

    # -- lookups --------------------
    def _place_lookup(self, lookup: Lookup) -> None:
        shown = [(c.name, name_column(c.column)) for c in lookup.visible if c.input == 0]
        parts = self.parts.get(lookup.input, ())
        if find_leaves(self.graph, lookup.input):
            parts = (self._send_through(lookup),)
        self.parts[lookup.name] = tuple(
            replace(part, partition=carry_partition(part.partition, shown, {}), pid=False) for part in parts
        )

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
        agreed = ("transit", describe_rows(self.graph, lookup.input), tuple(map(spark_sql, keys)), key_types, level)
        shown = show_folders(self.plan, lookup.input)
        found = self.shared.get(agreed)
        if found is None:
            found = self.shared[agreed] = f"t{len(self.tables)}"
            label = f"rows of {describe_input(self.graph, lookup.input)} for {lookup.alias}"
            by = tuple(range(len(keys)))
            table = TransitTable(found, label, lookup.input, keys, key_types, columns, (lookup.name,), level, by)
            self.tables[found] = table
            reason = f"rows of {describe_input(self.graph, lookup.input)} are looked up in {lookup.table}"
            if shown is not None:
                self.by_folder.add(found)
            else:
                self.exchanges.append(Exchange(found, level, tuple(k.sql(dialect="spark") for k in keys), reason))
        else:
            old = self.tables[found]
            assert isinstance(old, TransitTable)
            every = tuple(c for c in self.graph.relations[old.input].columns if c in columns or c in old.columns)
            self.tables[found] = replace(old, columns=every, members=(*old.members, lookup.name))
        if shown is not None:
            return Part(level, shown, found, True)
        plain = [k.name if isinstance(k, exp.Column) else None for k in keys]
        named = tuple(n for n in plain if n is not None)
        return Part(level, named if len(named) == len(plain) and named else None, found)

    # -- aggregations over what slots hold --------------------
    def _place_over_slots(self, relation: Aggregate) -> None:
        """An aggregation over the rows of slots: in the window of its input, or in a window of its own."""
        parts = self.parts.get(relation.input, ())
        if not parts:
            return
        sets = {p.partition for p in parts}
        partition = next(iter(sets)) if len(sets) == 1 else None
        together = len({p.level for p in parts}) == 1 and partition is not None
        named = [(f"k{i}", k) for i, k in enumerate(relation.keys)]
        kept = carry_partition(partition, named, self.plan.types.get(relation.input, {})) if together else None
        if kept is not None and relation.window is None and len(parts) == 1 and not relation.joint:
            self.table_of[relation.name] = None
            shown = carry_partition(kept, relation.outputs, {})
            self.parts[relation.name] = (replace(parts[0], partition=shown),)
            return
        local_keys = self._hash_alike(relation.name, kept, parts) if kept is not None else None
        by_folder = relation.window is not None and not relation.joint and self._find_folders(relation.input, relation.keys)
        local_keys = by_folder or local_keys
        by = local_keys
        if by is None:
            placement = self.plan.settings.placements.get(relation.name) or self._choose_own_keys([relation])
            self.placements[relation.name] = placement
            by = placement.keys
        local = local_keys is not None and not find_leaves(self.graph, relation.input)
        table = self._make_table(relation, max(p.level for p in parts) + (not local), by)
        self.tables[table.id] = table
        self.table_of[relation.name] = table.id
        if by_folder:
            self.by_folder.add(table.id)
        if not local:
            self._exchange(table, relation, self._explain_exchange(relation, parts, kept is not None))
        self._give(relation, table)

    def _hash_alike(
        self, reader: str, kept: tuple[str | exp.Expr, ...], parts: tuple[Part, ...]
    ) -> tuple[TableKey, ...] | None:
        """Keys of a table for rows that stay in their slots: they have the hash by which these came there."""
        if any(part.by_folder for part in parts):
            return None
        found: list[TableKey] = []
        for i, key in enumerate(kept):
            if isinstance(key, str):
                found.append(int(key[1:]))
                continue
            text = self._widen_key(reader, key.sql(dialect="spark"), {self._type_of(self.tables[p.table], i) for p in parts})
            if text is None:
                return None
            found.append(text)
        return tuple(found)

    def _widen_key(self, reader: str, text: str, hashed: set[str]) -> str | None:
        """An expression in the type in which it was hashed; None if it may be another value there."""
        type_ = self._type_of_key(reader, text)
        if hashed == {type_}:
            return text
        wider = next(iter(hashed)) if len(hashed) == 1 else ""
        known = recognize_key(parse_one(text, dialect="spark"), self._types_of_keys(reader), as_value=True)
        if known is None or known.column is None or not is_wider(wider, type_):
            return None
        return f"CAST({text} AS {wider.upper()})"

    def _types_of_keys(self, member: str) -> dict[str, str]:
        typed = self.plan.aggregates.get(member) or self.plan.joins.get(member)
        return {} if typed is None else {f"k{i}": t for i, t in enumerate(typed.keys)}

    def _type_of(self, table: Table, position: int) -> str:
        return self._type_of_key(table.members[0], table.partition[position])

    def _type_of_key(self, member: str, key: TableKey) -> str:
        """The type in which a table's partitioning key is hashed; unknown where a set is only checked."""
        types = self._types_of_keys(member)
        text = f"k{key}" if isinstance(key, int) else key
        return translate(parse_one(text, dialect="spark"), types).type if types else ""

    def _make_table(self, relation: Aggregate, level: int, partition: tuple[TableKey, ...]) -> Table:
        keys = ", ".join(k.sql(dialect="spark") for k in relation.keys) or "all"
        id_, label = f"t{len(self.tables)}", f"{describe_input(self.graph, relation.input)} by {keys}"
        if relation.joint:
            return JointTable(id_, label, (relation.name,), level, partition, self.plan.settings.generation(relation.name))
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
        self.exchanges.append(Exchange(table.id, table.level, describe_table_keys(table, relation.keys), reason))

    def _explain_exchange(self, relation: Aggregate, parts: tuple[Part, ...], together: bool) -> str:
        name, source = relation.name.split("$")[0], describe_input(self.graph, relation.input)
        if len({p.level for p in parts}) > 1:
            return f"{name} unites rows that are in the slots of different levels"
        if len({(p.partition, p.by_folder) for p in parts}) > 1:
            return f"{name} unites rows that are partitioned in different ways"
        has = describe_part_keys(parts[0])
        if parts[0].by_folder and together:
            return f"{source} is kept by folders of the source, and {name} keeps what does not tell these"
        if has is None:
            return f"{source} does not show what its rows are partitioned by"
        return f"{source} is partitioned by ({', '.join(has)}), which {name} does not group by"


def _write_keys(keys: tuple[TableKey, ...]) -> tuple[str | exp.Expr, ...]:
    return tuple(f"k{k}" if isinstance(k, int) else parse_one(k, dialect="spark") for k in keys)


def _columns(key: str | exp.Expr) -> list[exp.Column]:
    return [exp.column(key)] if isinstance(key, str) else list(key.find_all(exp.Column))


def find_implied(plan: TypedPlan, join: Join, number: int) -> dict[str, str]:
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
        and (join.kind is JoinKind.DISTINCT or types.keys[i] not in ("float", "double"))  # 0.0 stands for -0.0 among keys
    }
    if declared.get(given.time) in ("timestamp", "timestamp_ntz", "bigint"):
        found[given.time] = "_t"
    return found
