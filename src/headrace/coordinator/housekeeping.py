"""A running checkpoint kept small, in a thread beside the batches.

The thread compacts (`state/compaction.py`) when it is told that batches were committed, and now and then without, so that
results expire while a stream is quiet. It works on files that no batch touches, so batches do not wait for it. A failure
of it does not end the run: it is said once, and tried again the next time.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable

from headrace.errors import HeadraceError
from headrace.state import Clock, Compacted, Retention, Store, compact_checkpoint
from headrace.state.clock import SYSTEM

QUIET_SECONDS = 600.0


class _Stopped(Exception):
    """The run ends, and the compaction with it: what it has not published yet is done again another time."""


class Housekeeping:
    """The compaction of one checkpoint, whose lock the run holds."""

    def __init__(self, store: Store, held: Callable[[], None], clock: Clock = SYSTEM) -> None:
        self.store, self._held, self._clock = store, held, clock
        self.policy = Retention()
        self.changed = threading.Event()  # something was compacted
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._failed = ""

    def start(self, policy: Retention) -> None:
        """Compact in the background, now."""
        self.policy = policy
        self._wake.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._keep, name="headrace-compaction", daemon=True)
            self._thread.start()

    def compact(self, policy: Retention) -> Compacted:
        """Compact here and now."""
        done = compact_checkpoint(self.store, policy, check=self._check, clock=self._clock)
        if done.moved or done.merged or done.expired:
            self.changed.set()
        return done

    def close(self) -> None:
        """End; waits for the file being written."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _check(self) -> None:
        self._held()
        if self._stop.is_set():
            raise _Stopped

    def _keep(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                self.compact(self.policy)
                self._failed = ""
            except _Stopped:
                return
            except HeadraceError as error:
                if str(error) != self._failed and not self._stop.is_set():
                    self._failed = str(error)
                    warnings.warn(f"the checkpoint was not compacted: {error}", RuntimeWarning, stacklevel=1)
            self._wake.wait(QUIET_SECONDS)
