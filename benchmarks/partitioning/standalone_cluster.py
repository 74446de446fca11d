"""A Spark standalone cluster on this machine: a master, and workers of two cores that are added one by one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from headrace.runtime.spark import make_session

HERE = "127.0.0.1"


class StandaloneCluster:
    """Processes of Spark's own; all of them end with the block."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> StandaloneCluster:
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self._start("master", "master.Master", "--host", HERE, "--port", "0", "--webui-port", "0")
        self.url = wait_for_line(log, r"Starting Spark master at (spark://\S+)")
        wait_for_line(log, r"I have been elected leader")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in reversed(self._processes):
            process.terminate()
            process.wait(20)

    def add_worker(self) -> None:
        """One more, with two cores and so two slots."""
        name = f"worker{len(self._processes)}"
        options = ["--cores", "2", "--memory", "1g", "--host", HERE, "--webui-port", "0", "--work-dir", str(self.folder / name)]
        wait_for_line(self._start(name, "worker.Worker", *options, self.url), r"Successfully registered with master")

    def open_session(self, workers: int) -> SparkSession:
        """A session with an executor on each worker. Headrace's source tasks do not pre-aggregate unless told later."""
        spark = make_session(
            self.url,
            **{
                "spark.driver.host": HERE,
                "spark.driver.bindAddress": HERE,
                "spark.cores.max": str(2 * workers),
                "spark.executor.cores": "2",
                "spark.executor.memory": "600m",
                "spark.ui.enabled": "true",
                "spark.ui.port": "0",
                "spark.python.daemon.module": "headrace.runtime.daemon",
                "spark.scheduler.minRegisteredResourcesRatio": "0",  # what follows waits for all executors
                "spark.default.parallelism": str(2 * workers),
                "spark.headrace.slot.memory": "256m",
            },
        )
        status = spark.sparkContext._jsc.sc()  # type: ignore[union-attr]
        until = time.monotonic() + 180
        while status.getExecutorMemoryStatus().size() - 1 < workers:  # the driver is one of them
            assert time.monotonic() < until, f"fewer than {workers} executors after three minutes"
            time.sleep(0.1)
        return spark

    def _start(self, name: str, kind: str, *options: str) -> Path:
        home = Path(pyspark.__file__).parent
        log = self.folder / f"{name}.log"
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *options]
        environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": HERE, "SPARK_DAEMON_MEMORY": "256m"}
        with log.open("wb") as out:
            self._processes.append(subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment))
        return log


def wait_for_line(log: Path, pattern: str, seconds: float = 180) -> str:
    """What the log says, its first group if there is one."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found[found.re.groups and 1]
        time.sleep(0.1)
    raise RuntimeError(f"{log}: nothing like {pattern!r} in {seconds:g} s")


class ShuffleReader:
    """Bytes that stages have read from shuffles, as Spark tells them (its REST interface)."""

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        self._url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}"
        self._seen = self._last_job()

    def read_levels(self, levels: int) -> list[int]:
        """Bytes by level, over the batches since the last call. What comes from other workers of one machine counts as local."""
        stages = {one["stageId"]: one for one in self._ask("stages")}
        found = [0] * levels
        before, self._seen = self._seen, self._last_job()
        for job in self._ask("jobs"):
            if job["jobId"] > before and len(job["stageIds"]) == levels + 1:
                for level, number in enumerate(sorted(job["stageIds"])[1:]):
                    found[level] += stages[number]["shuffleReadBytes"]
        return found

    def _last_job(self) -> int:
        return max((job["jobId"] for job in self._ask("jobs")), default=-1)

    def _ask(self, what: str) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{self._url}/{what}") as answer:
            return json.load(answer)
