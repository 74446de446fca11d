"""The format of checkpoints: which one this version writes, and what it says to any other.

1: pane state by position, one number of progress a stream. 2: segments by name, with their span of progress, input
and epoch; mini-partitions of a file are released one by one; frontiers. 3: checksums of every file. 4: segments say lower,
upper, epoch and generation, and rows that wait are those of a node of their own. 5: records by the types of their fields,
files and segments as arrays. 6: what tables are partitioned by is always in the plan file. 7: a manifest names its epoch,
which has taken the place of the plan file, and the folders that are kept apart. 8: an epoch says the cohort of its queries.
9: files of results with parts of several queries, which go by number; the name of the checkpoint.
"""

from __future__ import annotations

from headrace.errors import CheckpointError

FORMAT = 9


def check_format(uri: str, found: object) -> None:
    """Refuse a checkpoint that another version of Headrace wrote."""
    if found == FORMAT:
        return
    older = isinstance(found, int) and found < FORMAT
    raise CheckpointError(
        f"checkpoint {uri} was written by {'an older' if older else 'another'} Headrace: it has format {found}, this one "
        f"reads format {FORMAT}. Read its results, or let it run to its end, with the Headrace that wrote it; here, start "
        "with a new checkpoint, and the set is computed again from its sources"
    )
