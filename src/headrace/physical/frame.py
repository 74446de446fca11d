"""The source frame: which scalar expressions the set needs of each stream; and who says what their types are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from headrace.kernels.spec import Feed, RawQuery


class Typer(Protocol):
    """Spark's view of types; the runtime asks Spark, a test may answer by hand."""

    def column_types(self, relation: str) -> dict[str, str]: ...

    def types(self, relation: str, expressions: Sequence[str]) -> list[str]: ...

    def result_schema(self, relation: str) -> bytes: ...

    def late_schema(self, stream: str) -> bytes: ...


@dataclass
class Frame:
    """The columns the source stage wants of each stream: (name, Spark SQL)."""

    columns: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    _known: dict[tuple[str, str], str] = field(default_factory=dict)

    def column(self, stream: str, expression: str) -> str:
        key = (stream, expression)
        if key not in self._known:
            mine = self.columns.setdefault(stream, [])
            self._known[key] = f"c{len(mine)}"
            mine.append((self._known[key], expression))
        return self._known[key]

    def keep(self, feeds: Sequence[Feed], raw: Sequence[RawQuery]) -> None:
        """Only the columns that these read: what removed queries have asked for need not be computed."""
        read: dict[str, set[str]] = {}
        for feed in feeds:
            names = re.findall(r"\bc\d+\b", " ".join([feed.where or "", *feed.keys, *feed.subs]))
            read.setdefault(feed.stream, set()).update(names)
        for query in raw:
            read.setdefault(query.stream, set()).update([query.where or "", *query.columns])
        for stream, columns in self.columns.items():
            self.columns[stream] = [c for c in columns if c[0] in read.get(stream, ())]
