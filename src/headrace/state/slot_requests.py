"""Requests for another number of slots, left in the checkpoint for whoever runs it.

A request is a file of its own under `requests/`, named by the moment it was made, so that several people may ask and
nobody overwrites anybody: the last one counts. The driver reads them between two batches and deletes those it has
read when a batch with that number of slots is committed; after a kill before that they are read again. A file that is no
request is refused, with what was expected, and deleted too: it must not stop a run.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from dataclasses import dataclass

from headrace.errors import HeadraceError, OptionError
from headrace.state.store import Store

FOLDER = "requests"
MOST_SLOTS = 1024
AUTO = "auto"  # instead of a number: the run chooses
LONGEST = 1000  # bytes
_NAME = re.compile(rf"{FOLDER}/slots-\d{{20}}-[0-9a-f]{{32}}\.json")


@dataclass(frozen=True)
class SlotRequests:
    """What was asked since the last batch: the number that counts, files to delete, and what was refused."""

    slots: int | None = None
    paths: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def check_slot_count(slots: object) -> int:
    """A number of slots that somebody asks for."""
    if isinstance(slots, bool) or not isinstance(slots, int) or not 1 <= slots <= MOST_SLOTS:
        raise OptionError(f"slots: expected 1 to {MOST_SLOTS}, got {slots!r}")
    return slots


def request_slots(store: Store, slots: int) -> None:
    """Ask the run on a checkpoint, this one or the next, for another number of slots."""
    text = json.dumps({"slots": check_slot_count(slots)})
    store.write(f"{FOLDER}/slots-{time.time_ns():020d}-{uuid.uuid4().hex}.json", text.encode())


def read_requests(store: Store) -> SlotRequests:
    """All requests that are there."""
    slots, refused = None, []
    paths = [path for path in store.list(FOLDER) if _NAME.fullmatch(path)]  # sorted by time
    for path in paths:
        try:
            slots = _read_request(store, path)
        except (ValueError, HeadraceError) as error:
            refused.append(f"{path} is no request and was deleted: {error}")
    return SlotRequests(slots, tuple(paths), tuple(refused))


def forget_requests(store: Store) -> None:
    """Delete requests that were made before a run which says itself how many slots it wants."""
    for path in read_requests(store).paths:
        store.delete(path)


def _read_request(store: Store, path: str) -> int:
    if store.size(path) > LONGEST:
        raise ValueError("it is too long")
    found = json.loads(store.read(path))
    if not isinstance(found, dict) or set(found) != {"slots"}:
        raise ValueError('expected {"slots": N}')
    return check_slot_count(found["slots"])
