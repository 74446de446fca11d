"""Policies, one file each: pure functions of statistics (see `decision`)."""

from collections.abc import Callable

from headrace.balance.decision import Decision, Policy
from headrace.balance.policies.flux_load import FluxSettings, flux_load
from headrace.balance.policies.flux_memory import flux_memory
from headrace.balance.policies.headrace import headrace
from headrace.balance.policies.hybrid import hybrid
from headrace.balance.policies.static import static

POLICIES: dict[str, Policy] = {
    "static": static,
    "flux-load": flux_load,
    "flux-memory": flux_memory,
    "hybrid": hybrid,
    "headrace": headrace,
}

SETTABLE: dict[str, Callable[..., Decision]] = {  # with `settings`
    "flux-load": flux_load,
    "flux-memory": flux_memory,
    "hybrid": hybrid,
}

__all__ = ["POLICIES", "SETTABLE", "FluxSettings", "flux_load", "flux_memory", "headrace", "hybrid", "static"]
