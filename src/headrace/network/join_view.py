"""A view: the select-project-join of some streams, which is what every edge of a deployment carries.

A view names, per input, its stream, window, filter and columns, and the join predicates that hold between its
inputs. Two views with the same *signature* (inputs, windows, predicates, slide) differ only in filters and
columns, so a deployed one can be relaxed to serve the other: `combine_views` is their least common relaxation. It
also carries the columns with which a consumer's stricter filter is applied after the join (telescoping), and
it is associative, so the order in which consumers come does not matter.

`restrict_view` gives the view of some of the inputs which the rest of the view still needs: the same filters, and
in addition the columns of the predicates that cross the cut. Restricting twice is restricting once to the
smaller set, hence what a join needs from below does not depend on the join order: the rate of a set of
streams is a function of the set, and the planners may work on sets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from typing import NamedTuple

from headrace.network.stream_filters import NONE, StreamFilter


@dataclass(frozen=True)
class ViewInput:
    """One stream of a view. `name` is the stream's name, with `#2`, `#3` … for further uses of it in one
    query.
    """

    name: str
    filter: StreamFilter = NONE
    window: float | None = None
    columns: frozenset[str] | None = None

    @property
    def stream(self) -> str:
        return self.name.partition("#")[0]


class JoinPredicate(NamedTuple):
    """A join predicate between columns of two inputs, `left op right`, left < right."""

    left: tuple[str, str]
    right: tuple[str, str]
    op: str = "="

    def __str__(self) -> str:
        return f"{'.'.join(self.left)} {self.op} {'.'.join(self.right)}"


Signature = tuple[tuple[tuple[str, float | None], ...], tuple[JoinPredicate, ...], float | None]


@dataclass(frozen=True)
class View:
    """Inputs sorted by name, predicates sorted; `slide` in seconds when results are recomputed
    periodically.
    """

    inputs: tuple[ViewInput, ...]
    predicates: tuple[JoinPredicate, ...] = ()
    slide: float | None = None

    names: frozenset[str] = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # set at once: these two are asked of nearly every view, and views are made by the thousand
        object.__setattr__(self, "names", frozenset([i.name for i in self.inputs]))
        object.__setattr__(self, "_hash", hash((self.inputs, self.predicates, self.slide)))

    @cached_property
    def signature(self) -> Signature:
        return tuple((i.name, i.window) for i in self.inputs), self.predicates, self.slide

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return " ⋈ ".join(i.name for i in self.inputs)


def restrict_view(view: View, names: frozenset[str]) -> View:
    """What the rest of the view needs of some of its inputs."""
    if names == view.names:
        return view
    inside, crossing = _cut(view.predicates, names)
    inputs = []
    for one in view.inputs:
        if one.name in names:
            extra = crossing.get(one.name)
            if one.columns is not None and extra is not None and not extra <= one.columns:
                one = ViewInput(one.name, one.filter, one.window, one.columns | extra)
            inputs.append(one)
    return View(tuple(inputs), inside, view.slide)


@lru_cache(maxsize=65536)
def _cut(
    predicates: tuple[JoinPredicate, ...], names: frozenset[str]
) -> tuple[tuple[JoinPredicate, ...], dict[str, frozenset[str]]]:
    """Predicates within a set of inputs, and per input the columns in predicates that lead out of it."""
    inside = []
    crossing: dict[str, frozenset[str]] = {}
    for p in predicates:
        left, right = p.left[0] in names, p.right[0] in names
        if left and right:
            inside.append(p)
        elif left or right:
            name, column = p.left if left else p.right
            crossing[name] = crossing.get(name, frozenset()) | {column}
    return tuple(inside), crossing


def combine_views(views: Iterable[View]) -> View:
    """The least view that serves all the views given, which have one signature."""
    return reduce(_pair, views)


def _pair(one: View, other: View) -> View:
    if one is other or one == other:
        return one
    inputs = tuple(_pair_input(a, b) for a, b in zip(one.inputs, other.inputs, strict=True))
    if all(new is old for new, old in zip(inputs, one.inputs, strict=True)):
        return one
    return View(inputs, one.predicates, one.slide)


def _pair_input(a: ViewInput, b: ViewInput) -> ViewInput:
    looser = a.filter.hull(b.filter)
    columns = None
    if a.columns is not None and b.columns is not None:
        columns = a.columns | b.columns
        if looser is not a.filter:
            columns |= a.filter.residual(looser)
        if looser is not b.filter:
            columns |= b.filter.residual(looser)
    if looser is a.filter and columns == a.columns:
        return a
    return ViewInput(a.name, looser, a.window, columns)
