"""What a policy answers, and what a policy is.

A policy is a pure function `(statistics, owners, memory) → Decision`. `owners` has the slot of every
mini-partition; `memory` is whatever the policy itself gave with its last decision (None at first; most of the
paper's keep none). How long to look before the next decision is part of the answer: δ of the paper, which a
runtime with batches rounds up to whole batches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.balance.statistics import Owners, Statistics


@dataclass(frozen=True, eq=False)
class Decision:
    """The next owners, what the policy wants to remember, and how to time the next round."""

    owners: Owners
    memory: Any = None
    collect: float = 0.0  # seconds of the next collection if nothing moves, and at least
    follow_moves: bool = False  # collect at least as long as the move phase takes

    def next_collection(self, move_seconds: float) -> float:
        """Seconds of the next collection after a move phase of that length."""
        return max(self.collect, move_seconds) if self.follow_moves else self.collect


Policy = Callable[[Statistics, Owners, Any], Decision]
