"""While nothing comes, Spark need not list its folders.

Spark lists a stream's folder at every look, which with thousands of files in it takes a tenth of a second or more. A folder of
a local file system says by its modification time whether an entry came or went; asking that takes microseconds. So while
nothing has changed, a thread of ours keeps Spark from looking, and lets it go on as soon as something has.

Spark looks for new files under a lock of the query (`awaitProgressLock`, fair); who holds that holds Spark at the door. What
must always hold: Spark has looked, and found nothing, after the state it is held for was read. The state is read while
Spark waits at the door; then Spark is let through three times in a row, which is one look at least (it takes the lock once
more at the end of a batch). If meanwhile no batch was made and the state is the same, it is held.

Times of files have a grain, up to two seconds: a folder that changed just now is not trusted yet. And since not every file
system can be trusted at all, Spark is let through from time to time even if nothing has changed: as often as costs a
hundredth of a core.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from py4j.clientserver import ClientServer
from py4j.protocol import Py4JError
from pyspark import InheritableThread, SparkContext

from headrace.program.limits import SHIPPED, Limits

_PATIENCE = 2.0  # seconds in which Spark comes to look again, if it has nothing to do
_GLANCE = 0.1  # seconds between two looks at folders' times
_LOOKS = 3
_SHARE = 0.01  # of the time, that looking may take
_SHORTEST, _LONGEST = 2.0, 60.0  # seconds that Spark is held at a time

FolderState = tuple[tuple[str, int, int], ...]


class FolderTimes:
    """Folders, with all that are below them, and when entries of each last changed."""

    def __init__(self, folders: Sequence[str], most: int = SHIPPED.watched_folders) -> None:
        self._most = most
        self._roots = tuple(folders)
        self._known: FolderState = ()

    def read(self) -> FolderState | None:
        """What changes as soon as an entry comes or goes; None if there are too many folders, or one is not there."""
        try:
            now = tuple(_stamp(path) for path, _, _ in self._known)
            if not now or now != self._known:
                now = tuple(_stamp(path) for path in self._walk())
            self._known = now
        except OSError:
            self._known = ()
            return None
        return now

    def _walk(self) -> list[str]:
        found: list[str] = []
        waiting = list(self._roots)
        while waiting:
            folder = waiting.pop()
            found.append(folder)
            if len(found) > self._most:
                raise OSError("too many folders")
            with os.scandir(folder) as entries:
                waiting += [entry.path for entry in entries if entry.is_dir()]
        return found


def is_settled(state: FolderState, now: float, grain: float) -> bool:
    """Whether any later change would show: none was made within the `grain` of times."""
    return max(changed for _, changed, _ in state) / 1e9 < now - grain


def _stamp(path: str) -> tuple[str, int, int]:
    found = os.stat(path)
    return path, found.st_mtime_ns, found.st_ino


class IdleGate:
    """Holds the looks of a Spark query. `last_batch` is a moment that changes with every batch."""

    def __init__(self, query: Any, folders: Sequence[str], last_batch: Callable[[], float], limits: Limits = SHIPPED) -> None:
        self.held = 0  # times, for whoever wants to know
        self._query, self._last_batch, self._limits = query, last_batch, limits
        self._watch = FolderTimes(folders, limits.watched_folders)
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        if folders and isinstance(SparkContext._gateway, ClientServer):  # a thread here is always the same one in Java
            self._thread = InheritableThread(target=self._run, daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Let Spark go, for good."""
        self._closed.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        try:
            lock = self._query._jsq.streamingQuery().awaitProgressLock()
            while not self._closed.wait(self._limits.quiet / 4):
                if time.monotonic() - self._last_batch() > self._limits.quiet:
                    self._guard(lock)
        except Py4JError:
            return  # Spark has ended, or is one that has no such lock: then it looks as often as it likes

    def _guard(self, lock: Any) -> None:
        """Let Spark look at a state of the folders, then hold it for as long as that stays."""
        state, batch, took = self._watch.read(), self._last_batch(), 0.0
        if state is None or not is_settled(state, time.time(), self._limits.folder_grain):
            return
        lock.lock()
        try:
            for _ in range(_LOOKS):
                if not self._await_spark(lock):
                    return
                took = _let_through(lock)
            while self._await_spark(lock) and self._last_batch() == batch and self._watch.read() == state:
                if not self._hold(state, min(max(took / _SHARE, _SHORTEST), _LONGEST)):
                    return
                took = _let_through(lock)
        finally:
            lock.unlock()

    def _await_spark(self, lock: Any) -> bool:
        """Wait until Spark stands at the door; False if it does not come, since it is busy."""
        until = time.monotonic() + _PATIENCE
        while not self._closed.wait(_GLANCE / 4):
            if lock.hasQueuedThreads():
                return True
            if time.monotonic() > until:
                return False
        return False

    def _hold(self, state: FolderState, seconds: float) -> bool:
        """Hold Spark while nothing changes; False if something has."""
        self.held += 1
        until = look = time.monotonic()
        until += seconds
        while not self._closed.wait(_GLANCE):
            if self._watch.read() != state:
                return False
            now = time.monotonic()
            if now > until:
                return True
            if now > look + 1:
                look = now
                if not self._query.isActive:  # somebody else stops it, and waits
                    return False
        return False


def _let_through(lock: Any) -> float:
    """Let Spark have the lock that we hold, once; how many seconds it took."""
    started = time.monotonic()
    lock.unlock()
    lock.lock()  # it is fair: who waits comes first
    return time.monotonic() - started
