"""Balance while it runs (document 002): statistics, policies, splits, the controller, and a simulator. Pure;
knows no engine."""

from headrace.balance.controller import ControllerState, ControllerStep, control
from headrace.balance.decision import Decision, Policy
from headrace.balance.policies import POLICIES
from headrace.balance.statistics import Statistics, read_reports
from headrace.state.split_route import Leaf, SplitRoute, find_slot, list_leaves

__all__ = [
    "POLICIES",
    "ControllerState",
    "ControllerStep",
    "Decision",
    "Leaf",
    "Policy",
    "SplitRoute",
    "Statistics",
    "control",
    "find_slot",
    "list_leaves",
    "read_reports",
]
