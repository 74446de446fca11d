"""Which columns of a relation carry progress, and what each of them waits for (document 003, chapters 6 to
8).

A stream has one such column. Selections keep it, projections that copy it too, and functions of it that never
fall carry it on (`apply_function.py`); of several, the one that is copied counts where none is named. Each
kind of relation says what it makes of the columns of what it reads (`Relation.find_progress`); here they are
put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.logical.apply_function import ProgressColumn
from headrace.progress.waits import Waits, unite_waits

if TYPE_CHECKING:
    from headrace.logical.graph import Graph

ProgressColumns = Mapping[str, Waits]
Inner = Callable[[str], Mapping[str, ProgressColumn]]  # the columns of a relation before


def find_progress(graph: Graph, name: str) -> ProgressColumns:
    """The columns of a relation that carry progress, with what they wait for; for windowed ones the end of
    the window, which stands a tick behind the last row it can hold.
    """
    return {n: found.waits for n, found in find_progress_columns(graph, name).items()}


def find_progress_columns(graph: Graph, name: str, inner_of: Inner | None = None) -> dict[str, ProgressColumn]:
    """The columns of a relation that carry progress, in its unit of time; copies before functions of them.
    `inner_of` gives those of what it reads, with what these are to be called; without it they wait for
    streams.
    """
    read: Inner = inner_of or (lambda n: find_progress_columns(graph, n))
    return graph.relations[name].find_progress(graph, read)


def explain_no_progress(graph: Graph, name: str, column: str | None = None) -> str:
    """Why columns of a relation carry no progress though they are computed of one that does; empty if none
    is.
    """
    return graph.relations[name].explain_no_progress(graph, column)


def choose_time(found: Mapping[str, ProgressColumn], wanted: Iterable[str | None], unit: str) -> str | None:
    """The column that counts where none is named: one that is `wanted`, a copy, a function in the same unit,
    any.
    """
    order = [*(n for n in wanted if n in found), *(n for n, one in found.items() if not one.applied)]
    order += [n for n, one in found.items() if one.unit == unit]
    return next(iter([*order, *found]), None)


def order_columns(found: Mapping[str, ProgressColumn], unit: str) -> dict[str, ProgressColumn]:
    """Those in a unit, copies before functions of them."""
    mine = {n: one for n, one in found.items() if one.unit == unit}
    return {n: one for applied in (False, True) for n, one in mine.items() if one.applied == applied}


def meld_columns(each: Sequence[ProgressColumn | None]) -> ProgressColumn | None:
    """A column of a union, by those of its arms."""
    known = [one for one in each if one is not None]
    if len(known) < len(each) or len({one.unit for one in known}) > 1:
        return None
    types = {one.type for one in known}
    type_ = types.pop() if len(types) == 1 else "bigint" if known[0].unit == "int" else "timestamp"
    return ProgressColumn(unite_waits(*(one.waits for one in known)), type_, all(one.applied for one in known))
