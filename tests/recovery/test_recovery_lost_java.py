"""Java dies under a run: one message, and no traceback of the libraries between."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

SCRIPT = """
CREATE STREAM s PROGRESSING ON timestamp SLACK 1 SECOND FROM 'rate' OPTIONS (rowsPerSecond 50);
CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 1 SECOND];
"""


def find_child(parent: int) -> int:
    """The Java that a process has started."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            found = re.match(r"(\d+) \(java\) \S (\d+)", stat.read_text())
        except OSError:
            continue
        if found and int(found[2]) == parent:
            return int(found[1])
    raise AssertionError("no Java runs")


def test_java_is_killed(tmp_path: Path) -> None:
    """The run says that Spark has ended, with exit code 2, and writes nothing else."""
    (tmp_path / "queries.sql").write_text(SCRIPT)
    code = "from headrace.cli import main; main()"
    command = [sys.executable, "-c", code, "run", "queries.sql", "--checkpoint", "ck", "--master", "local[2]"]
    run = subprocess.Popen(
        command, cwd=tmp_path, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert run.stdout is not None
        assert run.stdout.readline().startswith("batch=1 ")
        time.sleep(1)
        os.kill(find_child(run.pid), signal.SIGKILL)
        _, said = run.communicate(timeout=60)
    finally:
        run.kill()
    assert run.returncode == 2
    assert "Spark has ended" in said
    assert "Traceback" not in said and "py4j" not in said and "Exception" not in said
    assert "Nothing of this batch was committed" in said
