"""Checksums of what a checkpoint holds (DESIGN section 5): no bit that a disk has turned is taken for data.

What is read together has a checksum of its own, and whoever names it keeps the checksum, up to the manifest, which has
one of itself. Manifests and pages of the history: SHA-256 of their lines (`record`). Small documents: `seal_json`. Arrow
files of state and tables: CRC-32 of each block, of which a slot reads its share (`arrow_blocks`). Parquet files of
results and late rows: Parquet's own CRC-32 of each page, and one of the footer in the manifest (`result_parquet`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_SEAL = "sha256"
WRONG = "its content does not have the checksum it was written with"


class DamagedFile(ValueError):
    """A file is not as it was written; the message says in what respect."""


def seal_json(value: Mapping[str, Any]) -> bytes:
    """A document of JSON that holds its own checksum; one line for each of its members."""
    return json.dumps({**value, _SEAL: _digest(value)}, indent=1).encode()


def open_json(data: bytes) -> dict[str, Any]:
    """The document without its checksum, which must be right."""
    try:
        value = json.loads(data)
    except ValueError as error:
        raise DamagedFile(f"it is no JSON ({error})") from error
    if not isinstance(value, dict) or value.pop(_SEAL, None) != _digest(value):
        raise DamagedFile(WRONG)
    return value


def _digest(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()
