"""Flux' hybrid of both policies (document 002, section 6.3).

While anything is on disk, memory is balanced, because latency suffers most; when all is in memory, load, and
only what the receiver has room for moves.
"""

from __future__ import annotations

from typing import Any

from headrace.balance.decision import Decision
from headrace.balance.policies.flux_load import PAPER, FluxSettings, flux_load
from headrace.balance.policies.flux_memory import flux_memory
from headrace.balance.statistics import Owners, Statistics


def hybrid(seen: Statistics, owners: Owners, memory: Any = None, settings: FluxSettings = PAPER) -> Decision:
    """One round."""
    if seen.pids.on_disk.any():
        return flux_memory(seen, owners, memory, settings)
    return flux_load(seen, owners, memory, settings, fit=True)
