"""Keeping a checkpoint small: versions onto pages, small files into large ones, old results away by choice.

Only the holder of the checkpoint's lock compacts, and never the last `keep` versions. Three steps, each of which leaves a
sound checkpoint if it is the last thing a process does:

1. *Move*: the outputs of `step` or more old versions become a page, their small files merged.
2. *Merge*: pages come in sizes; when `fanout` neighbours at the end are of one size or smaller, they become one, and their
   small files again. So n versions leave fewer than `fanout` pages of each of log(n) sizes, and a row is rewritten
   once for each.
3. *Expire*: with `retain`, files whose last commit is longer ago are left out of the next edition of their page.

New files are written and flushed first; publishing the page, one atomic step, makes them the ones to read; what was
there before is deleted later, by `garbage`. A process that dies before the page is published has changed nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from headrace.errors import CheckpointError
from headrace.state.clock import SYSTEM, Clock
from headrace.state.garbage import collect_garbage
from headrace.state.history import Expired, HistoryPage, KeptFile, Loss, PageName, encode_page
from headrace.state.manifest import ManifestLog
from headrace.state.merge_files import TARGET, merge_files
from headrace.state.outputs import PartKey
from headrace.state.store import Store

_MOST = 1_000  # versions that are moved onto one page
_PARTS = 8  # of the time that is retained, in files of their own, so that rows do not stay much longer


@dataclass(frozen=True, slots=True)
class Retention:
    """How a checkpoint is kept small."""

    retain: float | None = None  # seconds that results and late rows are kept; None: for ever
    keep: int = 20  # last versions that stay manifests
    step: int = 50  # versions that are worth a page
    fanout: int = 10
    target: int = TARGET  # bytes of a merged file
    grace: float = 600.0  # seconds for readers that began before


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction did."""

    moved: int = 0  # versions
    merged: int = 0  # pages
    expired: int = 0  # rows
    deleted: int = 0  # files


def compact_checkpoint(
    store: Store,
    policy: Retention,
    whole: bool = False,
    check: Callable[[], None] = lambda: None,
    clock: Clock = SYSTEM,
) -> Compacted:
    """Compact the checkpoint in `store`, whose lock we hold; `whole`: all versions but the last onto one page.

    `check` is called between files, and may raise to end the work.
    """
    log = ManifestLog(store)
    last = log.latest()
    if last is None:
        return Compacted()
    work = _Compaction(store, log, replace(policy, keep=min(policy.keep, 2)) if whole else policy, check, clock)
    moved = work.move_versions(1 if whole else policy.step)
    merged = work.merge_pages(whole)
    expired = work.expire() if policy.retain is not None else 0
    deleted = collect_garbage(store, log, policy.grace, clock)
    return Compacted(moved, merged, expired, len(deleted))


def choose_pages(pages: list[PageName], fanout: int, step: int) -> slice | None:
    """The first run of `fanout` or more neighbours of one size, which is a power of `fanout`; None if there is none.

    A page counts as large as the largest after it, so that no small one is left between large ones for ever.
    """
    sizes: list[int] = []
    for page in reversed(pages):
        size = int(math.log(max((page.last - page.first + 1) / step, 1.0), fanout) + 1e-9)
        sizes.insert(0, max([size, *sizes[:1]]))
    start = 0
    for _, run in groupby(sizes):
        count = len(list(run))
        if count >= fanout:
            return slice(start, start + count)
        start += count
    return None


class _Compaction:
    def __init__(
        self, store: Store, log: ManifestLog, policy: Retention, check: Callable[[], None], clock: Clock
    ) -> None:
        self.store, self.log, self.policy, self.check = store, log, policy, check
        self.now = clock.seconds

    @property
    def _horizon(self) -> float:
        return -math.inf if self.policy.retain is None else self.now - self.policy.retain

    # -- versions onto pages --------------------
    def move_versions(self, least: int) -> int:
        """Pages of the versions that are old enough; how many versions they are."""
        last = self.log.latest()
        assert last is not None
        end = last.version - self.policy.keep
        versions = [version for version in self.log.versions() if version <= end]
        first = 1 + max((page.name.last for page in self.log.history()), default=0)
        if not versions or (end - first + 1 < least and not self._is_expired(versions[0])):
            return 0
        for start in range(first, end + 1, _MOST):
            self._publish(self._page_of(start, min(start + _MOST - 1, end), versions))
        return end - first + 1

    def _is_expired(self, version: int) -> bool:
        try:
            return self.log.read_outputs(version)[1] < self._horizon
        except CheckpointError:
            return False

    def _page_of(self, first: int, last: int, versions: list[int]) -> HistoryPage:
        last_manifest = self.log.latest()
        assert last_manifest is not None
        files: list[KeptFile] = []
        lost = [_cut(loss, first, last) for loss in self.log.faults() if loss.first <= last and first <= loss.last]
        missing = {v for loss in lost for v in range(loss.first, loss.last + 1)}
        for version in range(first, last + 1):
            if version in missing:
                continue
            put_out, committed_at = self.log.read_outputs(version)
            files += (KeptFile(file, version, version, committed_at) for file in put_out.outputs)
        page = HistoryPage(PageName(first, last), last_manifest.checkpoint, tuple(files), lost=tuple(lost))
        return self._merge_outputs(page)

    # -- pages into larger ones --------------------
    def merge_pages(self, whole: bool) -> int:
        """Merge pages at the end until there are few of each size; how many went into larger ones."""
        merged = 0
        while True:
            pages = self.log.history()
            names = [page.name for page in pages]
            chosen = slice(None) if whole and len(names) > 1 else choose_pages(names, self.policy.fanout, self.policy.step)
            if chosen is None:
                return merged
            self._publish(self._merge_outputs(unite_pages(pages[chosen])))
            merged += len(pages[chosen])

    def expire(self) -> int:
        """Leave out what is older than it has to be kept; how many rows."""
        rows = 0
        for page in self.log.history():
            left, gone = drop_expired(page, self._horizon)
            if gone:
                self._publish(replace(left, name=replace(page.name, edition=page.name.edition + 1)))
                rows += gone
        return rows

    def _merge_outputs(self, page: HistoryPage) -> HistoryPage:
        page, _ = drop_expired(page, self._horizon)
        span = None if self.policy.retain is None else self.policy.retain / _PARTS
        return replace(page, files=merge_files(self.store, page.files, self.policy.target, span, self.check))

    def _publish(self, page: HistoryPage) -> None:
        self.check()
        while not self.store.publish(page.name.path, encode_page(page)):  # there is one, which cannot be read
            page = replace(page, name=replace(page.name, edition=page.name.edition + 1))
        self.log.refresh()


def unite_pages(pages: list[HistoryPage]) -> HistoryPage:
    """Neighbouring pages as one; versions between them that no page tells of are lost."""
    lost = [loss for page in pages for loss in page.lost]
    for before, after in pairwise(pages):
        if before.name.last + 1 < after.name.first:
            why = "no page of the history told of them when it was merged"
            lost.append(Loss(before.name.last + 1, after.name.first - 1, why))
    expired: Counter[PartKey] = Counter()
    for page in pages:
        expired.update({one.key: one.rows for one in page.expired})
    return HistoryPage(
        PageName(pages[0].name.first, pages[-1].name.last),
        pages[0].checkpoint,
        tuple(kept for page in pages for kept in page.files),
        tuple(Expired(*key, rows) for key, rows in expired.items()),
        tuple(sorted(lost, key=lambda loss: loss.first)),
    )


def drop_expired(page: HistoryPage, horizon: float) -> tuple[HistoryPage, int]:
    """A page without the files whose last commit was before `horizon`, and how many rows they had.

    A file stays if one before it stays that has rows of the same query: rows go in the order in which they came.
    """
    staying: set[PartKey] = set()
    left: list[KeptFile] = []
    expired = Counter({one.key: one.rows for one in page.expired})
    gone = 0
    for kept in page.files:
        keys = [part.key for part in kept.file.parts]
        if kept.until >= horizon or not staying.isdisjoint(keys):
            staying.update(keys)
            left.append(kept)
            continue
        expired.update({part.key: part.rows for part in kept.file.parts})
        gone += kept.file.rows
    if not gone:
        return page, 0
    return replace(page, files=tuple(left), expired=tuple(Expired(*key, rows) for key, rows in expired.items())), gone


def _cut(loss: Loss, first: int, last: int) -> Loss:
    return loss.replace(first=max(loss.first, first), last=min(loss.last, last))
