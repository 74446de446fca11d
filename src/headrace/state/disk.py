"""The two kinds of disk behind a `Store`: the local one, through `os`, and every other, through `pyarrow.fs`.

Both take checked relative paths and raise OSErrors; `Store` does the checking and the explaining. Local
files are handled with `os` directly, which is several times cheaper per file than a file system object and
can do the one thing that commits need: create a complete file under a name only if that name is free. The
content goes to a temporary file that is flushed and then hard-linked to its name. The link either happens
or fails because the name exists, so of several writers exactly one wins, and a crash at any point leaves
the whole file or none (at worst, a temporary file with a leading dot). `pyarrow.fs` has no such primitive:
there `publish` is an existence check and a move, safe against crashes, but against a second writer only
together with `CheckpointLock`. Whatever changes the local disk goes through `LocalFiles`, one step at a time.
"""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.fs as pafs

from headrace.state.local_files import LocalFiles

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

    def __init__(self, root: str, files: LocalFiles | None = None) -> None:
        self.root, self.files = root, files or LocalFiles()
        self._settled = {root}  # folders whose own names we know to be durable

    def write(self, rel: str, data: bytes) -> None:
        path = f"{self.root}/{rel}"
        temporary = self._write_temporary(path, data)
        try:
            self.files.replace(temporary, path)
        except OSError:
            self.files.remove(temporary)
            raise
        self._flush_names([path])

    def publish(self, rel: str, data: bytes) -> bool:
        path = f"{self.root}/{rel}"
        if os.path.lexists(path):
            return False
        temporary = self._write_temporary(path, data)
        try:
            self.files.link(temporary, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            if os.path.lexists(path):
                return False
            # no hard links here (FAT, some FUSE): exclusive only under CheckpointLock
            self.files.replace(temporary, path)
        finally:
            with suppress(FileNotFoundError):
                self.files.remove(temporary)
        self._flush_names([path])
        return True

    def read(self, rel: str) -> bytes:
        with open(f"{self.root}/{rel}", "rb") as file:
            return file.read()

    def open_output(self, rel: str) -> Any:
        path = f"{self.root}/{rel}"
        try:
            return self.files.open_output(path)
        except FileNotFoundError:
            self._make_folders(os.path.dirname(path))
            return self.files.open_output(path)

    def open_input(self, rel: str) -> Any:
        return pa.memory_map(f"{self.root}/{rel}", "r")

    def sync(self, rels: Sequence[str]) -> None:
        paths = [f"{self.root}/{rel}" for rel in rels]
        self.files.flush_all(paths)
        self._flush_names(paths)

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
            self.files.remove(f"{self.root}/{rel}")

    def _write_temporary(self, path: str, data: bytes) -> str:
        """Write `data`, durably, to a temporary file beside `path`; its name."""
        temporary = temporary_name(path)
        try:
            self.files.create(temporary, data)
        except FileNotFoundError:
            self._make_folders(os.path.dirname(path))
            self.files.create(temporary, data)
        return temporary

    def _make_folders(self, folder: str) -> None:
        """A folder, writable by the group if the store is."""
        missing = []
        while folder and not os.path.isdir(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        mode = stat.S_IMODE(os.stat(self.root).st_mode) if os.path.isdir(self.root) else 0
        for one in reversed(missing):
            try:
                self.files.make_folder(one)
            except FileExistsError:
                continue
            if mode & stat.S_IWGRP and one.startswith(f"{self.root}/"):
                os.chmod(one, mode)

    def _flush_names(self, paths: Sequence[str]) -> None:
        """Make names durable: those of files, and once those of the folders they are in. Whoever made a folder may have died
        before its name was flushed, and what is in a folder that a power cut takes away is gone.
        """
        folders = list(dict.fromkeys(map(os.path.dirname, paths)))
        found = dict.fromkeys(folders)
        settled: set[str] = set()
        for folder in folders:
            while folder not in self._settled | settled and folder.startswith(f"{self.root}/"):
                settled.add(folder)
                folder = os.path.dirname(folder)
                found[folder] = None
        self.files.flush_all([*found])
        self._settled |= settled  # not before: if this fails, whoever tries again flushes them


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
