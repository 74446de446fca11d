"""No balancing: what the paper compares with (document 002, section 5.4)."""

from __future__ import annotations

from typing import Any

from headrace.balance.decision import Decision
from headrace.balance.statistics import Owners, Statistics


def static(seen: Statistics, owners: Owners, memory: Any = None) -> Decision:
    """Everything stays where it is."""
    return Decision(owners, collect=max(seen.seconds, 0.1))
