"""What Spark says of its micro-batches. Headrace runs in Spark's loop too, so one yardstick serves both.

A batch's seconds are Spark's `triggerExecution`: planning, both logs, and the work, from trigger to commit.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)


class Batches(StreamingQueryListener):
    """Collects the progress of every streaming query of a session."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self._ended = threading.Semaphore(0)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        progress = event.progress
        self.seen.append(
            {
                "query": progress.name,
                "id": progress.batchId,
                "rows": progress.numInputRows,
                "seconds": progress.durationMs.get("triggerExecution", 0) / 1000,
                "reported": time.monotonic(),
            }
        )

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        self._ended.release()

    def of_ended(self, queries: int) -> list[dict[str, Any]]:
        """The batches of `queries` queries, all of which have ended; events come after the fact."""
        for _ in range(queries):
            self._ended.acquire(timeout=30)
        return sorted(self.seen, key=lambda b: (b["query"], b["id"]))
