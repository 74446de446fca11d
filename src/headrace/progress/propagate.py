"""How progress passes through a relation: one rule for each kind (document 003, chapters 6 to 8).

A rule takes the frontiers of a relation's inputs and gives that of its output, on the attribute that carries
progress there: the stream's own for rows, `window_end - 1` for windowed results, which is where the queries that
read them see them.

* a selection passes progress on: fewer rows come, not earlier ones;
* a projection passes it on if the attribute survives, otherwise nothing is known;
* a union melds: tuples pass at once, progress is the least of its inputs';
* an aggregate closes the windows that end at or before its input's bound, in the same step. Every result still
  to come has window_end > bound, so is at or after the bound: progress passes on as it is. A bound of one group
  says nothing of the groups downstream, which may be coarser, so it stays behind.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.progress.frontier import NOTHING_KNOWN, Frontier, meld


def pass_selection(source: Frontier) -> Frontier:
    return source


def pass_projection(source: Frontier, keeps_attribute: bool) -> Frontier:
    return source if keeps_attribute else NOTHING_KNOWN


def pass_union(inputs: Iterable[Frontier]) -> Frontier:
    return meld(inputs)


def pass_aggregate(source: Frontier) -> Frontier:
    return Frontier(source.bound)
