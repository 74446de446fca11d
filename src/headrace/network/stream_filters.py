"""Selections as a lattice: what it means for one filter to be looser than another, and their least
relaxation.

A filter of a stream is a conjunction of conditions, each on one expression (usually a column): the expression
meets at least one of a set of *atoms* (a value, a range, an opaque piece of text). `hull` is the join of the
lattice: an expression both filters restrict keeps the union of the atoms; an expression only one of them
restricts is free. It is associative, commutative and idempotent, and its selectivity is never below that of
either side. Telescoping (004, section 4.4) rests on it: a join shared by two queries runs behind the hull of
their filters, and each query applies its own filter after it.

The selectivity of atoms joined by OR is their sum, at most 1 (exact for distinct values); of conditions
joined by AND the product (independence).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import is_


@dataclass(frozen=True)
class Atom:
    """One alternative: `value` for an equality or opaque text, else the range `low..high`."""

    selectivity: float
    value: str | None = None
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False

    def implies(self, other: Atom) -> bool:
        if other.value is not None:
            return self.value == other.value
        low = high = _number(self.value)
        low_open = high_open = False
        if self.value is None:
            low, high, low_open, high_open = self.low, self.high, self.low_open, self.high_open
        if low is None or high is None:
            return False
        above = low > other.low or (low == other.low and (low_open or not other.low_open))
        below = high < other.high or (high == other.high and (high_open or not other.high_open))
        return above and below


@dataclass(frozen=True)
class Condition:
    """`expression` meets one of `atoms`; `columns` are what has to travel for it to be tested later."""

    expression: str
    columns: frozenset[str]
    atoms: frozenset[Atom]
    ranged: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranged", any(atom.value is None for atom in self.atoms))

    @cached_property
    def selectivity(self) -> float:
        return min(1.0, sum(atom.selectivity for atom in self.atoms))

    @property
    def values(self) -> int | None:
        """How many single values it admits, None if it admits a range or text."""
        return None if self.ranged or self.expression not in self.columns else len(self.atoms)

    @cached_property
    def _hash(self) -> int:
        return hash((self.expression, self.atoms))

    def __hash__(self) -> int:
        return self._hash

    def hull(self, other: Condition) -> Condition:
        if other.atoms <= self.atoms and other.columns <= self.columns:
            return self
        atoms = self.atoms | other.atoms
        if self.ranged or other.ranged:
            atoms = _absorbed(atoms)
        return Condition(self.expression, self.columns | other.columns, atoms)


@dataclass(frozen=True)
class StreamFilter:
    """A conjunction of conditions on different expressions, sorted by expression."""

    conditions: tuple[Condition, ...] = ()

    @property
    def selectivity(self) -> float:
        return math.prod(condition.selectivity for condition in self.conditions)

    def on(self, expression: str) -> Condition | None:
        return next((c for c in self.conditions if c.expression == expression), None)

    def hull(self, other: StreamFilter) -> StreamFilter:
        """The least filter of this lattice looser than both."""
        if self is other or not self.conditions or self == other:
            return self
        if not other.conditions:
            return other
        theirs = {c.expression: c for c in other.conditions}
        both = tuple(c.hull(theirs[c.expression]) for c in self.conditions if c.expression in theirs)
        same = len(both) == len(self.conditions) and all(map(is_, both, self.conditions))
        return self if same else StreamFilter(both)

    def implies(self, other: StreamFilter) -> bool:
        """Whether every row this filter keeps is kept by the other."""
        for theirs in other.conditions:
            ours = self.on(theirs.expression)
            if ours is None or not all(any(a.implies(b) for b in theirs.atoms) for a in ours.atoms):
                return False
        return True

    def residual(self, looser: StreamFilter) -> frozenset[str]:
        """Columns needed to apply this filter after the looser one."""
        needed: frozenset[str] = frozenset()
        for ours in self.conditions:
            if looser.on(ours.expression) != ours:
                needed |= ours.columns
        return needed


NONE = StreamFilter()


def conjoin_conditions(conditions: Iterable[Condition]) -> StreamFilter:
    """A filter of conditions as written: two conditions on one expression keep the atoms that imply both."""
    merged: dict[str, Condition] = {}
    for condition in conditions:
        if condition.ranged:
            condition = replace(condition, atoms=_absorbed(condition.atoms))
        before = merged.get(condition.expression)
        merged[condition.expression] = condition if before is None else _narrowed(before, condition)
    return StreamFilter(tuple(merged[key] for key in sorted(merged)))


def _narrowed(one: Condition, other: Condition) -> Condition:
    atoms = {_both(a, b) for a in one.atoms for b in other.atoms} - {None}
    kept = frozenset(atom for atom in atoms if atom is not None)
    return replace(one, atoms=kept, columns=one.columns | other.columns)


def _both(a: Atom, b: Atom) -> Atom | None:
    if a.implies(b):
        return a
    if b.implies(a):
        return b
    if a.value is not None or b.value is not None:
        return None
    low, low_open = max((a.low, a.low_open), (b.low, b.low_open))
    high, neg_open = min((a.high, not a.high_open), (b.high, not b.high_open))
    if low > high:
        return None
    # two ranges that each keep a share of one axis: what both keep, counted from either end
    share = max(0.0, a.selectivity + b.selectivity - 1.0) or a.selectivity * b.selectivity
    return Atom(share, None, low, high, low_open, not neg_open)


def _absorbed(atoms: frozenset[Atom]) -> frozenset[Atom]:
    """Without atoms another one covers; a cover keeps at least what those it covers keep together."""
    kept: list[Atom] = []
    covered: list[float] = []
    for atom in sorted(atoms, key=lambda a: (a.value is not None, a.low, -a.high, a.low_open, str(a.value))):
        cover = next((i for i, other in enumerate(kept) if atom.implies(other)), None)
        if cover is None:
            kept.append(atom)
            covered.append(0.0)
        else:
            covered[cover] = min(1.0, covered[cover] + atom.selectivity)
    return frozenset(
        replace(atom, selectivity=share) if share > atom.selectivity else atom
        for atom, share in zip(kept, covered, strict=True)
    )


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
