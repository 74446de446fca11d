"""How progress passes through functions of the progressing attribute, and when it completes a window.

Which columns of a relation carry progress, and what each waits for, is found from the plan (`logical/progress_columns.py`);
here is what happens to frontiers on the way (document 003, chapters 6 to 8; tests/progress/propagation_rules.py states the
rule of each kind of relation on frontiers, with its law). A function that never falls where the attribute rises maps the
bound and those of groups. A frontier that closes no window is no news (section 8.1: punctuation no finer than the
smallest slide in use, and none twice).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.progress.frontier import LOWEST, Frontier
from headrace.windows import WindowSpec


def pass_function(source: Frontier, function: Callable[[int], int]) -> Frontier:
    """Of a function of the attribute that never falls."""
    bound = function(source.bound) if source.is_known else source.bound
    return Frontier(bound, tuple((group, function(own)) for group, own in source.groups))


def brings_windows(before: int, after: int, windows: Iterable[WindowSpec]) -> bool:
    """Whether progress from one bound to another completes a window."""
    if after <= before:
        return False
    return before <= LOWEST or any(w.first_open(after) > w.first_open(before) for w in windows)
