"""The manifest log: what is committed, and nothing else is (DESIGN section 5).

Version k of a checkpoint is the file `manifests/<k>.json`. A batch is committed when its manifest is there,
which is one atomic step (`Store.publish`). Always true of a sound log:

* versions are 1, 2, …, n without a gap, and a version, once there, never changes; so what was read of it
  may be kept in memory, and finding new versions is probing for n + 1;
* every file that a run or a reader needs is named by a manifest: live segments and tables by the last one (those of
  the one before are kept, to go back to), results and late rows by the one that added them. What no
  manifest names is left over from a crash or a lost attempt, and is garbage.

Publishing being atomic, a crash cannot leave half a manifest. One whose checksum is wrong means a damaged
disk, and the user has to decide; the error says what each choice costs. Nothing is repaired silently.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from headrace.errors import CheckpointError
from headrace.state.disk_faults import join
from headrace.state.format import check_format
from headrace.state.record import (
    Damaged,
    Manifest,
    OtherFormat,
    Outputs,
    ResultFile,
    StreamState,
    TableVersion,
    decode,
    decode_outputs,
    encode,
)
from headrace.state.store import Store

__all__ = ["Manifest", "ManifestLog", "ResultFile", "StreamState", "TableVersion", "collect_garbage"]

NAME = re.compile(r"manifests/(\d{12,})\.json")
OWNED = ("segments", "results", "late", "tables")


class ManifestLog:
    """The committed versions of the checkpoint in `store`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._count = 0
        self._last: Manifest | None = None
        self._outputs: dict[int, Outputs] = {}

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
        self._remember(manifest)
        self._count = max(self._count, version)

    def latest(self) -> Manifest | None:
        """The last committed version, None if there is none."""
        count = self._advance()
        return self.read(count) if count else None

    def read(self, version: int) -> Manifest:
        """One committed version."""
        last = self._last
        if last is not None and last.version == version:
            return last
        try:
            manifest = decode(self._content(version), version)
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(version, error) from error
        self._remember(manifest)
        return manifest

    def versions(self) -> list[int]:
        """All committed versions in order, as listed from the store now."""
        found = sorted(
            int(match[1]) for path in self.store.list("manifests") if (match := NAME.fullmatch(path))
        )
        for expected, version in enumerate(found, start=1):
            if version != expected:
                raise self._gap(expected)
        return found

    def since(self, version: int) -> Iterator[Manifest]:
        """The versions after `version`, in order."""
        for later in range(version + 1, self._advance() + 1):
            yield self.read(later)

    def results(self, query: str, since: int = 0) -> list[ResultFile]:
        """The result files of a query that the versions after `since` have added."""
        return [file for outputs in self._all(since) for file in outputs.results.get(query, ())]

    def late(self, stream: str, since: int = 0) -> list[ResultFile]:
        """The files with late and rejected rows of a stream that the versions after `since` have added."""
        return [file for outputs in self._all(since) for file in outputs.late.get(stream, ())]

    def named(self) -> set[str]:
        """Every path that must be kept: outputs of all versions, segments and tables of the last two.

        The version before the last is what one goes back to when the last manifest is damaged.
        """
        count = self._advance()
        kept: set[str] = set()
        for version in range(max(1, count - 1), count + 1):
            manifest = self.read(version)
            kept |= {m.path for m in manifest.segments} | {t.path for t in manifest.tables.values()}
        for outputs in self._all(0):
            for files in (*outputs.results.values(), *outputs.late.values()):
                kept.update(file.path for file in files)
        return kept

    def _all(self, since: int) -> Iterator[Outputs]:
        for version in range(since + 1, self._advance() + 1):
            outputs = self._outputs.get(version)
            if outputs is None:
                try:
                    outputs = decode_outputs(self._content(version), version)
                except (ValueError, KeyError, TypeError) as error:
                    raise self._damaged(version, error) from error
                self._outputs[version] = outputs
            yield outputs

    def _advance(self) -> int:
        """The number of versions: listed once, then probed, as versions are only ever added."""
        if not self._count:
            self._count = len(self.versions())
        while self._count and self.store.exists(path_of(self._count + 1)):
            self._count += 1
        return self._count

    def _remember(self, manifest: Manifest) -> None:
        self._outputs[manifest.version] = Outputs(manifest.results, manifest.late)
        if self._last is None or self._last.version < manifest.version:
            self._last = manifest

    def _content(self, version: int) -> bytes:
        path = path_of(version)
        if not self.store.exists(path):
            raise self._gap(version)
        return self.store.read(path)

    def _gap(self, version: int) -> CheckpointError:
        return CheckpointError(
            f"{join(self.store.uri, path_of(version))} is missing: the versions of a checkpoint "
            "follow each other without "
            "a gap. Without it the results of that version are not known, so none are shown. "
            "Restore the file "
            "from a backup, or start with a new checkpoint"
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
                "any more; do not delete the "
                "file, later versions build on it: start with a new checkpoint to compute all results again"
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


def collect_garbage(store: Store, log: ManifestLog, grace_seconds: float) -> list[str]:
    """Delete, and return, the files under segments/, results/, late/ and tables/ that no manifest needs.

    Only what was last written more than `grace_seconds` ago: the files of a running batch are not named yet.
    Without any manifest nothing is deleted, nor when a manifest cannot be read: there is no proof then.
    """
    before = time.time() - grace_seconds
    candidates = [
        entry.path for directory in OWNED for entry in store.scan(directory) if entry.modified <= before
    ]
    if not candidates or log.latest() is None:
        return []
    kept = log.named()  # read after the listing: a file committed in between is named by now
    garbage = [path for path in candidates if path not in kept]
    for path in garbage:
        store.delete(path)
    return garbage
