"""A Spark session fit for Headrace, when the user brings none."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import nullcontext

from pyspark.sql import SparkSession

from headrace.runtime import class_archive
from headrace.runtime.choose_master import choose_master, read_given_settings
from headrace.runtime.java_noise import hold_back

SETTINGS = {
    # One bad row must not stop twenty queries: arithmetic and cast errors are NULL (documented in
    # docs/sql.md).
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # A batch is one small, fixed plan; re-planning it between stages costs more than it can save.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    # With a limit in bytes Spark adds up the size of the whole batch after every row, which takes longer than all
    # the rest of the way to Python; the number of rows is limit enough.
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    # Where Spark shows the options of a source, it leaves out those that may hold a password.
    "spark.sql.redaction.options.regex": "(?i)url|secret|passw|passphrase|pwd|token|credential|key|jaas",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.worker.reuse": "true",
    # Over TCP, Nagle's algorithm and delayed acknowledgements make every task wait 40 ms.
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # How long Spark sleeps when it has found nothing to read. The default, 10 ms, keeps a quarter of a core busy with
    # listing; so a run that has nothing to read uses next to nothing, and sees a file within half a second.
    "spark.sql.streaming.pollingDelay": "400ms",
    # Of its own logs of offsets and commits, Spark keeps those of the last hundred batches; a few are enough.
    "spark.sql.streaming.minBatchesToRetain": "10",
    # Every ten batches it writes its list of all files of a source anew, and keeps the lists before for ten minutes, for file
    # systems that show a new file late; with short batches that is hundreds of times the list.
    "spark.sql.streaming.fileSource.log.cleanupDelay": "1s",
    # A hash of every row that is exchanged, to notice tasks that give other rows when they are run again. Ours name their
    # files anew each time, and to hash rows of megabytes takes as long as all the rest of the exchange.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableQueryLevelRollbackOnMismatch": "false",
    # Spark's default writes its offset log through FileContext, which on a local disk starts some thirty
    # processes (readlink, chmod) a batch. Results do not depend on that log: manifests decide what is
    # committed.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}

# What one machine's exchange need not do: on its own disk, to pack rows and add up checksums takes longer than to write them.
SETTINGS_OF_ONE_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.shuffle.compress": "false",
    "spark.shuffle.checksum.enabled": "false",
    # A task writes what it sends to one file; by default first to one for each slot, and then copies these.
    "spark.shuffle.sort.bypassMergeThreshold": "1",
}

# Spark's own code is wide and each part of it runs a few times a batch. With the usual thresholds Java's optimizing
# compiler is busy with it for the first minutes, on a core that the queries need; loops over rows still reach these.
JAVA = (
    "-XX:+UseParallelGC -XX:Tier4InvocationThreshold=100000 -XX:Tier4MinInvocationThreshold=12000 "
    "-XX:Tier4CompileThreshold=300000 -XX:Tier4BackEdgeThreshold=800000"
)
# Where tasks read the rows, Java has no loop over rows, and the optimizing compiler nothing to do.
JAVA_WITHOUT_ROWS = "-XX:+UseParallelGC -XX:TieredStopAtLevel=1"


def make_session(master: str | None = None, rows: bool = True, **settings: str) -> SparkSession:
    """A new or the running session, that will read `rows` or only say which files there are. Ports are opened on
    the loopback interface only. What spark-submit was told stands.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    given = read_given_settings()
    master = choose_master(master, os.environ.get("HEADRACE_MASTER"), given)
    said = given or {}
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName("headrace").master(master)
    if master.startswith("local"):
        for key, value in _without(SETTINGS_OF_ONE_MACHINE, said).items():
            builder = builder.config(key, value)
        if not master.startswith("local-cluster"):  # a machine that was asleep has lost no executor
            awake = {"spark.network.timeout": "1d", "spark.python.daemon.module": "headrace.runtime.daemon"}
            for key, value in _without(awake, said).items():
                builder = builder.config(key, value)
        if given is None:  # of a Java that runs these are as they are
            builder = builder.config("spark.driver.memory", os.environ.get("HEADRACE_DRIVER_MEMORY", "2g"))
            java = f"{JAVA if rows else JAVA_WITHOUT_ROWS} {class_archive.java_options()}"
            builder = builder.config("spark.driver.extraJavaOptions", java)
    for key, value in {**_without(SETTINGS, said), **settings}.items():
        builder = builder.config(key, value)
    level = os.environ.get("HEADRACE_SPARK_LOG")
    with nullcontext() if level else hold_back():
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel(level or "ERROR")
    return spark


def _without(settings: Mapping[str, str], said: Mapping[str, str]) -> dict[str, str]:
    """Our settings, but for those that somebody has chosen."""
    return {key: value for key, value in settings.items() if key not in said}
