"""How much memory a slot's DuckDB may use before it spills.

DuckDB by itself takes up to 80 % of the machine, in every worker. Here the workers of an executor share what the
machine has beside the JVM: on an embedded Spark, 80 % of the memory less the JVM's heap; on a cluster, what Spark is
told to leave for Python (`spark.executor.pyspark.memory`, or the overhead), or else as much as the heap again. Each
core has one worker. `spark.headrace.slot.memory`, like 2g, says it outright.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from pyspark.sql import SparkSession

from headrace.errors import OptionError

KEY = "spark.headrace.slot.memory"
LEAST = 128 << 20
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def find_slot_memory(spark: SparkSession) -> int:
    """Bytes for each slot."""
    conf = spark.sparkContext.getConf()
    if (said := spark.conf.get(KEY, None)) is not None:
        return read_size(said, KEY)
    master = spark.sparkContext.master or ""
    if master.startswith("local") and "cluster" not in master:
        heap = read_size(conf.get("spark.driver.memory", "1g") or "1g", "spark.driver.memory")
        shared = count_memory() * 8 // 10 - heap
        cores = spark.sparkContext.defaultParallelism
    else:
        keys = ("spark.executor.pyspark.memory", "spark.executor.memoryOverhead", "spark.executor.memory")
        found = next(((k, v) for k in keys if (v := conf.get(k, None))), ("spark.executor.memory", "1g"))
        shared = read_size(found[1], found[0], unit="m")
        cores = int(conf.get("spark.executor.cores", "1") or 1)
    return max(LEAST, shared // max(cores, 1))


def read_size(text: str, key: str, unit: str = "") -> int:
    """A size as Spark writes it: a number with a unit like 512m or 2gb."""
    found = re.fullmatch(r"\s*(\d+)\s*([bkmgt]?)b?\s*", text.lower())
    if found is None:
        raise OptionError(f"{key}: expected a size like 512m or 2g, got {text!r}")
    return int(found[1]) * _UNITS[found[2] or unit]


def count_memory() -> int:
    """What this machine, or the container we are in, has."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _LIMITS:
        try:
            text = Path(path).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            total = min(total, int(text))
    return total
