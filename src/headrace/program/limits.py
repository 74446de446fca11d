"""The sizes at which a run takes another way to the same answer: one frozen value from the command line to the tasks.

No result depends on one of them. What is shipped was measured; tests shrink them, so that small inputs go every way.
They are part of the orders of every batch, so driver and tasks never have different ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.state import Retention


@dataclass(frozen=True)
class CloseLimits:
    """Which of its ways a node closes windows (`kernels/close_windows.py`)."""

    few_copies: int = 200_000  # copies of rows that are made sooner than filters are planned
    overlap: int = 3  # runs a block is in, on average, from which copies cost more than filters
    filtered_runs: int = 48  # more than these are a tree
    runs_per_pass: int = 6  # of filters
    short_rows: int = 20_000  # pane rows below which one long statement is quicker than several with tables between them


@dataclass(frozen=True)
class Limits:
    """Sizes in rows, bytes, batches and seconds."""

    mini_partitions: int = 128  # of a checkpoint, for good
    # -- tasks --------------------
    round_rows: int = 8_000_000  # rows that the windows of one round may hold, at most (unless one window holds more)
    fan_in: int = 8  # segments of a tier that become one of the next
    frame_rows: int = 2_000_000  # rows from Spark that are aggregated together
    file_rows: int = 1_000_000  # rows of files that are aggregated together
    stream_rows: int = 1_000_000  # results that are held at once
    own_bytes: int = 1 << 20  # results of a query in a slot, from which on they have a file of their own
    shared_bytes: int = 32 << 20  # of small results of a slot that are held, to be written together
    payload_bytes: int = 4 << 20  # of rows in one payload: Spark uses the buffers of a value again for the next one
    bucket_spread: int = 4  # how many times the band rows of a join must be spread over for buckets to pay
    turn_share: float = 0.5  # of a slot's memory that state and input of a turn may take; the rest is for what is made of them
    close: CloseLimits = field(default_factory=CloseLimits)
    # -- static tables --------------------
    broadcast_bytes: int = 64 << 20  # of the largest table that every slot holds
    piece_bytes: int = 64 << 20  # of a table, in a file as it was read, and in a range of a divided copy
    range_bytes: int = 256 << 20  # of a file, where keys are so uneven that one range has far more rows than another
    block_bytes: int = 1 << 20  # of a divided copy that are read at once
    # -- rows that wait --------------------
    waiting_bytes: int = 256 << 20  # in a slot
    least_rows: int = 10_000  # that a slot may have in any case before some wait
    # -- between batches --------------------
    named_rows: int = 10_000  # of a batch, to look for hot keys in: of a few rows most are of some key
    measured_batches: int = 20  # whose rates decide what something new is partitioned by
    compact_every: int = 50  # batches
    compaction: Retention = field(default_factory=Retention)
    silent_groups: int = 1000  # of a stream that are silent and behind, and remembered
    # -- while nothing comes --------------------
    folder_grain: float = 3.0  # seconds in which a second change of a folder may go unnoticed
    quiet: float = 1.0  # seconds without a batch before Spark is held at all
    watched_folders: int = 1000


SHIPPED = Limits()
