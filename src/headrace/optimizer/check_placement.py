"""The rule that proves a placement: rows that an operator reads together are together, or an exchange brings them together.

It follows rows from the source tasks through every table of the plan and derives again where they are
(`row_places.py`), by nothing but the tables: which keys each has, of which type, what is hashed, on which level. What
`place_relations` concluded on its way is not believed but compared at the end. It asks of each operator (document 000
§3.4, §5):

* An aggregation in place: its input is in one place, and its keys determine what was hashed there.
* A table that is fed on its own level: its rows hash the same values, in the same types, as they did on their way there. By
  folders: its keys tell the folder as the source does, and rows still know it.
* A table that is fed from a lower level or from the source: the plan has the exchange. No table is fed from a higher level.
* The tables of a join: equal keys, types, partitioning and level on all sides.
* What a relation says of its partitioning: lowering writes results by it.

A plan that fails is a fault of Headrace: the error names the two sides that do not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from sqlglot import exp

from headrace.errors import InternalError
from headrace.logical.graph import (
    Aggregate,
    Derive,
    KeyedJoin,
    Lookup,
    Merge,
    Relation,
    Rows,
)
from headrace.optimizer.describe import describe_part_keys
from headrace.optimizer.plan import Part, Plan, RowTable, Table, TransitTable
from headrace.optimizer.trace_columns import cast_to, describe_rows
from headrace.partitioning.follow_rows import RowFollower, compute_keys
from headrace.partitioning.row_places import SOURCE, Atoms, Place, Value, compute_value


def check_placement(plan: Plan) -> Plan:
    """The plan as it is; an InternalError if some operator would not see the rows it needs."""
    _Proof(plan).run()
    return plan


class _Proof:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.graph = plan, plan.graph
        self.atoms = Atoms()
        self.follower = RowFollower(plan.graph, plan.types, plan.settings.by_folder or (), self.atoms)
        self.places: dict[str, list[Place]] = {}
        self.crossed: set[str] = set()  # tables that some row comes to through an exchange

    def run(self) -> None:
        for name in self.plan.relations:
            if name in self.plan.used:
                self.places[name] = self._find_places(self.graph.relations[name])
                self._check_parts(name)
        planned = {
            e.table: e.level
            for e in self.plan.exchanges
            if not self.plan.used.isdisjoint(self._table(e.table).members)
        }
        if planned != {id_: self._table(id_).level for id_ in self.crossed}:
            self._refuse(
                f"rows change slots on their way to {sorted(self.crossed)}",
                f"exchanges are planned to {planned}",
            )

    def _refuse(self, one: str, other: str) -> NoReturn:
        raise InternalError(
            f"the plan would not bring rows together that belong together: {one}, but {other}"
        )

    def _table(self, id_: str) -> Table:
        if id_ not in self.plan.tables:
            self._refuse(f"rows are kept in {id_}", f"the tables are {sorted(self.plan.tables)}")
        return self.plan.tables[id_]

    # -- where rows are --------------------
    def _find_places(self, relation: Relation) -> list[Place]:
        if isinstance(relation, Rows):
            return self.follower.read_streams(relation)
        if isinstance(relation, Merge):
            return [
                self.follower.unite(relation, arm, place)
                for arm in relation.inputs
                for place in self.places[arm]
            ]
        if isinstance(relation, Derive):
            return [self.follower.compute(relation, place) for place in self.places[relation.input]]
        if isinstance(relation, Lookup):
            return self._look_up(relation)
        if isinstance(relation, Aggregate):
            return self._aggregate(relation)
        assert isinstance(relation, KeyedJoin)
        return [self._join(relation)]

    def _look_up(self, lookup: Lookup) -> list[Place]:
        parts, below = self.plan.parts.get(lookup.name, ()), self.places[lookup.input]
        table = self.plan.tables.get(parts[0].table) if parts else None
        if isinstance(table, TransitTable) and lookup.name in table.members:
            below = [self._send_through(table, lookup.input, below)]
        return [self.follower.look_up(lookup, place) for place in below]

    def _send_through(self, table: TransitTable, name: str, places: list[Place]) -> Place:
        shown = "; ".join(map(self.atoms.describe_place, places))
        if table.id in self.plan.by_folder:
            through = self.follower.pass_through(name, places, table.level, table.id)
            if through is None:
                self._refuse(f"{table.label} ({table.id}) is kept by folder", f"its rows are {shown}")
            return through
        if any(place.level >= table.level for place in places):
            self._refuse(f"{table.label} ({table.id}) is at level {table.level}", f"its rows are {shown}")
        if table.partition != tuple(range(len(table.keys))):
            self._refuse(f"{table.label} ({table.id}) is sent by its keys", f"hashed by {table.partition}")
        self.crossed.add(table.id)
        hashed = list(zip(table.keys, table.types, strict=True))
        return self.follower.send_through(name, hashed, table.level, table.id)

    # -- operators --------------------
    def _aggregate(self, relation: Aggregate) -> list[Place]:
        places, types = self.places[relation.input], self.plan.aggregates[relation.name]
        if not self.plan.parts.get(relation.name):
            self._refuse(f"{relation.name} reads {relation.input}", "it is in no slot")
        id_ = self.plan.table_of.get(relation.name)
        if id_ is None:
            keys = self._aggregate_in_place(relation, places)
            return [self.follower.aggregate(relation, keys, places[0])]
        table = self._table(id_)
        for place in places:
            fed = compute_keys(relation.keys, types.keys, place)
            self._check_feed(relation.name, table, fed, types.keys, place)
        keys = [self.atoms.make(f"{relation.name}.k{i}", t) for i, t in enumerate(types.keys)]
        folder = id_ in self.plan.by_folder
        there = Place(table.level, id_, self._hash(table, keys, types.keys), {}, folder, folder)
        return [self.follower.aggregate(relation, keys, there)]

    def _aggregate_in_place(self, relation: Aggregate, places: list[Place]) -> list[Value]:
        name = relation.name
        if len(places) != 1 or relation.window is not None or relation.joint:
            shown = "; ".join(map(self.atoms.describe_place, places))
            self._refuse(
                f"{name} is computed in place",
                f"its rows are {shown or 'nowhere'}, or it has a window of its own",
            )
        types, place = self.plan.aggregates[name].keys, places[0]
        keys = compute_keys(relation.keys, types, place)
        known = place.hashed is not None and all(
            self.atoms.is_determined(v.expression, keys) for v in place.hashed
        )
        if place.level == SOURCE or not known:
            there = self.atoms.describe_place(place)
            self._refuse(f"{name} groups by {self.atoms.describe(keys)} in place", f"its rows are {there}")
        return keys

    def _join(self, join: KeyedJoin) -> Place:
        types = self.plan.joins[join.name].keys
        tables = [self._table(id_) for id_ in self.plan.inputs_of[join.name]]
        for number, table in enumerate(tables):
            self._check_side(join, number, table)
            sides = [(t.level, t.partition, t.id in self.plan.by_folder) for t in (tables[0], table)]
            if sides[0] != sides[1]:
                one = f"{join.name} has rows of {join.inputs[0].alias} at (level, keys, by folder) {sides[0]}"
                self._refuse(one, f"those of {join.inputs[number].alias} at {sides[1]}")
        keys, columns = self.follower.join(join, types, self.plan.joins[join.name].inputs)
        by_folder, hashed = tables[0].id in self.plan.by_folder, self._hash(tables[0], keys, types)
        return Place(tables[0].level, tables[0].id, hashed, columns, by_folder)

    def _check_side(self, join: KeyedJoin, number: int, table: Table) -> None:
        """A table has the rows of an input by the keys of the join, in the types that all inputs are compared in."""
        given, types = join.inputs[number], self.plan.joins[join.name]
        keys = tuple(map(cast_to, given.keys, types.inputs[number], types.keys))
        wanted = (describe_rows(self.graph, given.relation), keys, types.keys)
        if not isinstance(table, RowTable):
            self._refuse(
                f"{join.name} compares rows of {given.relation}", f"reads {table.id}, which has none"
            )
        if wanted != (describe_rows(self.graph, table.input), table.keys, table.types):
            there = f"reads {table.id} of {table.input} by {_list(table.keys, table.types)}"
            self._refuse(f"{join.name} compares {_list(keys, types.keys)} of {given.relation}", there)
        for place in self.places[given.relation]:
            self._check_feed(join.name, table, compute_keys(keys, types.keys, place), types.keys, place)

    # -- what must hold --------------------
    def _hash(self, table: Table, keys: Sequence[Value], types: Sequence[str]) -> tuple[Value, ...]:
        """What a table is hashed by, of the values of its keys."""
        hashed = self.follower.hash_keys(table.partition, keys, types)
        if hashed is None:
            self._refuse(
                f"{table.label} ({table.id}) has keys {types}", f"is partitioned by {table.partition}"
            )
        return hashed

    def _check_feed(
        self, reader: str, table: Table, keys: Sequence[Value], types: Sequence[str], place: Place
    ) -> None:
        """Rows in a place, on their way to a table: they are in the slot where it wants them, or cross an exchange."""
        wanted, by_folder = self._hash(table, keys, types), table.id in self.plan.by_folder
        if table.members and reader not in table.members:
            self._refuse(f"{reader} reads {table.id}", f"it is a table of {', '.join(table.members)}")
        if not by_folder and place.level < table.level:
            self.crossed.add(table.id)
            return
        here = (
            place.level in (SOURCE, table.level)
            and place.by_folder == by_folder
            and place.brings_pid >= by_folder
        )
        if not here or place.hashed is None or not self.atoms.are_same(wanted, place.hashed):
            how = "folders of" if by_folder else "the hash of"
            one = f"{reader} reads rows together at level {table.level} by {how} {self.atoms.describe(wanted)} ({table.id})"
            self._refuse(one, f"they are {self.atoms.describe_place(place)}, and no exchange is between")

    def _check_parts(self, name: str) -> None:
        """What the plan says of where a relation is, against what was derived."""
        parts, places = self.plan.parts.get(name, ()), [p for p in self.places[name] if p.level != SOURCE]
        for part in parts:
            mine = [p for p in places if (p.level, p.table) == (part.level, part.table)]
            if not mine or any(not self._is_true(part, place) for place in mine):
                shown = "; ".join(map(self.atoms.describe_place, mine or places))
                said = f"{name} is said to be at level {part.level} in {part.table} by {describe_part_keys(part)}"
                self._refuse(said, f"it is {shown or 'nowhere'}")
        if {(p.level, p.table) for p in places} - {(p.level, p.table) for p in parts}:
            shown = "; ".join(map(self.atoms.describe_place, places))
            self._refuse(f"{name} is said to be in {[p.table for p in parts]}", f"it is {shown}")

    def _is_true(self, part: Part, place: Place) -> bool:
        """Whether the columns a part names have what was hashed, or tell it where they are expressions."""
        if part.by_folder != place.by_folder or (part.pid and not place.brings_pid):
            return False
        if part.partition is None:
            return True
        if place.hashed is None or len(part.partition) != len(place.hashed):
            return False
        for key, value in zip(part.partition, place.hashed, strict=True):
            if isinstance(key, str):
                if key.lower() not in place.columns or not self.atoms.same(place.columns[key.lower()], value):
                    return False
            elif not self.atoms.is_determined(value.expression, [compute_value(key, place.columns, "")]):
                return False
        return True


def _list(keys: Sequence[exp.Expr], types: Sequence[str]) -> str:
    shown = [f"{key.sql(dialect='spark')} {type_}" for key, type_ in zip(keys, types, strict=True)]
    return f"({', '.join(shown)})"
