"""What one manifest says, and how it is written down.

A manifest file is three lines of JSON: the outputs (result and late files that are new in this version),
the state (everything else), and the SHA-256 of the two lines before it. Results are read over all versions,
thousands of them, and need only the first line; a run needs both, but only of the last version. The
checksum tells a whole manifest from one that a disk has cut short or altered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import msgspec

from headrace.progress import NOTHING_KNOWN, NOTHING_SEEN, Frontier, Observation
from headrace.state.arrow_blocks import Seal
from headrace.state.format import FORMAT
from headrace.state.outputs import NO_NUMBERS, FilePart, Kind, Numbers, OutputFile
from headrace.state.sealed_lines import Damaged, Record, Row, check_head, decode_line, open_lines, seal_lines
from headrace.state.segment import SegmentMeta
from headrace.state.split_route import SplitRoute, read_route


class StreamState(Record, frozen=True):
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


class TableFile(Row, frozen=True):
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


class TableVersion(Record, frozen=True):
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


class WaitingPid(Row, frozen=True):
    """A mini-partition that is behind the others: `version` is the last one it has processed, its rows since then wait."""

    version: int
    since: int  # the clock when it fell behind, microseconds
    rows: int
    bytes: int


class Mark(Record, frozen=True):
    """Progress after a version, kept for the mini-partitions that go on from there. Those that come by a `cut` stop there: of
    the rows that came after it, some were late, which only this progress tells.
    """

    frontiers: dict[str, Frontier]
    cut: bool = False


@dataclass(frozen=True)
class Manifest:
    """The state of a query set after one committed batch.

    `checkpoint` is the name that the first version gave the checkpoint, for ever and at random: who knows it sees whether the
    checkpoint was started anew. `version` counts 1, 2, …; `batch_id` is the last batch of Spark it covers (-1: none).
    `streams` is cumulative, `segments` is all live state, while `outputs` are only what this batch added; whose they are is
    said by `numbers`. `promises` say of every query what none of its later results can have: one below the bound on a column
    that carries progress, and for windows one whose last tick, `window_end - 1`, is below it. Rows that break what their stream
    declares pass through a query that only selects them; of nothing else can such a result come.
    """

    version: int
    batch_id: int
    epoch: str  # the file that says what set the batch was of, and how it was planned
    streams: dict[str, StreamState]
    route: SplitRoute
    slots: int
    segments: tuple[SegmentMeta, ...]
    outputs: tuple[OutputFile, ...]
    report: dict[str, Any]
    created_at: float
    flush: bool = False
    engine: dict[str, str] = field(default_factory=dict)
    clock: int = 0  # microseconds, by which the batch told silence and implausible values
    tables: dict[str, TableVersion] = field(default_factory=dict)  # that the batch used
    load: dict[str, Any] = field(default_factory=dict)  # what each slot and mini-partition did
    waiting: dict[int, WaitingPid] = field(default_factory=dict)  # mini-partitions that are behind
    marks: dict[int, Mark] = field(default_factory=dict)  # by version
    folders: tuple[str, ...] = ()  # of sources that are kept apart, in the order of their numbers
    # query -> column -> what will not come any more
    promises: dict[str, dict[str, Frontier]] = field(default_factory=dict)
    checkpoint: str = ""
    numbers: Numbers = NO_NUMBERS

    @property
    def results(self) -> dict[str, tuple[FilePart, ...]]:
        """What this batch added for each query."""
        return self.numbers.name_parts(Kind.RESULT, self.outputs)

    @property
    def late(self) -> dict[str, tuple[FilePart, ...]]:
        """The late and unusable rows of each stream that this batch added."""
        return self.numbers.name_parts(Kind.LATE, self.outputs)

    def find_completeness(self, query: str) -> dict[str, int]:
        """By column that carries progress, up to where the results of a query are all there, where anything is known."""
        return {column: one.bound for column, one in self.promises.get(query, {}).items() if one.is_known}


class Outputs(Record, frozen=True):
    """The first line of a manifest."""

    format: int
    version: int
    checkpoint: str
    outputs: tuple[OutputFile, ...]


_IN_OUTPUTS = frozenset(Outputs.__struct_fields__)
_State = msgspec.defstruct(  # the second line: whatever else a manifest has
    "_State",
    [
        (f.name, "tuple[Any, ...]" if f.name == "route" else f.type)
        for f in fields(Manifest)
        if f.name not in _IN_OUTPUTS
    ],
    bases=(Record,),
    module=__name__,
)


def encode(manifest: Manifest) -> bytes:
    """The content of the manifest's file."""
    state = {f.name: getattr(manifest, f.name) for f in fields(manifest) if f.name not in _IN_OUTPUTS}
    return seal_lines(list_outputs(manifest), state)


def list_outputs(manifest: Manifest) -> Outputs:
    """What a version has put out."""
    return Outputs(FORMAT, manifest.version, manifest.checkpoint, manifest.outputs)


def decode_outputs(data: bytes, version: int) -> Outputs:
    """Only the outputs, after the checksum of the whole was verified."""
    return _read_outputs(open_lines(data, 2)[0], version)


def decode_commit(data: bytes, version: int) -> tuple[Outputs, float]:
    """The outputs, and when they were committed."""
    lines = open_lines(data, 2)
    return _read_outputs(lines[0], version), msgspec.json.decode(lines[1], type=_Commit).created_at


class _Commit(msgspec.Struct):
    created_at: float


def decode(data: bytes, version: int) -> Manifest:
    """The manifest of a file's content, which must be that of `version`."""
    lines = open_lines(data, 2)
    outputs = _read_outputs(lines[0], version)
    state: Mapping[str, Any] = msgspec.structs.asdict(decode_line(lines[1], _State))
    route = read_route(state["route"])
    return Manifest(**{**state, "route": route}, version=version, checkpoint=outputs.checkpoint, outputs=outputs.outputs)


def _read_outputs(line: bytes, version: int) -> Outputs:
    check_head(line)
    outputs = decode_line(line, Outputs)
    if outputs.version != version:
        raise Damaged(f"its content is that of version {outputs.version}")
    return outputs
