"""Outputs: the files of results and late rows, as manifests and pages of the history name them (DESIGN section 5).

A file has *parts*, one for each query (or stream, of late rows) that has rows in it: the rows from `first` on, `rows` of them.
Small outputs of a slot share a file, so that a thousand queries cost a batch one file; a part is read without the others.
Queries and streams go by numbers, which the manifest gives out, in the order in which it meets them, and never takes back:
rows of a query that was removed are found under its number for ever.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

import msgspec

from headrace.state.arrow_blocks import Seal
from headrace.state.sealed_lines import Record, Row


class Kind(IntEnum):
    """What rows are."""

    RESULT = 0  # of a query
    LATE = 1  # of a stream: too late, or unusable


class PartKey(NamedTuple):
    """Whose rows they are."""

    number: int
    kind: Kind


class OutputPart(NamedTuple):
    """The rows of one query or stream in a file."""

    number: int
    kind: Kind
    first: int  # row of the file
    rows: int

    @property
    def key(self) -> PartKey:
        return PartKey(self.number, self.kind)


class OutputFile(Row, frozen=True):
    """A Parquet file, relative to the store, and its parts, sorted; `crc` is the checksum of its footer, from `tail` on."""

    path: str
    bytes: int
    tail: int
    crc: int
    parts: tuple[OutputPart, ...]

    @property
    def seal(self) -> Seal:
        """What the file is checked by."""
        return Seal(self.bytes, self.tail, self.crc)

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    def find(self, key: PartKey) -> FilePart | None:
        """What the file has of a query or stream."""
        at = bisect_left(self.parts, key)
        return FilePart(self, self.parts[at]) if at < len(self.parts) and self.parts[at].key == key else None


class FilePart(NamedTuple):
    """A part and the file it is in."""

    file: OutputFile
    part: OutputPart

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def rows(self) -> int:
        return self.part.rows

    @property
    def bytes(self) -> int:
        """Its share of the file, by rows."""
        return self.file.bytes * self.part.rows // max(self.file.rows, 1)

    @property
    def is_whole(self) -> bool:
        """Whether nothing else is in the file."""
        return len(self.file.parts) == 1


class Numbers(Record, frozen=True):
    """The number of every query, and of every stream, there ever was."""

    results: dict[str, int] = msgspec.field(default_factory=dict)
    late: dict[str, int] = msgspec.field(default_factory=dict)

    def extend(self, queries: Iterable[str], streams: Iterable[str]) -> Numbers:
        """With numbers for those that have none yet."""
        return Numbers(_extend(self.results, queries), _extend(self.late, streams))

    def find(self, kind: Kind, name: str) -> PartKey | None:
        """Where rows are found by; None if nobody of that name ever was."""
        number = (self.results if kind is Kind.RESULT else self.late).get(name)
        return None if number is None else PartKey(number, kind)

    def name_parts(self, kind: Kind, files: Iterable[OutputFile]) -> dict[str, tuple[FilePart, ...]]:
        """The parts of one kind, by name."""
        names = {number: name for name, number in (self.results if kind is Kind.RESULT else self.late).items()}
        found: dict[str, list[FilePart]] = {}
        for file in files:
            for part in file.parts:
                if part.kind == kind:
                    found.setdefault(names[part.number], []).append(FilePart(file, part))
        return {name: tuple(parts) for name, parts in found.items()}


NO_NUMBERS = Numbers()


def _extend(numbers: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    known = dict(numbers)
    for name in names:
        known.setdefault(name, len(known))
    return known


def list_parts(files: Iterable[OutputFile], key: PartKey) -> Iterator[FilePart]:
    """What files have of a query or stream, in their order."""
    for file in files:
        part = file.find(key)
        if part is not None:
            yield part
