"""How many cores Spark's executors have now, and how many they may get.

Spark counts its registered executors itself, so one that was lost or has joined counts at once.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from headrace.coordinator.slot_follower import Capacity
from headrace.state.slot_requests import MOST_SLOTS


def read_capacity(spark: SparkSession) -> Capacity:
    """What Spark has now. Its default parallelism is the cores of its executors, unless somebody has set it; then it is
    reckoned from how many executors there are.
    """
    context = spark.sparkContext
    conf = context.getConf()
    cores, each = max(1, context.defaultParallelism), int(conf.get("spark.executor.cores", None) or 0)
    if str(context.master).split("[")[0] == "local":
        return Capacity(cores, cores)
    executors = context._jsc.sc().getExecutorMemoryStatus().size() - 1  # type: ignore[union-attr]  # less the driver
    if each and (conf.contains("spark.default.parallelism") or executors * each < cores):
        cores = max(1, executors * each)
    each = each or max(1, cores // max(1, executors))
    if conf.get("spark.dynamicAllocation.enabled", "false").lower() != "true":
        return Capacity(cores, cores)
    most = int(conf.get("spark.dynamicAllocation.maxExecutors", None) or MOST_SLOTS)
    return Capacity(cores, max(cores, min(most * each, MOST_SLOTS)))
