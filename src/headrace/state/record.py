"""What one manifest says, and how it is written down.

A manifest file is three lines of JSON: the outputs (result and late files that are new in this version),
the state (everything else), and the SHA-256 of the two lines before it. Results are read over all versions,
thousands of them, and need only the first line; a run needs both, but only of the last version. The
checksum tells a whole manifest from one that a disk has cut short or altered.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field
from typing import Any

from headrace.progress import LOWEST, NOTHING_KNOWN, NOTHING_SEEN, Arrivals, Frontier, Observation
from headrace.state.arrow_blocks import Seal
from headrace.state.checksums import DamagedFile
from headrace.state.format import FORMAT
from headrace.state.segment import SegmentMeta
from headrace.state.split_route import SplitRoute, read_route, write_branch


class Damaged(DamagedFile):
    """These bytes are not a whole manifest."""


class OtherFormat(ValueError):
    """A whole manifest that another version of Headrace wrote."""

    def __init__(self, found: object) -> None:
        super().__init__(f"it has format {found}")
        self.found = found


@dataclass(frozen=True, slots=True)
class StreamState:
    """How far a stream has come, and the rows counted since the checkpoint began."""

    seen: Observation = NOTHING_SEEN
    frontier: Frontier = NOTHING_KNOWN
    rows: int = 0
    late: int = 0
    rejected: int = 0
    contradicting: int = 0
    vanished: int = 0  # files that were listed, and gone when they were to be read

    @property
    def max_seen(self) -> int | None:
        """The largest progressing value, in ticks."""
        return self.seen.largest

    @property
    def low_watermark(self) -> int | None:
        """The bound on what is still to come, in ticks."""
        return self.frontier.bound if self.frontier.is_known else None

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "frontier": _frontier_to_json(self.frontier)}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> StreamState:
        """The inverse of `to_json`."""
        frontier = _frontier_from_json(value["frontier"])
        counts = {name: value.get(name, 0) for name in ("rows", "late", "rejected", "contradicting", "vanished")}
        return StreamState(_observation_from_json(value["seen"]), frontier, **counts)


def _frontier_from_json(value: Mapping[str, Any]) -> Frontier:
    bound = LOWEST if value["bound"] is None else value["bound"]
    return Frontier(bound, tuple((tuple(group), own) for group, own in value["groups"]))


def _frontier_to_json(frontier: Frontier) -> dict[str, Any]:
    return {"bound": frontier.bound if frontier.is_known else None, "groups": frontier.groups}


def _observation_from_json(value: Mapping[str, Any]) -> Observation:
    """What a checkpoint of before a kind of observation was known does not have of it is nothing."""
    arrivals = tuple(
        Arrivals(a["batch"], a["rows"], tuple(map(tuple, a["steps"]))) for a in value.get("arrivals", ())
    )
    groups = tuple((tuple(g), _observation_from_json(seen)) for g, seen in value.get("groups", ()))
    return Observation(value["largest"], value.get("mark"), value.get("heard"), arrivals, groups)


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A file of results or late rows, relative to the store; `crc` is the checksum of its footer (`result_parquet`)."""

    path: str
    rows: int
    bytes: int
    crc: int = 0


@dataclass(frozen=True, slots=True)
class TableFile:
    """Rows of a static table in a file that never changes: all columns as they were read, or a part of a divided copy, the rows
    of some mini-partitions by the keys that `copy` names.
    """

    path: str
    copy: str = ""
    first: int = 0  # mini-partition
    last: int = 0
    bytes: int = 0
    tail: int = 0  # where in the file its end begins, which has the checksum `crc`
    crc: int = 0

    @property
    def seal(self) -> Seal:
        """What the file is checked by."""
        return Seal(self.bytes, self.tail, self.crc)


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A static table as it was read: when, its files, and a digest of its rows. `bytes` are those of the rows in memory."""

    files: tuple[TableFile, ...]
    read_at: int  # microseconds
    digest: str
    rows: int = 0
    bytes: int = 0
    divided: bool = False  # else every slot holds all rows

    @property
    def paths(self) -> list[str]:
        return [file.path for file in self.files]

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> TableVersion:
        """The inverse of `dataclasses.asdict`."""
        known = dict(value)
        files = known.pop("files")
        return TableVersion(tuple(TableFile(**file) for file in files), **known)


@dataclass(frozen=True, slots=True)
class WaitingPid:
    """A mini-partition that is behind the others: `version` is the last one it has processed, its rows since then wait."""

    version: int
    since: int  # the clock when it fell behind, microseconds
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Mark:
    """Progress after a version, kept for the mini-partitions that go on from there. Those that come by a `cut` stop there: of
    the rows that came after it, some were late, which only this progress tells.
    """

    frontiers: dict[str, Frontier]
    cut: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"frontiers": {name: _frontier_to_json(one) for name, one in self.frontiers.items()}, "cut": self.cut}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Mark:
        """The inverse of `to_json`."""
        return Mark({name: _frontier_from_json(one) for name, one in value["frontiers"].items()}, value["cut"])


Files = dict[str, tuple[ResultFile, ...]]


@dataclass(frozen=True)
class Manifest:
    """The state of a query set after one committed batch.

    `version` counts 1, 2, …; `batch_id` is the last batch of Spark it covers (-1: none). `streams` is
    cumulative, `segments` is all live state, while `results` (by query) and `late` (by stream) are only what
    this batch added. `promises` say of every query what none of its later results can have: one below the bound on a column
    that carries progress, and for windows one whose last tick, `window_end - 1`, is below it. Rows that break what their stream
    declares pass through a query that only selects them; of nothing else can such a result come.
    """

    version: int
    batch_id: int
    fingerprint: str
    streams: dict[str, StreamState]
    route: SplitRoute
    slots: int
    segments: tuple[SegmentMeta, ...]
    results: Files
    late: Files
    report: dict[str, Any]
    created_at: float
    flush: bool = False
    engine: dict[str, str] = field(default_factory=dict)
    clock: int = 0  # microseconds, by which the batch told silence and implausible values
    tables: dict[str, TableVersion] = field(default_factory=dict)  # that the batch used
    load: dict[str, Any] = field(default_factory=dict)  # what each slot and mini-partition did
    waiting: dict[int, WaitingPid] = field(default_factory=dict)  # mini-partitions that are behind
    marks: dict[int, Mark] = field(default_factory=dict)  # by version
    promises: dict[str, dict[str, Frontier]] = field(default_factory=dict)  # query -> column -> what will not come any more


    def find_completeness(self, query: str) -> dict[str, int]:
        """By column that carries progress, up to where the results of a query are all there, where anything is known."""
        return {column: one.bound for column, one in self.promises.get(query, {}).items() if one.is_known}


@dataclass(frozen=True, slots=True)
class Outputs:
    """The first line of a manifest."""

    results: Files
    late: Files


def encode(manifest: Manifest) -> bytes:
    """The content of the manifest's file."""
    outputs = {
        "format": FORMAT,
        "version": manifest.version,
        "results": files_to_json(manifest.results),
        "late": files_to_json(manifest.late),
    }
    state = {
        "batch_id": manifest.batch_id,
        "fingerprint": manifest.fingerprint,
        "created_at": manifest.created_at,
        "flush": manifest.flush,
        "engine": manifest.engine,
        "clock": manifest.clock,
        "streams": {name: stream.to_json() for name, stream in manifest.streams.items()},
        "promises": {
            query: {column: _frontier_to_json(one) for column, one in promise.items()}
            for query, promise in manifest.promises.items()
        },
        "slots": manifest.slots,
        "route": manifest.route,
        "segments": [segment.to_json() for segment in manifest.segments],
        "tables": {name: asdict(table) for name, table in manifest.tables.items()},
        "report": manifest.report,
        "load": manifest.load,
    }
    if manifest.waiting:
        state["waiting"] = {str(pid): list(astuple(one)) for pid, one in manifest.waiting.items()}
        state["marks"] = {str(version): mark.to_json() for version, mark in manifest.marks.items()}
    body = f"{compact(outputs)}\n{compact(state)}\n".encode()
    return body + checksum(body)


def decode_outputs(data: bytes, version: int) -> Outputs:
    """Only the outputs, after the checksum of the whole was verified."""
    return outputs_of(parse(verify_lines(data)[0], version))


def decode_commit(data: bytes, version: int) -> tuple[Outputs, float]:
    """The outputs, and when they were committed."""
    lines = verify_lines(data)
    return outputs_of(parse(lines[0], version)), json.loads(lines[1])["created_at"]


def decode(data: bytes, version: int) -> Manifest:
    """The manifest of a file's content, which must be that of `version`."""
    lines = verify_lines(data)
    outputs = outputs_of(parse(lines[0], version))
    state = json.loads(lines[1])
    return Manifest(
        version=version,
        batch_id=state["batch_id"],
        fingerprint=state["fingerprint"],
        streams={name: StreamState.from_json(stream) for name, stream in state["streams"].items()},
        route=read_route(state["route"]),
        slots=state["slots"],
        segments=tuple(map(SegmentMeta.from_json, state["segments"])),
        results=outputs.results,
        late=outputs.late,
        report=state["report"],
        created_at=state["created_at"],
        flush=state["flush"],
        engine=state["engine"],
        clock=state.get("clock", 0),
        tables={name: TableVersion.from_json(table) for name, table in state.get("tables", {}).items()},
        load=state.get("load", {}),
        promises={
            query: {column: _frontier_from_json(one) for column, one in promise.items()}
            for query, promise in state.get("promises", {}).items()
        },
        waiting={int(pid): WaitingPid(*one) for pid, one in state.get("waiting", {}).items()},
        marks={int(version): Mark.from_json(one) for version, one in state.get("marks", {}).items()},
    )


def verify_lines(data: bytes) -> list[bytes]:
    """The lines of a manifest whose checksum is right."""
    lines = data.splitlines(keepends=True)
    if len(lines) != 3:
        raise Damaged("it is cut short" if len(lines) < 3 else "it has more lines than a manifest")
    if lines[2] != checksum(lines[0] + lines[1]):
        raise Damaged("its content does not have the checksum it was written with")
    return lines


def parse(line: bytes, version: int) -> dict[str, Any]:
    """The first line as JSON, of a format and version that we expect."""
    head: dict[str, Any] = json.loads(line)
    if head["format"] != FORMAT:
        raise OtherFormat(head["format"])
    if head["version"] != version:
        raise Damaged(f"its content is that of version {head['version']}")
    return head


def outputs_of(head: Mapping[str, Any]) -> Outputs:
    return Outputs(files_from_json(head["results"]), files_from_json(head["late"]))


def files_to_json(files: Files) -> dict[str, list[tuple[str, int, int, int]]]:
    return {name: [astuple(file) for file in group] for name, group in files.items()}


def files_from_json(value: Mapping[str, list[list[Any]]]) -> Files:
    return {name: tuple(ResultFile(*file) for file in group) for name, group in value.items()}


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), default=write_branch)


def checksum(body: bytes) -> bytes:
    """The last line, for the lines before it."""
    return b'{"sha256":"%s"}\n' % hashlib.sha256(body).hexdigest().encode()
