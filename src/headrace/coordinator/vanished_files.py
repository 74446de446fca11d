"""Input files that Spark has listed and that are gone when their batch is read.

Spark writes the files of a batch into its log before it reads them, and passes over those it does not find then: their
rows are missing without a word. So before a batch is run the files that the log names for it are looked for. This is done
for files of this machine; to ask an object store for each file would cost more than reading it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from urllib.parse import unquote

from headrace.errors import CheckpointError
from headrace.sources.source_path import local_path
from headrace.state import Store

_PATH = re.compile(r'\{"path":("file:[^"\\]*")')  # it is escaped as URIs are


def find_vanished(store: Store, batch_id: int, streams: tuple[str, ...]) -> dict[str, list[str]]:
    """The files of a batch that are not there, by stream."""
    if not store.is_local:
        return {}
    before, now = _read_offsets(store, batch_id - 1), _read_offsets(store, batch_id)
    if len(now) != len(streams):  # a frame that was given has sources of its own
        return {}
    found: dict[str, list[str]] = {}
    for number, (stream, last) in enumerate(zip(streams, now, strict=True)):
        if last is None:
            continue
        done = before[number] if number < len(before) else None
        for entry in range(0 if done is None else done + 1, last + 1):
            gone = [path for path in _list_entry(store, number, entry) if not os.path.lexists(path)]
            if gone:
                found.setdefault(stream, []).extend(gone)
    return found


def _read_offsets(store: Store, batch_id: int) -> list[int | None]:
    """How far each source had come in its own log; None of one that is no source of files."""
    path = f"spark/offsets/{batch_id}"
    if batch_id < 0 or not store.exists(path):
        return []
    found: list[int | None] = []
    for line in store.read(path).decode(errors="replace").splitlines()[2:]:
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        found.append(value.get("logOffset") if isinstance(value, dict) else None)
    return found


def _list_entry(store: Store, source: int, entry: int) -> Iterator[str]:
    """The local files of an entry of a source's log."""
    path = f"spark/sources/{source}/{entry}"
    try:
        lines = (
            store.read(path if store.exists(path) else f"{path}.compact")
            .decode(errors="replace")
            .splitlines()[1:]
        )
    except CheckpointError:
        return  # Spark has merged it into a later one, whose batches are done
    mine = f'"batchId":{entry}}}'
    for line in lines:
        found = _PATH.match(line) if line.endswith(mine) else None
        if found:
            yield unquote(local_path(json.loads(found[1])))
