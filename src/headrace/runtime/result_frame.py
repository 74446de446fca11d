"""Committed results as a frame of Spark's.

Spark reads it later than it is asked for, so its files are checked twice: here when they are listed, and when they are
read. A file that a query has for itself is read by Spark, page by page; of files that queries share, tasks read the query's
part as everybody else does.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from headrace.coordinator.committed_results import Results, complete_columns
from headrace.sources.source_path import literal
from headrace.state import FilePart, Store
from headrace.state.result_parquet import check_results, read_results

_FILES = 64  # that a task reads


def read_by(session: Callable[[], SparkSession]) -> Callable[[Results], DataFrame]:
    """What reads results by a session that is made when it is needed."""

    def make_frame(results: Results) -> DataFrame:
        spark, store = session(), results.log.store
        parts = results.list_parts()
        for part in parts:
            check_results(store, part.file)
        own = [part for part in parts if part.is_whole]
        shared = [part for part in parts if not part.is_whole]
        schema, root = from_arrow_schema(results.schema), literal(store.uri.rstrip("/"))
        reader = spark.read.schema(schema).option("parquet.page.verify-checksum.enabled", "true")
        frames = [reader.parquet(*(f"{root}/{part.path}" for part in own))] if own else []
        frames += [_read_shared(spark, store, shared, results.schema)] if shared else []
        if not frames:
            return spark.createDataFrame([], schema)
        return frames[0] if len(frames) == 1 else frames[0].union(frames[1])

    return make_frame


def _read_shared(spark: SparkSession, store: Store, parts: list[FilePart], schema: pa.Schema) -> DataFrame:
    """The rows of parts, each read by a task."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in (pickle.loads(one) for batch in batches for one in batch.column(0).to_pylist()):
            yield from complete_columns(read_results(store, part), schema).cast(schema).to_batches()

    listed = spark.createDataFrame([(pickle.dumps(part),) for part in parts], "part BINARY")
    tasks = listed.repartition(max(1, len(parts) // _FILES))
    return tasks.mapInArrow(read, from_arrow_schema(schema))
