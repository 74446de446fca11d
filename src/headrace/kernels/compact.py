"""When to merge segments: in tiers, so that a row is rewritten only a logarithmic number of times.

A batch's delta is a segment of level 0. When a level has `FAN_IN` segments they become, together with the
delta at hand, one segment of the next level; a merge also combines rows of the same pane and group and
drops what no window needs. State is then read from O(FAN_IN · log batches) files, and appending stays
O(batch) amortised.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.state import SegmentMeta

FAN_IN = 8


def choose(segments: Sequence[SegmentMeta]) -> tuple[list[SegmentMeta], int]:
    """The segments to merge with the delta, and the level of the outcome."""
    level = 0
    chosen: list[SegmentMeta] = []
    while True:
        tier = [m for m in segments if m.level == level]
        if len(tier) + bool(chosen) < FAN_IN:
            return chosen, level
        chosen += tier
        level += 1
