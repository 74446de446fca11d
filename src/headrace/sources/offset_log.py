"""Spark's log of what a batch reads, `spark/offsets` and `spark/sources`, beside our manifests.

Spark writes it before the batch, but does not flush it. After a power cut a manifest could be there and what its batch read
forgotten: Spark would plan the batch anew, with files that have come since, we would take it for the one that is
committed, and these files would never be read. So the last entries are flushed before a manifest is published. What is torn
then is of a batch that was not committed: it is deleted when a run starts, and Spark plans that batch anew.
"""

from __future__ import annotations

import re

from headrace.state import Store

_ENTRY = re.compile(r"(spark/(?:offsets|sources/\d+))/(\d+)(?:\.compact)?")


def flush_offset_log(store: Store, batch_id: int) -> None:
    """Make what Spark logged of a batch, and before, survive a power cut."""
    last: dict[str, tuple[int, str]] = {}
    for path in (store.list("spark/offsets") + store.list("spark/sources")) if store.is_local else ():
        match = _ENTRY.fullmatch(path)
        if match and (match[1] != "spark/offsets" or int(match[2]) <= batch_id):
            last[match[1]] = max(last.get(match[1], (-1, "")), (int(match[2]), path))
    store.sync([path for _, path in last.values()])


def drop_torn_logs(store: Store, committed: int) -> list[str]:
    """Delete entries without content, and then the offsets of all batches after the one `committed` last; those deleted."""
    entries = store.scan("spark") if store.is_local else []
    torn = {e.path for e in entries if not e.size and (_ENTRY.fullmatch(e.path) or e.path.startswith("spark/commits/"))}
    if torn:
        later = [(e.path, m) for e in entries if (m := _ENTRY.fullmatch(e.path)) and m[1] == "spark/offsets"]
        torn |= {path for path, match in later if int(match[2]) > committed}
    for path in torn:
        store.delete(path)
        folder, _, name = path.rpartition("/")
        store.delete(f"{folder}/.{name}.crc")
    return sorted(torn)
