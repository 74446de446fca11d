"""Where rows are, and what can be proved of it: the theory by which a finished plan is checked (document 000 §3.4, §5).

A column of a relation holds an expression over *atoms*: values that nothing smaller is known of, like a stream's attribute or a
key of a table. Rows that were hashed by values v₁, v₂, … over atoms stay where they are while columns are renamed, computed or
dropped, so a place never forgets what was hashed, whether or not a column still shows it. Two questions are asked of it:

* Are rows that are equal in some values together? They are if each hashed value is determined by these: it is one of them, a
  coarser function of one (`coarsening.py`), or a function all of whose parts are determined.
* Does another hash give the same mini-partition? It does if the same values are hashed, in the same order and types. What to
  hash, of columns that have other values, `express` says: x & -256 is (k << 8) where k is x >> 8 (`find_undo`).

A *narrow* atom is an integer column that was compared in a wider type: as a value it is the wide atom, in its own type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from headrace.dialect.duck import translate
from headrace.errors import HeadraceError
from headrace.partitioning.coarsening import find_remaining_step, is_coarser
from headrace.partitioning.partitioning_key import (
    PartitioningKey,
    is_exact_type,
    needs_quotes,
    write_coarsening,
)
from headrace.partitioning.recognize_key import find_undo, is_volatile, recognize_key

SOURCE = -1  # the level of rows that no exchange has carried yet


@dataclass(frozen=True)
class Value:
    """What a column holds: an expression over atoms, and its type."""

    expression: exp.Expr
    type: str


@dataclass(frozen=True)
class Place:
    """Rows in the slots of a level, and what decided their mini-partition: the hash of values, or the folder these tell."""

    level: int
    table: str  # they come from
    hashed: tuple[Value, ...] | None  # None: nobody knows
    columns: Mapping[str, Value]
    by_folder: bool = False
    brings_pid: bool = False  # whether a row still knows its folder


@dataclass
class Atoms:
    """The atoms of a plan, their types, and what is known to be equal."""

    types: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # for messages
    wide: dict[str, str] = field(default_factory=dict)  # narrow atom -> the atom it was compared as
    _spelled: dict[str, exp.Expr] = field(default_factory=dict)

    def make(self, name: str, type_: str, wide: str | None = None) -> Value:
        shown, name = name, f"a{len(self.types)}"
        self.types[name], self.names[name] = type_, shown
        if wide is not None:
            self.wide[name] = wide
        return Value(exp.column(name), type_)

    def same(self, one: Value, other: Value) -> bool:
        """Whether two values are always the same, and of one type."""
        if one.type != other.type:
            return False
        return one.expression == other.expression or self._normalize(one.expression) == self._normalize(other.expression)

    def are_same(self, some: Sequence[Value], others: Sequence[Value]) -> bool:
        return len(some) == len(others) and all(map(self.same, some, others))

    def is_determined(self, value: exp.Expr, given: Sequence[Value]) -> bool:
        """Whether rows that are equal in what is given are equal in a value too."""
        if is_volatile(value):
            return False
        if value.find(exp.Column) is None:
            return True
        if any(self._normalize(value) == self._normalize(g.expression) for g in given):
            return True
        key, keys = self._recognize(value), [self._recognize(g.expression) for g in given]
        if any(k is not None and key is not None and _is_function(key, k) for k in keys):
            return True
        exact = [
            g for g, k in zip(given, keys, strict=True) if k is not None and k.exact and is_exact_type(g.type)
        ]
        parts = [part for part in value.iter_expressions() if part.find(exp.Column) is not None]
        return bool(parts) and all(self.is_determined(part, exact) for part in parts)

    def express(self, value: Value, columns: Mapping[str, Value]) -> exp.Expr | None:
        """A value computed of columns, in its type; None if they do not tell it."""
        types = {name: column.type for name, column in columns.items()}
        same = next((name for name, column in columns.items() if self.same(column, value)), None)
        if same is not None:
            return exp.column(same, quoted=needs_quotes(same))
        found, lattice = self._express(value.expression, columns, types)
        if found is None or self.type_of(found, types) == value.type:
            return found
        if not lattice or (value.type and not self.type_of(found, types)):
            return None
        to = exp.DataType.build(value.type, dialect="spark") if value.type else None
        return exp.TryCast(this=found, to=to) if to is not None else found  # as Spark's CAST is read

    def _express(
        self, value: exp.Expr, columns: Mapping[str, Value], types: Mapping[str, str]
    ) -> tuple[exp.Expr | None, bool]:
        """A value, but perhaps in another type, and whether it is a member of the lattice."""
        value = self._normalize(value)
        key = recognize_key(value, self.types, as_value=True)
        if value.find(exp.Column) is None:
            return value, False
        if key is None:
            return None, False
        if key.column is not None:
            for name, column in columns.items():
                undo = find_undo(
                    self._normalize(column.expression),
                    self.types,
                    exp.column(name, quoted=needs_quotes(name)),
                )
                if undo is None or not _is_function(key, undo[0]):
                    continue
                step = find_remaining_step(undo[0].coarsening, key.coarsening, key.width)
                if step is not None:
                    return write_coarsening(undo[1], step), True
            return None, True
        same = next(
            (
                n
                for n, c in columns.items()
                if self._normalize(c.expression) == value and is_exact_type(c.type)
            ),
            None,
        )
        if same is not None:
            return exp.column(same, quoted=needs_quotes(same)), False
        found = value.copy()
        for part in list(found.iter_expressions()):
            if part.find(exp.Column) is None:
                continue
            inner, _ = self._express(part, columns, types)
            if inner is None or self.type_of(inner, types) != self.type_of(part):
                return None, False
            part.replace(inner if isinstance(inner, (exp.Column, exp.Func)) else exp.paren(inner))
        return (found, False) if not isinstance(found, exp.Column) else (None, False)

    def type_of(self, expression: exp.Expr, types: Mapping[str, str] | None = None) -> str:
        """Spark's type of an expression; nothing where it is not known here."""
        try:
            return translate(expression, self.types if types is None else types).type
        except HeadraceError:
            return ""

    def _recognize(self, value: exp.Expr) -> PartitioningKey | None:
        value = self._normalize(value)
        return recognize_key(value, self._find_types(value))

    def _find_types(self, value: exp.Expr) -> dict[str, str]:
        """The types of the atoms in a value; there are many others."""
        return {c.name: self.types[c.name] for c in value.find_all(exp.Column) if c.name in self.types}

    def _normalize(self, value: exp.Expr, inside: bool = False) -> exp.Expr:
        """One spelling of a value: without brackets, coarsenings in their canonical form, over wide atoms where it is theirs."""
        while isinstance(value, exp.Paren):
            value = value.this
        if value.find(exp.Column) is None or is_volatile(value):
            return value
        text = f"{value.sql(dialect='spark')}{inside}"
        if text not in self._spelled:
            value = value.transform(self._redo)
            key = self._read(value)
            found = self._write(key) if key is not None and key.column is not None else None
            # where it is a part, its type counts too: 2 * x has not the room of 2 * bigint(x)
            if found is None or (inside and self.type_of(found) != self.type_of(value)):
                found = value.copy()
                for part in list(found.iter_expressions()):
                    part.replace(self._normalize(part, inside=True))
            self._spelled[text] = found
        return self._spelled[text].copy()

    def _read(self, value: exp.Expr) -> PartitioningKey | None:
        """The key whose value this is: what needs no undo is one."""
        types, itself = self._find_types(value), exp.column("_v")
        key = recognize_key(value, types, as_value=True)
        undo = find_undo(value, types, itself) if key is not None and key.column is None else None
        return undo[0] if undo is not None and undo[1] == itself else key

    def _redo(self, value: exp.Expr) -> exp.Expr:
        """The undo of an expression is the key that it tells apart."""
        if isinstance(value, exp.Cast):
            for part in value.find_all(*_UNDONE):
                undo = (
                    find_undo(part, self.types)
                    if part is not value and part.find(exp.Column) is not None
                    else None
                )
                if undo is not None and _strip(undo[1]) == _strip(value):
                    return exp.paren(undo[0].expression)
        return value

    def _write(self, key: PartitioningKey) -> exp.Expr:
        column = str(key.column)
        return write_coarsening(exp.column(self.wide.get(column, column)), key.coarsening)

    def describe(self, values: Sequence[Value] | None) -> str:
        """Values in words."""
        if values is None:
            return "nobody knows what"

        def visit(node: exp.Expr) -> exp.Expr:
            return exp.column(self.names[node.name], quoted=True) if isinstance(node, exp.Column) else node

        shown = [f"{v.expression.copy().transform(visit).sql(dialect='spark')} {v.type}" for v in values]
        return f"({', '.join(shown)})".replace("`", "")

    def describe_place(self, place: Place) -> str:
        where = (
            "with the source tasks" if place.level == SOURCE else f"at level {place.level} in {place.table}"
        )
        if place.level == SOURCE and not place.by_folder:
            return where
        return (
            f"{where} by {'folders of' if place.by_folder else 'the hash of'} {self.describe(place.hashed)}"
        )


_UNDONE = (exp.Binary, exp.Unary, exp.Func, exp.Column)


def _strip(value: exp.Expr) -> exp.Expr:
    """An expression without its brackets, to be compared."""
    bare = value.copy().unnest()
    for brackets in list(bare.find_all(exp.Paren)):
        brackets.replace(brackets.unnest())
    return bare


def _is_function(key: PartitioningKey, of: PartitioningKey) -> bool:
    """Whether one coarsening of an atom is known where another is."""
    if key.column is None or key.column != of.column:
        return False
    return key.coarsening == of.coarsening or (
        key.exact and of.exact and is_coarser(key.coarsening, of.coarsening, key.width)
    )


def compute_value(expression: exp.Expr, columns: Mapping[str, Value], type_: str) -> Value:
    """An expression over columns, over atoms instead; the columns must be known."""

    def visit(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column):
            inner = columns[node.name.lower()].expression
            return inner.copy() if isinstance(inner, exp.Column) else exp.paren(inner.copy())
        return node

    return Value(expression.copy().transform(visit), type_)
