"""Windows so fine that state or results will be out of all proportion, with the numbers.

A group keeps a pane for each gcd(RANGE, SLIDE) ticks in which it has rows (document 003, section 6.2), and
every row is in RANGE / SLIDE windows, each of which is a result. `RANGE 1 HOUR SLIDE 7 MILLISECONDS` may be
meant, and is exact; most often it is a unit that was mistaken. So it is said, and not refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.logical.graph import Graph
from headrace.windows import Sliding, WindowSpec
from headrace.windows.describe_window import describe_length

MANY = 10_000  # panes of a group, or windows of a row
_HOUR = 3_600_000_000


def find_costly_windows(graph: Graph) -> list[str]:
    """A sentence for each window of the set that will cost much."""
    found: dict[str, None] = {}
    for name, relation in graph.relations.items():
        if (window := relation.closes) is not None:
            query = name.partition("$")[0]
            for sentence in _costs(window, relation.unit):
                found[f"query {query}: {sentence}"] = None
    return list(found)


def _costs(window: WindowSpec, unit: str) -> Iterator[str]:
    slide = describe_length(window.slide, unit)
    if not isinstance(window, Sliding):
        results = _HOUR // window.slide
        if unit == "us" and results > MANY:
            yield f"SLIDE {slide} gives {results:,} results an hour for every group; a longer SLIDE gives fewer"
        return
    length = describe_length(window.range, unit)
    windows = -(-window.range // window.slide)
    if windows > MANY:
        yield (
            f"with RANGE {length} and SLIDE {slide} every row is in {windows:,} windows, and a single row gives as many "
            f"results; SLIDE {describe_length(max(1, window.range // 60), unit)} would give 60. Is the unit the one you mean?"
        )
    panes = window.count_panes(window.pane)
    if panes > max(MANY, windows):
        near = max(1, round(window.range / window.slide)) * window.slide
        yield (
            f"RANGE {length} and SLIDE {slide} have no larger common part than {describe_length(window.pane, unit)}, so up to "
            f"{panes:,} panes are kept for every group; RANGE {describe_length(near, unit)}, a multiple of SLIDE, would keep "
            f"{near // window.slide:,}"
        )
