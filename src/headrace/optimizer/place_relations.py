"""Where rows are: the partitioning every relation has, the one it needs, and the exchanges that follow.

A table over rows is partitioned as the search over all that reads it chooses (`partitioning/choose_table_keys.py`): by
some of its keys, or by expressions of them, so that aggregations downstream run in the same slots. An aggregation over
windowed rows whose groups are not together where it reads them needs an exchange of its own, to the slots of the next
level, by expressions of its keys that serve what stands on it too (`partitioning/choose_exchange_keys.py`). Other relations
keep the place of their input (`partitioning/follow_rows.py`), and an aggregation whose keys determine what was hashed runs in
it; a table there hashes what it computes of its own keys to have the same values, in the same types. So rows are looked for
where the choice has put them, however a query spells its keys.

The inputs of a join are kept as tables of rows, by its keys, or by fewer or coarser ones where its inputs are partitioned so
already or what reads its results can then stay in the same slots; joins that agree on an input and its keys share one. They
run in the slots of the highest level any input comes from, or of the next one where the rows are not together.

A lookup in a static table needs no rows together, so it runs where its input is. Rows over streams are nowhere yet: they are
sent to slots by the lookup's keys, and nothing is kept of them.

Where a stream comes partitioned (PARTITIONED BY) in folders that are read as they are (`keep_folders.py`), a table whose keys
tell the folder is kept by folder: its rows need no exchange. No hash tells where such rows are, so results of aggregations
bring their mini-partition along, and what reads them stays there too: in place, in a window of its own, or in a join. Results
of joins and lookups do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp, parse_one

from headrace.logical.graph import Aggregate, Derive, KeyedJoin, Lookup, Merge, Rows
from headrace.optimizer.choose_placements import PlacementChooser
from headrace.optimizer.describe import describe_input, describe_part_keys, describe_table_keys
from headrace.optimizer.keep_folders import find_folder_keys
from headrace.optimizer.keep_rows import RowKeeper
from headrace.optimizer.plan import (
    Exchange,
    GatherTable,
    JointTable,
    PaneTable,
    Part,
    PlacedPlan,
    SharedPlan,
    Table,
)
from headrace.partitioning.follow_rows import RowFollower, TableKey, compute_keys
from headrace.partitioning.row_places import SOURCE, Atoms, Place, Value
from headrace.windows import share_grid


def place_relations(plan: SharedPlan) -> PlacedPlan:
    return _Placing(plan).run()


class _Placing:
    def __init__(self, plan: SharedPlan) -> None:
        self.plan, self.graph = plan, plan.graph
        self.follower = RowFollower(plan.graph, plan.types, plan.settings.by_folder or (), Atoms())
        self.keeper, self.chooser = RowKeeper(plan), PlacementChooser(plan)
        self.tables = self.keeper.tables
        self.table_of = dict(plan.table_of)
        self.places: dict[str, list[Place]] = {}
        self.parts: dict[str, tuple[Part, ...]] = {}
        self.exchanges: list[Exchange] = []
        self.inputs_of: dict[str, tuple[str, ...]] = {}
        self.by_folder: set[str] = set()  # tables

    def run(self) -> PlacedPlan:
        for name in self.plan.relations:
            if isinstance(rows := self.graph.relations[name], Rows):
                self.places[name] = self.follower.read_streams(rows)
        for table in self.plan.tables.values():
            assert isinstance(table, PaneTable)
            self._place_over_rows(table)
        for name in self.plan.relations:
            self._place(name)
            there = [p for p in self.places[name] if p.level != SOURCE]
            if there or not self.places[name]:
                self.parts[name] = tuple(map(self._describe, [name] * len(there), there))
        return self.plan.then(
            PlacedPlan,
            tables=self.tables,
            table_of=self.table_of,
            parts={name: parts for name, parts in self.parts.items() if parts},
            exchanges=tuple(self.exchanges),
            inputs_of=self.inputs_of,
            by_folder=frozenset(self.by_folder),
            placements=self.chooser.placements,
        )

    def _place(self, name: str) -> None:
        """Where the rows of a relation are, whose inputs have been placed."""
        relation, follower = self.graph.relations[name], self.follower
        if isinstance(relation, Merge):
            arms = [(arm, place) for arm in relation.inputs for place in self.places[arm]]
            self.places[name] = [follower.unite(relation, arm, place) for arm, place in arms]
        elif isinstance(relation, KeyedJoin):
            self.places[name] = [self._place_join(relation)]
        elif isinstance(relation, Lookup):
            self.places[name] = [
                follower.look_up(relation, place) for place in self._find_looked_up(relation)
            ]
        elif isinstance(relation, Derive):
            self.places[name] = [follower.compute(relation, place) for place in self.places[relation.input]]
        elif isinstance(relation, Aggregate):
            if not isinstance(self.graph.relations[relation.input], Rows):
                self._place_over_slots(relation)
            elif (id_ := self.table_of.get(name)) is not None:
                self.places[name] = [self._place_in(relation, self.tables[id_])]
            self.places.setdefault(name, [])

    def _describe(self, name: str, place: Place) -> Part:
        """A place in terms of a relation's columns: those that have what was hashed, or expressions that do."""
        columns = {
            c: place.columns[c.lower()]
            for c in self.graph.relations[name].columns
            if c.lower() in place.columns
        }
        shown = [self.follower.atoms.express(value, columns) for value in place.hashed or ()]
        by = None
        if place.hashed is not None and None not in shown:
            by = tuple(e.name if isinstance(e, exp.Column) else e for e in shown if e is not None)
        return Part(place.level, by, place.table, place.by_folder, place.brings_pid)

    # -- aggregations over streams --------------------
    def _place_over_rows(self, table: PaneTable) -> None:
        members = [one for m in table.members if isinstance(one := self.graph.relations[m], Aggregate)]
        first = members[0]
        kept = find_folder_keys(
            self.follower, self.places[first.input], first.keys, self.plan.types_of_keys(first.name)
        )
        if kept is not None:
            self.tables[table.id] = replace(table, partition=kept)
            self.by_folder.add(table.id)
            return
        placed = replace(table, partition=self.chooser.choose_keys(members))
        self.tables[table.id] = placed
        self._exchange(
            placed, first, f"groups of {describe_input(self.graph, first.input)} come from every source task"
        )

    def _place_in(self, relation: Aggregate, table: Table) -> Place:
        """The results of an aggregation in a table of its own."""
        types, folder = self.plan.types_of_keys(relation.name), table.id in self.by_folder
        keys = [self.follower.atoms.make(f"{relation.name}.k{i}", t) for i, t in enumerate(types)]
        hashed = self.follower.hash_keys(table.partition, keys, types)
        return self.follower.aggregate(
            relation, keys, Place(table.level, table.id, hashed, {}, folder, folder)
        )

    # -- aggregations over what slots hold --------------------
    def _place_over_slots(self, relation: Aggregate) -> None:
        """An aggregation over the rows of slots: in the window of its input, or in a window of its own."""
        places, types = self.places[relation.input], self.plan.types_of_keys(relation.name)
        there = [p for p in places if p.level != SOURCE]
        if not there:
            return
        fed = [compute_keys(relation.keys, types, place) for place in places]
        if (
            len(places) == 1
            and relation.window is None
            and not relation.joint
            and self._determine(places[0], fed[0])
        ):
            self.table_of[relation.name] = None
            self.places[relation.name] = [self.follower.aggregate(relation, fed[0], places[0])]
            return
        folders = relation.window is not None and not relation.joint
        by_folder = find_folder_keys(self.follower, places, relation.keys, types) if folders else None
        local = by_folder
        if local is None and len({p.level for p in places}) == 1 and not any(p.by_folder for p in places):
            ways = {self.follower.find_table_keys(p, keys) for p, keys in zip(places, fed, strict=True)}
            local = ways.pop() if len(ways) == 1 else None
        by = local
        if by is None:
            by = self.chooser.choose_exchange(relation)
        table = self._make_table(relation, max(p.level for p in there) + (local is None), by)
        self.tables[table.id] = table
        self.table_of[relation.name] = table.id
        if by_folder is not None:
            self.by_folder.add(table.id)
        if local is None:
            self._exchange(table, relation, self._explain_exchange(relation, there))
        self.places[relation.name] = [self._place_in(relation, table)]

    def _determine(self, place: Place, keys: Sequence[Value]) -> bool:
        """Whether rows with equal keys are in one mini-partition."""
        return place.hashed is not None and all(
            self.follower.atoms.is_determined(v.expression, keys) for v in place.hashed
        )

    def _make_table(self, relation: Aggregate, level: int, partition: tuple[TableKey, ...]) -> Table:
        keys = ", ".join(k.sql(dialect="spark") for k in relation.keys) or "all"
        id_, label = f"t{len(self.tables)}", f"{describe_input(self.graph, relation.input)} by {keys}"
        if relation.joint:
            return JointTable(
                id_, label, (relation.name,), level, partition, self.plan.settings.cohort(relation.name)
            )
        if relation.window is None:
            return GatherTable(id_, label, (relation.name,), level, partition)
        cohort = self.plan.settings.cohort(relation.name)
        grid = share_grid([relation.window])
        return PaneTable(id_, label, (relation.name,), level, partition, grid, (relation.window,), cohort)

    def _exchange(self, table: Table, relation: Aggregate, reason: str) -> None:
        self.exchanges.append(
            Exchange(table.id, table.level, describe_table_keys(table, relation.keys), reason)
        )

    def _explain_exchange(self, relation: Aggregate, places: Sequence[Place]) -> str:
        name, source = relation.name.split("$")[0], describe_input(self.graph, relation.input)
        if len({p.level for p in places}) > 1:
            return f"{name} unites rows that are in the slots of different levels"
        parts = self.parts[relation.input]
        if len({(p.partition, p.by_folder) for p in parts}) > 1:
            return f"{name} unites rows that are partitioned in different ways"
        if places[0].by_folder and self._determine(
            places[0], compute_keys(relation.keys, self.plan.types_of_keys(relation.name), places[0])
        ):
            return f"{source} is kept by folders of the source, and {name} keeps what does not tell these"
        has = describe_part_keys(parts[0])
        if has is None:
            return f"{source} does not show what its rows are partitioned by"
        return f"{source} is partitioned by ({', '.join(has)}), which {name} does not group by"

    # -- joins and lookups --------------------
    def _place_join(self, join: KeyedJoin) -> Place:
        """The tables of a join's inputs, and where its results are."""
        types = self.plan.types_of_keys(join.name)
        inputs = self.plan.joins[join.name].inputs
        folders = self._find_join_folders(join, types, inputs)
        wanted = self._partition_join(join, types, inputs) if folders is None else folders
        level = 0
        for number, given in enumerate(join.inputs if folders is None else ()):
            for place in self.places[given.relation]:
                if place.level != SOURCE:
                    local = self._find_join_keys(join, number, place, types, inputs) == wanted
                    level = max(level, place.level + (not local))
        found = []
        for number, given in enumerate(join.inputs):
            table, new = self.keeper.keep_rows(join, number, level, wanted, folders is not None)
            found.append(table.id)
            if folders is not None:
                self.by_folder.add(table.id)
            elif new and any(p.level < level for p in self.places[given.relation]):
                reason = f"rows of {describe_input(self.graph, given.relation)} meet the others of {join.name.split('$')[0]}"
                self.exchanges.append(
                    Exchange(table.id, level, describe_table_keys(table, given.keys), reason)
                )
        self.inputs_of[join.name] = tuple(found)
        keys, columns = self.follower.join(join, types, inputs)
        return Place(
            level, found[0], self.follower.hash_keys(wanted, keys, types), columns, folders is not None
        )

    def _find_join_folders(
        self, join: KeyedJoin, types: Sequence[str], inputs: Sequence[Sequence[str]]
    ) -> tuple[TableKey, ...] | None:
        """How the keys of a join tell the folder, if they do in the same way for every input: rows of streams, or results that
        bring their mini-partition along.
        """
        ways = set()
        for given, own in zip(join.inputs, inputs, strict=True):
            keys = find_folder_keys(self.follower, self.places[given.relation], given.keys, own)
            if keys is None or uses_changed(keys, types, own):
                return None
            ways.add(keys)
        return ways.pop() if len(ways) == 1 else None

    def _partition_join(
        self, join: KeyedJoin, types: Sequence[str], inputs: Sequence[Sequence[str]]
    ) -> tuple[TableKey, ...]:
        """What to partition a join by: as its inputs are already, as serves what reads it, or by all keys."""
        for number, given in enumerate(join.inputs):
            for place in self.places[given.relation]:
                kept = (
                    self._find_join_keys(join, number, place, types, inputs)
                    if place.level != SOURCE
                    else None
                )
                if kept:
                    return kept
        return self.chooser.choose_join_keys(join)

    def _find_join_keys(
        self,
        join: KeyedJoin,
        number: int,
        place: Place,
        types: Sequence[str],
        inputs: Sequence[Sequence[str]],
    ) -> tuple[TableKey, ...] | None:
        """What rows of an input are hashed by, as keys of the join; None if these do not tell or are of another type."""
        if place.by_folder:
            return None
        own = inputs[number]
        keys = self.follower.find_table_keys(place, compute_keys(join.inputs[number].keys, own, place))
        return None if keys is None or uses_changed(keys, types, own) else keys

    def _find_looked_up(self, lookup: Lookup) -> list[Place]:
        """The rows that a lookup reads, where they are; those of streams are sent through slots."""
        places = self.places[lookup.input]
        if all(p.level != SOURCE for p in places):
            return places
        level = max(p.level for p in places) + 1
        types = self.plan.joins[lookup.name]
        through = self.follower.pass_through(lookup.input, places, level, "")
        table, new = self.keeper.send_rows(lookup, level, types.keys, self.follower.types)
        if through is not None:
            self.by_folder.add(table.id)
            return [replace(through, table=table.id)]
        if new:
            reason = f"rows of {describe_input(self.graph, lookup.input)} are looked up in {lookup.table}"
            by = tuple(k.sql(dialect="spark") for k in table.keys)
            self.exchanges.append(Exchange(table.id, level, by, reason))
        hashed = list(zip(table.keys, table.types, strict=True))
        return [self.follower.send_through(lookup.input, hashed, level, table.id)]


def uses_changed(keys: Sequence[TableKey], types: Sequence[str], own: Sequence[str]) -> bool:
    """Whether keys of a table are computed of a value that is compared in another type than it has."""
    used = [exp.column(f"k{k}") if isinstance(k, int) else parse_one(k, dialect="spark") for k in keys]
    numbers = {int(c.name[1:]) for key in used for c in key.find_all(exp.Column)}
    return any(types[i] != own[i] for i in numbers)
