"""What is said of sources and starts that fail: where, what was expected, what came, and what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import headrace as hr
from headrace.errors import SourceError
from headrace.kernels.scan import _explain_unreadable
from headrace.runtime.open_source import explain_source
from headrace.runtime.spark_faults import explain_error
from headrace.runtime.start_faults import explain_start
from headrace.sources.source_advice import advise_source

IVY = """
:: loading settings :: url = jar:file:/opt/ivysettings.xml
\t\t::          UNRESOLVED DEPENDENCIES         ::
Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: org.apache.spark#spark-avro_2.13;9.9.9: not found]
\tat org.apache.spark.util.MavenUtils$.resolveMavenCoordinates(MavenUtils.scala:547)
\tat org.apache.spark.deploy.SparkSubmit.main(SparkSubmit.scala)
"""
MEMORY = """
WARNING: Using incubator modules: jdk.incubator.vector
Error: A fatal exception has occurred.
java.lang.IllegalArgumentException: System memory 1 must be at least 2. Please use 3.
\tat org.apache.spark.memory.UnifiedMemoryManager$.getMaxMemory(UnifiedMemoryManager.scala:1)
"""


def test_packages_that_cannot_be_resolved_are_named() -> None:
    """The line that says it, as coordinates, and not the stack below."""
    said = str(explain_start(RuntimeError("JAVA_GATEWAY_EXITED"), IVY))
    assert "--packages names what cannot be found: org.apache.spark:spark-avro_2.13:9.9.9" in said
    assert "SparkSubmit" not in said


def test_a_start_that_fails_shows_what_was_thrown() -> None:
    """Java's stack is not in it."""
    said = str(explain_start(RuntimeError("gone"), MEMORY))
    assert "System memory 1 must be at least 2" in said
    assert "UnifiedMemoryManager" not in said


def test_a_start_that_says_nothing_known_shows_its_last_lines() -> None:
    """Six of them."""
    said = str(explain_start(RuntimeError("gone"), "\n".join(f"line {i}" for i in range(9))))
    assert said.splitlines() == ["Spark did not start: gone", *(f"  line {i}" for i in range(3, 9))]


@pytest.mark.parametrize(
    ("format_", "said"),
    [
        ("kafka", r"headrace run --packages org\.apache\.spark:spark-sql-kafka-0-10_2\.13:\d"),
        ("avro", r"headrace run --packages org\.apache\.spark:spark-avro_2\.13:\d"),
        ("jdbc", "no stream: declare it with CREATE TABLE … FROM 'jdbc'"),
        ("delta", "--packages GROUP:ARTIFACT:VERSION or --jars FILE"),
    ],
)
def test_a_source_that_spark_does_not_have(format_: str, said: str) -> None:
    """Spark's own packages by their coordinates; what is no stream as a table; others in general."""
    assert re.search(said, advise_source(format_))
    missing = RuntimeError("[DATA_SOURCE_NOT_FOUND] Failed to find the data source")
    assert advise_source(format_) in str(explain_source("stream s", format_, missing))


def test_a_stream_of_jdbc_is_refused_before_spark_starts() -> None:
    """It is a table."""
    session = hr.Session().sql("CREATE STREAM s (ts TIMESTAMP) PROGRESSING ON ts ORDERED FROM 'jdbc'; CREATE QUERY q AS SELECT ts FROM s;")
    with pytest.raises(SourceError, match="stream s: 'jdbc' is read in one go"):
        session.check()


def test_a_database_without_a_driver() -> None:
    """The jar and the option."""
    said = str(explain_source("table t", "jdbc", RuntimeError("java.sql.SQLException: No suitable driver\n\tat java.sql")))
    assert said.startswith("table t: Spark has no driver for this database: java.sql.SQLException: No suitable driver.")
    assert "--jars FILE" in said
    assert "OPTIONS (driver" in said


def test_a_path_to_one_file_is_refused(tmp_path: Path) -> None:
    """With the pattern to write; for a table one file is right."""
    (tmp_path / "rows.csv").write_text("2024-01-01\n")
    session = hr.Session()
    session.sql(
        "CREATE STREAM s (ts TIMESTAMP) PROGRESSING ON ts ORDERED FROM 'csv' OPTIONS (path 'rows.csv'); "
        "CREATE QUERY q AS SELECT ts FROM s;",
        base=tmp_path,
    )
    with pytest.raises(SourceError, match=r"rows.csv is a file, and a stream reads a folder.*OPTIONS \(path '\*\.csv'\)"):
        session.check()
    other = hr.Session().sql(
        "CREATE STREAM s (ts TIMESTAMP) PROGRESSING ON ts ORDERED FROM 'csv' OPTIONS (path '*.csv'); "
        "CREATE TABLE t (k STRING) FROM 'csv' OPTIONS (path 'rows.csv'); CREATE QUERY q AS SELECT s.ts FROM s JOIN t ON t.k = s.ts;",
        base=tmp_path,
    )
    other.check()


def test_a_corrupt_file_and_where_to_read_on() -> None:
    """Both readers name the page; neither advises to lose rows."""
    spark = explain_error(RuntimeError("[FAILED_READ_FILE.NO_HINT] Encountered error while reading file:/x/a.parquet"), 3)
    for error in (spark, _explain_unreadable("/x/a.parquet", OSError("Parquet magic bytes not found in footer"))):
        assert "a.parquet" in str(error)
        assert "docs/operations.md" in str(error)
        assert "ignoreCorruptFiles" not in str(error)
