"""Flink's own environment: `apache-flink` pins other versions of half of what we need, so it lives apart.

It is made once, in out/bench/flink-venv, with this Python and pip. Where that does not work (no network, no
wheel for this Python), Flink is left out with a message, and everything else goes on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.datasets import OUT

PACKAGE = "apache-flink>=2.3,<2.4"
VENV = OUT / "flink-venv"


class FlinkMissing(Exception):
    """Flink cannot be had here; the message says why."""


def python() -> Path:
    return (VENV / "bin" / "python").absolute()


def version() -> str | None:
    """The version that is installed."""
    found = list(VENV.glob("lib/python*/site-packages/apache_flink-*.dist-info"))
    return found[0].name.removesuffix(".dist-info").rpartition("-")[2] if found else None


def ensure() -> None:
    """Install Flink unless it is there and can be imported."""
    if _works():
        return
    VENV.parent.mkdir(parents=True, exist_ok=True)
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(VENV)],
        [str(python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise FlinkMissing(f"Flink is left out: `{' '.join(command[1:4])} …` failed ({last})")
    if not _works():
        raise FlinkMissing(f"Flink is left out: {PACKAGE} was installed in {VENV} but cannot be imported")


def _works() -> bool:
    command = [str(python()), "-c", "import pyflink.table"]
    return python().exists() and subprocess.run(command, capture_output=True, check=False).returncode == 0


def variables(memory: str) -> dict[str, str]:
    """What the process needs: the heap, and Flink's own Python for its gateway."""
    path = os.pathsep.join([str(VENV.absolute() / "bin"), os.environ.get("PATH", "")])
    return {"JVM_ARGS": f"-Xmx{memory}", "PATH": path, "PYTHONPATH": ""}
