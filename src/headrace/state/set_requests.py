"""Requests for another query set, left in the checkpoint for the run that is on it (beside those for slots).

A request says what is added, as CREATE QUERY and CREATE TABLE statements, and which queries are dropped; whoever replaces one
does both. Each is a file of its own that appears all at once; the driver takes them in the order they were made and deletes
those it has taken when a batch of the new set is committed, so after a kill before that they are read again.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from headrace.errors import HeadraceError
from headrace.state.slot_requests import FOLDER
from headrace.state.store import Store

LONGEST = 1 << 20  # bytes
_NAME = re.compile(rf"{FOLDER}/set-\d{{20}}-[0-9a-f]{{32}}\.json")


@dataclass(frozen=True)
class SetChange:
    """What is to be added, as SQL, and the queries to be dropped."""

    add: str = ""
    drop: tuple[str, ...] = ()


def request_change(store: Store, change: SetChange) -> None:
    """Ask the run on a checkpoint, this one or the next, to go on with another set."""
    text = json.dumps({"add": change.add, "drop": list(change.drop)})
    store.write(f"{FOLDER}/set-{time.time_ns():020d}-{uuid.uuid4().hex}.json", text.encode())


def read_changes(store: Store) -> Iterator[tuple[str, SetChange | str]]:
    """All requests that are there, oldest first, each with its file; of a file that is no request, why."""
    for path in store.list(FOLDER):
        if _NAME.fullmatch(path):
            try:
                yield path, _read_change(store, path)
            except (ValueError, HeadraceError) as error:
                yield path, f"it is no request: {error}"


def _read_change(store: Store, path: str) -> SetChange:
    if store.size(path) > LONGEST:
        raise ValueError("it is too long")
    found = json.loads(store.read(path))
    if not isinstance(found, dict) or set(found) != {"add", "drop"} or not isinstance(found["add"], str):
        raise ValueError('expected {"add": "CREATE QUERY …", "drop": ["name"]}')
    if not isinstance(found["drop"], list) or not all(isinstance(name, str) for name in found["drop"]):
        raise ValueError("drop: expected a list of names")
    return SetChange(found["add"], tuple(found["drop"]))
