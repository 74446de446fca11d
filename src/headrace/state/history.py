"""The history of a checkpoint: what old manifests named, on pages of many versions each.

A run of months commits millions of versions, and results are read over all of them. So versions are moved, oldest
first, from manifests onto *pages*: the page `history/<first>-<last>-<edition>.json` says for each query and stream which
files hold the rows of the versions first..last. A page, like a manifest, is published in one step and never changes.
Small pages are later merged into one of the whole range, and a page whose files have expired is written anew as its
next edition. So at any moment several pages may tell of a version, and its manifest too; `follow` picks one way
through all of them, the fewest and newest pages first. What it does not pick is *superseded*: readers that
began before may still use it, and it is removed when they have had time (`garbage`).

What was lost (a manifest that the disk damaged) is said on the page that takes its place, so nobody forgets it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

from headrace.state.format import FORMAT
from headrace.state.record import Damaged, OtherFormat, ResultFile, checksum, compact

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


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file with rows of the versions first..last, the last of them committed at `until`."""

    file: ResultFile
    first: int
    last: int
    until: float


@dataclass(frozen=True, slots=True)
class KeptOutputs:
    """The files of one query, or of the late rows of one stream, in order; `expired` rows were before them."""

    files: tuple[KeptFile, ...] = ()
    expired: int = 0


@dataclass(frozen=True, slots=True)
class Loss:
    """Versions whose outputs nobody knows any more, and why."""

    first: int
    last: int
    why: str


@dataclass(frozen=True)
class HistoryPage:
    """What the versions of a page have put out."""

    name: PageName
    results: dict[str, KeptOutputs] = field(default_factory=dict)
    late: dict[str, KeptOutputs] = field(default_factory=dict)
    lost: tuple[Loss, ...] = ()

    def files(self) -> Iterator[KeptFile]:
        for outputs in (*self.results.values(), *self.late.values()):
            yield from outputs.files


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
    value = {
        "format": FORMAT,
        "first": page.name.first,
        "last": page.name.last,
        "edition": page.name.edition,
        "results": _outputs_to_json(page.results),
        "late": _outputs_to_json(page.late),
        "lost": [[loss.first, loss.last, loss.why] for loss in page.lost],
    }
    body = f"{compact(value)}\n".encode()
    return body + checksum(body)


def decode_page(data: bytes, name: PageName) -> HistoryPage:
    """The page of a file's content, which must be that of `name`."""
    lines = data.splitlines(keepends=True)
    if len(lines) != 2 or lines[1] != checksum(lines[0]):
        raise Damaged("its content does not have the checksum it was written with")
    value = json.loads(lines[0])
    if value["format"] != FORMAT:
        raise OtherFormat(value["format"])
    if PageName(value["first"], value["last"], value["edition"]) != name:
        raise Damaged("its content is that of another page")
    lost = tuple(Loss(*one) for one in value["lost"])
    return HistoryPage(name, _outputs_from_json(value["results"]), _outputs_from_json(value["late"]), lost)


def _outputs_to_json(outputs: Mapping[str, KeptOutputs]) -> dict[str, Any]:
    return {
        name: [one.expired, [(*astuple(k.file), k.first, k.last, k.until) for k in one.files]]
        for name, one in outputs.items()
    }


def _outputs_from_json(value: Mapping[str, Any]) -> dict[str, KeptOutputs]:
    return {
        name: KeptOutputs(tuple(KeptFile(ResultFile(*one[:4]), *one[4:]) for one in files), expired)
        for name, (expired, files) in value.items()
    }
