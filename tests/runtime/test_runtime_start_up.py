"""What makes a run start fast: workers forked ready, Java's classes kept, no more compiling than is needed."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest

import headrace as hr
from headrace.runtime import class_archive, daemon, spark

HOME = Path(pyspark.__file__).parent
ZIPS = [str(HOME / "python/lib/pyspark.zip"), str(HOME / "python/lib/py4j-0.10.9-src.zip")]


@pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="where threads are not known, workers are Spark's"
)
def test_workers_are_forked_with_everything_loaded(spark: Any) -> None:
    """PySpark comes from the installed, compiled package, and what was loaded is never looked at by a collection."""

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np

        time.sleep(0.5)  # so that one worker does not do both tasks
        found = [sys.modules["pyspark"].__file__, str(gc.get_freeze_count()), str(np.random.rand())]
        for _ in batches:
            yield pa.record_batch([pa.array([f]) for f in found], ["file", "frozen", "chance"])

    looks = spark.range(0, 2, 1, 2).mapInArrow(look, "file string, frozen string, chance string").collect()
    assert {r.file for r in looks} == {pyspark.__file__}
    assert all(int(r.frozen) > 50_000 for r in looks)
    assert len({r.chance for r in looks}) == 2


def test_the_zips_of_an_installed_pyspark_are_left_out() -> None:
    """Only if it is the same one; another Spark's Python stays as Spark has it."""
    installed = str(HOME.parent)
    assert daemon.compiled(["/mine", *ZIPS, installed]) == ["/mine", installed]
    assert daemon.compiled(["/mine", *ZIPS]) == ["/mine", *ZIPS]
    other = "/opt/spark/python/lib/pyspark.zip"
    assert daemon.compiled([other, installed]) == [other, installed]
    assert daemon.compiled([installed, "/users/own.zip"]) == [installed, "/users/own.zip"]


def test_kept_classes_are_used_when_there_are_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They belong to the Python environment, to one Java and to one Spark."""
    monkeypatch.delenv("HEADRACE_CLASS_ARCHIVE", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    found = class_archive.archive()
    assert found is not None
    assert found.parent == tmp_path / "share" / "headrace"
    assert class_archive.java_options() == ""
    found.parent.mkdir(parents=True)
    found.touch()
    assert f'"-XX:SharedArchiveFile={found}"' in class_archive.java_options()
    assert class_archive.prepare() == found
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert class_archive.java_options() == ""


def test_java_optimizes_only_where_it_reads_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark that is started for files that tasks read has no loop over rows."""
    asked: list[bool] = []

    class Started(Exception):
        pass

    def make_session(_: str | None, *, rows: bool) -> None:
        asked.append(rows)
        raise Started

    monkeypatch.setattr(spark, "make_session", make_session)
    stream = "CREATE STREAM {} (t TIMESTAMP) PROGRESSING ON t SLACK 1 SECOND FROM '{}' OPTIONS (path '.')"
    query = "SELECT count(*) AS n FROM s0 [RANGE 1 MINUTE] WHERE {}"
    for formats, where in (
        ([], None),
        (["parquet"], None),
        (["parquet"], "t IS NOT NULL"),
        (["parquet"], "weekday(t) = 1"),
        (["parquet", "csv"], "true"),
    ):
        session = hr.Session()
        for i, kind in enumerate(formats):
            session.sql(stream.format(f"s{i}", kind))
        if where is not None:
            session.query("q", query.format(where))
        with pytest.raises(Started):
            _ = session.spark
    assert asked == [True, True, False, True, True]


@pytest.mark.slow
def test_classes_are_kept_and_replace_those_of_another_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADRACE_CLASS_ARCHIVE", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "an environment"))
    old = tmp_path / "an environment/share/headrace/classes-0.jsa"
    old.parent.mkdir(parents=True)
    old.touch()
    made = class_archive.prepare()
    assert list(old.parent.iterdir()) == [made]
    assert made.stat().st_size > 50_000_000
