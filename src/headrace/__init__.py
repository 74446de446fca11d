"""Headrace: sets of continuous SQL queries over high-rate streams, on Apache Spark."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.errors import HeadraceError
    from headrace.logical.user_aggregate import UserAggregate
    from headrace.session import Session
    from headrace.sql.declare_progress import ordered, punctuated, slack

__version__ = "0.1.0"

__all__ = ["HeadraceError", "Session", "UserAggregate", "__version__", "ordered", "punctuated", "slack"]

_HOMES = {
    "HeadraceError": "headrace.errors",
    "UserAggregate": "headrace.logical.user_aggregate",
    "Session": "headrace.session",
    "ordered": "headrace.sql.declare_progress",
    "punctuated": "headrace.sql.declare_progress",
    "slack": "headrace.sql.declare_progress",
}


def __getattr__(name: str) -> Any:
    """Names are looked up when they are used: a worker needs the kernels, not the SQL front end."""
    if name not in _HOMES:
        raise AttributeError(f"module 'headrace' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
