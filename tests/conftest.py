"""What tests share: one Spark for the whole run, and its streams stopped after every test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """Nothing here has to survive a power cut: this process does not flush files. Spark's workers do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session")
def spark_session() -> Iterator[SparkSession]:
    """Embedded Spark on two cores, started by the first test that asks for it."""
    from headrace.runtime.spark import make_session

    spark = make_session("local[2]", rows=False, **{"spark.sql.shuffle.partitions": "2"})
    yield spark
    spark.stop()


@pytest.fixture
def spark(spark_session: SparkSession) -> Iterator[SparkSession]:
    """The shared Spark; a test that leaves a streaming query running fails."""
    yield spark_session
    left = spark_session.streams.active
    for query in left:
        query.stop()
    assert not left, "the test left a streaming query running"
