"""Where a slot runs, and how much memory its worker has had.

Spark does not tell a Python worker its executor; but all workers of an executor are children of its daemon, so host and
parent process name it. Numbers of processes are used again, so the name is good from one batch to the next, and no more.
"""

from __future__ import annotations

import os
import resource
import socket
import sys

UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss


def name_executor() -> str:
    """The executor this process works for."""
    return f"{socket.gethostname()}:{os.getppid()}"


def measure_peak() -> int:
    """The most memory this process ever had, in bytes: Arrow's, DuckDB's and Python's own."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT
