"""Where a checkpoint lives: a local directory or any address `pyarrow.fs` knows (DESIGN section 5).

A `Store` is only its address. It is frozen, compares by address and is pickled as the address alone, so it
can be shipped to tasks; the disk is opened where it is first used. All paths given to it are relative, with
"/", and never leave the store: a manifest that has been tampered with cannot make us read or delete a file
elsewhere.

Two ways to write a file:

* `write` and `open_output` for files whose names are unique to one attempt (segments, results): nobody
  looks at them until a manifest names them. `write` is durable; a stream of `open_output` is made durable
  by `sync` after it is closed.
* `publish` for the one step that commits: create if absent, all or nothing (see `disk`).
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from headrace.errors import CheckpointError
from headrace.state.disk import Disk, FileEntry, LocalDisk, RemoteDisk
from headrace.state.disk_faults import explain_fault
from headrace.state.local_files import LocalFiles

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
KNOWN_SCHEMES = ("s3", "gs", "gcs", "hdfs", "viewfs", "abfs", "abfss", "mock")  # that `pyarrow.fs` opens; and file
_LIKE_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
FORBIDDEN_PARTS = frozenset(("", ".", ".."))

Entries = list[FileEntry]  # inside the class, `list` is the method
Paths = list[str]


def check_address(text: str) -> str:
    """A path or a URI that can be opened; what only looks like a path, and is the URI of something else, is refused."""
    match = _LIKE_URI.match(text)
    if match is None or match[1].lower() == "file" or (match[1] in KNOWN_SCHEMES and SCHEME.match(text)):
        return text
    raise CheckpointError(
        f"{text!r} cannot be opened: expected a local path, file:///directory, or a URI such as s3://bucket/dir or "
        f"hdfs://host/dir ({', '.join(KNOWN_SCHEMES[:-1])}); s3a:// of Spark is written s3:// here. If it is meant as a local "
        f"directory, write ./{text}"
    )


@dataclass(frozen=True)
class Store:
    """A directory, by its address: an absolute local path, or a URI of another file system."""

    uri: str
    files: LocalFiles | None = field(default=None, compare=False, repr=False)  # the steps of a local disk, if not the real ones

    @staticmethod
    def open(uri: str | os.PathLike[str]) -> Store:
        """The store at a local path (made absolute), a file:// URI, or any URI that `pyarrow.fs` knows."""
        text = os.fspath(uri)
        if not text:
            raise CheckpointError("a checkpoint needs a directory or a URI, got an empty string")
        check_address(text)
        if text.startswith("file:"):
            parts = urlsplit(text)
            if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
                raise CheckpointError(
                    f"{text!r} is not the URI of a local directory; write file:///directory"
                )
            return Store(os.path.abspath(unquote(parts.path)))
        return Store(text.rstrip("/") if SCHEME.match(text) else os.path.abspath(text))

    def __reduce__(self) -> tuple[type[Store], tuple[Any, ...]]:
        return Store, (self.uri,) if self.files is None else (self.uri, self.files)

    @cached_property
    def is_local(self) -> bool:
        """Whether the files are on a disk of this machine."""
        return not SCHEME.match(self.uri)

    @cached_property
    def _disk(self) -> Disk:
        if self.is_local:
            return LocalDisk(self.uri, self.files)
        try:
            return RemoteDisk(self.uri)
        except (OSError, pa.ArrowException) as error:
            raise CheckpointError(
                f"cannot open {self.uri}: {error}; expected a local directory or a URI such as "
                "hdfs://host/dir or "
                "s3://bucket/dir"
            ) from error

    def explain(self, rel: str, doing: str) -> AbstractContextManager[None]:
        """Within it, an OSError about `rel` becomes a CheckpointError that says what to do."""
        return explain_fault(self.uri, rel, doing)

    def check_path(self, rel: str) -> str:
        """`rel` itself; a path that is absolute or leads out of the store is refused."""
        if "\0" in rel or not FORBIDDEN_PARTS.isdisjoint(rel.split("/")):
            raise CheckpointError(
                f"{rel!r} is not a path inside of {self.uri}: expected a relative one such as "
                "'segments/a', without "
                "'..'; if it comes from a manifest, that file was not written by Headrace"
            )
        return rel

    def local_path(self, rel: str) -> str:
        """The path of `rel` on the local disk."""
        if not self.is_local:
            raise CheckpointError(f"{self.uri} is not on the local disk, so {rel!r} has no local path")
        return f"{self.uri}/{self.check_path(rel)}"

    def write(self, rel: str, data: bytes) -> None:
        """Write or replace a file, on the local disk all or nothing; durable when it returns."""
        with self.explain(rel, "write"):
            self._disk.write(self.check_path(rel), data)

    def publish(self, rel: str, data: bytes) -> bool:
        """Create the file with this content if it does not exist yet; False, and no change, if it does."""
        with self.explain(rel, "publish"):
            return self._disk.publish(self.check_path(rel), data)

    def read(self, rel: str) -> bytes:
        """The whole content of a file."""
        with self.explain(rel, "read"):
            return self._disk.read(self.check_path(rel))

    def open_output(self, rel: str) -> Any:
        """A pyarrow stream to write a file with; use it within `explain(rel, "write")`."""
        with self.explain(rel, "write"):
            return self._disk.open_output(self.check_path(rel))

    def open_input(self, rel: str) -> Any:
        """A pyarrow file to read at random; on the local disk a memory map: reading copies nothing."""
        with self.explain(rel, "read"):
            return self._disk.open_input(self.check_path(rel))

    def sync(self, rels: Sequence[str]) -> None:
        """Make files written through `open_output` survive a power cut."""
        for rel in rels[:1]:
            with self.explain(rel, "write"):
                self._disk.sync([self.check_path(one) for one in rels])

    def scan(self, prefix: str = "") -> Entries:
        """All files in the directory `prefix` and below, sorted by path; none if there is no directory."""
        prefix = prefix.rstrip("/")
        with self.explain(prefix, "list"):
            entries = self._disk.scan(self.check_path(prefix) if prefix else "")
            return sorted(entries, key=lambda entry: entry.path)

    def list(self, prefix: str = "") -> Paths:
        """The relative paths of `scan`."""
        return [entry.path for entry in self.scan(prefix)]

    def exists(self, rel: str) -> bool:
        """Whether there is a file of this name."""
        with self.explain(rel, "read"):
            return self._disk.size(self.check_path(rel)) is not None

    def size(self, rel: str) -> int:
        """The size of a file in bytes."""
        with self.explain(rel, "read"):
            size = self._disk.size(self.check_path(rel))
            if size is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), rel)
            return size

    def delete(self, rel: str) -> None:
        """Delete a file; one that is gone already is no error."""
        with self.explain(rel, "delete"):
            self._disk.delete(self.check_path(rel))
