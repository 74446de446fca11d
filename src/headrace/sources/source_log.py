"""Spark's list of the files it has read, without those it does not look at any more.

For every source of files Spark keeps `spark/sources/<n>`: a file of new entries a batch, and every tenth batch one,
`<batch>.compact`, with all entries there ever were. When it starts it reads them all and forgets at once those whose
files are older, by `maxFileAge` (a week), than the newest it has read; files older than that it ignores from then on. So
an entry that old changes nothing, and is left out of the last compact file here, before Spark starts. Streams that set
`maxFileAge` or `latestFirst` mean something else by it, and are left alone.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Iterable, Mapping

from headrace.state import Store

_WEEK = 7 * 86_400_000
_MARGIN = 86_400_000
_BLOCK = 512
_COMPACT = re.compile(r"(spark/sources/\d+)/(\d+)\.compact")


def trim_source_logs(store: Store, options: Iterable[Mapping[str, str]]) -> int:
    """Leave out old entries of a checkpoint that nobody runs on; how many."""
    named = {key.lower() for one in options for key in one}
    if not store.is_local or named & {"maxfileage", "latestfirst"}:
        return 0
    last: dict[str, int] = {}
    for path in store.list("spark/sources"):
        if match := _COMPACT.fullmatch(path):
            last[match[1]] = max(last.get(match[1], -1), int(match[2]))
    return sum(_trim(store, folder, batch) for folder, batch in last.items())


def _trim(store: Store, folder: str, batch: int) -> int:
    path, sums = f"{folder}/{batch}.compact", f"{folder}/.{batch}.compact.crc"
    content = store.read(path)
    if store.exists(sums) and store.read(sums) != sum_blocks(content):
        return 0  # damaged, which Spark says when it reads it
    try:
        head, *lines = content.decode().splitlines()
        times = [int(json.loads(line)["timestamp"]) for line in lines]
    except (ValueError, KeyError, TypeError):
        return 0  # of a Spark that writes it otherwise
    if head != "v1" or not times:
        return 0
    oldest = max(times) - _WEEK - _MARGIN
    kept = [line for line, time in zip(lines, times, strict=True) if time >= oldest]
    if len(kept) < len(lines):
        store.delete(sums)  # of the file before; Hadoop takes one without as it is
        content = "\n".join([head, *kept]).encode()
        store.write(path, content)
        store.write(sums, sum_blocks(content))
    return len(lines) - len(kept)


def sum_blocks(content: bytes) -> bytes:
    """What Hadoop's local file system keeps beside a file, `.<name>.crc`: the CRC-32 of every 512 bytes."""
    sums = (zlib.crc32(content[at : at + _BLOCK]) for at in range(0, len(content), _BLOCK))
    return struct.pack(">4si", b"crc\0", _BLOCK) + b"".join(struct.pack(">I", one) for one in sums)
