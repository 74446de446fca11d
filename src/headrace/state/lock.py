"""One run per checkpoint.

On the local disk the lock is `flock` on the file `lock` of the checkpoint. The kernel gives it up when the
process ends, however it ends, so there is nothing to clean up after `kill -9` and no lock is ever stale.
The file stays; its content (process, host, start) is only there to be shown to the second comer.

Other file systems have no such lock. There the file is a *lease*: it names its owner, who renews it every
`LEASE_SECONDS / 4`; a lease not renewed for `LEASE_SECONDS` may be taken over. This is a weaker promise: it
needs clocks that agree within the lease, and two runs that take over the same stale lease within one write
of each other may both believe in it until the next renewal. `check`, to be called before a commit, refuses
when the lease is no longer ours. What protects the results in the remaining moment is that a version is
published only if it is absent.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
import time
import uuid
from datetime import datetime
from types import TracebackType
from typing import Any

from headrace.errors import CheckpointError
from headrace.state.store import Store

PATH = "lock"
LEASE_SECONDS = 60.0


class CheckpointLock:
    """The exclusive right to write to a checkpoint; a context manager."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._holder: _Flock | _Lease | None = None

    def acquire(self) -> None:
        """Take the lock, or say who has it."""
        if self._holder is None:
            self._holder = _Flock(self.store) if self.store.is_local else _Lease(self.store)

    def check(self) -> None:
        """Raise if the lock is not held any more; only a lease can be lost."""
        if self._holder is None or not self._holder.held():
            raise CheckpointError(
                f"this run no longer holds checkpoint {self.store.uri}: its lease was not renewed for "
                f"{LEASE_SECONDS:.0f} seconds, or another run took it; nothing more is committed "
                "here. Start again "
                "when the other run has stopped"
            )

    def release(self) -> None:
        """Give the lock back; once is enough, more is no error."""
        holder, self._holder = self._holder, None
        if holder is not None:
            holder.release()

    def __enter__(self) -> CheckpointLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class _Flock:
    def __init__(self, store: Store) -> None:
        path = store.local_path(PATH)
        with store.explain(PATH, "lock"):
            os.makedirs(store.uri, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                content = os.pread(handle, 4096, 0)
                os.close(handle)
                raise in_use(store, content) from error
            except OSError:
                os.close(handle)
                raise
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(identity()).encode(), 0)
        self.handle = handle

    def held(self) -> bool:
        return True

    def release(self) -> None:
        fcntl.flock(self.handle, fcntl.LOCK_UN)
        os.close(self.handle)


class _Lease:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.identity = {**identity(), "owner": uuid.uuid4().hex}
        if not store.publish(PATH, self.content()):
            present = store.read(PATH)
            if not stale(present):
                raise in_use(store, present)
            store.write(PATH, self.content())
        if not self.ours():
            raise in_use(store, store.read(PATH))
        self.renewed = time.monotonic()
        self.lost = False
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.renew, name="headrace-lease", daemon=True)
        self.thread.start()

    def content(self) -> bytes:
        return json.dumps({**self.identity, "heartbeat": time.time()}).encode()

    def ours(self) -> bool:
        return bool(parsed(self.store.read(PATH)).get("owner") == self.identity["owner"])

    def renew(self) -> None:
        while not self.stop.wait(LEASE_SECONDS / 4):
            try:
                if not self.ours():
                    self.lost = True
                    return
                self.store.write(PATH, self.content())
                self.renewed = time.monotonic()
            except CheckpointError:
                continue  # the store may come back within the lease; `held` looks at the clock

    def held(self) -> bool:
        return not self.lost and time.monotonic() - self.renewed < LEASE_SECONDS

    def release(self) -> None:
        self.stop.set()
        self.thread.join()
        if not self.lost and self.ours():
            self.store.delete(PATH)


def identity() -> dict[str, Any]:
    return {"pid": os.getpid(), "host": socket.gethostname(), "started": time.time()}


def parsed(content: bytes) -> dict[str, Any]:
    """What the lock file says; empty if it says nothing that can be understood."""
    try:
        value = json.loads(content)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def stale(content: bytes) -> bool:
    """Whether a lease has run out. One that cannot be read has not: its owner may just be writing it."""
    heartbeat = parsed(content).get("heartbeat")
    return isinstance(heartbeat, float) and time.time() - heartbeat > LEASE_SECONDS


def in_use(store: Store, content: bytes) -> CheckpointError:
    who = parsed(content)
    started = who.get("started")
    since = datetime.fromtimestamp(started).isoformat(" ", "seconds") if isinstance(started, float) else "?"
    hint = "" if store.is_local else f" (if it is surely dead, delete {store.uri}/{PATH})"
    return CheckpointError(
        f"checkpoint {store.uri} is in use by process {who.get('pid', '?')} on "
        f"{who.get('host', '?')} since {since}; "
        f"stop it, or use another checkpoint{hint}"
    )
