"""A continuous select-project-join query, as written, and the view it asks for.

`Query` is what a user says: inputs with windows and filters, join predicates, output columns, a sink.
`normalize_query` makes it comparable with other queries: equalities are closed transitively (FL.NUM = CI.FLIGHT and
FL.NUM = BG.FLIGHT make CI ⋈ BG a join, not a cross product), an equality filter on a column holds for every
column it is equated with, and inputs are named after their streams. A step is taken only where the catalog
can price it: an implied edge needs a selectivity or distinct counts, an implied filter the distinct count of
its column.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations

from headrace.errors import NetworkError
from headrace.network.join_view import TIME, JoinPredicate, View, ViewInput
from headrace.network.stream_catalog import Catalog
from headrace.network.stream_filters import Atom, Condition, StreamFilter, conjoin_conditions


@dataclass(frozen=True)
class JoinQuery:
    """Inputs carry the *output* columns (None: all); predicates name inputs; `slide` and windows are in
    seconds.
    """

    name: str
    sink: str
    inputs: tuple[ViewInput, ...]
    predicates: tuple[JoinPredicate, ...] = ()
    slide: float | None = None

    def __post_init__(self) -> None:
        names = [i.name for i in self.inputs]
        if not names:
            raise NetworkError(f"query {self.name!r} reads no stream; name at least one input")
        if len(set(names)) < len(names):
            raise NetworkError(
                f"query {self.name!r} uses an input name twice ({', '.join(sorted(names))});"
                " name further uses of a stream `stream#2`, `stream#3`"
            )
        for p in self.predicates:
            for name, _ in (p.left, p.right):
                if name not in names:
                    raise NetworkError(
                        f"query {self.name!r}: predicate {p} speaks of {name!r}, which is not among its"
                        " inputs"
                        f" ({', '.join(names)})"
                    )
        for i in self.inputs:
            if i.window is not None and not 0 < i.window < math.inf:
                raise NetworkError(
                    f"query {self.name!r}: the window of {i.name} is {i.window:g} s; expected more than 0"
                )
        if self.slide is not None and not 0 < self.slide < math.inf:
            raise NetworkError(f"query {self.name!r}: its slide is {self.slide:g} s; expected more than 0")
        windowed = [i.window is not None for i in self.inputs]
        if any(windowed) and not all(windowed) and len(names) > 1:
            bare = ", ".join(i.name for i in self.inputs if i.window is None)
            raise NetworkError(
                f"query {self.name!r} gives some inputs a window but not {bare};"
                " a join needs one on every input, or on none"
            )

    @property
    def streams(self) -> frozenset[str]:
        return frozenset(i.stream for i in self.inputs)


def parse_predicate(left: str, right: str, op: str = "=") -> JoinPredicate:
    """A predicate from two `input.column`s, in its one normal order."""
    a, b = (_ends(left), _ends(right))
    if a[0] == b[0]:
        raise NetworkError(
            f"{left} {op} {right} relates columns of one input; that is a filter, not a join predicate"
        )
    flipped = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op)
    return JoinPredicate(a, b, op) if a < b else JoinPredicate(b, a, flipped)


def normalize_query(catalog: Catalog, query: JoinQuery) -> View:
    """The view a query asks for, in the form in which views of different queries can be compared."""
    check_columns(catalog, query)
    classes = _classes(query.predicates)
    predicates = set(query.predicates)
    for members in classes:
        for left, right in combinations(sorted(members), 2):
            if left[0] != right[0] and edge_selectivity(catalog, left, right) is not None:
                predicates.add(JoinPredicate(left, right))
    inputs = [replace(one, filter=_implied(catalog, query, one, classes)) for one in query.inputs]
    for p in sorted(predicates):
        if edge_selectivity(catalog, p.left, p.right, p.op) is None:
            raise NetworkError(
                f"query {query.name!r}: nothing is known about the selectivity of {p};"
                " declare it under `selectivities`, or give both columns `distinct` counts"
            )
    return View(tuple(sorted(inputs, key=lambda i: i.name)), tuple(sorted(predicates)), query.slide)


def check_columns(catalog: Catalog, query: JoinQuery) -> None:
    """Every column a query speaks of is one its stream declares; streams without columns take any."""
    for one in query.inputs:
        stream = catalog.stream(one.stream)
        spoken = set(one.columns or ())
        spoken |= {end[1] for p in query.predicates for end in (p.left, p.right) if end[0] == one.name}
        spoken |= {c for condition in one.filter.conditions for c in condition.columns}
        strange = sorted(spoken - set(stream.column) - {TIME}) if stream.columns else []
        if strange:
            raise NetworkError(
                f"query {query.name!r}: stream {stream.name!r} has no column {strange[0]!r}; it has"
                f" {', '.join(stream.column)}"
            )


def edge_selectivity(
    catalog: Catalog, left: tuple[str, str], right: tuple[str, str], op: str = "="
) -> float | None:
    """The selectivity of an edge: declared, else from distinct counts."""
    ends = [f"{name.partition('#')[0]}.{column}" for name, column in (left, right)]
    declared = catalog.edge(*ends)
    if declared is not None or op != "=":
        return declared
    counts = [distinct_count(catalog, *left), distinct_count(catalog, *right)]
    if counts[0] is None or counts[1] is None:
        return None
    return 1 / max(counts[0], counts[1], 1.0)


def distinct_count(catalog: Catalog, name: str, column: str) -> float | None:
    found = catalog.stream(name.partition("#")[0]).column.get(column)
    return None if found is None else found.distinct


def _classes(predicates: Iterable[JoinPredicate]) -> list[set[tuple[str, str]]]:
    """Columns equated with one another, directly or through others."""
    classes: list[set[tuple[str, str]]] = []
    for p in predicates:
        if p.op == "=":
            touched = [c for c in classes if p.left in c or p.right in c]
            merged = {p.left, p.right}.union(*touched)
            classes = [c for c in classes if c not in touched] + [merged]
    return classes


def _implied(
    catalog: Catalog, query: JoinQuery, one: ViewInput, classes: list[set[tuple[str, str]]]
) -> StreamFilter:
    """An input's filter, with the equality filters of the columns its own are equated with."""
    conditions = list(one.filter.conditions)
    given = {i.name: i.filter for i in query.inputs}
    for members in classes:
        for column in sorted(c for n, c in members if n == one.name):
            count = distinct_count(catalog, one.name, column)
            if count is None or one.filter.on(column) is not None:
                continue
            for other, theirs in sorted(members):
                condition = given[other].on(theirs) if other != one.name else None
                if condition is not None and condition.values is not None:
                    atoms = frozenset(Atom(1 / max(count, 1.0), a.value) for a in condition.atoms)
                    conditions.append(Condition(column, frozenset((column,)), atoms))
                    break
    return conjoin_conditions(conditions)


def _ends(text: str) -> tuple[str, str]:
    name, dot, column = text.partition(".")
    if not (name and dot and column):
        raise NetworkError(f"expected `input.column` in a join predicate, got {text!r}")
    return name, column
