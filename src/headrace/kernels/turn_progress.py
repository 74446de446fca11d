"""How far mini-partitions have come that are behind, and what that holds back.

Levels after the first know of what the first one gives as much as all mini-partitions have reached: the meld of their frontiers
holds it back, and what stands on it (`progress/advance_program.py`). Rows still to come of one that is behind are not behind its
own frontier, so not behind the meld.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.program.messages import Orders
from headrace.program.program import Program
from headrace.progress import NOTHING_KNOWN, Frontier, meld
from headrace.progress.advance_program import ProgressMap, hold_back, pair_up
from headrace.state import WaitingPid

FrontierMap = Mapping[str, Frontier]  # by stream


def hold_back_results(
    program: Program, orders: Orders, before: FrontierMap, after: FrontierMap, behind: FrontierMap | None
) -> ProgressMap | None:
    """What holds back the relations that the first level gives, in later levels: how far all mini-partitions had come with them,
    and have come.
    """
    if not orders.waiting and behind is None:
        return None
    reached = meld_marks(orders, before, orders.waiting.values()) if orders.waiting else before
    return hold_back(program.rules, pair_up(reached, after if behind is None else behind))


def meld_marks(orders: Orders, rest: FrontierMap, waiting: Iterable[WaitingPid]) -> FrontierMap:
    """What mini-partitions that are behind have reached, and the `rest`."""
    now = {s: p.frontier for s, p in orders.progress.items()}
    versions = {one.version for one in waiting}
    reached = [find_mark(orders, version, now) for version in versions]
    return {s: meld([known, *(each.get(s, NOTHING_KNOWN) for each in reached)]) for s, known in rest.items()}


def find_mark(orders: Orders, version: int, now: FrontierMap) -> FrontierMap:
    """Progress after a version; that of the last one is in the orders."""
    return now if version == orders.version - 1 else orders.marks[version].frontiers
