"""What of a checkpoint may be deleted, and when.

Two things end up unneeded: files that nobody names (of attempts that died, and segments that later versions do without),
and manifests and pages that a page has superseded, together with the files that only they name. Readers that began
before a page was published may still go by what it superseded; so that stays for the *grace* time after the page
was written, and so does every file it names. A file that nobody names stays for the grace time after it was written, and as
long as its version is not committed: a batch may take longer than any grace.

A page that can be read need not be durable: whoever published it may have ended before the flush. So the folder of pages is
flushed before anything is deleted, or a power cut could take away both the page and what it superseded.

Where outputs of versions are out of reach (`ManifestLog.faults`), there is no proof that a file is not one of theirs: only
files whose names say that they are of another version go.
"""

from __future__ import annotations

import re

from headrace.state.clock import SYSTEM, Clock
from headrace.state.history import FOLDER, Loss, PageName
from headrace.state.manifest import ManifestLog
from headrace.state.store import Store

OWNED = ("segments", "results", "late", "tables", "orders", "epochs")
_OF_VERSION = re.compile(r"(\d{12,})-")
_MANIFEST = re.compile(r"manifests/(\d{12,})\.json")


def collect_garbage(store: Store, log: ManifestLog, grace_seconds: float, clock: Clock = SYSTEM) -> list[str]:
    """Delete, and return, the superseded manifests and pages and the files under segments/, results/, late/, tables/,
    orders/ and epochs/ that nobody needs. Without any manifest nothing is deleted: there is no proof then.
    """
    before = clock.seconds - grace_seconds
    candidates = [
        entry.path for directory in OWNED for entry in store.scan(directory) if entry.modified <= before
    ]
    last = log.latest()
    if last is None:
        return []
    superseded = find_superseded(store, log, before)
    store.sync([page.name.path for page in log.history()[-1:]])
    lost = log.faults()
    for path in superseded:
        if is_damaged(log, path, lost):  # for whoever wants to mend it
            store.write(f"damaged/{path.rpartition('/')[2]}", store.read(path))
        store.delete(path)
    kept = name_all(store, log)  # read after the listing: a file committed in between is named by now
    garbage = [p for p in candidates if p not in kept and is_past(p, last.version, lost)]
    for path in garbage:
        store.delete(path)
    return [*superseded, *garbage]


def find_superseded(store: Store, log: ManifestLog, before: float) -> list[str]:
    """Manifests and pages of which another page, written `before`, tells; oldest first.

    That page may be superseded itself meanwhile: nobody who began after it was written went by what it replaced.
    """
    current = {page.name for page in log.history()}
    written = {page: entry.modified for entry in store.scan(FOLDER) if (page := PageName.parse(entry.path))}
    settled = [page for page, at in written.items() if at <= before and page not in log.spoilt]

    def is_replaced(other: PageName | int) -> bool:
        if isinstance(other, int):
            return any(page.first <= other <= page.last for page in settled)
        return any(
            page.first <= other.first and other.last <= page.last and replaces(page, other) for page in settled
        )

    manifests = [path for path in store.list("manifests") if (m := _MANIFEST.fullmatch(path)) and is_replaced(int(m[1]))]
    return [*(page.path for page in written if page not in current and is_replaced(page)), *manifests]


def replaces(page: PageName, other: PageName) -> bool:
    """Of two pages of which one holds the other's versions, whether `page` is the one to read."""
    return (page.first, page.last) != (other.first, other.last) or page.edition > other.edition


def is_damaged(log: ManifestLog, path: str, lost: list[Loss]) -> bool:
    """Whether a superseded manifest or page could not be read when it was superseded."""
    match = _MANIFEST.fullmatch(path)
    if match is None:
        return PageName.parse(path) in log.spoilt
    return any(loss.first <= int(match[1]) <= loss.last for loss in lost)


def name_all(store: Store, log: ManifestLog) -> set[str]:
    """Every file that somebody may need: those the log names, and those that superseded manifests and pages name."""
    kept = log.named()
    for path in store.list("manifests"):
        match = _MANIFEST.fullmatch(path)
        if match:
            kept.update(log.paths_named(int(match[1])))
    for path in store.list(FOLDER):
        page = PageName.parse(path)
        if page is not None:
            kept.update(log.paths_named(page))
    return kept


def is_past(path: str, version: int, lost: list[Loss]) -> bool:
    """Whether a file that nobody names is surely not of a batch under way or of versions that were lost."""
    match = _OF_VERSION.match(path.rpartition("/")[2])
    if match is None:
        return not lost
    made = int(match[1])
    return made != version + 1 and not any(loss.first <= made <= loss.last for loss in lost)


