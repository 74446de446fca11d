"""All tasks of a run give the rows of a node with the same columns, of the same types: what is sent is put together with
what others send and with what is kept, and Arrow refuses to when one of them calls a column `null` that is a string elsewhere.

A slot may know too little to see the type of a column in its rows, so SQL that makes a row of NULLs says their types. Only
`headrace.testing` checks that: a run that sends nothing else cannot fail there.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from headrace.errors import InternalError
from headrace.kernels import payloads
from headrace.state import SegmentMeta, Store, read_segment


class AgreedColumns:
    """The columns of each node, as the first rows of the run had them."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, pa.DataType]] = {}

    def check_sent(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Rows on their way to other slots."""
        for _, node, payload in payloads.read_rows(batches):
            if node != payloads.MESSAGE:
                self._check(node, pa.ipc.open_stream(payload).schema)

    def check_kept(self, store: Store, segments: Iterable[SegmentMeta]) -> None:
        """Rows that later batches read."""
        for meta in segments:
            self._check(meta.node, read_segment(store, meta, frozenset()).schema)

    def _check(self, node: str, schema: pa.Schema) -> None:
        columns = {field.name: field.type for field in schema}
        first = self._known.setdefault(node, columns)
        if columns != first:
            raise InternalError(f"rows of {node} have the columns {columns}, and had {first} in another slot or batch")
