"""Committed results as a frame of Spark's.

Spark reads it later than it is asked for, so its files are checked twice: here when they are listed, and by Spark, page by
page, when it reads them.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from headrace.coordinator.committed_results import Results
from headrace.sources.source_path import literal
from headrace.state.result_parquet import check_results


def read_by(session: Callable[[], SparkSession]) -> Callable[[Results], DataFrame]:
    """What reads results by a session that is made when it is needed."""

    def make_frame(results: Results) -> DataFrame:
        spark, store = session(), results.log.store
        schema, root = from_arrow_schema(results.schema), literal(store.uri.rstrip("/"))
        files = results.list_files()
        for file in files:
            check_results(store, file)
        paths = [f"{root}/{file.path}" for file in files]
        reader = spark.read.schema(schema).option("parquet.page.verify-checksum.enabled", "true")
        return reader.parquet(*paths) if paths else spark.createDataFrame([], schema)

    return make_frame
