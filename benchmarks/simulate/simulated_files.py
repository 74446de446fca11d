"""A disk that fails at the n-th operation, and forgets at a power cut what was not flushed.

The files are real, in a folder of this machine, so whatever reads them reads as usual; only the operations
that change the disk (`LocalFiles`) are counted, stopped and remembered. What POSIX promises is kept, and no
more: the content of a file is safe once the file was flushed, a name once its folder was. At a power cut
every name that was made, replaced or removed since its folder was flushed is, each by itself, as it is or as
it was; content that was not flushed is whole, cut short or nothing.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any
from weakref import WeakValueDictionary
from zlib import crc32

from headrace.state.local_files import LocalFiles


class FaultKind(Enum):
    """What happens at an operation."""

    KILL = "kill"  # the process ends; the machine goes on
    POWER = "power cut"  # the machine ends
    FULL = "full disk"  # nothing can be written until somebody makes room
    ERROR = "disk error"  # the operation fails once


@dataclass(frozen=True)
class Fault:
    """`kind` happens at the `after`-th operation from when it is armed, of those whose path has `where` in it."""

    kind: FaultKind
    after: int
    where: str = ""


class ProcessEnded(BaseException):
    """The process is dead: nothing it does reaches the disk any more."""


class TaskEnded(BaseException):
    """A task is dead."""


_DISKS: WeakValueDictionary[str, SimulatedFiles] = WeakValueDictionary()  # by their roots


class SimulatedFiles(LocalFiles):
    """The operations on the disk under `root`. Backups are kept in `aside`, on the same file system."""

    def __init__(self, root: str, aside: str, seconds: Callable[[], float]) -> None:
        self.root, self.aside, self._seconds = root, aside, seconds
        self.fault: Fault | None = None
        self.left = 0  # operations until the fault
        self.dead = False
        self.hit: FaultKind | None = None  # the fault that has happened since somebody looked
        self.operations: Counter[str] = Counter()
        self.digest = 0  # of all operations so far, names included: equal runs have equal ones
        self._unflushed: set[str] = set()  # files whose content is not
        self._names: dict[str, dict[str, str | None]] = {}  # folder -> name changed since -> what it was, a backup
        self._backups = 0
        self._task_left: int | None = None  # operations until the task under way dies

        _DISKS[root] = self

    def __reduce__(self) -> tuple[Callable[[str], SimulatedFiles], tuple[str]]:
        """A task in this process finds the same disk."""
        return find_disk, (self.root,)

    def end_task(self, after: int | None) -> None:
        """The task under way dies at its `after`-th operation; None: it does not."""
        self._task_left = after

    def stamp(self) -> None:
        """Files whose writer never flushed them were written now at the latest, by the simulated clock."""
        for path in self._unflushed:
            if os.path.exists(path):
                self._touch(path)

    def _touch(self, path: str) -> None:
        second = int(self._seconds())
        os.utime(path, (second, second))

    def arm(self, fault: Fault | None) -> None:
        self.fault, self.left = fault, fault.after if fault is not None else 0

    def restart(self) -> None:
        """A new process, on what there is."""
        self.dead, self.fault = False, None

    # -- operations --------------------
    def create(self, path: str, data: bytes) -> None:
        self._step("create", path)
        self._remember(path)
        with open(path, "xb", buffering=0) as file:
            self._unflushed.add(path)
            try:
                self._step("fill", path)
            except ProcessEnded:
                file.write(data[: len(data) // 2])
                raise
            except OSError:
                os.unlink(path)
                raise
            file.write(data)
        self._touch(path)
        self._unflushed.discard(path)

    def open_output(self, path: str) -> Any:
        self._step("open", path)
        out = super().open_output(path)
        self._remember(path)
        self._unflushed.add(path)
        return out

    def link(self, source: str, target: str) -> None:
        self._step("link", target)
        super().link(source, target)
        self._remember(target)

    def replace(self, source: str, target: str) -> None:
        self._step("replace", target)
        self._remember(target, self._back_up(target))
        self._remember(source, self._back_up(source))
        super().replace(source, target)

    def remove(self, path: str) -> None:
        if self.dead:  # what a dead process would have cleaned up
            raise FileNotFoundError(path)
        self._step("remove", path)
        self._remember(path, self._back_up(path))
        super().remove(path)
        self._unflushed.discard(path)

    def make_folder(self, path: str) -> None:
        self._step("make folder", path)
        super().make_folder(path)
        self._remember(path)

    def flush(self, path: str) -> None:
        self._step("flush", path)
        if not os.path.isdir(path):
            self._touch(path)
            self._unflushed.discard(path)
            return
        for backup in self._names.pop(path, {}).values():
            if backup is not None:
                os.unlink(backup)

    def flush_all(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.flush(path)

    # -- faults --------------------
    def _step(self, operation: str, path: str) -> None:
        """One operation is about to begin."""
        if self.dead:
            raise ProcessEnded
        if self._task_left is not None:
            if self._task_left == 0:
                self._task_left = None
                raise TaskEnded
            self._task_left -= 1
        self.operations[operation] += 1
        self.digest = crc32(f"{operation} {os.path.relpath(path, self.root)}".encode(), self.digest)
        if self.fault is None or self.fault.where not in path:
            return
        if self.left > 0:
            self.left -= 1
            return
        kind = self.fault.kind
        if kind is FaultKind.FULL and operation in ("flush", "remove", "replace"):
            return
        self.hit = kind
        if kind is FaultKind.FULL:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        self.fault = None
        if kind is FaultKind.ERROR:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        self.dead = True
        raise ProcessEnded

    def _remember(self, path: str, before: str | None = None) -> None:
        """A name has changed; what it was when its folder was flushed stays known."""
        names = self._names.setdefault(os.path.dirname(path), {})
        if path not in names:
            names[path] = before
        elif before is not None:
            os.unlink(before)

    def _back_up(self, path: str) -> str | None:
        if not os.path.exists(path):
            return None
        self._backups += 1
        backup = f"{self.aside}/{self._backups}"
        os.link(path, backup)
        return backup

    def cut_power(self, rng: random.Random) -> None:
        """What was not flushed is as it is or as it was."""
        kept = rng.choice([0.0, 0.5, 1.0])
        for path in sorted(self._unflushed):
            if os.path.exists(path) and rng.random() >= kept:
                os.truncate(path, rng.choice([0, os.path.getsize(path) // 2]))
        self.stamp()
        for folder in sorted(self._names):
            for path, before in self._names[folder].items():
                if rng.random() >= kept and os.path.isdir(folder):
                    _forget(path, before)
                elif before is not None:
                    os.unlink(before)
        self._names, self._unflushed = {}, set()


def find_disk(root: str) -> SimulatedFiles:
    return _DISKS[root]


def _forget(path: str, before: str | None) -> None:
    """Undo what happened to a name."""
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.unlink(path)
    if before is not None:
        os.replace(before, path)
