"""Spark standalone on this machine: a master, and a worker with one core pinned to each processor.

An executor inherits the processor of its worker, and the Python workers that of their executor. The driver is not pinned.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

HOST = "127.0.0.1"
PATIENCE = 90  # seconds for a process to come up


@contextmanager
def pinned_cluster(folder: Path, workers: int = 2, memory: str = "2g") -> Iterator[str]:
    """The address of a cluster that lives as long as the block; worker n has processor n."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    started: list[subprocess.Popen[bytes]] = []
    try:
        master = ["deploy.master.Master", "--host", HOST, "--port", "0", "--webui-port", "0"]
        started.append(_start(master, folder / "master.txt", folder))
        url = _await_line(folder / "master.txt", r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            worker = ["deploy.worker.Worker", "--host", HOST, "--cores", "1", "--memory", memory, "--webui-port", "0"]
            worker += ["--work-dir", str(folder / f"work-{number}"), url]
            pin = ("taskset", "-c", str(number % (os.cpu_count() or 1)))
            started.append(_start(worker, folder / f"worker-{number}.txt", folder, pin))
        for number in range(workers):
            _await_line(folder / f"worker-{number}.txt", r"Successfully registered with (master)")
        yield url
    finally:
        for process in reversed(started):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)  # its own group: a session of its own
        for process in started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def cluster_settings() -> dict[str, str]:
    """What a session on such a cluster is started with: an executor of one core on each worker."""
    return {
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.executor.cores": "1",
        "spark.executor.memory": "1500m",
        "spark.driver.memory": "2g",
        "spark.python.daemon.module": "headrace.runtime.daemon",
        "spark.locality.wait": "0",
    }


def _start(command: list[str], log: Path, folder: Path, pin: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    env = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "256m",
    }
    program = [*pin, str(home / "bin" / "spark-class"), f"org.apache.spark.{command[0]}", *command[1:]]
    with log.open("wb") as said:
        return subprocess.Popen(program, stdout=said, stderr=said, env=env, start_new_session=True)


def _await_line(log: Path, pattern: str) -> str:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise RuntimeError(f"no line like {pattern!r} in {log} within {PATIENCE} s")
