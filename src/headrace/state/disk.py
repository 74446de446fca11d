"""The two kinds of disk behind a `Store`: the local one, through `os`, and every other, through `pyarrow.fs`.

Both take checked relative paths and raise OSErrors; `Store` does the checking and the explaining. Local
files are handled with `os` directly, which is several times cheaper per file than a file system object and
can do the one thing that commits need: create a complete file under a name only if that name is free. The
content goes to a temporary file that is flushed and then hard-linked to its name. The link either happens
or fails because the name exists, so of several writers exactly one wins, and a crash at any point leaves
the whole file or none (at worst, a temporary file with a leading dot). `pyarrow.fs` has no such primitive:
there `publish` is an existence check and a move, safe against crashes, but against a second writer only
together with `CheckpointLock`.
"""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.fs as pafs

SYNCS = 16  # at once
NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of a store: relative path, size, and time of the last write in seconds since the epoch."""

    path: str
    size: int
    modified: float


class Disk(Protocol):
    """What a store needs of a file system."""

    def write(self, rel: str, data: bytes) -> None: ...
    def publish(self, rel: str, data: bytes) -> bool: ...
    def read(self, rel: str) -> bytes: ...
    def open_output(self, rel: str) -> Any: ...
    def open_input(self, rel: str) -> Any: ...
    def sync(self, rels: Sequence[str]) -> None: ...
    def scan(self, prefix: str) -> Iterator[FileEntry]: ...
    def size(self, rel: str) -> int | None: ...
    def delete(self, rel: str) -> None: ...


class LocalDisk:
    """A directory of this machine."""

    def __init__(self, root: str) -> None:
        self.root = root

    def write(self, rel: str, data: bytes) -> None:
        path = f"{self.root}/{rel}"
        temporary = write_temporary(self.root, path, data)
        try:
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise
        sync_path(os.path.dirname(path))

    def publish(self, rel: str, data: bytes) -> bool:
        path = f"{self.root}/{rel}"
        if os.path.lexists(path):
            return False
        temporary = write_temporary(self.root, path, data)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            if os.path.lexists(path):
                return False
            os.rename(
                temporary, path
            )  # no hard links here (FAT, some FUSE): exclusive only under CheckpointLock
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
        sync_path(os.path.dirname(path))
        return True

    def read(self, rel: str) -> bytes:
        with open(f"{self.root}/{rel}", "rb") as file:
            return file.read()

    def open_output(self, rel: str) -> Any:
        path = f"{self.root}/{rel}"
        try:
            return pa.OSFile(path, "wb")
        except FileNotFoundError:
            make_folders(self.root, os.path.dirname(path))
            return pa.OSFile(path, "wb")

    def open_input(self, rel: str) -> Any:
        return pa.memory_map(f"{self.root}/{rel}", "r")

    def sync(self, rels: Sequence[str]) -> None:
        paths = [f"{self.root}/{rel}" for rel in rels]
        sync_paths(paths)
        sync_paths(list(dict.fromkeys(map(os.path.dirname, paths))))

    def scan(self, prefix: str) -> Iterator[FileEntry]:
        directories = [prefix]
        while directories:
            directory = directories.pop()
            try:
                entries = os.scandir(f"{self.root}/{directory}")
            except FileNotFoundError:
                continue
            with entries:
                for entry in entries:
                    rel = f"{directory}/{entry.name}" if directory else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        directories.append(rel)
                        continue
                    with suppress(FileNotFoundError):  # deleted while we look
                        status = entry.stat(follow_symlinks=False)
                        yield FileEntry(rel, status.st_size, status.st_mtime)

    def size(self, rel: str) -> int | None:
        try:
            status = os.stat(f"{self.root}/{rel}")
        except (FileNotFoundError, NotADirectoryError):
            return None
        return None if stat.S_ISDIR(status.st_mode) else status.st_size

    def delete(self, rel: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(f"{self.root}/{rel}")


class RemoteDisk:
    """A directory of any file system that `pyarrow.fs` can open by its URI."""

    def __init__(self, uri: str) -> None:
        self.filesystem, root = pafs.FileSystem.from_uri(uri)
        self.root = root.rstrip("/")

    def write(self, rel: str, data: bytes) -> None:
        with self.open_output(rel) as stream:
            stream.write(data)

    def publish(self, rel: str, data: bytes) -> bool:
        if self.size(rel) is not None:
            return False
        temporary = temporary_name(rel)
        self.write(temporary, data)
        if self.size(rel) is not None:
            self.delete(temporary)
            return False
        self.filesystem.move(f"{self.root}/{temporary}", f"{self.root}/{rel}")
        return True

    def read(self, rel: str) -> bytes:
        with self.open_input(rel) as stream:
            content: bytes = stream.read()
        return content

    def open_output(self, rel: str) -> Any:
        path = f"{self.root}/{rel}"
        self.filesystem.create_dir(os.path.dirname(path), recursive=True)
        return self.filesystem.open_output_stream(path)

    def open_input(self, rel: str) -> Any:
        return self.filesystem.open_input_file(f"{self.root}/{rel}")

    def sync(self, rels: Sequence[str]) -> None:
        """Nothing to do: these file systems make a file durable when it is closed."""

    def scan(self, prefix: str) -> Iterator[FileEntry]:
        top = f"{self.root}/{prefix}" if prefix else self.root
        selector = pafs.FileSelector(top, allow_not_found=True, recursive=True)
        for info in self.filesystem.get_file_info(selector):
            if info.type == pafs.FileType.File:
                rel = info.path[len(self.root) :].lstrip("/")
                yield FileEntry(rel, info.size, (info.mtime_ns or 0) / 1e9)

    def size(self, rel: str) -> int | None:
        info = self.filesystem.get_file_info(f"{self.root}/{rel}")
        return info.size if info.type == pafs.FileType.File else None

    def delete(self, rel: str) -> None:
        with suppress(FileNotFoundError):
            self.filesystem.delete_file(f"{self.root}/{rel}")


def temporary_name(path: str) -> str:
    """A name in the same directory that nobody else uses, hidden by a leading dot."""
    head, slash, name = path.rpartition("/")
    return f"{head}{slash}.{name}.{uuid.uuid4().hex}.tmp"


def make_folders(root: str, folder: str) -> None:
    """A folder inside of a store, writable by the group if the store is."""
    missing = []
    while folder and not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    mode = stat.S_IMODE(os.stat(root).st_mode) if os.path.isdir(root) else 0
    for one in reversed(missing):
        try:
            os.mkdir(one)
        except FileExistsError:
            continue
        if mode & stat.S_IWGRP and one.startswith(f"{root}/"):
            os.chmod(one, mode)


def write_temporary(root: str, path: str, data: bytes) -> str:
    """Write `data`, durably, to a temporary file beside `path`; its name. None is left on failure."""
    temporary = temporary_name(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        handle = os.open(temporary, flags, 0o666)
    except FileNotFoundError:
        make_folders(root, os.path.dirname(path))
        handle = os.open(temporary, flags, 0o666)
    try:
        with open(handle, "wb", buffering=0) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary


def sync_paths(paths: Sequence[str]) -> None:
    """Flush several at once: a file system does together what is asked for together, in a fraction of the time."""
    if len(paths) < 2:
        for path in paths:
            sync_path(path)
        return
    with ThreadPoolExecutor(min(len(paths), SYNCS)) as pool:
        list(pool.map(sync_path, paths))


def sync_path(path: str) -> None:
    """Flush a file, or the names in a directory, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
