"""How progress passes through a relation: one rule for each kind (document 003, chapters 6 to 8; section 8.2).

A rule takes the frontiers of a relation's inputs and gives that of its output, on the attribute that carries
progress there: the stream's own for rows, `window_end - 1` for windowed results, which is where the queries that
read them see them. The law of every rule: a row that the output's frontier excludes can come of no row that the
input's frontier does not exclude. Bounds of single groups pass where the columns that tell groups apart survive.

* a selection passes progress on: fewer rows come, not earlier ones;
* a projection passes it on if the attribute survives, otherwise nothing is known;
* a function applied to the attribute maps it, if it never falls where the attribute rises (`date_trunc`, `ts + 1 h`);
* a bucket turns it into window-ids: rows at or after the bound are in no window that ends at or before it;
* a union melds: tuples pass at once, progress is the least of its inputs';
* duplicate elimination passes it on, and lets go of what it remembers from before it;
* an aggregate closes the windows that end at or before its input's bound, in the same step. Every result still
  to come has window_end > bound, so is at or after the bound: progress passes on as it is.

The plan says which columns carry progress (`logical/progress_columns.py`); tests hold it to these rules.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.progress.frontier import NOTHING_KNOWN, Frontier, meld
from headrace.progress.propagate import pass_function
from headrace.windows import WindowSpec


def pass_selection(source: Frontier) -> Frontier:
    return source


def pass_projection(source: Frontier, keeps_attribute: bool, keeps_groups: bool = True) -> Frontier:
    if not keeps_attribute:
        return NOTHING_KNOWN
    return source if keeps_groups else Frontier(source.bound)


def pass_bucket(source: Frontier, window: WindowSpec) -> Frontier:
    """Progress on the window-id."""
    return pass_function(source, lambda bound: int(window.first_wid(bound)))


def pass_union(inputs: Iterable[Frontier]) -> Frontier:
    return meld(inputs)


def pass_distinct(source: Frontier) -> Frontier:
    return source


def pass_aggregate(source: Frontier, keeps_groups: bool = False) -> Frontier:
    """`keeps_groups`: it groups by the columns that tell the groups of the input apart."""
    return source if keeps_groups else Frontier(source.bound)
