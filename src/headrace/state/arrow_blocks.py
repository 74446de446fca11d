"""Arrow files that are read in part, each part checked.

A file is an Arrow IPC file with a trailer behind it. Its record batches are *blocks*, runs of rows that are read
together: the trailer says for each the row after its last one, its bytes in the file and their CRC-32, and holds what
the writer wants to know before it reads rows (`notes`). The *seal*, which a manifest keeps, has the size of the file,
where Arrow's footer begins, and the CRC-32 of all from there on: footer and trailer. So every byte that decides an
answer is covered by a checksum, which is covered by the next, up to the manifest; and a share of a file costs the check
of its blocks alone, once in a process and file.

On the local disk the file is not compressed and is read through a memory map: nothing is copied, and only the pages of
the blocks that are used are ever read. Elsewhere buffers are compressed (LZ4), as the network is slower than that.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from headrace.state.checksums import WRONG, DamagedFile
from headrace.state.store import Store

BLOCK_BYTES = 1 << 20  # at least, unless the whole file has less
_MAGIC = 8  # bytes before Arrow's schema
_LENGTH = 8  # bytes that say how long the trailer is
_KEPT = 4096  # files that a process remembers
_LOCAL = pa.ipc.IpcWriteOptions(unify_dictionaries=True)
_REMOTE = pa.ipc.IpcWriteOptions(unify_dictionaries=True, compression="lz4")


class Seal(NamedTuple):
    """What must be known of a file to check it."""

    bytes: int
    tail: int  # where Arrow's footer begins
    crc: int  # of the footer and the trailer


class Block(NamedTuple):
    """Rows up to `end`, in the bytes [first, last) of the file."""

    end: int
    first: int
    last: int
    crc: int


@dataclass(slots=True)
class _Contents:
    """What a file's checked tail says, and which of its blocks were checked."""

    schema: pa.Schema
    notes: Any
    blocks: list[Block]
    checked: set[int] = field(default_factory=set)


_CONTENTS: dict[tuple[str, str, Seal], _Contents] = {}


def forget_checks() -> None:
    """Check every file again when it is read next."""
    _CONTENTS.clear()


class _CountedOutput:
    """A file to write to that keeps the CRC-32 of what was written since it was last set to 0."""

    closed = False

    def __init__(self, sink: Any) -> None:
        self._sink = sink
        self.position = self.crc = 0

    def write(self, data: Any) -> None:
        self.crc = zlib.crc32(data, self.crc)
        self.position += len(data)
        self._sink.write(data)

    def tell(self) -> int:
        return self.position

    def flush(self) -> None:
        """Whoever opened the file closes it."""

    close = flush


def cut_blocks(ends: Iterable[int], table: pa.Table, least: int = BLOCK_BYTES) -> list[int]:
    """Where to cut a table into blocks: of these places those that give blocks of so many bytes or more, and its end."""
    rows = table.num_rows
    if "dictionary<" in str(table.schema):  # dictionaries are in the first block, so it is the only one
        ends = ()
    step = least * rows / max(table.nbytes, 1)
    cuts = [0]
    for end in ends:
        if end - cuts[-1] >= step and end < rows:
            cuts.append(end)
    return [*cuts[1:], *([rows] if rows else [])]


def write_blocks(store: Store, path: str, table: pa.Table, cuts: Sequence[int], notes: Any) -> Seal:
    """Write a table as a file of blocks, cut as `cut_blocks` says; durable after `Store.sync`."""
    table = table.combine_chunks()
    blocks: list[Block] = []
    with store.explain(path, "write"), store.open_output(path) as sink:
        out = _CountedOutput(sink)
        with pa.ipc.new_file(out, table.schema, options=_LOCAL if store.is_local else _REMOTE) as writer:
            end = 0
            for cut in cuts:
                for batch in table.slice(end, cut - end).to_batches():
                    first, out.crc = out.position, 0
                    writer.write_batch(batch)
                    end += batch.num_rows
                    blocks.append(Block(end, first, out.position, out.crc))
            tail, out.crc = out.position, 0
        trailer = json.dumps([out.position, blocks, notes], separators=(",", ":")).encode()
        out.write(trailer + len(trailer).to_bytes(_LENGTH, "little"))
        return Seal(out.position, tail, out.crc)


class BlockFile:
    """A file of blocks, whose tail has been checked. A `DamagedFile` says what is wrong with it."""

    def __init__(self, store: Store, path: str, seal: Seal) -> None:
        self._source = store.open_input(path)
        size = self._source.size()
        if size != seal.bytes:
            raise DamagedFile(f"{seal.bytes} bytes expected, {size} found")
        key = (store.uri, path, seal)
        found = _CONTENTS.get(key)
        if found is None:
            if len(_CONTENTS) >= _KEPT:
                _CONTENTS.clear()
            found = _CONTENTS[key] = self._read_tail(seal)
        self._contents = found
        self.schema, self.notes, self.blocks = found.schema, found.notes, found.blocks

    @property
    def rows(self) -> int:
        return self.blocks[-1].end if self.blocks else 0

    def read(self) -> pa.Table:
        """All rows."""
        return self.read_runs([(0, self.rows)])

    def check(self) -> None:
        """Check every byte, whatever was checked before."""
        self._contents.checked.clear()
        for number in range(len(self.blocks)):
            self.read_block(number)

    def read_runs(self, runs: Iterable[tuple[int, int]]) -> pa.Table:
        """The rows [start, end) of each run; runs are in order and do not overlap."""
        return pa.Table.from_batches(list(self._cut_runs(runs)), self.schema)

    def read_block(self, number: int) -> pa.RecordBatch:
        """The rows of a block, checked."""
        first, last = self.blocks[number].first, self.blocks[number].last
        data = self._read_bytes(first, last)
        if number not in self._contents.checked:
            if zlib.crc32(data) != self.blocks[number].crc:
                raise DamagedFile(f"of its bytes {first} to {last}, {WRONG}")
            self._contents.checked.add(number)
        if number == 0:  # it begins as Arrow's streams do, with schema and dictionaries
            return pa.ipc.open_stream(data.slice(_MAGIC)).read_next_batch()
        return pa.ipc.read_record_batch(pa.ipc.read_message(data), self.schema)

    def _cut_runs(self, runs: Iterable[tuple[int, int]]) -> Iterator[pa.RecordBatch]:
        number = 0
        batch: pa.RecordBatch | None = None
        for start, end in runs:
            while start < end:
                while self.blocks[number].end <= start:
                    number, batch = number + 1, None
                if batch is None:
                    batch = self.read_block(number)
                begin = self.blocks[number].end - batch.num_rows
                stop = min(end, self.blocks[number].end)
                yield batch.slice(start - begin, stop - start)
                start = stop

    def _read_tail(self, seal: Seal) -> _Contents:
        data = self._read_bytes(seal.tail, seal.bytes)
        if len(data) != seal.bytes - seal.tail or zlib.crc32(data) != seal.crc:
            raise DamagedFile(f"of its end, {WRONG}")
        content = data.to_pybytes()
        length = int.from_bytes(content[-_LENGTH:], "little")
        footer, blocks, notes = json.loads(content[-_LENGTH - length : -_LENGTH])
        schema = pa.ipc.open_file(self._source, footer_offset=footer).schema
        return _Contents(schema, notes, [Block(*one) for one in blocks])

    def _read_bytes(self, first: int, last: int) -> pa.Buffer:
        self._source.seek(first)
        return self._source.read_buffer(last - first)
