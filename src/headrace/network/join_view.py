"""A view: the select-project-join of some streams, which is what every edge of a deployment carries.

A view names, per input, its stream, window, filter and columns, and the join predicates that hold between its
inputs. A deployed view can be relaxed to serve another over the same inputs: `combine_views` is their least
common relaxation. Of filters it is the looser, of windows the larger, of predicates those both have; columns
are those of both and in addition what a consumer needs to apply, after the join, what is its own: the columns
of its stricter filter and of its further predicates, the rows' times for its smaller window (telescoping, 004
section 4.4). It is associative and commutative, so the order in which consumers come does not matter.

`restrict_view` gives the view of some of the inputs which the rest of the view still needs: the same filters,
and in addition the columns of the predicates that cross the cut. Restricting twice is restricting once to the
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


TIME = "(time)"  # what travels so that a smaller window can be applied after the join
TIME_WIDTH = 8.0
Aliases = tuple[tuple[str, str], ...]  # (a consumer's name for an input, its producer's)
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

    @cached_property
    def reuse_key(self) -> tuple[tuple[str, ...], bool, float | None]:
        """What two views must have in common for one to be relaxed for the other."""
        windowed = any(i.window is not None for i in self.inputs)
        return tuple(sorted(i.stream for i in self.inputs)), windowed, self.slide

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
    """The least view that serves all the views given, which have the same inputs."""
    return reduce(_pair, views)


def _pair(one: View, other: View) -> View:
    return one if one is other else _combine_two(one, other)


@lru_cache(maxsize=1 << 17)  # planning a set again asks for the same pairs over and over
def _combine_two(one: View, other: View) -> View:
    if one == other:
        return one
    if one.predicates == other.predicates:
        predicates, dropped = one.predicates, _NOTHING
    else:
        predicates, dropped = _common(one.predicates, other.predicates)
    inputs = tuple(
        _pair_input(a, b, dropped.get(a.name)) for a, b in zip(one.inputs, other.inputs, strict=True)
    )
    same = all(new is old for new, old in zip(inputs, one.inputs, strict=True))
    if same and predicates == one.predicates:
        return one
    return View(inputs, predicates, one.slide)


_NOTHING: dict[str, frozenset[str]] = {}


@lru_cache(maxsize=65536)
def _common(
    one: tuple[JoinPredicate, ...], other: tuple[JoinPredicate, ...]
) -> tuple[tuple[JoinPredicate, ...], dict[str, frozenset[str]]]:
    """Predicates both have, and per input the columns of the others, which are tested after the join."""
    both = set(one) & set(other)
    columns: dict[str, frozenset[str]] = {}
    for p in (set(one) | set(other)) - both:
        for name, column in (p.left, p.right):
            columns[name] = columns.get(name, frozenset()) | {column}
    return tuple(sorted(both)), columns


def _pair_input(a: ViewInput, b: ViewInput, tested: frozenset[str] | None) -> ViewInput:
    looser = a.filter.hull(b.filter)
    window = a.window
    if a.window is not None and b.window is not None and a.window < b.window:
        window = b.window
    columns = None
    if a.columns is not None and b.columns is not None:
        columns = a.columns | b.columns
        if looser is not a.filter:
            columns |= a.filter.residual(looser)
        if looser is not b.filter:
            columns |= b.filter.residual(looser)
        if tested is not None:
            columns |= tested
        if a.window != b.window:
            columns |= {TIME}
    if looser is a.filter and columns == a.columns and window == a.window:
        return a
    return ViewInput(a.name, looser, window, columns)


def is_connected(view: View) -> bool:
    """Whether the predicates connect all inputs."""
    reached = {view.inputs[0].name}
    while True:
        near = {b for p in view.predicates for a, b in _ways(p) if a in reached}
        if near <= reached:
            return reached == view.names
        reached |= near


def _ways(p: JoinPredicate) -> tuple[tuple[str, str], tuple[str, str]]:
    return (p.left[0], p.right[0]), (p.right[0], p.left[0])


def rename_view(view: View, aliases: Aliases) -> View:
    """The same view, inputs called otherwise."""
    if not aliases:
        return view
    names = dict(aliases)
    inputs = [ViewInput(names.get(i.name, i.name), i.filter, i.window, i.columns) for i in view.inputs]
    predicates = []
    for p in view.predicates:
        left, right = ((names.get(n, n), c) for n, c in (p.left, p.right))
        predicates.append(
            JoinPredicate(left, right, p.op) if left < right else JoinPredicate(right, left, FLIP[p.op])
        )
    return View(tuple(sorted(inputs, key=lambda i: i.name)), tuple(sorted(predicates)), view.slide)


FLIP = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}
