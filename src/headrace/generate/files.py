"""Writing a generated stream as files that a streaming source reads in the right order.

Three things make a directory of files a faithful replay:

* **Arrival order is file order.** A file source takes files by modification time (Spark) or by name
  (others), so both increase: names are numbered and mtimes are a second apart, none of them in the future.
* **A file appears whole.** It is written under a hidden name, which sources skip, and then renamed; a query
  may already be running on the directory.
* **What was generated is known.** `_generated.json` lists the files before the first of them is written.
  Writing again with `force` removes exactly the files on that list, even after an interrupted run, and
  nothing else; a foreign file in the way is an error.

The rows come as an iterator of Arrow tables in arrival order and are cut at file boundaries here, so memory
is bounded by a table and the rows do not depend on the number of files.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from headrace.errors import OptionError
from headrace.generate.options import check_counts

Format = Literal["parquet", "csv", "json"]
OnRows = Callable[[int], None]
MANIFEST = "_generated.json"
ROW_GROUP = 128 * 1024


class _Sink(Protocol):
    def write(self, table: pa.Table) -> None: ...
    def close(self) -> None: ...


def write_stream(
    out: Path,
    tables: Iterable[pa.Table],
    *,
    stem: str,
    rows: int,
    files: int,
    format: Format,
    options: Mapping[str, object],
    force: bool = False,
    on_rows: OnRows | None = None,
) -> list[Path]:
    """Write `rows` rows in `files` files `stem-00000.format` and on; returns their paths in arrival order."""
    check_counts(rows=rows, files=files)
    if format not in get_args(Format):
        raise OptionError(f"format must be one of {', '.join(get_args(Format))}, got {format!r}")
    files = min(files, rows)
    names = [f"{stem}-{i:05d}.{format}" for i in range(files)]
    _claim(out, names, dict(options), force)
    stamp = time.time() - files
    paths: list[Path] = []
    sink: _Sink | None = None
    written = 0
    hidden = out / f".{stem}.tmp"
    for table in tables:
        at = 0
        while at < table.num_rows:
            if sink is None:
                sink = _open(hidden, table.schema, format)
            end = (len(paths) + 1) * rows // files
            piece = table.slice(at, min(table.num_rows - at, end - written))
            sink.write(piece)
            at += piece.num_rows
            written += piece.num_rows
            if written == end:
                sink.close()
                sink = None
                os.utime(hidden, (stamp + len(paths), stamp + len(paths)))
                paths.append(hidden.rename(out / names[len(paths)]))
            if on_rows is not None:
                on_rows(piece.num_rows)
    assert written == rows, f"{written} of {rows} rows were generated"
    _write_manifest(out, names, dict(options), complete=True)
    return paths


def check_free(out: Path, force: bool) -> None:
    """Refuse a directory that holds anything, unless `force`."""
    there = sorted(p.name for p in out.iterdir()) if out.is_dir() else []
    if there and not force:
        raise OptionError(
            f"{out} is not empty ({', '.join(there[:3])}{', …' if len(there) > 3 else ''}); "
            "choose another directory, or use --force (force=True) to replace what was generated there before"
        )


def _claim(out: Path, names: Sequence[str], options: dict[str, object], force: bool) -> None:
    """Make `out` ours: empty, or with `force` rid of what an earlier run listed."""
    check_free(out, force)
    out.mkdir(parents=True, exist_ok=True)
    there = {p.name for p in out.iterdir()}
    ours = set(_listed(out))
    foreign = (there & set(names)) - ours
    if foreign:
        raise OptionError(
            f"{out / min(foreign)} was not generated here and would be overwritten; "
            "move it away or choose another directory"
        )
    for name in ours & there:
        (out / name).unlink()
    _write_manifest(out, names, options, complete=False)


def _listed(out: Path) -> list[str]:
    try:
        listed = json.loads((out / MANIFEST).read_text())["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [name for name in listed if isinstance(name, str) and Path(name).name == name]


def _write_manifest(out: Path, names: Sequence[str], options: dict[str, object], complete: bool) -> None:
    text = json.dumps({"complete": complete, "options": options, "files": list(names)}, indent=1)
    hidden = out / f".{MANIFEST}.tmp"
    hidden.write_text(text + "\n")
    hidden.rename(out / MANIFEST)


def _open(path: Path, schema: pa.Schema, format: Format) -> _Sink:
    if format == "parquet":
        return _Parquet(path, schema)
    return _Csv(path, schema) if format == "csv" else _Json(path, schema)


class _Parquet:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._writer = pq.ParquetWriter(path, schema, compression="snappy", coerce_timestamps="us")

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(table, row_group_size=ROW_GROUP)

    def close(self) -> None:
        self._writer.close()


class _Csv:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._writer = pyarrow.csv.CSVWriter(str(path), _as_text(schema.empty_table()).schema)

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(_as_text(table))

    def close(self) -> None:
        self._writer.close()


class _Json:
    """Newline-delimited JSON, by DuckDB since Arrow only reads it; a whole file at a time."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path, self._pieces = path, [schema.empty_table()]

    def write(self, table: pa.Table) -> None:
        self._pieces.append(table)

    def close(self) -> None:
        import duckdb

        with duckdb.connect() as db:
            db.register("piece", _as_text(pa.concat_tables(self._pieces)))
            target = str(self._path).replace("'", "''")
            db.execute(f"COPY piece TO '{target}' (FORMAT json)")


def _as_text(table: pa.Table) -> pa.Table:
    """Timestamps as ISO 8601 with microseconds and Z, which every reader of text understands."""
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            text = pc.strftime(table.column(i), format="%Y-%m-%dT%H:%M:%SZ")
            table = table.set_column(i, field.name, text)
    return table
