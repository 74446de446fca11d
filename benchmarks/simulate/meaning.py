"""What a query set means: the answers after every batch, by a model that knows neither the planner nor the kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Row = dict[str, Any]
Tuples = list[tuple[Any, ...]]
Answers = list[tuple[int, tuple[Any, ...]]]  # and the batch that gives each


class Meaning(Protocol):
    """The answers of one query set, batch after batch."""

    def push(
        self, rows: Mapping[str, Sequence[Row]], now: int, since: int, told: Mapping[str, Any]
    ) -> None:
        """A batch has these rows; `told` beside the streams binds at its end."""

    def flush(self, bounds: Mapping[str, int | None], now: int, since: int, told: Mapping[str, Any]) -> None:
        """A batch without rows has brought the streams to `bounds`."""

    def bounds(self) -> Mapping[str, int | None] | None:
        """How far each stream is known to be complete; None: this model does not say."""

    def answers(self, query: str, columns: Sequence[str]) -> Answers:
        """All of a query's rows so far."""

    def whole(self, query: str, columns: Sequence[str]) -> Answers | None:
        """All of a query's rows, if nothing could come after the last batch; None where there is no last one."""

    def late(self, stream: str, queries: Sequence[str]) -> Answers:
        """The late and unusable rows of a stream, with the reason."""

    def is_loose(self, query: str) -> bool:
        """Whether only the end of a query is known, not in which batch its rows come."""


class QuerySet(Protocol):
    """A query set that was drawn: its text, and what makes its meaning."""

    @property
    def queries(self) -> Mapping[str, tuple[str, Any]]: ...
    @property
    def script(self) -> str: ...
