"""The models of query sets with windows and of those with joins, each as a `Meaning`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.simulate.join_model import JoinOracle
from benchmarks.simulate.join_sets import Case as JoinCase
from benchmarks.simulate.meaning import Answers, Row
from benchmarks.simulate.window_model import Oracle, has_landmark
from benchmarks.simulate.window_rows import COLUMNS
from benchmarks.simulate.window_sets import Case as WindowCase


class WindowMeaning:
    """Of sets over streams with slack: windows of every shape, and queries over queries."""

    def __init__(self, case: WindowCase) -> None:
        self._case = case
        self._oracle = Oracle(
            dict.fromkeys(case.streams, case.slack * case.unit), dict.fromkeys(case.streams, "t")
        )

    def push(
        self, rows: Mapping[str, Sequence[Row]], now: int, since: int, told: Mapping[str, Any]
    ) -> None:
        self._oracle.push(**rows)

    def flush(self, bounds: Mapping[str, int | None], now: int, since: int, told: Mapping[str, Any]) -> None:
        self._oracle.flush(dict(bounds))

    def bounds(self) -> Mapping[str, int | None]:
        return {s: self._oracle.bounds.get(s) for s in self._case.streams}

    def answers(self, query: str, columns: Sequence[str]) -> Answers:
        found = self._oracle.results(self._case.relations[query])
        return [(at, tuple(row[c] for c in columns)) for at, row in found]

    def whole(self, query: str, columns: Sequence[str]) -> Answers | None:
        relation = self._case.relations[query]
        if has_landmark(relation):
            return None
        return [(at, tuple(row[c] for c in columns)) for at, row in self._oracle.complete().results(relation)]

    def late(self, stream: str, queries: Sequence[str]) -> Answers:
        found = self._oracle.late(stream, [self._case.relations[q] for q in queries])
        return [(at, (row["t"], *(row[c] for c in COLUMNS), why)) for at, row, why in found]

    def is_loose(self, query: str) -> bool:
        return False


class JoinMeaning:
    """Of sets with joins, over streams that make progress each in its own way."""

    def __init__(self, case: JoinCase) -> None:
        self._case, self._oracle = case, JoinOracle(case.paces)

    def push(
        self, rows: Mapping[str, Sequence[Row]], now: int, since: int, told: Mapping[str, Any]
    ) -> None:
        self._oracle.push(rows, now, since, told)

    def flush(self, bounds: Mapping[str, int | None], now: int, since: int, told: Mapping[str, Any]) -> None:
        self._oracle.flush(bounds, now, since, told)

    def bounds(self) -> Mapping[str, int | None]:
        return self._oracle.bounds

    def answers(self, query: str, columns: Sequence[str]) -> Answers:
        found = self._oracle.results(self._case.queries[query][1])
        return [(at, tuple(row[c] for c in columns)) for at, row in found]

    def whole(self, query: str, columns: Sequence[str]) -> Answers | None:
        found = self._oracle.complete().results(self._case.queries[query][1])
        return [(at, tuple(row[c] for c in columns)) for at, row in found]

    def late(self, stream: str, queries: Sequence[str]) -> Answers:
        found = self._oracle.late(stream, [self._case.queries[q][1] for q in queries])
        return [(at, (*row.values(), why)) for at, row, why in found]

    def is_loose(self, query: str) -> bool:
        return query in self._case.loose and "count(*)" in self._case.queries[query][0]
