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
from dataclasses import replace
from typing import NoReturn

from sqlglot import exp, parse_one

from headrace.errors import InternalError
from headrace.logical.graph import (
    WINDOW_COLUMNS,
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
from headrace.partitioning.partitioning_key import width_of
from headrace.partitioning.recognize_key import is_volatile
from headrace.partitioning.restrictions import read_restriction
from headrace.partitioning.row_places import SOURCE, Atoms, Place, Value, compute_value


def check_placement(plan: Plan) -> Plan:
    """The plan as it is; an InternalError if some operator would not see the rows it needs."""
    _Proof(plan).run()
    return plan


class _Proof:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.graph = plan, plan.graph
        self.atoms = Atoms()
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
            return self._read_streams(relation)
        if isinstance(relation, Merge):
            return [
                self._unite(relation, arm, place) for arm in relation.inputs for place in self.places[arm]
            ]
        if isinstance(relation, Derive):
            return [self._compute(relation, place) for place in self.places[relation.input]]
        if isinstance(relation, Lookup):
            return self._look_up(relation)
        if isinstance(relation, Aggregate):
            return self._aggregate(relation)
        assert isinstance(relation, KeyedJoin)
        return [self._join(relation)]

    def _read_streams(self, rows: Rows) -> list[Place]:
        found = []
        for branch in rows.branches:
            stream = self.graph.streams[branch.stream]
            declared = {c.lower(): t.strip().lower() for c, t in stream.columns}
            own = {c: self.atoms.make(f"{stream.name}.{c}", t) for c, t in declared.items()}
            types, columns = self.plan.types[rows.name], {}
            for name, expression in branch.columns:
                if len(rows.branches) > 1:  # made alike
                    expression = cast_to(expression, declared.get(expression.name.lower()), types[name])
                columns[name.lower()] = compute_value(expression, own, types[name])
            folders = None
            if stream.name in (self.plan.settings.by_folder or ()):
                keys = [k.expression for k in read_restriction(stream, stream.partition_by, True).keys]
                values = [compute_value(k, own, "").expression for k in keys]
                folders = tuple(Value(v, self.atoms.type_of(v)) for v in values)
            found.append(Place(SOURCE, "", folders, columns, folders is not None, folders is not None))
        return found

    def _unite(self, union: Merge, arm: str, place: Place) -> Place:
        theirs, ours = self.plan.types[arm], self.plan.types[union.name]
        columns = dict(place.columns)
        for name, type_ in theirs.items():
            if ours[name] != type_:
                columns[name.lower()] = Value(
                    cast_to(columns[name.lower()].expression, type_, ours[name]), ours[name]
                )
        return replace(place, columns=columns)

    def _compute(self, relation: Derive | Aggregate, place: Place) -> Place:
        types = self.plan.types[relation.name]
        shown = {name.lower(): compute_value(e, place.columns, types[name]) for name, e in relation.outputs}
        kept = {w: place.columns[w] for w in WINDOW_COLUMNS if w in place.columns and w not in shown}
        return replace(place, columns=kept | shown)

    def _look_up(self, lookup: Lookup) -> list[Place]:
        parts, below = self.plan.parts.get(lookup.name, ()), self.places[lookup.input]
        table = self.plan.tables.get(parts[0].table) if parts else None
        if isinstance(table, TransitTable) and lookup.name in table.members:
            below = [self._send_through(table, place) for place in below]
        found = []
        for place in below:
            columns = {
                c.name.lower(): place.columns[c.column.lower()] for c in lookup.visible if c.input == 0
            }
            columns |= self._name_unknown(lookup.name, columns)
            kept = {w: place.columns[w] for w in WINDOW_COLUMNS if w in place.columns}
            found.append(Place(place.level, place.table, place.hashed, kept | columns, place.by_folder))
        return found

    def _send_through(self, table: TransitTable, place: Place) -> Place:
        if table.id in self.plan.by_folder:
            if place.level != SOURCE or not place.by_folder:
                self._refuse(
                    f"{table.label} ({table.id}) is kept by folder",
                    f"its rows are {self.atoms.describe_place(place)}",
                )
            return Place(table.level, table.id, place.hashed, place.columns, True)
        if place.level >= table.level:
            there = self.atoms.describe_place(place)
            self._refuse(f"{table.label} ({table.id}) is at level {table.level}", f"its rows are {there}")
        self.crossed.add(table.id)
        keys = self._compute_keys(table.keys, table.types, place)
        return Place(table.level, table.id, self._hash(table, keys, table.types), place.columns)

    def _name_unknown(self, name: str, known: object) -> dict[str, Value]:
        """Columns of a relation of which nothing is known, as atoms."""
        missing = {c: t for c, t in self.plan.types[name].items() if c.lower() not in known}  # type: ignore[operator]
        return {c.lower(): self.atoms.make(f"{name}.{c}", t) for c, t in missing.items()}

    # -- operators --------------------
    def _aggregate(self, relation: Aggregate) -> list[Place]:
        places, types = self.places[relation.input], self.plan.aggregates[relation.name]
        if not self.plan.parts.get(relation.name):
            self._refuse(f"{relation.name} reads {relation.input}", "it is in no slot")
        id_ = self.plan.table_of.get(relation.name)
        results = {f"a{i}": self.atoms.make(f"{relation.name}.a{i}", "") for i in range(len(relation.calls))}
        results |= {
            w: self.atoms.make(w, self.graph.window_type(relation.name))
            for w in WINDOW_COLUMNS
            if not relation.joint
        }
        if id_ is None:
            keys = self._aggregate_in_place(relation, places)
            return [self._compute(relation, replace(places[0], columns={**results, **_number(keys)}))]
        table = self._table(id_)
        for place in places:
            fed = self._compute_keys(relation.keys, types.keys, place)
            self._check_feed(relation.name, table, fed, types.keys, place)
        keys = [self.atoms.make(f"{relation.name}.k{i}", t) for i, t in enumerate(types.keys)]
        folder = id_ in self.plan.by_folder
        there = Place(
            table.level,
            id_,
            self._hash(table, keys, types.keys),
            {**results, **_number(keys)},
            folder,
            folder,
        )
        return [self._compute(relation, there)]

    def _aggregate_in_place(self, relation: Aggregate, places: list[Place]) -> list[Value]:
        name = relation.name
        if len(places) != 1 or relation.window is not None or relation.joint:
            shown = "; ".join(map(self.atoms.describe_place, places))
            self._refuse(
                f"{name} is computed in place",
                f"its rows are {shown or 'nowhere'}, or it has a window of its own",
            )
        types, place = self.plan.aggregates[name].keys, places[0]
        keys = self._compute_keys(relation.keys, types, place)
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
        keys = self._name_join_keys(join, types)
        columns = self._show_join_keys(join, keys)
        columns |= self._name_unknown(join.name, columns)
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
            self._check_feed(join.name, table, self._compute_keys(keys, types.keys, place), types.keys, place)

    def _name_join_keys(self, join: KeyedJoin, types: Sequence[str]) -> list[Value]:
        """An atom for each key; keys that one column of an input stands for are one."""
        found: list[Value] = []
        for i, type_ in enumerate(types):
            alike = [
                j for j in range(i) if types[j] == type_ and any(g.keys[i] == g.keys[j] for g in join.inputs)
            ]
            found.append(found[alike[0]] if alike else self.atoms.make(f"{join.name}.k{i}", type_))
        return found

    def _show_join_keys(self, join: KeyedJoin, keys: Sequence[Value]) -> dict[str, Value]:
        """The columns that always have the value of a key: not those an outer join pads."""
        types, columns = self.plan.joins[join.name], {}
        for column in join.visible:
            if column.input in join.kind.padded:
                continue
            for i, key in enumerate(join.inputs[column.input].keys):
                if not isinstance(key, exp.Column) or key.name != column.column:
                    continue
                own = types.inputs[column.input][i]
                if own == types.keys[i]:
                    columns[column.name.lower()] = keys[i]
                elif (width_of(types.keys[i]) or 0) > (width_of(own) or 64):
                    columns[column.name.lower()] = self.atoms.make(column.name, own, keys[i].expression.name)
        return columns

    # -- what must hold --------------------
    def _compute_keys(self, keys: Sequence[exp.Expr], types: Sequence[str], place: Place) -> list[Value]:
        """What keys over the columns of rows are, in these types."""
        return [compute_value(k, place.columns, t) for k, t in zip(keys, types, strict=True)]

    def _hash(self, table: Table, keys: Sequence[Value], types: Sequence[str]) -> tuple[Value, ...]:
        """What a table is hashed by, of the values of its keys."""
        named, columns, found = {f"k{i}": t for i, t in enumerate(types)}, _number(keys), []
        for key in table.partition:
            expression = exp.column(f"k{key}") if isinstance(key, int) else parse_one(key, dialect="spark")
            if is_volatile(expression) or any(c.name not in named for c in expression.find_all(exp.Column)):
                self._refuse(f"{table.label} ({table.id}) has keys {list(named)}", f"is partitioned by {key}")
            found.append(compute_value(expression, columns, self.atoms.type_of(expression, named)))
        return tuple(found)

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


def _number(keys: Sequence[Value]) -> dict[str, Value]:
    return {f"k{i}": key for i, key in enumerate(keys)}


def _list(keys: Sequence[exp.Expr], types: Sequence[str]) -> str:
    shown = [f"{key.sql(dialect='spark')} {type_}" for key, type_ in zip(keys, types, strict=True)]
    return f"({', '.join(shown)})"
