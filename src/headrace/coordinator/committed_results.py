"""Reading what was committed: through manifests only, as Spark, Arrow or pandas.

Files are merged, and the small ones deleted after a while; whoever meets one that is gone lists them again. Spark
reads later than it is asked, so its frame names files that are there for ten minutes at least.
"""

from __future__ import annotations

import base64
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headrace.errors import CheckpointError
from headrace.state import FilePart, ManifestLog
from headrace.state.result_parquet import read_results

_ATTEMPTS = 5  # to read files that are merged meanwhile


@dataclass(frozen=True, repr=False)
class Results:
    """The committed rows of a query, or the late rows of a stream, at the moment they are asked for."""

    log: ManifestLog
    parts: Callable[[], list[FilePart]]
    schema: pa.Schema
    make_frame: Callable[[Results], Any] | None = None  # of Spark
    query: str | None = None

    @property
    def complete_to(self) -> dict[str, int]:
        """By column that carries progress, in ticks, up to where all results are there: windows that end there or before, rows
        before that. What comes later has later ones. Of late rows nothing is known.
        """
        last = self.log.latest()
        return last.find_completeness(self.query) if last is not None and self.query is not None else {}

    def __repr__(self) -> str:
        """The columns; nothing is read for it."""
        columns = ", ".join(f"{field.name} {field.type}" for field in self.schema)
        return f"<headrace Results: {columns}; read them with .arrow(), .pandas() or .spark()>"

    def arrow(self) -> pa.Table:
        for _ in range(_ATTEMPTS):
            parts = self.list_parts()
            tables = []
            try:
                for part in parts:
                    tables.append(
                        complete_columns(read_results(self.log.store, part), self.schema).cast(self.schema)
                    )
            except CheckpointError as error:
                self.log.refresh()
                if not isinstance(error.__cause__, FileNotFoundError) or self.parts() == parts:
                    raise
                continue  # it was merged meanwhile
            return pa.concat_tables(tables) if tables else self.schema.empty_table()
        raise CheckpointError(
            f"the files of {self.log.store.uri} change faster than they can be read; try again"
        )

    def list_parts(self) -> list[FilePart]:
        """Where the rows are now; what is lost is warned of."""
        for loss in self.log.faults():
            warnings.warn(loss.why, RuntimeWarning, stacklevel=3)
        return self.parts()

    def pandas(self) -> Any:
        return self.arrow().to_pandas()

    def spark(self) -> Any:
        """The rows as a frame of Spark's."""
        assert self.make_frame is not None
        return self.make_frame(self)


def complete_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with all columns of `schema`: a late table may have got the text of lines since."""
    for field in schema:
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table.select(schema.names)


def schema_of(encoded: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(encoded)))
