"""IPv4 addresses that a stream has as integers, shown as people write them.

A column is an address if the user says so: nothing in a number tells. 4 bytes signed or unsigned (Spark's INT has no other
way to hold them), so -1062731775 and 3232235521 are both 192.168.0.1; what does not fit in 4 bytes stays a number.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator

import pyarrow as pa

from headrace.errors import OptionError
from headrace.sql.error_places import suggest


def parse_columns(text: str | None) -> tuple[str, ...]:
    """The columns of a list like 'srcIP,destIP'."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def show_addresses(batches: Iterable[pa.RecordBatch], columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Batches with the integers of `columns`, found without case, as texts of addresses."""
    wanted = {name.lower() for name in columns}
    for batch in batches:
        if missing := [name for name in columns if name.lower() not in map(str.lower, batch.schema.names)]:
            raise OptionError(f"--ipv4: there is no column {missing[0]!r}.{suggest(missing[0], batch.schema.names)}")
        for place, field in enumerate(batch.schema):
            if field.name.lower() in wanted and pa.types.is_integer(field.type):
                texts = pa.array([format_address(value) for value in batch.column(place).to_pylist()], pa.string())
                batch = batch.set_column(place, pa.field(field.name, pa.string()), texts)
        yield batch


def format_address(value: int | None) -> str | None:
    """192.168.0.1 for 3232235521, and for the same four bytes as a signed number."""
    if value is None:
        return None
    if not -(1 << 31) <= value < 1 << 32:
        return str(value)
    return socket.inet_ntoa((value % (1 << 32)).to_bytes(4, "big"))
