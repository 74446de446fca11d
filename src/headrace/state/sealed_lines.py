"""Records as lines of JSON, with a checksum of all of them in the last line.

Manifests and pages of the history are written this way, by msgspec, from the types of their fields. Reading is strict: a
field that is unknown, missing or of another type is an error, never a default that somebody means to be there. Another format
is told apart first, so that it is not called damaged.
"""

from __future__ import annotations

import hashlib
from typing import Any, Self, TypeVar

import msgspec

from headrace.state.checksums import WRONG, DamagedFile
from headrace.state.format import FORMAT

T = TypeVar("T")


class Damaged(DamagedFile):
    """These bytes are not what was written."""


class OtherFormat(ValueError):
    """A whole file that another version of Headrace wrote."""

    def __init__(self, found: object) -> None:
        super().__init__(f"it has format {found}")
        self.found = found


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Written with the names of its fields."""

    def replace(self, **changes: Any) -> Self:
        """The same with other values of these fields."""
        return msgspec.structs.replace(self, **changes)


class Row(Record, frozen=True, forbid_unknown_fields=True, array_like=True):
    """Written as an array, since there are many of them."""


class _Head(msgspec.Struct):
    format: Any


def seal_lines(*values: object) -> bytes:
    """Each value as a line, and their checksum."""
    body = b"".join(msgspec.json.encode(value) + b"\n" for value in values)
    return body + checksum(body)


def open_lines(data: bytes, count: int) -> list[bytes]:
    """The lines before the checksum, which is right."""
    lines = data.splitlines(keepends=True)
    if len(lines) != count + 1:
        raise Damaged(
            "it is cut short" if len(lines) <= count else "it has more lines than it was written with"
        )
    if lines[count] != checksum(b"".join(lines[:count])):
        raise Damaged(WRONG)
    return lines[:count]


def check_head(line: bytes) -> None:
    """Refuse what another version of Headrace wrote."""
    found = msgspec.json.decode(line, type=_Head).format
    if found != FORMAT:
        raise OtherFormat(found)


def decode_line(line: bytes, kind: type[T]) -> T:
    """The value that `seal_lines` wrote; anything else is a ValueError."""
    return msgspec.json.decode(
        line, type=kind, dec_hook=lambda _, value: value
    )  # groups have values of any type


def checksum(body: bytes) -> bytes:
    """The last line, for the lines before it."""
    return b'{"sha256":"%s"}\n' % hashlib.sha256(body).hexdigest().encode()
