"""What a failing disk means to the user: every OSError of the state layer becomes a CheckpointError here.

An operating system says "[Errno 28]"; a user wants to know which checkpoint, which file, whether anything
is lost and what to do. Nothing committed is ever lost by a failed write, because a batch counts only once
its manifest is published (DESIGN section 5), so the advice is always to remove the cause and start again.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from headrace.errors import CheckpointError

AGAIN = "then start again: nothing committed is lost"
FULL = {errno.ENOSPC, errno.EDQUOT}
FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}
HANDLES = {errno.EMFILE, errno.ENFILE}


@contextmanager
def explain_fault(uri: str, rel: str, doing: str) -> Iterator[None]:
    """Turn an OSError raised while `doing` ("write", "read", …) `rel` under `uri` into a CheckpointError."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(describe_fault(error, uri, rel, doing)) from error
    except pa.ArrowException as error:
        raise CheckpointError(f"cannot {doing} {join(uri, rel)}: {error}") from error


def describe_fault(error: OSError, uri: str, rel: str, doing: str) -> str:
    """The sentence for one error: where, what happened, what to do."""
    file = join(uri, rel)
    if error.errno in FULL:
        return f"the disk of {uri} is full: cannot {doing} {rel}; free some space, {AGAIN}"
    if error.errno in FORBIDDEN:
        participle = "written" if doing in ("write", "publish", "delete", "lock") else "read"
        return (
            f"{file} cannot be {participle} ({reason(error)}); give this user the permission or "
            "mount the disk "
            f"accordingly, or use another checkpoint, {AGAIN}. A checkpoint is private to who runs it, unless that is done with "
            "--share GROUP"
        )
    if isinstance(error, FileNotFoundError):
        return (
            f"{file} is missing: cannot {doing} it; check that the checkpoint {uri} is the right "
            "one and that its "
            "disk is mounted; if the file was deleted, restore it from a backup or use a new checkpoint"
        )
    if error.errno in HANDLES:
        return f"cannot {doing} {file}: too many open files; raise the limit (ulimit -n), {AGAIN}"
    return f"cannot {doing} {file}: {reason(error)}; repair the cause, {AGAIN}"


def reason(error: OSError) -> str:
    """The system's own words; file systems of object stores give a message and no number."""
    return os.strerror(error.errno) if error.errno else str(error)


def join(uri: str, rel: str) -> str:
    """`rel` under `uri`, as one address to show or to open."""
    return f"{uri.rstrip('/')}/{rel}" if rel else uri
