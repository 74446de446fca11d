"""Headrace: sets of continuous SQL queries over high-rate streams, on Apache Spark."""

from headrace.errors import HeadraceError
from headrace.logical.user_aggregate import UserAggregate
from headrace.session import Session, ordered, slack

__version__ = "0.1.0"

__all__ = ["HeadraceError", "Session", "UserAggregate", "__version__", "ordered", "slack"]
