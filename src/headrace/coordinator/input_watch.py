"""What a user should know at once of the input of a batch: files that are gone, and why most rows are rejected."""

from __future__ import annotations

import warnings
from dataclasses import replace

from headrace.coordinator.rejected_rows import explain_rejected
from headrace.coordinator.vanished_files import find_vanished
from headrace.logical.graph import Graph
from headrace.state import Manifest, Store, StreamState

_NAMED = 5  # files in a warning


class InputWatch:
    """Warns, and remembers what it has said and what the batch under way lacks."""

    def __init__(self, store: Store, graph: Graph) -> None:
        self._store, self._graph = store, graph
        self._vanished: dict[str, int] = {}  # files of the batch under way, by stream
        self._explained: set[str] = set()

    def look_for_files(self, batch_id: int) -> None:
        """Warn of files that Spark has listed for a batch and that are gone before it is read."""
        found = find_vanished(self._store, batch_id, tuple(self._graph.streams))
        self._vanished = {stream: len(paths) for stream, paths in found.items()}
        for stream, paths in found.items():
            more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
            _warn(
                f"{len(paths)} files of stream {stream} were listed, and are gone now that they are to be read: "
                f"{', '.join(paths[:_NAMED])}{more}. Their rows are missing from the results. Keep files until their batch "
                "is committed; to have the rows, put the files there again under other names"
            )

    def count_files(self, manifest: Manifest) -> Manifest:
        """The manifest of the batch that was looked at, with the files that it lacks."""
        counts, self._vanished = self._vanished, {}
        if not counts:
            return manifest
        streams = {n: s.replace(vanished=s.vanished + counts.get(n, 0)) for n, s in manifest.streams.items()}
        return replace(manifest, streams=streams)

    def explain_rejected(self, before: Manifest, manifest: Manifest) -> list[str]:
        """What to say of streams that rejected more than half of a batch's rows; of each only once."""
        said = []
        for name in self._graph.streams.keys() - self._explained:
            now, then = manifest.streams[name], before.streams.get(name, StreamState())
            rows, rejected = now.rows - then.rows, now.rejected - then.rejected
            if rejected * 2 <= rows:
                continue
            why = explain_rejected(
                self._store, self._graph.streams[name], manifest.late.get(name, ()), manifest.clock
            )
            if why is not None:
                self._explained.add(name)
                said.append(f"{rejected:,} of {rows:,} rows of stream {name} are rejected: {why}")
                _warn(
                    f"batch {manifest.version}: {said[-1]}. They are kept: headrace results … --late {name}"
                )
        return said


def _warn(sentence: str) -> None:
    warnings.warn(sentence, RuntimeWarning, stacklevel=3)
