"""Committed results to sinks, each version once, whatever stops in between.

A sink that raises is called again with the same batch, a few times, with pauses that grow: most of what makes a sink
fail is over in seconds, and to end a run for it costs more. If it goes on raising, the run ends; what was not delivered is
delivered by the next one. So a sink may see a batch of a query more than once, with the same number and the same rows.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby

import pyarrow as pa

from headrace.errors import CheckpointError, HeadraceError, SinkError
from headrace.sinks.sinks import Directory, Sink
from headrace.state import Clock, HistoryPage, Kind, Manifest, ManifestLog, Store, split_versions
from headrace.state.checksums import DamagedFile, open_json, seal_json
from headrace.state.clock import SYSTEM
from headrace.state.disk_faults import join
from headrace.state.manifest import path_of
from headrace.state.result_parquet import SharedReads

PAUSES = (0.2, 1.0, 5.0)  # seconds before a sink that has raised is called again


class Delivery:
    """Hands committed versions to sinks and remembers how far each has come."""

    def __init__(self, store: Store, log: ManifestLog, sinks: list[Sink], clock: Clock = SYSTEM) -> None:
        self.store, self.log, self._clock = store, log, clock
        seen: dict[str, int] = {}
        self.sinks: list[tuple[str, Sink]] = []
        for sink in sinks:  # the second sink of a name has a memory of its own
            seen[sink.name] = seen.get(sink.name, 0) + 1
            self.sinks.append((sink.name if seen[sink.name] == 1 else f"{sink.name}#{seen[sink.name]}", sink))

    def catch_up(self) -> None:
        """Deliver what a stop or crash left undelivered; a new sink is remembered from here on."""
        latest = self.log.latest()
        if latest is not None and self.sinks:  # who committed it may have ended before its name was durable
            self.store.sync([path_of(latest.version)])
        for name, sink in self.sinks:
            done = self._delivered(name)
            if done is None:
                done = 0 if isinstance(sink, Directory) or latest is None else latest.version
                self._remember(name, done)
            for page in self.log.history():
                if page.name.last > done:
                    self._deliver_page(name, sink, page, done)
            for version in self.log.versions():
                if version > done and not any(
                    loss.first <= version <= loss.last for loss in self.log.faults()
                ):
                    self._deliver(name, sink, self.log.read(version))

    def deliver(self, manifest: Manifest) -> None:
        for name, sink in self.sinks:
            self._deliver(name, sink, manifest)

    def _deliver(self, name: str, sink: Sink, manifest: Manifest) -> None:
        read = SharedReads(self.store)
        for query, parts in manifest.results.items():
            self._give(name, sink, query, manifest.version, pa.concat_tables([read.read(part) for part in parts]))
        self._remember(name, manifest.version)

    def _deliver_page(self, name: str, sink: Sink, page: HistoryPage, done: int) -> None:
        """What a sink missed and was compacted meanwhile, cut into versions again."""
        latest = self.log.latest()
        assert latest is not None
        since = {kept.file.path: kept.first for kept in page.files if kept.last > done}
        missed = [kept.file for kept in page.files if kept.last > done]
        for query, parts in latest.numbers.name_parts(Kind.RESULT, missed).items():
            pieces = (
                piece
                for part in parts
                for piece in split_versions(self.store, part, since[part.path])
                if piece[0] > done
            )
            for version, same in groupby(pieces, key=lambda piece: piece[0]):
                self._give(name, sink, query, version, pa.concat_tables([table for _, table in same]))
        self._remember(name, page.name.last)

    def _give(self, name: str, sink: Sink, query: str, version: int, rows: pa.Table) -> None:
        """Call a sink until it does not raise, or has raised too often."""
        for pause in PAUSES:
            try:
                sink.write(query, version, rows)
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
                warnings.warn(
                    f"batch {version}: sink {name} failed: {said}. The batch is committed; it is given the results of {query} "
                    f"again in {pause:g} s",
                    RuntimeWarning,
                    stacklevel=3,
                )
                self._clock.sleep(pause)
            else:
                return
        with blame(f"sink {name}", version):
            sink.write(query, version, rows)

    def _remember(self, name: str, version: int) -> None:
        self.store.write(self._path(name), seal_json({"sink": name, "delivered": version}))

    def _delivered(self, name: str) -> int | None:
        path = self._path(name)
        if not self.store.exists(path):
            return None
        try:
            return int(open_json(self.store.read(path))["delivered"])
        except (DamagedFile, KeyError) as error:
            raise CheckpointError(
                f"{join(self.store.uri, path)}, which says what sink {name} was given, is damaged: {error}. Restore it from a "
                "backup, or delete it and start again: a directory is then given every batch again, which changes nothing in "
                "it, any other sink what is committed from then on"
            ) from error

    def _path(self, name: str) -> str:
        return f"sinks/{uuid.uuid5(uuid.NAMESPACE_URL, name).hex}"


@contextmanager
def blame(who: str, batch_id: int, advice: str = "sinks are given what they have missed") -> Iterator[None]:
    """Within it, what the user's function raises becomes an error that says whose it is and that nothing is
    lost.
    """
    try:
        yield
    except HeadraceError:
        raise
    except Exception as error:
        raise SinkError(
            f"batch {batch_id}: {who} failed: {type(error).__name__}: {error}\nThe batch is committed. Mend the cause and "
            f"start again: {advice}"
        ) from error
