"""What is known about the streams: where they arise, how fast, how wide, and how selective joins between them
are.

Rates are tuples per second, sizes bytes. The selectivity of a join edge is declared or follows from the distinct
counts of its two columns: 1 / max(distinct), each value of the smaller side being found on the other. An edge
nothing is known about is an error, not a guess: the whole plan hangs on it. Filters may be guessed (the classic
1/10 for an equality, 1/3 for anything else) where neither a declaration nor the column's statistics say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from headrace.errors import NetworkError
from headrace.network.join_view import TIME, TIME_WIDTH

GUESSED_EQUALITY = 0.1
GUESSED_PREDICATE = 1 / 3


@dataclass(frozen=True)
class ColumnStatistics:
    """A column with its width in bytes and, where known, its number of distinct values and its range."""

    name: str
    width: float = 8.0
    distinct: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class BaseStream:
    """A base stream: arises at `node`, `rate` tuples per second of `size` bytes. No columns: only whole
    tuples travel. `time` is the column that makes progress, where that is known.
    """

    name: str
    node: str
    rate: float
    size: float = 100.0
    columns: tuple[ColumnStatistics, ...] = ()
    time: str | None = None

    @cached_property
    def column(self) -> dict[str, ColumnStatistics]:
        return {c.name: c for c in self.columns}

    def width(self, columns: frozenset[str] | None) -> float:
        """Bytes of a tuple reduced to some columns; all of it if none are named or none are declared."""
        if columns is None or not self.columns:
            return self.size
        time = TIME_WIDTH if TIME in columns else 0.0
        return time + min(self.size, sum(self.column[c].width for c in columns if c != TIME))


@dataclass(frozen=True)
class Selectivity:
    """Of all pairs of tuples, the fraction for which `left = right` holds; sides are `stream.column`."""

    left: str
    right: str
    value: float


@dataclass(frozen=True)
class Catalog:
    """Streams, selectivities of join edges, and selectivities of filters by stream and text."""

    streams: tuple[BaseStream, ...]
    selectivities: tuple[Selectivity, ...] = ()
    filters: tuple[tuple[str, str, float], ...] = ()

    def __post_init__(self) -> None:
        names = [s.name for s in self.streams]
        twice = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) < len(names) else []
        if twice:
            raise NetworkError(f"stream {twice[0]!r} is declared twice; give each stream its own name")
        for stream in self.streams:
            if not 0 <= stream.rate < math.inf or not 0 < stream.size < math.inf:
                raise NetworkError(
                    f"stream {stream.name!r} has rate {stream.rate} and size {stream.size};"
                    " expected a rate of at least 0 tuples per second and a size above 0 bytes"
                )
            if stream.time is not None and stream.columns and stream.time not in stream.column:
                raise NetworkError(
                    f"stream {stream.name!r}: its time {stream.time!r} is no column; it has {', '.join(stream.column)}"
                )
        for s in self.selectivities:
            if not 0 <= s.value <= 1:
                raise NetworkError(f"selectivity of {s.left} = {s.right} is {s.value}; expected 0 to 1")
            for side in (s.left, s.right):
                name, dot, column = side.partition(".")
                stream = self.stream(name)
                if not dot or (stream.columns and column not in stream.column):
                    raise NetworkError(
                        f"selectivity of {s.left} = {s.right}: {side!r} is no column; stream {name!r} has"
                        f" {', '.join(stream.column) or 'none declared, write stream.column'}"
                    )
        for name, text, value in self.filters:
            self.stream(name)
            if not 0 <= value <= 1:
                raise NetworkError(f"filter {text!r} of stream {name!r} keeps {value}; expected 0 to 1")

    @cached_property
    def _by_name(self) -> dict[str, BaseStream]:
        return {s.name: s for s in self.streams}

    @cached_property
    def _edges(self) -> Mapping[frozenset[str], float]:
        return {frozenset((s.left, s.right)): s.value for s in self.selectivities}

    @cached_property
    def _filters(self) -> Mapping[tuple[str, str], float]:
        return {(stream, text): value for stream, text, value in self.filters}

    def stream(self, name: str) -> BaseStream:
        try:
            return self._by_name[name]
        except KeyError:
            known = ", ".join(sorted(self._by_name)[:12]) or "none"
            raise NetworkError(
                f"unknown stream {name!r}; declared streams: {known}. Declare it under `streams` with its"
                " node and rate"
            ) from None

    def edge(self, left: str, right: str) -> float | None:
        """The declared selectivity between two `stream.column`s."""
        return self._edges.get(frozenset((left, right)))

    def filter(self, stream: str, text: str) -> float | None:
        return self._filters.get((stream, text))
