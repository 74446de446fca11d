"""Bounds from beside a stream: PUNCTUATED FROM a table, or a function that a session has registered.

A table has a column `bound`, in the type of the progressing attribute, and where punctuation is FOR groups the columns of
these. It is a local file or folder of Parquet, CSV or JSON files, or a table that Spark knows by name. Of several rows
the largest bound counts, so whoever writes may append. A function is called without arguments and returns a bound, or
a list of (bound, group…), or None. Text names functions, never code: only what was registered in Python is called.

Bounds are read between batches, and bind at the end of the next one. What a batch reads is decided after the bounds were
read, so rows that were in the source before its writer told a bound come in that batch or an earlier one. A batch that
Spark had planned before a restart is no such batch, and binds nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from headrace.dialect.sql_quotes import quote_name, quote_spark_name, quote_text
from headrace.errors import SourceError
from headrace.kernels.locked_database import open_locked_database
from headrace.logical.graph import Graph, Stream
from headrace.progress import Observation, fold

BoundsFunction = Callable[[], Any]
_READERS = {".parquet": "read_parquet", ".csv": "read_csv", ".json": "read_json"}
_PATTERN_LETTERS = re.compile(r"([*?[])")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class BoundsReader:
    """What is told beside the streams of a set."""

    def __init__(
        self,
        graph: Graph,
        functions: Mapping[str, BoundsFunction],
        bases: Mapping[str, Path],
        read_table: Callable[[str], list[tuple[Any, ...]]] | None = None,
    ) -> None:
        self._streams = [s for s in graph.streams.values() if s.beside is not None]
        self._functions, self._bases, self._read_table = functions, bases, read_table
        for stream in self._streams:
            if not self._finds(stream):
                listed = ", ".join(sorted(functions)) or "nothing"
                raise SourceError(
                    f"stream {stream.name}: PUNCTUATED FROM {stream.beside!r}: there is no such file, folder, table or function. "
                    f"Registered as functions are: {listed}. A function is registered in Python: session.bounds(name, function)"
                )

    def read(self) -> dict[str, Observation]:
        """What is told now, by stream."""
        found = {}
        for stream in self._streams:
            try:
                rows = list(self._rows_of(stream))
                found[stream.name] = fold(_observe(stream, row) for row in rows)
            except SourceError:
                raise
            except Exception as e:
                raise SourceError(
                    f"stream {stream.name}: the bounds in {stream.beside!r} cannot be read: {type(e).__name__}: {e}\n"
                    f"Expected {_expected(stream)}"
                ) from e
        return found

    def _finds(self, stream: Stream) -> bool:
        name = str(stream.beside)
        return name in self._functions or self._path(stream) is not None or (_is_name(name) and self._read_table is not None)

    def _path(self, stream: Stream) -> str | None:
        path = os.path.join(self._bases.get(stream.name, Path.cwd()), str(stream.beside))
        return path if os.path.exists(path) else None

    def _rows_of(self, stream: Stream) -> Iterable[tuple[Any, ...]]:
        name = str(stream.beside)
        if name in self._functions:
            return _listed(self._functions[name](), stream)
        path = self._path(stream)
        if path is not None:
            return read_files(path, stream)
        assert self._read_table is not None
        return self._read_table(spell_query(".".join(map(quote_spark_name, name.split("."))), stream, quote_spark_name))


def spell_query(source: str, stream: Stream, quote: Callable[[str], str]) -> str:
    """The largest bound of each group in a table."""
    groups = list(map(quote, stream.groups))
    listed = ", ".join(["max(bound)", *groups])
    return f"SELECT {listed} FROM {source}" + (f" GROUP BY {', '.join(groups)}" if groups else "")


def read_files(path: str, stream: Stream) -> Iterable[tuple[Any, ...]]:
    files = [path]
    if os.path.isdir(path):
        files = sorted(str(f) for f in Path(path).rglob("*") if f.suffix in _READERS and not f.name.startswith((".", "_")))
    if not files:
        return []
    kinds = {Path(f).suffix for f in files}
    if len(kinds) != 1 or not kinds <= _READERS.keys():
        raise ValueError("expected files of one kind, .parquet, .csv or .json")
    patterns = [_PATTERN_LETTERS.sub(r"[\1]", file) for file in files]  # that mean these files and no others
    listed = ", ".join(map(quote_text, patterns))
    with open_locked_database(files=[*files, *patterns]) as con:
        return con.execute(spell_query(f"{_READERS[kinds.pop()]}([{listed}])", stream, quote_name)).fetchall()


def _listed(told: Any, stream: Stream) -> Iterable[tuple[Any, ...]]:
    if told is None:
        return []
    if isinstance(told, (int, datetime, date)):
        told = [(told,)]
    return [row if isinstance(row, tuple) else (row,) for row in told]


def _observe(stream: Stream, row: tuple[Any, ...]) -> Observation:
    bound, *group = row
    if len(group) != len(stream.groups):
        raise ValueError(f"got {row!r}")
    if bound is None:
        return Observation()
    told = Observation(mark=_tick(stream, bound))
    return Observation(groups=((tuple(group), told),)) if stream.groups else told


def _tick(stream: Stream, bound: Any) -> int:
    if isinstance(bound, int) and not isinstance(bound, bool):
        return int(bound)
    if stream.unit == "us" and isinstance(bound, date):
        if not isinstance(bound, datetime):
            bound = datetime(bound.year, bound.month, bound.day)
        since = (bound if bound.tzinfo is not None else bound.replace(tzinfo=UTC)) - _EPOCH
        return int((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)
    raise ValueError(f"the bound {bound!r} is no value of {stream.on}")


def _expected(stream: Stream) -> str:
    kind = "a time (or microseconds since the epoch)" if stream.unit == "us" else "an integer"
    return f"a column bound that is {kind}" + (f", and {', '.join(stream.groups)}" if stream.groups else "")


def _is_name(name: str) -> bool:
    """Whether this can be a table of Spark's, like bounds or catalog.schema.bounds."""
    return bool(name) and all(part.replace("_", "a").isalnum() for part in name.split("."))
