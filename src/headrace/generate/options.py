"""Checks and conversions that the generators share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from headrace.errors import OptionError


def check_counts(**counts: int) -> None:
    """Refuse counts that are not positive, naming the option."""
    for name, value in counts.items():
        if value <= 0:
            raise OptionError(f"{name} must be positive, got {value}")


def microseconds(at: datetime) -> int:
    """A point in time as microseconds since the epoch; without a zone it is UTC."""
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
