"""The manifest log: what is committed, and nothing else is (DESIGN section 5).

Version k of a checkpoint is the file `manifests/<k>.json`. A batch is committed when its manifest is there,
which is one atomic step (`Store.publish`). Always true of a sound log:

* versions are 1, 2, …, n without a gap, and a version, once there, never changes; the oldest of them may have been
  moved onto pages (`history`), which never change either. So what was read may be kept in memory, and finding new
  versions is probing for n + 1;
* every file that a run or a reader needs is named by a manifest or a page: live segments, tables and the epoch by the
  last manifest (those of the one before are kept, to go back to), results and late rows by the one that added them. What nobody
  names is left over from a crash or a lost attempt, and is garbage (`garbage`).

Publishing being atomic, a crash cannot leave half a manifest. One whose checksum is wrong means a damaged
disk. If it is the last, a run cannot go on, and the user has to decide; the error says what each choice costs. If it is
an older one, only its own outputs are out of reach: the rest is read, and `faults` says what is missing.

A log that is kept open sees its files change places: versions move onto pages, pages are merged. Whoever does not find
what it has listed lists again.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from typing import TypeVar

from headrace.errors import CheckpointError
from headrace.state.disk_faults import join
from headrace.state.format import check_format
from headrace.state.history import FOLDER, HistoryPage, Loss, PageName, decode_page, follow
from headrace.state.outputs import FilePart, Kind
from headrace.state.record import (
    Manifest,
    Mark,
    Outputs,
    StreamState,
    TableFile,
    TableVersion,
    WaitingPid,
    decode,
    decode_commit,
    decode_outputs,
    encode,
    list_outputs,
)
from headrace.state.sealed_lines import Damaged, OtherFormat
from headrace.state.store import Store

__all__ = [
    "Listing",
    "Manifest",
    "ManifestLog",
    "Mark",
    "StreamState",
    "TableFile",
    "TableVersion",
    "WaitingPid",
]

_NAME = re.compile(r"manifests/(\d{12,})\.json")
_ATTEMPTS = 5  # to read a log whose files change places meanwhile

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listing:
    """The parts that a query or stream has, in order, and the number of the first row of each, counted since the checkpoint
    began. Files change when they are merged; the number of a row never does.
    """

    parts: list[FilePart]
    starts: list[int]


class _Moved(Exception):
    """A file that was listed is not there any more."""


class ManifestLog:
    """The committed versions of the checkpoint in `store`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.RLock()  # a run's log is read by whoever asks for its results
        self._count = 0
        self._checkpoint: str | None = None
        self._last: Manifest | None = None
        self._outputs: dict[int, Outputs] = {}
        self._pages: dict[PageName, HistoryPage] = {}
        self._way: list[PageName | int] = []  # to the last version
        self._holes: list[Loss] = []
        self._damage: dict[int, str] = {}  # versions whose manifest cannot be read
        self._spoilt: dict[PageName, str] = {}  # pages that cannot be read

    def publish(self, manifest: Manifest) -> None:
        """Commit the next version; of several runs that try the same one, exactly one succeeds."""
        version = manifest.version
        if version > 1 and version - 1 != self._count and not self.store.exists(path_of(version - 1)):
            raise self._gap(version - 1)
        if not self.store.publish(path_of(version), encode(manifest)):
            raise CheckpointError(
                f"another run has committed version {version} of checkpoint {self.store.uri}; "
                "two runs must not share "
                "a checkpoint: stop one of them, then start again. Nothing is lost or doubled; "
                "this batch's files "
                "are not named by any manifest"
            )
        with self._lock:
            self._remember(manifest)
            if version == self._count + 1:
                self._add(version)

    def latest(self) -> Manifest | None:
        """The last committed version, None if there is none."""
        with self._lock:
            count = self._advance()
            return self.read(count) if count else None

    def read(self, version: int) -> Manifest:
        """One committed version that has not been moved into the history."""
        last = self._last
        if last is not None and last.version == version:
            return last
        path = path_of(version)
        if not self.store.exists(path):
            raise self._gap(version)
        try:
            manifest = decode(self.store.read(path), version)
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(version, error) from error
        self._remember(manifest)
        return manifest

    def read_outputs(self, version: int) -> tuple[Outputs, float]:
        """What one committed version has put out, and when."""
        try:
            return decode_commit(self.store.read(path_of(version)), version)
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(version, error) from error

    def versions(self) -> list[int]:
        """The versions that are manifests and not history, in order, as listed from the store now."""
        self.refresh()
        return [one for one in self._way if isinstance(one, int)]

    def since(self, version: int) -> Iterator[Manifest]:
        """The manifests after `version`, in order."""
        for later in range(version + 1, self._advance() + 1):
            yield self.read(later)

    def history(self) -> list[HistoryPage]:
        """The pages, in order; those that cannot be read are among the faults."""
        return self._settled(lambda: [page for _, page in self._parts() if isinstance(page, HistoryPage)])

    def results(self, query: str, since: int = 0) -> list[FilePart]:
        """Where the rows of a query are that versions after `since` have added."""
        return self.list_results(query, since).parts

    def late(self, stream: str, since: int = 0) -> list[FilePart]:
        """Where the late and rejected rows of a stream are, of the versions after `since`."""
        return self.list_late(stream, since).parts

    def list_results(self, query: str, since: int = 0) -> Listing:
        return self._settled(lambda: self._listing(Kind.RESULT, query, since))

    def list_late(self, stream: str, since: int = 0) -> Listing:
        return self._settled(lambda: self._listing(Kind.LATE, stream, since))

    def faults(self) -> list[Loss]:
        """Versions whose outputs are out of reach, and why. What is listed is complete but for them."""

        def look() -> list[Loss]:
            lost = [loss for _, part in self._parts() if isinstance(part, HistoryPage) for loss in part.lost]
            lost += [Loss(version, version, why) for version, why in self._damage.items()]
            lost += map(self._explain_hole, self._holes)
            return sorted(lost, key=lambda loss: loss.first)

        return self._settled(look)

    def named(self) -> set[str]:
        """Every path that the versions need: outputs of all of them, segments, tables and epochs of the last two.

        The version before the last is what one goes back to when the last manifest is damaged.
        """

        def look() -> set[str]:
            kept = {path for _, part in self._parts() for path in paths_of(part)}
            for version in range(max(1, self._count - 1), self._count + 1):
                if version not in self._damage and self.store.exists(path_of(version)):
                    manifest = self.read(version)
                    kept.add(manifest.epoch)
                    kept.update(segment.path for segment in manifest.segments)
                    kept.update(path for table in manifest.tables.values() for path in table.paths)
            return kept

        return self._settled(look)

    def paths_named(self, part: PageName | int) -> list[str]:
        """The outputs that a manifest or page names, superseded or not; none if it is gone or cannot be read."""
        try:
            found = self._outputs.get(part) if isinstance(part, int) else self._pages.get(part)
            if found is None and isinstance(part, int):
                found = decode_outputs(self._content(path_of(part)), part)
            elif found is None and isinstance(part, PageName):
                found = decode_page(self._content(part.path), part)
        except (_Moved, ValueError, KeyError, TypeError):
            return []
        return list(paths_of(found)) if found is not None else []

    @property
    def spoilt(self) -> Set[PageName]:
        """The pages that were found damaged."""
        return self._spoilt.keys()

    def refresh(self) -> None:
        """List the store again, and forget what has moved into the history since."""
        with self._lock:
            listed = self.store.list("manifests")
            manifests = [int(match[1]) for path in listed if (match := _NAME.fullmatch(path))]
            pages = [page for path in self.store.list(FOLDER) if (page := PageName.parse(path))]
            self._way, self._holes = follow([page for page in pages if page not in self._spoilt], manifests)
            self._count = max(manifests, default=0)
            kept = set(self._way)
            self._outputs = {v: outputs for v, outputs in self._outputs.items() if v in kept}
            self._pages = {name: page for name, page in self._pages.items() if name in kept}
            self._damage = {v: why for v, why in self._damage.items() if v in kept}

    def _explain_hole(self, hole: Loss) -> Loss:
        for page, why in self._spoilt.items():
            if page.first <= hole.last and hole.first <= page.last:
                return hole.replace(why=why)
        one = path_of(hole.first) if hole.first == hole.last else f"{path_of(hole.first)} to {hole.last:012d}.json"
        return hole.replace(
            why=f"{join(self.store.uri, one)} is missing, and no page of the history tells of it. Restore it from a "
            "backup; without it the results of that batch cannot be listed",
        )

    # -- reading the parts --------------------
    def _listing(self, kind: Kind, name: str, since: int) -> Listing:
        found = Listing([], [])
        last = self.latest()
        key = last.numbers.find(kind, name) if last is not None else None
        if key is None:
            return found
        position = 0
        for version, part in self._parts():
            if isinstance(part, HistoryPage):
                position += part.count_expired(key)
                files = [(kept.file, kept.last) for kept in part.files]
            else:
                files = [(file, version) for file in part.outputs]
            for file, until in files:
                mine = file.find(key)
                if mine is None:
                    continue
                if until > since:
                    found.parts.append(mine)
                    found.starts.append(position)
                position += mine.rows
        return found

    def _parts(self) -> Iterator[tuple[int, Outputs | HistoryPage]]:
        """What can be read on the way to the last version, each with its last version."""
        self._advance()
        for name in list(self._way):
            if isinstance(name, PageName):
                yield name.last, self._page(name)
            elif name not in self._damage:
                outputs = self._outputs_of(name)
                if outputs is not None:
                    yield name, outputs

    def _outputs_of(self, version: int) -> Outputs | None:
        if version not in self._outputs:
            data = self._content(path_of(version))
            try:
                self._outputs[version] = decode_outputs(data, version)
                self._recognize(self._outputs[version].checkpoint)
            except (ValueError, KeyError, TypeError) as error:
                fault = self._damaged(version, error)
                if version == self._count:
                    raise fault from error
                self._damage[version] = str(fault)
                return None
        return self._outputs[version]

    def _page(self, name: PageName) -> HistoryPage:
        if name not in self._pages:
            data = self._content(name.path)
            try:
                self._pages[name] = decode_page(data, name)
                self._recognize(self._pages[name].checkpoint)
            except (ValueError, KeyError, TypeError) as error:
                if isinstance(error, OtherFormat):
                    check_format(self.store.uri, error.found)
                self._spoilt[name] = (
                    f"page {join(self.store.uri, name.path)} of the history is damaged: {error}. Check the disk, and "
                    "restore the file from a backup if there is one; without it the results of versions "
                    f"{name.first} to {name.last} cannot be listed"
                )
                raise _Moved from error  # what the page replaced may still be there
        return self._pages[name]

    def _content(self, path: str) -> bytes:
        try:
            return self.store.read(path)
        except CheckpointError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise _Moved from error
            raise

    def _settled(self, look: Callable[[], T]) -> T:
        """What `look` finds, looking again when a file has moved meanwhile."""
        with self._lock:
            for _ in range(_ATTEMPTS):
                try:
                    return look()
                except _Moved:
                    self.refresh()
        raise CheckpointError(
            f"the manifests and the history of {self.store.uri} change faster than they can be read; try again"
        )

    def _advance(self) -> int:
        """The last version: listed once, then probed. Whoever slept while versions moved away lists again."""
        before = self._count
        while self._count and self.store.exists(path_of(self._count + 1)):
            self._add(self._count + 1)
        if not self._count or (self._count == before and not self.store.exists(path_of(before))):
            self.refresh()
        return self._count

    def _add(self, version: int) -> None:
        self._count = version
        self._way.append(version)

    def _recognize(self, checkpoint: str) -> None:
        """Refuse a part of another checkpoint than the one that was opened: what was read and counted so far is of that."""
        if self._checkpoint not in (None, checkpoint):
            raise CheckpointError(
                f"checkpoint {self.store.uri} was deleted and started anew while it was being read; open it again, and read "
                "its results from their beginning"
            )
        self._checkpoint = checkpoint

    def _remember(self, manifest: Manifest) -> None:
        self._recognize(manifest.checkpoint)
        self._outputs[manifest.version] = list_outputs(manifest)
        if self._last is None or self._last.version < manifest.version:
            self._last = manifest

    # -- what to say --------------------
    def _gap(self, version: int) -> CheckpointError:
        return CheckpointError(
            f"{join(self.store.uri, path_of(version))} is missing: the versions of a checkpoint "
            "follow each other without a gap. Restore the file from a backup, or start with a new checkpoint"
        )

    def _damaged(self, version: int, why: Exception) -> CheckpointError:
        if isinstance(why, OtherFormat):
            check_format(self.store.uri, why.found)
        what = str(why) if isinstance(why, Damaged) else f"it cannot be understood ({why!r})"
        message = (
            f"manifest {join(self.store.uri, path_of(version))} is damaged: {what}. A manifest "
            "is published in one "
            "step, so this is no trace of a crash: check the disk, and restore the file from a "
            "backup if there is one. "
        )
        if self.store.exists(path_of(version + 1)):
            return CheckpointError(
                f"{message}Without a backup the results of version {version} cannot be listed "
                "any more; those of all others can, and a run goes on"
            )
        return CheckpointError(
            f"{message}Without a backup you can delete it: nothing committed in the versions "
            f"before {version} is lost, "
            "and its own batch is replayed only if Spark's commit log does not have that batch; "
            "so if the last "
            "file in spark/commits is of that batch, delete that one too, then start again"
        )


def path_of(version: int) -> str:
    """The file of a version."""
    return f"manifests/{version:012d}.json"


def paths_of(part: Outputs | HistoryPage) -> Iterator[str]:
    """The files that a manifest or page names."""
    files = [kept.file for kept in part.files] if isinstance(part, HistoryPage) else part.outputs
    return (file.path for file in files)

