"""Which Spark a session runs on: the one that is there, else the one that is asked for.

A script that spark-submit starts has its Java beside it, with the master and the settings of the command line; a process
that has a SparkContext already keeps that one. Both are obeyed to the letter, as plain PySpark does, and another master
asked of Headrace is refused: Spark would take no notice of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from pyspark import SparkConf, SparkContext

from headrace.errors import OptionError

_DEFAULT = "local[*]"


def read_given_settings() -> dict[str, str] | None:
    """The settings of the SparkContext that runs, or of spark-submit; None if we are to start Spark."""
    if (running := SparkContext._active_spark_context) is not None:
        return dict(running.getConf().getAll())
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # how spark-submit tells a script where its Java is
        return None
    SparkContext._ensure_initialized()  # type: ignore[attr-defined]
    return dict(SparkConf().getAll())


def choose_master(asked: str | None, environment: str | None, given: Mapping[str, str] | None) -> str:
    """The master, if a session asks for one, HEADRACE_MASTER may name one, and Spark may be there with `given` settings."""
    if given is None:
        return retry_tasks(asked or environment or _DEFAULT)
    there = given.get("spark.master")
    if there is None:
        return asked or environment or _DEFAULT
    if asked is not None and there not in (asked, retry_tasks(asked)):
        raise OptionError(
            f"master {asked}: this process has a Spark already, on {there}, from spark-submit or from a session made before. "
            "Leave the master out to run there, or name this one to spark-submit --master"
        )
    return there


def retry_tasks(master: str) -> str:
    """An embedded master that does a failed task again, as a cluster would: a lost worker must not end a run."""
    cores = re.fullmatch(r"local(?:\[(\d+|\*)\])?", master)
    return f"local[{cores[1] or 1},4]" if cores else master
