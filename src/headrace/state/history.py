"""The history of a checkpoint: what old manifests named, on pages of many versions each.

A run of months commits millions of versions, and results are read over all of them. So versions are moved, oldest
first, from manifests onto *pages*: the page `history/<first>-<last>-<edition>.json` says which files hold the
rows that the versions first..last have put out. A page, like a manifest, is published in one step and never changes.
Small pages are later merged into one of the whole range, and a page whose files have expired is written anew as its
next edition. So at any moment several pages may tell of a version, and its manifest too; `follow` picks one way
through all of them, the fewest and newest pages first. What it does not pick is *superseded*: readers that
began before may still use it, and it is removed when they have had time (`garbage`).

What was lost (a manifest that the disk damaged) is said on the page that takes its place, so nobody forgets it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from headrace.state.format import FORMAT
from headrace.state.outputs import Kind, OutputFile, PartKey
from headrace.state.sealed_lines import Damaged, Record, Row, check_head, decode_line, open_lines, seal_lines

FOLDER = "history"
_NAME = re.compile(rf"{FOLDER}/(\d{{12,}})-(\d{{12,}})-(\d{{6,}})\.json")


@dataclass(frozen=True, slots=True)
class PageName:
    """Which versions a page tells of; a later edition takes the place of an earlier one."""

    first: int
    last: int
    edition: int = 0

    @property
    def path(self) -> str:
        return f"{FOLDER}/{self.first:012d}-{self.last:012d}-{self.edition:06d}.json"

    @staticmethod
    def parse(path: str) -> PageName | None:
        match = _NAME.fullmatch(path)
        return PageName(*map(int, match.groups())) if match else None


class KeptFile(Row, frozen=True):
    """A file with rows of the versions first..last, the last of them committed at `until`."""

    file: OutputFile
    first: int
    last: int
    until: float


class Expired(NamedTuple):
    """How many rows of a query or stream were before what a page has of it."""

    number: int
    kind: Kind
    rows: int

    @property
    def key(self) -> PartKey:
        return PartKey(self.number, self.kind)


class Loss(Row, frozen=True):
    """Versions whose outputs nobody knows any more, and why."""

    first: int
    last: int
    why: str


@dataclass(frozen=True)
class HistoryPage:
    """What the versions of a page have put out; the files that have rows of a query are in the order of these."""

    name: PageName
    checkpoint: str
    files: tuple[KeptFile, ...] = ()
    expired: tuple[Expired, ...] = ()
    lost: tuple[Loss, ...] = ()

    def count_expired(self, key: PartKey) -> int:
        """The rows of a query or stream that are gone from here."""
        return sum(one.rows for one in self.expired if one.key == key)


class _Page(Record, frozen=True):
    format: int
    first: int
    last: int
    edition: int
    checkpoint: str
    files: tuple[KeptFile, ...]
    expired: tuple[Expired, ...]
    lost: tuple[Loss, ...]


def follow(pages: Iterable[PageName], manifests: Iterable[int]) -> tuple[list[PageName | int], list[Loss]]:
    """One way from version 1 to the last, in pages and manifests, and the holes it has."""
    best: dict[int, PageName] = {}
    for page in pages:
        other = best.get(page.first)
        if other is None or (page.last, page.edition) > (other.last, other.edition):
            best[page.first] = page
    there = set(manifests)
    starts = sorted(there | set(best))
    way: list[PageName | int] = []
    holes: list[Loss] = []
    version = 1
    for start in starts:
        if start < version:
            continue
        if start > version:
            holes.append(Loss(version, start - 1, "missing"))
        if start in best:
            way.append(best[start])
            version = best[start].last + 1
        else:
            way.append(start)
            version = start + 1
    return way, holes


def encode_page(page: HistoryPage) -> bytes:
    """The content of a page's file: a line of JSON and its checksum."""
    name = page.name
    return seal_lines(_Page(FORMAT, name.first, name.last, name.edition, page.checkpoint, page.files, page.expired, page.lost))


def decode_page(data: bytes, name: PageName) -> HistoryPage:
    """The page of a file's content, which must be that of `name`."""
    (line,) = open_lines(data, 1)
    check_head(line)
    page = decode_line(line, _Page)
    if PageName(page.first, page.last, page.edition) != name:
        raise Damaged("its content is that of another page")
    return HistoryPage(name, page.checkpoint, page.files, page.expired, page.lost)
