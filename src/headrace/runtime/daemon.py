"""Spark's Python daemon, with all that a worker needs loaded before it forks.

Spark's own daemon loads nothing, and so every worker imports Arrow, DuckDB and the kernels anew, and compiles
PySpark, which Spark sends it as a zip of sources: two seconds on a core that the first batch waits for. It does
so because a process with threads must not fork. Ours has none after its imports, or steps aside for Spark's:
the allocator of Arrow is told not to start its own, and Spark sets OMP_NUM_THREADS, which keeps NumPy from
starting any.

What is loaded here is frozen: Spark's worker collects garbage after every task, and need not look at it.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

_THREADS = "/proc/self/task"


def main() -> None:
    if not os.path.isdir(_THREADS):
        _step_aside()  # before anything is loaded for nothing
    sys.path[:] = compiled(sys.path)
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
    import pyarrow as pa
    import pyspark.worker  # noqa: F401
    from pyspark.daemon import manager

    import headrace.runtime.tasks  # noqa: F401

    pa.array([0])  # makes Arrow look for pandas, and import it where it is installed
    if len(os.listdir(_THREADS)) != 1:
        _step_aside()
    if "numpy.random" in sys.modules:  # each worker has chance of its own
        os.register_at_fork(after_in_child=sys.modules["numpy.random"].seed)
    gc.collect()
    gc.freeze()
    manager()


def compiled(path: list[str]) -> list[str]:
    """The module path without Spark's zips, if the package they are part of is on it too."""
    zips = {
        p for p in path if Path(p).match("python/lib/pyspark.zip") or Path(p).match("python/lib/py4j-*.zip")
    }
    rest = [p for p in path if p not in zips]
    package = PathFinder.find_spec("pyspark", rest)
    if package is None or package.origin is None or PathFinder.find_spec("py4j", rest) is None:
        return path
    home = Path(package.origin).resolve().parent
    return rest if all(Path(p).resolve().is_relative_to(home) for p in zips) else path


def _step_aside() -> None:
    os.execv(sys.executable, [sys.executable, "-m", "pyspark.daemon", *sys.argv[1:]])


if __name__ == "__main__":
    main()
