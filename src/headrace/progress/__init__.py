"""Progress: frontiers, the policies they come from, and how they pass through relations. Pure."""

from headrace.progress.frontier import NOTHING_KNOWN, Frontier, advance, meld
from headrace.progress.policy import NOTHING_SEEN, Observation, Ordered, Policy, Slack, fold

__all__ = [
    "NOTHING_KNOWN",
    "NOTHING_SEEN",
    "Frontier",
    "Observation",
    "Ordered",
    "Policy",
    "Slack",
    "advance",
    "fold",
    "meld",
]
