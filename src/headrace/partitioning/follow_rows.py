"""How rows keep their place while relations compute, unite, look up and join them.

A place (`row_places.py`) never forgets what its rows were hashed by, so all that a relation changes is what its columns hold:
a projection computes them, a union casts them, a lookup adds some that nothing is known of. A join's columns hold its keys
where they always have a key's value: not on a side that an outer join pads, and as narrow atoms where they were compared in a
wider type.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp, parse_one

from headrace.logical.graph import (
    WINDOW_COLUMNS,
    Aggregate,
    Derive,
    Graph,
    KeyedJoin,
    Lookup,
    Merge,
    Rows,
)
from headrace.partitioning.partitioning_key import width_of
from headrace.partitioning.recognize_key import is_volatile
from headrace.partitioning.restrictions import read_restriction
from headrace.partitioning.row_places import SOURCE, Atoms, Place, Value, compute_value

TableKey = int | str  # the number of a group-by value, or an expression over k0, k1, …


@dataclass(frozen=True)
class RowFollower:
    """`types` are those of every relation's columns, by name; `by_folder` the streams whose folders are kept apart."""

    graph: Graph
    types: Mapping[str, Mapping[str, str]]
    by_folder: Collection[str]
    atoms: Atoms

    def read_streams(self, rows: Rows) -> list[Place]:
        """Rows with the source tasks, stream by stream."""
        found = []
        for branch in rows.branches:
            stream = self.graph.streams[branch.stream]
            declared = {c.lower(): t.strip().lower() for c, t in stream.columns}
            own = {c: self.atoms.make(f"{stream.name}.{c}", t) for c, t in declared.items()}
            types, columns = self.types[rows.name], {}
            for name, expression in branch.columns:
                type_ = types[name]
                if len(rows.branches) > 1:  # made alike
                    expression = cast(expression, declared.get(expression.name.lower(), ""), type_)
                columns[name.lower()] = compute_value(expression, own, type_)
            folders = None
            if stream.name in self.by_folder:
                keys = read_restriction(stream, stream.partition_by, True).keys
                values = [compute_value(k.expression, own, "").expression for k in keys]
                folders = tuple(Value(v, self.atoms.type_of(v)) for v in values)
            found.append(Place(SOURCE, "", folders, columns, folders is not None, folders is not None))
        return found

    def unite(self, union: Merge, arm: str, place: Place) -> Place:
        theirs, ours = self.types[arm], self.types[union.name]
        columns = dict(place.columns)
        for name, type_ in theirs.items():
            if ours[name] != type_:
                casted = cast(columns[name.lower()].expression, type_, ours[name])
                columns[name.lower()] = Value(casted, ours[name])
        return replace(place, columns=columns)

    def compute(self, relation: Derive | Aggregate, place: Place) -> Place:
        """The outputs of a projection, or of an aggregation whose keys, results and window are the columns of a place."""
        types = self.types[relation.name]
        shown = {n.lower(): compute_value(e, place.columns, types[n]) for n, e in relation.outputs}
        return replace(place, columns=_keep_window(place, shown) | shown)

    def aggregate(self, relation: Aggregate, keys: Sequence[Value], place: Place) -> Place:
        """The results of an aggregation by these keys, which runs in a place."""
        results = {f"a{i}": self.atoms.make(f"{relation.name}.a{i}", "") for i in range(len(relation.calls))}
        if not relation.joint:
            type_ = self.graph.window_type(relation.name)
            results |= {w: self.atoms.make(w, type_) for w in WINDOW_COLUMNS}
        return self.compute(relation, replace(place, columns=results | number_keys(keys)))

    def look_up(self, lookup: Lookup, place: Place) -> Place:
        columns = {c.name.lower(): place.columns[c.column.lower()] for c in lookup.visible if c.input == 0}
        columns |= self._name_unknown(lookup.name, lookup.columns, columns)
        return replace(place, columns=_keep_window(place, columns) | columns, brings_pid=False)

    def pass_through(self, name: str, places: Sequence[Place], level: int, table: str) -> Place | None:
        """Rows of streams on their way through slots, in the folders of their source; None if they do not say which alike."""
        types = self.types.get(name, {})
        columns = {c: self.atoms.make(f"{name}.{c}", types.get(c, "")) for c in places[0].columns}
        ways = set()
        for place in places:
            shown = [self.atoms.express(v, place.columns) for v in place.hashed or ()]
            if place.level != SOURCE or not place.by_folder or None in shown:
                return None
            ways.add(tuple(e.sql(dialect="spark") for e in shown if e is not None))
        if len(ways) != 1:
            return None
        values = [
            compute_value(parse_one(text, dialect="spark"), columns, "").expression for text in ways.pop()
        ]
        hashed = tuple(Value(v, self.atoms.type_of(v)) for v in values)
        return Place(level, table, hashed, columns, True)

    def send_through(
        self, name: str, hashed: Sequence[tuple[exp.Expr, str]], level: int, table: str
    ) -> Place:
        """Rows of streams on their way through slots, by the hash of expressions over their columns, in these types."""
        relation, types = self.graph.relations[name], self.types.get(name, {})
        columns = {c.lower(): self.atoms.make(f"{name}.{c}", types.get(c, "")) for c in relation.columns}
        return Place(level, table, tuple(compute_value(e, columns, t) for e, t in hashed), columns)

    def join(
        self, join: KeyedJoin, types: Sequence[str], inputs: Sequence[Sequence[str]]
    ) -> tuple[list[Value], dict[str, Value]]:
        """The keys of a join, of these types, and what its columns hold; `inputs` are the types of each input's own keys."""
        keys: list[Value] = []
        for i, type_ in enumerate(types):  # keys that one column of an input stands for are one
            alike = [
                j for j in range(i) if types[j] == type_ and any(g.keys[i] == g.keys[j] for g in join.inputs)
            ]
            keys.append(keys[alike[0]] if alike else self.atoms.make(f"{join.name}.k{i}", type_))
        columns: dict[str, Value] = {}
        for column in join.visible:
            for i, key in enumerate(
                () if column.input in join.kind.padded else join.inputs[column.input].keys
            ):
                if not isinstance(key, exp.Column) or key.name != column.column:
                    continue
                own = inputs[column.input][i]
                if own == types[i]:
                    columns[column.name.lower()] = keys[i]
                elif (width_of(types[i]) or 0) > (width_of(own) or 64):
                    columns[column.name.lower()] = self.atoms.make(column.name, own, keys[i].expression.name)
        return keys, columns | self._name_unknown(join.name, join.columns, columns)

    def _name_unknown(self, name: str, all_of: Sequence[str], known: Collection[str]) -> dict[str, Value]:
        """Columns of a relation of which nothing is known, as atoms."""
        types = self.types.get(name, {})
        return {
            c.lower(): self.atoms.make(f"{name}.{c}", types.get(c, ""))
            for c in all_of
            if c.lower() not in known
        }

    def hash_keys(
        self, partition: Sequence[TableKey], keys: Sequence[Value], types: Sequence[str]
    ) -> tuple[Value, ...] | None:
        """What a table with these keys is hashed by; None if it is not a function of them."""
        named, columns, found = {f"k{i}": t for i, t in enumerate(types)}, number_keys(keys), []
        for key in partition:
            expression = exp.column(f"k{key}") if isinstance(key, int) else parse_one(key, dialect="spark")
            if is_volatile(expression) or any(c.name not in named for c in expression.find_all(exp.Column)):
                return None
            found.append(compute_value(expression, columns, self.atoms.type_of(expression, named)))
        return tuple(found)

    def find_table_keys(self, place: Place, keys: Sequence[Value]) -> tuple[TableKey, ...] | None:
        """What a table with these keys is to be partitioned by, so that rows stay in their place; None if it cannot be told."""
        shown = [self.atoms.express(value, number_keys(keys)) for value in place.hashed or ()]
        if place.hashed is None or None in shown:
            return None
        return tuple(
            int(e.name[1:]) if isinstance(e, exp.Column) else e.sql(dialect="spark")
            for e in shown
            if e is not None
        )


def cast(expression: exp.Expr, have: str, want: str) -> exp.Expr:
    """An expression as a value of another type."""
    return expression if have == want else exp.cast(expression.copy(), want, dialect="spark")


def compute_keys(keys: Sequence[exp.Expr], types: Sequence[str], place: Place) -> list[Value]:
    """What keys over the columns of rows are, in these types."""
    return [compute_value(k, place.columns, t) for k, t in zip(keys, types, strict=True)]


def number_keys(keys: Sequence[Value]) -> dict[str, Value]:
    return {f"k{i}": key for i, key in enumerate(keys)}


def _keep_window(place: Place, shown: Collection[str]) -> dict[str, Value]:
    return {w: place.columns[w] for w in WINDOW_COLUMNS if w in place.columns and w not in shown}
