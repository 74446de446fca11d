"""What progress on an attribute waits for: bounds on streams, each moved back on the way (document 003, chapter 7).

A relation over one stream has the stream's low-watermark. A join's output has less: a row still to come of input j may
meet a stored row of input i that is older, by as much as the band allows (`Back`) or down to the start of their common
window (`Floor`). A function of an attribute maps its bound (`monotone_steps.py`). Through joins of joins these steps follow
each other. So a bound on an attribute is the least of several *waits*, each the low-watermark of a stream taken through
steps. Steps are monotone, and `reach` is their inverse: how far a stream must come for the attribute to be complete up to
a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from headrace.progress.frontier import NOTHING_KNOWN, Frontier, meld
from headrace.progress.monotone_steps import MonotoneStep
from headrace.progress.propagate import pass_function


@dataclass(frozen=True)
class Back:
    """Rows of the other side may be this much older."""

    ticks: int

    def bound(self, tick: int) -> int:
        return tick - self.ticks

    def reach(self, tick: int) -> int:
        return tick + self.ticks


@dataclass(frozen=True)
class Floor:
    """Rows of the other side may be as old as the start of the tumbling window."""

    width: int
    offset: int = 0

    def bound(self, tick: int) -> int:
        return tick - (tick - self.offset) % self.width

    def reach(self, tick: int) -> int:
        return tick + (self.offset - tick) % self.width


Step = Back | Floor | MonotoneStep


@dataclass(frozen=True)
class Wait:
    """The low-watermark of a stream, through steps."""

    stream: str
    steps: tuple[Step, ...] = ()

    @cached_property
    def functions(self) -> tuple[MonotoneStep, ...]:
        """The functions of the attribute on the way, without what joins take back."""
        return tuple(s for s in self.steps if not isinstance(s, (Back, Floor)))

    def bound(self, tick: int) -> int:
        """What is complete of the attribute when the stream's low-watermark is `tick`."""
        for step in self.steps:
            tick = step.bound(tick)
        return tick

    def reach(self, tick: int) -> int:
        """The least low-watermark of the stream that makes the attribute complete up to `tick`."""
        for step in reversed(self.steps):
            tick = step.reach(tick)
        return tick

    def look_ahead(self, tick: int, apart: int) -> int:
        """The largest value the attribute can have had when the stream was at `tick`, if joins bring together what is `apart`."""
        for step in self.steps:
            if isinstance(step, (Back, Floor)):
                tick, apart = tick + apart, 0
            else:
                tick = step.bound(tick)
        return tick

    def then(self, step: Step) -> Wait:
        """The wait, and one more step; steps that follow each other melt together where they can."""
        if isinstance(step, Back):
            if step.ticks == 0:
                return self
            if self.steps and isinstance(last := self.steps[-1], Back):
                return Wait(self.stream, (*self.steps[:-1], Back(last.ticks + step.ticks)))
        elif isinstance(step, Floor) and self.steps and self.steps[-1] == step:
            return self
        return Wait(self.stream, (*self.steps, step))


Waits = tuple[Wait, ...]


def unite_waits(*many: Iterable[Wait]) -> Waits:
    """All of them, without those that another of the same stream always covers."""
    found = dict.fromkeys(w for waits in many for w in waits)
    backs = {w: sum(s.ticks for s in w.steps if isinstance(s, Back)) for w in found if _only_back(w)}
    least = {w.stream: max(b for v, b in backs.items() if v.stream == w.stream) for w in backs}
    return tuple(w for w in found if w not in backs or backs[w] == least[w.stream])


def meld_waits(waits: Iterable[Wait], frontiers: Mapping[str, Frontier]) -> Frontier:
    """The frontier of an attribute: bounds of groups survive where no join is in between."""
    found = [_pass_wait(w, frontiers[w.stream]) for w in waits]
    return found[0] if len(found) == 1 else meld(found)


def _pass_wait(wait: Wait, source: Frontier) -> Frontier:
    if not wait.steps:
        return source
    if len(wait.functions) == len(wait.steps):
        return pass_function(source, wait.bound)
    return Frontier(wait.bound(source.bound)) if source.is_known else NOTHING_KNOWN


def _only_back(wait: Wait) -> bool:
    return all(isinstance(s, Back) for s in wait.steps)
