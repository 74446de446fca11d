"""How a stream's progress is known: what its tasks observe, and what follows (document 003, section 8.1).

Eq. 4.1 defines the low-watermark after a prefix of a stream as the smallest progressing value still to come.
Nobody knows the future, so each stream declares how a bound on it follows from what was seen. A source task makes
an `Observation` of its rows; observations of tasks and batches are folded together (a commutative, idempotent
monoid, so that a retried task changes nothing) and the policy turns the whole into a `Frontier`:

* `Ordered`: the next value is never smaller than the largest seen (section 8.1, first case). Equal values
  may follow, so the bound is that largest value itself, not one more.
* `Slack(bound)`: no row comes more than `bound` ticks behind the largest value seen (section 3.3).

A policy that needs more than the largest value adds a field to `Observation`, with its fold.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.errors import OptionError
from headrace.progress.frontier import NOTHING_KNOWN, Frontier

LONGEST = 1 << 60  # ticks of a slack


@dataclass(frozen=True)
class Observation:
    """What was seen of a stream."""

    largest: int | None = None  # progressing value


NOTHING_SEEN = Observation()


def fold(observations: Iterable[Observation]) -> Observation:
    """Several observations of one stream as one."""
    return Observation(max((o.largest for o in observations if o.largest is not None), default=None))


@dataclass(frozen=True)
class Slack:
    """Rows come at most `bound` ticks behind the largest progressing value seen."""

    bound: int

    def __post_init__(self) -> None:
        if self.bound < 0:
            raise OptionError(
                f"SLACK must not be negative, got {self.bound} ticks; 0 means an ordered stream"
            )
        if self.bound > LONGEST:
            raise OptionError(f"SLACK is too long, got {self.bound} ticks, at most {LONGEST} are possible")

    def frontier(self, seen: Observation) -> Frontier:
        """What cannot come any more when this was seen."""
        return NOTHING_KNOWN if seen.largest is None else Frontier(seen.largest - self.bound)


@dataclass(frozen=True)
class Ordered:
    """Rows come in order of the progressing attribute."""

    def frontier(self, seen: Observation) -> Frontier:
        """What cannot come any more when this was seen."""
        return Frontier(seen.largest)


Policy = Slack | Ordered
