"""What to do about a source that Spark does not have, or that is no stream."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from headrace.logical.source_formats import TABLES_ONLY

_OF_SPARK = {  # packages that come with each Spark, under its version
    "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13",
    "avro": "org.apache.spark:spark-avro_2.13",
}


def advise_source(format_: str) -> str:
    """What to do when Spark has no such source."""
    name = format_.lower()
    if name in TABLES_ONLY:
        return f"{format_!r} is read in one go and is no stream: declare it with CREATE TABLE … FROM {format_!r}"
    said = f"Spark has no source {format_!r}. "
    if name in _OF_SPARK:
        return said + (
            f"It is a package: headrace run --packages {_OF_SPARK[name]}:{_spark_version()}. Where there is none for this "
            "Spark, give the jars of another with --jars (docs/sources.md says which were tried)"
        )
    return said + (
        "One that is a package comes with headrace run --packages GROUP:ARTIFACT:VERSION or --jars FILE; one written in "
        "Python is registered with a Spark session that is given to Session (spark.dataSource.register)"
    )


def _spark_version() -> str:
    try:
        return version("pyspark")
    except PackageNotFoundError:
        return "VERSION"
