"""How far a stream has come: its low-watermark (document 003, chapter 4 and section 8.1).

Eq. 4.1 defines the low-watermark after a prefix of a stream as the smallest progressing value still to come.
Nobody knows the future, so each stream declares how a *bound* on it follows from what was seen:

* `Ordered`: the next value is never smaller than the largest seen (section 8.1, first case). Equal values
  may follow, so the bound is that largest value itself, not one more.
* `Slack(bound)`: no row comes more than `bound` ticks behind the largest value seen (section 3.3).

Progress says "every value below the low-watermark has arrived", hence a window [start, end) is complete when
end <= low-watermark. None means that nothing is known yet; it stands for minus infinity in every function
here.

Two laws carry the rest of the system: a low-watermark never goes back (`advance`), and the low-watermark of
a union is the minimum of its inputs' (`meld`, Figure 8-2), None while an input has shown nothing, since its
first value could be anything. Both are associative, commutative and idempotent, so they can be taken in any
order and more than once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.errors import OptionError


@dataclass(frozen=True, slots=True)
class Slack:
    """Rows come at most `bound` ticks behind the largest progressing value seen."""

    bound: int

    def __post_init__(self) -> None:
        if self.bound < 0:
            raise OptionError(
                f"SLACK must not be negative, got {self.bound} ticks; 0 means an ordered stream"
            )


@dataclass(frozen=True, slots=True)
class Ordered:
    """Rows come in order of the progressing attribute: a slack of 0."""


Policy = Slack | Ordered


def low_watermark(policy: Policy, max_seen: int | None) -> int | None:
    """The bound that `policy` gives when `max_seen` is the largest progressing value so far."""
    if max_seen is None:
        return None
    return max_seen - (policy.bound if isinstance(policy, Slack) else 0)


def advance(previous: int | None, new: int | None) -> int | None:
    """The later of two low-watermarks of one stream; progress once made is never taken back."""
    if previous is None or new is None:
        return new if previous is None else previous
    return max(previous, new)


def meld(low_watermarks: Iterable[int | None]) -> int | None:
    """The low-watermark of the union of streams: the minimum, None while any of them has none."""
    least: int | None = None
    for bound in low_watermarks:
        if bound is None:
            return None
        least = bound if least is None else min(least, bound)
    return least
