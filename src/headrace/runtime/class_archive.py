"""Spark's classes, loaded once for all starts.

A Spark that starts reads and checks some twenty thousand classes, which takes several seconds on two cores, in
every process anew. Java can write them down as it has them in memory and map them the next time (class data
sharing). `headrace prepare` runs a small set of queries and keeps what Java loaded for it, about 190 MB, in the
Python environment that Headrace is installed in. Java compares the archive with itself and with its class path
and ignores one that does not fit, so an old one does no harm; it is named after both, so that there is a new one.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from headrace.errors import OptionError

_RECORDING = "HEADRACE_CLASS_ARCHIVE"  # in the process that `prepare` starts: where to write
_SECONDS = 300


def java_options() -> str:
    """What makes Java use the archive, if there is one."""
    if recording := os.environ.get(_RECORDING):
        return f'"-XX:ArchiveClassesAtExit={recording}" -Xlog:disable -Xlog:all=off'
    found = archive()
    return f'"-XX:SharedArchiveFile={found}" -Xlog:cds*=off' if found is not None and found.exists() else ""


def archive() -> Path | None:
    """Where the archive of this Java and this Spark is, or would be."""
    from pyspark.find_spark_home import _find_spark_home

    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        return None
    files = [java, *sorted(glob.glob(f"{glob.escape(_find_spark_home())}/jars/spark-core*.jar"))]
    known = [(os.path.realpath(f), os.stat(f).st_size, os.stat(f).st_mtime_ns) for f in files]
    name = hashlib.sha256(repr(known).encode()).hexdigest()[:16]
    return Path(sys.prefix) / "share" / "headrace" / f"classes-{name}.jsa"


def prepare() -> Path:
    """Make the archive, unless it is there."""
    found = archive()
    if found is None:
        raise OptionError("there is no java here whose classes could be kept")
    if found.exists():
        return found
    try:
        found.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=found.parent) as folder:
            made = Path(folder) / "classes.jsa"
            environment = os.environ | {_RECORDING: str(made)}
            command = [sys.executable, "-m", __name__, folder]
            ran = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=_SECONDS, cwd=folder
            )
            if ran.returncode or not made.exists():
                raise OptionError("\n  ".join(["the classes were not kept", *ran.stderr.splitlines()[-6:]]))
            made.rename(found)
            for old in set(found.parent.glob("classes-*.jsa")) - {found}:
                old.unlink(missing_ok=True)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise OptionError(f"the classes were not kept: {e}") from e
    return found


_SCRIPT = """
CREATE STREAM s (t TIMESTAMP, k INT, v INT, w STRING) PROGRESSING ON t SLACK 1 SECOND
  FROM '{kind}' OPTIONS (path '{kind}');
CREATE QUERY sums AS SELECT k, count(*) AS n, sum(v) AS total, avg(v) AS mean, max(w) AS most
  FROM s [RANGE 2 MINUTES SLIDE 1 MINUTE] WHERE v >= 0 GROUP BY k HAVING count(*) > 0;
CREATE QUERY total AS SELECT count(*) AS n FROM sums [RANGE 2 MINUTES]
"""


def _record(folder: Path) -> None:
    """Sets that go the ways of a batch: files that tasks read, and rows that Spark sends."""
    from pyspark import SparkContext

    from headrace.coordinator.run_options import RunOptions, Trigger
    from headrace.runtime.spark import make_session
    from headrace.runtime.start import RegisteredSet, start
    from headrace.sources.source_path import literal
    from headrace.sql import parse_script
    from headrace.sql.bind import Binder
    from headrace.state import Store

    spark = make_session("local[2]")
    rows = [{"t": f"2026-01-01T00:0{i}:00Z", "k": i % 2, "v": i, "w": "a"} for i in range(8)]
    (folder / "json").mkdir()
    (folder / "json" / "rows.json").write_text("\n".join(map(json.dumps, rows)))
    read = spark.read.schema("t TIMESTAMP, k INT, v INT, w STRING").json(literal(f"{folder}/json"))
    read.write.parquet(f"{folder}/parquet")
    for kind in ("parquet", "json"):
        binder = Binder()
        for statement in parse_script(_SCRIPT.format(kind=kind)):
            binder.create(statement)
        store = Store.open(str(folder / f"of-{kind}"))
        options = RunOptions(trigger=Trigger(available_now=True, flush=True))
        start(spark, RegisteredSet(binder.graph()), store, options).wait()
    gateway: Any = SparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(_SECONDS)  # Java writes as it ends


if __name__ == "__main__":
    _record(Path(sys.argv[1]))
