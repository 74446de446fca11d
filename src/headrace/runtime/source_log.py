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
from collections.abc import Iterable, Mapping

from headrace.state import Store

_WEEK = 7 * 86_400_000
_MARGIN = 86_400_000
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
    path = f"{folder}/{batch}.compact"
    head, *lines = store.read(path).decode().splitlines()
    try:
        times = [int(json.loads(line)["timestamp"]) for line in lines]
    except (ValueError, KeyError, TypeError):
        return 0  # of a Spark that writes it otherwise
    if head != "v1" or not times:
        return 0
    oldest = max(times) - _WEEK - _MARGIN
    kept = [line for line, time in zip(lines, times, strict=True) if time >= oldest]
    if len(kept) < len(lines):
        store.delete(f"{folder}/.{batch}.compact.crc")  # of the file before; Hadoop takes one without as it is
        store.write(path, "\n".join([head, *kept]).encode())
    return len(lines) - len(kept)
