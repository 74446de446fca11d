"""What must be true of a run, whatever happened to it.

* After every batch: its results and late rows are those of the set's meaning, and streams are known as far as
  they are.
* What was committed, or given to a sink, is never lost, whatever fails.
* Each batch was given to every sink, each time the same.
* A reader that reads on, and one that begins in the end, see each row once, at its place.
* On the disk is what somebody may need, and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pyarrow.parquet as pq

from benchmarks.simulate.compare_rows import rows_of, same, take_away
from benchmarks.simulate.meaning import Tuples
from benchmarks.simulate.scenario import Flush, Scenario
from headrace.state import FilePart, Manifest, ManifestLog, Store
from headrace.state.garbage import OWNED
from headrace.state.result_parquet import read_results


class Judge:
    """Keeps what was seen of one run on the checkpoint `store`, whose directory sink writes to `out`."""

    def __init__(self, scenario: Scenario, store: Store, out: Store) -> None:
        self.scenario, self.store, self.out = scenario, store, out
        self.meaning = scenario.meaning()
        self.columns: dict[str, Sequence[str]] = {}  # of every query that has been there
        self.version = 0  # committed, as far as we have looked
        self.results: dict[str, list[Tuples]] = {q: [] for q in scenario.case.queries}  # of each version
        self.late: dict[str, list[Tuples]] = {}
        self._times: list[float] = []  # when each version was committed
        self._running: list[frozenset[str]] = []  # the queries of each version
        self._born: dict[str, int] = {}  # queries that were added, after which version
        self._left: dict[str, int] = {}
        self._given: dict[tuple[str, int], list[Tuples]] = {}  # to a sink, each time
        self._log = ManifestLog(store)  # of somebody who reads from the beginning
        self._read: dict[str, dict[int, tuple[object, ...]]] = {q: {} for q in scenario.case.queries}
        self._horizon = float("-inf")  # what was committed before may have expired

    # -- what happens --------------------
    def change(self, come: frozenset[str], go: frozenset[str]) -> None:
        """Queries are added and removed."""
        self._born |= dict.fromkeys(come, self.version)
        self._left |= dict.fromkeys(go, self.version)

    def expire(self, horizon: float) -> None:
        self._horizon = max(self._horizon, horizon)

    def take(self, query: str, version: int, rows: Tuples) -> None:
        """A sink is given a batch."""
        self._given.setdefault((query, version), []).append(rows)

    def look_after(self, what: str) -> None:
        """After something has failed, nothing that anybody was told of is gone."""
        latest = ManifestLog(self.store).latest()
        found = 0 if latest is None else latest.version
        assert found >= self.version, f"{self.version} was committed, and {found} is the last version after a {what}"
        given = max((version for _, version in self._given), default=0)
        assert found >= given, f"{given} was given to a sink, and {found} is the last version after a {what}"

    def observe(self, manifest: Manifest, present: frozenset[str]) -> None:
        """One version more was committed, of these queries."""
        self.version = manifest.version
        self._times.append(manifest.created_at)
        self._running.append(present)
        for query, found in self.results.items():
            found.append(self._rows(manifest.results.get(query, ())))
        for stream, state in manifest.streams.items():
            self.late.setdefault(stream, []).append(self._rows(manifest.late.get(stream, ())))
            bounds = self.meaning.bounds()
            if bounds is not None:
                what = f"progress of {stream} in batch {manifest.version}"
                assert state.low_watermark == bounds.get(stream), f"{what}: {state.low_watermark}, not {bounds.get(stream)}"

    def read_on(self) -> None:
        """Somebody reads the rows after those that were read."""
        for query, read in self._read.items():
            listing = self._log.list_results(query)
            for file, start in zip(listing.parts, listing.starts, strict=True):
                if start + file.rows - 1 not in read:
                    read |= dict(enumerate(rows_of(read_results(self.store, file)), start))

    def _rows(self, files: Sequence[FilePart]) -> Tuples:
        return [row for file in files for row in rows_of(read_results(self.store, file))]

    # -- the sum --------------------
    def sum_up(self, seen: Counter[str]) -> None:
        """Compare everything."""
        self.read_on()
        for query, (text, _) in self.scenario.case.queries.items():
            if query in self.columns:
                self._check_answers(query, self.columns[query], text)
            self._check_readers(query)
            self._check_sinks(query)
            seen["result rows"] += sum(map(len, self.results[query]))
        for stream, each in self.late.items():
            self._check_late(stream, each)
            seen["late rows"] += sum(map(len, each))
        self._check_disk()

    def _check_answers(self, query: str, columns: Sequence[str], text: str) -> None:
        found, answers = self.results[query], self.meaning.answers(query, columns)
        end = self._left.get(query, len(found))
        assert not any(found[end:]), f"results of {query}, which was removed"
        by_batch: list[Tuples] = [[] for _ in found]
        for at, row in answers:
            by_batch[at].append(row)
        what = f"query {query}: {text}"
        if query in self._born:  # of what began before it was there, nothing is said
            for at, rows in enumerate(found):
                take_away(by_batch[at], rows, f"batch {at + 1}, added {what}")
            return
        if self.meaning.is_loose(query):
            if end == len(found):
                same([row for rows in found for row in rows], [row for _, row in answers], what)
            return
        pool: Tuples = []
        for at, rows in enumerate(found[:end]):
            if self.scenario.waits is None:
                same(rows, by_batch[at], f"batch {at + 1}, {what}")
            else:
                pool = take_away([*pool, *by_batch[at]], rows, f"batch {at + 1}, {what}")
        if end < len(found):
            return
        same([], pool, f"in the end, {what}")
        events = self.scenario.events
        if events and isinstance(events[-1], Flush) and (whole := self.meaning.whole(query, columns)) is not None:
            same([row for _, row in answers], [row for _, row in whole], f"flushed, {what}")

    def _check_late(self, stream: str, each: list[Tuples]) -> None:
        models = {run: self.meaning.late(stream, sorted(run)) for run in set(self._running)}
        for at, rows in enumerate(each):
            expected = [row for i, row in models[self._running[at]] if i == at]
            if not any(at >= born for born in self._born.values()):
                same(rows, expected, f"late rows of {stream}, batch {at + 1}")

    def _check_readers(self, query: str) -> None:
        """By the number of each row, which never changes."""
        rows = [row for each in self.results[query] for row in each]
        versions = [at for at, each in enumerate(self.results[query]) for _ in each]
        fresh: dict[int, tuple[object, ...]] = {}
        listing = ManifestLog(self.store).list_results(query)
        for file, start in zip(listing.parts, listing.starts, strict=True):
            fresh |= dict(enumerate(rows_of(read_results(self.store, file)), start))
        for who, read in (("a new reader", fresh), ("a reader", self._read[query])):
            for number, row in read.items():
                assert number < len(rows), f"{query}: {who} finds row {number} of {len(rows)}"
                same([row], [rows[number]], f"{query}: {who}, row {number}")
        for number, version in enumerate(versions):
            gone = number not in fresh
            assert not gone or self._times[version] < self._horizon, f"{query}: row {number} of version {version + 1} is gone"

    def _check_sinks(self, query: str) -> None:
        for at, rows in enumerate(self.results[query]):
            given = self._given.get((query, at + 1), [])
            if rows and not given:
                assert self._times[at] < self._horizon, f"{query}: a sink was not given version {at + 1}"
            for each in given:
                same(each, rows, f"{query}: version {at + 1} as a sink was given it")
            path = f"{query}/{at + 1:012d}.parquet"
            if rows and given:
                assert self.out.exists(path), f"{query}: a directory has no version {at + 1}"
                with self.out.open_input(path) as file:
                    same(rows_of(pq.read_table(file)), rows, f"{query}: version {at + 1} in a directory")

    def _check_disk(self) -> None:
        log = ManifestLog(self.store)
        needed, coming = log.named(), f"/{self.version + 1:012d}-"
        here = [path for folder in OWNED for path in self.store.list(folder)]
        left = [path for path in here if path not in needed and coming not in path and "tables/" not in path]
        assert not left, f"files that nobody needs: {left[:4]}"
        assert needed <= set(here), f"files that are gone: {sorted(needed - set(here))[:4]}"
        assert not log.faults(), log.faults()
