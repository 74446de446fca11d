"""The operations on a local disk that change it, one method each: between any two of them a process may end.

`LocalDisk` makes a whole file appear, a commit, a deletion, out of these. A simulation puts others in their
place, which stop at the n-th operation, run out of room, or forget what was not flushed
(`benchmarks/simulate`). What POSIX promises after a power cut is little: of a file what was flushed, of a
folder the names that it had when it was flushed. So whoever makes a file that counts flushes it, then its
folder, and the folder above when it made that one too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

SYNCS = 16  # at once


class LocalFiles:
    """The real ones. Paths are absolute."""

    def create(self, path: str, data: bytes) -> None:
        """A new file with this content, flushed. None is left on failure."""
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with open(handle, "wb", buffering=0) as file:
                view = memoryview(data)
                while view:
                    view = view[file.write(view) :]
                os.fsync(file.fileno())
        except BaseException:
            os.unlink(path)
            raise

    def open_output(self, path: str) -> Any:
        """A stream into a new file; nothing of it is flushed."""
        return pa.OSFile(path, "wb")

    def link(self, source: str, target: str) -> None:
        os.link(source, target)

    def replace(self, source: str, target: str) -> None:
        os.replace(source, target)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def make_folder(self, path: str) -> None:
        os.mkdir(path)

    def flush(self, path: str) -> None:
        """A file's content, or the names in a folder, to the disk."""
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def flush_all(self, paths: Sequence[str]) -> None:
        """Several at once: a file system does together what is asked for together, in a fraction of the time."""
        if len(paths) < 2:
            for path in paths:
                self.flush(path)
            return
        with ThreadPoolExecutor(min(len(paths), SYNCS)) as pool:
            list(pool.map(self.flush, paths))
