"""Which sources a Spark that is not started yet will have.

Spark finds sources by the registrations in its jars, by names that a Python program gives it, and in packages it is told
to fetch. Where none of these can add any, the built-in ones are all there will be, and another name can be refused
before Java starts. Where anything could add one, nothing is said: Spark knows.
"""

from __future__ import annotations

import os
import pkgutil
import sys
import zipfile
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

BUILT_IN = frozenset(
    ("parquet", "csv", "json", "orc", "text", "binaryfile", "xml", "image", "libsvm", "rate", "rate-micro-batch", "socket")
)
_REGISTRATION = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
_OWN = ("org.apache.spark.sql.execution.", "org.apache.spark.ml.", "org.apache.spark.sql.hive.")
_ADDING = ("jars", "packages", "classpath", "repositories", "pyfiles")


def is_surely_missing(format_: str, settings: Mapping[str, str]) -> bool:
    """Whether a Spark started here with these settings will have no such source."""
    name = format_.lower()
    if name in BUILT_IN or "." in name or any(word in key.lower() for key in settings for word in _ADDING):
        return False
    return not _has_defaults() and not _has_session() and not _has_python_sources() and not _has_more_jars()


def _has_defaults() -> bool:
    """Whether settings come from elsewhere."""
    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(_spark_home(), "conf")
    told = os.environ.get("PYSPARK_SUBMIT_ARGS", "") + os.environ.get("SPARK_CLASSPATH", "")
    return bool(told) or os.path.exists(os.path.join(folder, "spark-defaults.conf"))


def _has_session() -> bool:
    """Whether a Spark runs already, which may have been given sources."""
    pyspark = sys.modules.get("pyspark")
    return pyspark is not None and pyspark.SparkContext._active_spark_context is not None


def _has_python_sources() -> bool:
    """Whether there are modules in which Spark looks for Python data sources."""
    return any(module.name.startswith("pyspark_") for module in pkgutil.iter_modules())


def _has_more_jars() -> bool:
    jars = Path(_spark_home()) / "jars"
    return not jars.is_dir() or any(not one.startswith(_OWN) for one in _registered(str(jars)))


@cache
def _registered(folder: str) -> frozenset[str]:
    """The classes that jars register as sources."""
    found: set[str] = set()
    for jar in Path(folder).glob("*.jar"):
        try:
            with zipfile.ZipFile(jar) as archive:
                found.update(_class_names(archive.read(_REGISTRATION).decode().splitlines()))
        except (KeyError, OSError, zipfile.BadZipFile):
            continue
    return frozenset(found)


def _class_names(lines: Iterable[str]) -> Iterable[str]:
    return (name for line in lines if (name := line.partition("#")[0].strip()))


def _spark_home() -> str:
    spec = find_spec("pyspark")
    inside = os.path.dirname(spec.origin) if spec is not None and spec.origin else ""
    return os.environ.get("SPARK_HOME") or inside
