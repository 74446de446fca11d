"""Source rows straight from Parquet files: decoded by Arrow in the task, projected by DuckDB.

Spark finds the files, remembers which were read and hands out the work; what it would do with their rows
(decode, project, copy to Arrow, send to Python) costs several times more than all the rest of the source
stage. So where the files are local Parquet and every scalar expression of the set is one that DuckDB computes
as Spark does (`optimizer/choose_reader.py` decides), a task is given byte ranges of files instead of rows. Columns are
matched as Spark matches them: by name whatever the case, absent ones are NULL, and a type is widened but
never narrowed. Two types that pandas writes and Spark does not read are read too: times in nanoseconds, as the
microsecond they fall in, and unsigned 64-bit integers whose values fit.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple
from urllib.parse import quote, unquote

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.errors import SourceError
from headrace.kernels.connection import fetch_arrow
from headrace.kernels.late_rows import Judge, Screened, is_part_of_stream
from headrace.program.messages import Split
from headrace.state.leaf_numbers import find_owner
from headrace.state.split_route import SplitRoute

_OPENING = 100_000  # what opening a file costs, in bytes read
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_INTEGERS = {"int8": 8, "uint8": 16, "int16": 16, "uint16": 32, "int32": 32, "uint32": 64, "int64": 64, "uint64": 128}


@dataclass(frozen=True)
class Scan:
    """How the rows of one stream are read from files."""

    stream: str
    select: str  # DuckDB SQL: `_t` and c0… over the columns below
    tick: str  # `_t` alone
    columns: tuple[str, ...]  # of the stream, that `select` reads
    schema: bytes  # Arrow schema of the stream as declared
    folder: str = ""  # folders below it may be named column=value
    by: tuple[str, ...] | None = None  # columns that folders are apart by, where these are kept apart; none: the first folder
    root: str = ""  # the folder below which these are


def split_files(files: Iterable[tuple[int, str, int]], tasks: int) -> tuple[tuple[Split, ...], ...]:
    """The files (scan, path, bytes) of a batch cut into even shares, one for each of `tasks`."""
    files = list(files)
    share = -(-sum(size for _, _, size in files) // max(tasks, 1)) or 1
    pieces = []
    for scan, path, size in files:
        parts = max(1, round(size / share))  # as many as a file of this size is worth
        step = -(-size // parts) or 1
        pieces += [Split(scan, path, at, min(at + step, size)) for at in range(0, max(size, 1), step)]
    loads: list[tuple[int, list[Split]]] = [(0, []) for _ in range(tasks)]
    for piece in sorted(pieces, key=lambda p: (p.start - p.end, p)):
        load, mine = loads.pop(0)
        mine.append(piece)
        insort(loads, (load + piece.end - piece.start + _OPENING, mine), key=lambda x: x[0])
    return tuple(tuple(mine) for _, mine in loads)


def split_by_folder(
    files: Iterable[tuple[int, str, int]], scans: tuple[Scan, ...], pids: Mapping[str, int], route: SplitRoute, slots: int
) -> tuple[tuple[Split, ...], ...]:
    """The files of folders that are kept apart, for the slots that own their mini-partitions (`pids`, by folder)."""
    mine: list[list[Split]] = [[] for _ in range(slots)]
    for scan, path, size in sorted(files):
        if scans[scan].by is not None:
            pid = pids[name_folder(scans[scan], path)]
            mine[find_owner(route, pid)].append(Split(scan, path, 0, max(size, 1), pid))
    return tuple(map(tuple, mine))


def name_folder(scan: Scan, path: str) -> str:
    """Which partition of its stream a file is in: the values of the columns it is partitioned by, where folders are named
    column=value, or else the folder directly below the stream's path. Streams may call a column differently.
    """
    named = _partition(scan.folder, path)
    values = [named.get(c.lower(), "") for c in scan.by or ()]
    if values and all(c.lower() in named for c in scan.by or ()):
        return "=" + "/".join(_NO_VALUE if v is None else quote(v, safe="") for v in values)
    start = scan.root.rstrip("/") + "/"
    if not scan.root or not path.startswith(start):
        return path.rpartition("/")[0]
    return path[len(start) :].rpartition("/")[0].split("/")[0]


class _Part(NamedTuple):
    """Row groups of a file, which is open only while it is read: a batch may have many."""

    path: str
    metadata: pq.FileMetaData
    schema: pa.Schema
    groups: list[int]
    rows: int
    pid: int


@dataclass
class FileChunk:
    """Rows of one stream out of row groups of files."""

    scan: Scan
    parts: list[_Part]

    @property
    def stream(self) -> str:
        return self.scan.stream

    @property
    def num_rows(self) -> int:
        return sum(p.rows for p in self.parts)

    def screen(self, con: duckdb.DuckDBPyConnection, rule: Judge, late: pa.Schema) -> Screened:
        """Registers the usable rows as `src`."""
        rows = self._read(self.parts, self.scan.columns)
        if self.scan.by is not None:
            pids = np.repeat([p.pid for p in self.parts], [p.rows for p in self.parts])
            rows = rows.append_column("_pid", pa.array(pids.astype(np.uint16)))
        con.register("raw", rows)
        ticks = f"SELECT {self.scan.tick} AS _t FROM raw"
        found = f"count(*) FILTER (WHERE {rule.suspect_sql}), max(_t) FILTER (WHERE {rule.usable_sql})"
        suspects, largest = con.execute(f"SELECT {found} FROM ({ticks})").fetchall()[0]
        late_rows = None
        if suspects:
            late_rows, rows = self._judge_rows(con, rule, rows, late)
            con.register("raw", rows)
        pid = ", _pid" if self.scan.by is not None else ""
        con.execute(f"CREATE OR REPLACE TEMP VIEW src AS SELECT {self.scan.select}{pid} FROM raw")
        return Screened(largest, late_rows)

    def leave(self, con: duckdb.DuckDBPyConnection) -> None:
        con.execute("DROP VIEW src")
        con.unregister("raw")

    def _judge_rows(
        self, con: duckdb.DuckDBPyConnection, rule: Judge, rows: pa.Table, late: pa.Schema
    ) -> tuple[pa.Table | None, pa.Table]:
        """The rows to keep as late, in the late table's schema; and those that are part of the stream."""
        con.register("raw", rows.append_column("_row", pa.array(np.arange(rows.num_rows))))
        judged = self.scan.select if rule.reads else f"{self.scan.tick} AS _t"
        ticks = f"SELECT _row, {judged} FROM raw"
        suspects = fetch_arrow(con, f"SELECT * FROM ({ticks}) WHERE {rule.suspect_sql} ORDER BY _row")
        reasons = rule.find_reasons(con, suspects)
        found = suspects.append_column("_reason", reasons).filter(reasons.is_valid())
        if not found.num_rows:
            return None, rows
        rejected = found.filter(pc.invert(is_part_of_stream(found.column("_reason")))).column("_row").to_numpy()
        if len(rejected):
            usable = np.ones(rows.num_rows, bool)
            usable[rejected] = False
            rows = rows.filter(pa.array(usable))
        whole = self._read(self.parts, late.names[:-1]).take(found.column("_row"))
        return whole.append_column("_reason", found.column("_reason")), rows

    def _read(self, parts: list[_Part], names: Iterable[str]) -> pa.Table:
        declared = pa.ipc.read_schema(pa.py_buffer(self.scan.schema))
        wanted = pa.schema([declared.field(n) for n in names])
        return pa.concat_tables(_rows_of(p, wanted, _partition(self.scan.folder, p.path)) for p in parts)


def file_chunks(scans: tuple[Scan, ...], mine: Iterable[Split], most: int) -> Iterator[FileChunk]:
    """The rows of a task, gathered into chunks large enough to aggregate well and small enough to hold: about `most` rows."""
    waiting: dict[int, list[_Part]] = {}
    for split in mine:
        for part in _parts(split, most):
            parts = waiting.setdefault(split.scan, [])
            parts.append(part)
            if sum(p.rows for p in parts) >= most:
                yield FileChunk(scans[split.scan], waiting.pop(split.scan))
    for scan, parts in waiting.items():
        yield FileChunk(scans[scan], parts)


def _parts(split: Split, most: int) -> Iterator[_Part]:
    """The split's row groups, up to `most` rows at a time."""
    try:
        with _open_parquet(split.path) as file:
            metadata, schema = file.metadata, file.schema_arrow
    except (pa.ArrowException, OSError) as e:
        raise _explain_unreadable(split.path, e) from e
    groups: list[int] = []
    rows = 0
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        first = group.column(0) if group.num_columns else None
        offset = 0 if first is None else first.dictionary_page_offset or first.data_page_offset
        if not split.start <= offset < split.end or not group.num_rows:
            continue
        groups.append(index)
        rows += group.num_rows
        if rows >= most:
            yield _Part(split.path, metadata, schema, groups, rows, split.pid)
            groups, rows = [], 0
    if groups:
        yield _Part(split.path, metadata, schema, groups, rows, split.pid)


def _open_parquet(path: str, metadata: pq.FileMetaData | None = None) -> pq.ParquetFile:
    return pq.ParquetFile(path, metadata=metadata, coerce_int96_timestamp_unit="us")


def _rows_of(part: _Part, wanted: pa.Schema, named: dict[str, str | None]) -> pa.Table:
    """The columns of `wanted`, in its types; `named` are those that the file's folders give."""
    there = part.schema
    places = [None if n.lower() in named else _place(part.path, there.names, n) for n in wanted.names]
    for field, at in zip(wanted, places, strict=True):
        if at is not None and not fits(there.field(at).type, field.type):
            raise _refuse_file(
                part.path, f"column [{field.name}] is {there.field(at).type}, but declared as {field.type}"
            )
        if at is not None and pa.types.is_temporal(field.type) and _is_rebased(part.metadata.metadata or {}):
            raise _refuse_file(part.path, "an old Spark wrote it, with the calendar of before 1582")
    names = [there.names[i] for i in places if i is not None]
    try:
        with _open_parquet(part.path, part.metadata) as file:
            table = file.read_row_groups(part.groups, columns=names, use_threads=False)
        columns = []
        for field, at in zip(wanted, places, strict=True):
            if at is None:
                value = _value(part.path, field, named.get(field.name.lower()))
                columns.append(pa.repeat(value, part.rows))
            else:
                column = table.column(there.names[at])
                columns.append(column if column.type == field.type else _convert(part.path, column, field))
    except (pa.ArrowException, OSError) as e:
        raise _explain_unreadable(part.path, e) from e
    return pa.table(columns, schema=wanted)


def _convert(path: str, column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    """A column that `fits`, in the declared type."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":  # of 1969 too the microsecond it falls in
        column = pc.floor_temporal(column.cast(pa.timestamp("ns")), unit="microsecond")
    try:
        return column.cast(field.type, safe=column.type == pa.uint64())
    except pa.ArrowInvalid as e:
        raise _refuse_file(
            path, f"column [{field.name}] is {column.type} and has values too large for {field.type}: {e}"
        ) from e


def _is_rebased(notes: dict[bytes, bytes]) -> bool:
    """Whether Spark would move old dates and times of this file."""
    version = notes.get(b"org.apache.spark.version", b"9")
    return (
        version < b"3"
        or b"org.apache.spark.legacyDateTime" in notes
        or b"org.apache.spark.legacyINT96" in notes
    )


def _value(path: str, field: pa.Field, text: str | None) -> pa.Scalar:
    """What the name of a folder says of a column, or NULL."""
    try:
        if text is None or pa.types.is_string(field.type):
            return pa.scalar(text, field.type)
        if pa.types.is_integer(field.type):
            return pa.scalar(int(text), field.type)
        if pa.types.is_date(field.type):
            return pa.scalar(date.fromisoformat(text), field.type)
    except (ValueError, OverflowError, pa.ArrowInvalid):
        pass
    raise _refuse_file(path, f"its folder says {field.name}={text}, which is not read as {field.type}")


def _partition(folder: str, path: str) -> dict[str, str | None]:
    """Columns a file gets from the names of its folders, {name in lower case: text}, as Hive lays files out."""
    if not folder or not path.startswith(folder.rstrip("/") + "/"):
        return {}
    parts = [p.partition("=") for p in path[len(folder.rstrip("/")) + 1 :].split("/")[:-1] if "=" in p]
    return {_unescape(n).lower(): None if v == _NO_VALUE else _unescape(v) for n, _, v in parts}


def _unescape(text: str) -> str:
    return unquote(text, encoding="latin-1")  # Spark takes each %xx for a character


def _place(path: str, there: list[str], name: str) -> int | None:
    """Where a file has the column: by name, in whatever case."""
    found = [i for i, n in enumerate(there) if n.lower() == name.lower()]
    if len(found) > 1:
        raise _refuse_file(path, f"it has the column {name} {len(found)} times, in different cases")
    return found[0] if found else None


def fits(there: pa.DataType, declared: pa.DataType) -> bool:
    """Whether Spark reads a Parquet column of type `there` as `declared`."""
    if there == declared or pa.types.is_null(there):
        return True
    if pa.types.is_dictionary(there):
        return fits(there.value_type, declared)
    small, wide = _INTEGERS.get(str(there)), _INTEGERS.get(str(declared))
    if small and wide:
        narrowed = str(there) == "int32"  # Parquet has no narrower integers than 32 bits
        return small <= wide or narrowed or (there == pa.uint64() and wide == 64)  # if its values are small
    if there == pa.uint64() and pa.types.is_decimal(declared):
        return bool(declared.precision - declared.scale >= 20)
    if declared == pa.float64():
        return str(there) in ("int8", "int16", "int32", "uint8", "uint16", "float")
    if pa.types.is_timestamp(there) and pa.types.is_timestamp(declared):
        return True
    if pa.types.is_decimal(there) and pa.types.is_decimal(declared):
        digits = declared.precision - declared.scale >= there.precision - there.scale
        return bool(digits and declared.scale >= there.scale)
    if declared == pa.binary() and pa.types.is_fixed_size_binary(there):
        return True
    return declared in (pa.string(), pa.binary()) and str(there).removeprefix("large_") in (
        "string",
        "binary",
    )


def _refuse_file(path: str, reason: str) -> SourceError:
    """What Spark might read and we do not; and how to let it."""
    return SourceError(
        f"a source cannot be read: {path}: {reason}\nNothing of this batch was committed. Declare the stream as its "
        "files are or mend the file, or let Spark's own reader try (stream OPTIONS (mergeSchema false)), and start again"
    )


def _explain_unreadable(path: str, error: Exception) -> SourceError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return SourceError(
        f"a source cannot be read: {path}: {reason}\nNothing of this batch was committed. Mend or remove the file and start "
        "again (docs/operations.md has what else can be done)"
    )
