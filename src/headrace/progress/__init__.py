"""Progress: frontiers, the policies they come from, and how they pass through relations. Pure."""

from headrace.progress.frontier import (
    HIGHEST,
    LOWEST,
    NOTHING_KNOWN,
    Frontier,
    Group,
    advance,
    bound_at,
    meld,
)
from headrace.progress.observation import NOTHING_SEEN, Arrivals, Observation, arrive, fold
from headrace.progress.policy import (
    ByGroup,
    Ordered,
    Policy,
    Punctuated,
    Silence,
    Slack,
    SlackRows,
    find_frontier_of,
    find_promise,
    keep_needed,
)

__all__ = [
    "HIGHEST",
    "LOWEST",
    "NOTHING_KNOWN",
    "NOTHING_SEEN",
    "Arrivals",
    "ByGroup",
    "Frontier",
    "Group",
    "Observation",
    "Ordered",
    "Policy",
    "Punctuated",
    "Silence",
    "Slack",
    "SlackRows",
    "advance",
    "arrive",
    "bound_at",
    "find_frontier_of",
    "find_promise",
    "fold",
    "keep_needed",
    "meld",
]
