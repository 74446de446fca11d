"""Numbers of the folders of a source, where these are kept apart: the mini-partition of a folder never changes.

Folders are numbered as they come, whichever stream they are of, since folders of one name belong together. A route gives
neighbouring mini-partitions to one slot, so the n-th folder gets the n-th of them in an order that goes back and forth over all
(van der Corput's sequence): few folders are spread over all slots. Beyond the number of mini-partitions folders share them.
"""

from __future__ import annotations

from functools import cache


def spread_number(number: int, pids: int) -> int:
    """The mini-partition of the folder of this number."""
    return _spread_order(pids)[number % pids]


@cache
def _spread_order(pids: int) -> tuple[int, ...]:
    bits = max(1, (pids - 1).bit_length())
    mirrored = (int(f"{n:0{bits}b}"[::-1], 2) for n in range(1 << bits))
    return tuple(n for n in mirrored if n < pids)
