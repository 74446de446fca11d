"""On Spark: names that are words of SQL or in other alphabets, nested types, texts of numbers, very long expressions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_kit import drained

START = datetime(2024, 1, 1, tzinfo=UTC)
ROWS = 60
STREAM = """CREATE STREAM `sélect` (`range` TIMESTAMP, `order` INT, 名前 STRING, v INT, f FLOAT,
  st STRUCT<a: INT, `b c`: STRING>, m MAP<STRING, INT>, ar ARRAY<INT>)
  PROGRESSING ON `range` ORDERED FROM 'parquet' OPTIONS (path '{}');
"""


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("names") / "d"
    folder.mkdir()
    numbers = range(ROWS)
    columns = {
        "range": pa.array([START + timedelta(seconds=5 * i) for i in numbers], pa.timestamp("us", "UTC")),
        "order": pa.array([i % 3 for i in numbers], pa.int32()),
        "名前": ["ß" if i % 2 else "Ab" for i in numbers],
        "v": pa.array(numbers, pa.int32()),
        "f": pa.array([i * 13_700_001.0 for i in numbers], pa.float32()),
        "st": pa.array(
            [{"a": i % 2, "b c": "x"} for i in numbers], pa.struct([("a", pa.int32()), ("b c", pa.string())])
        ),
        "m": pa.array([[("x", i)] for i in numbers], pa.map_(pa.string(), pa.int32())),
        "ar": pa.array([[1, None] if i % 4 else [1, 2] for i in numbers], pa.list_(pa.int32())),
    }
    pq.write_table(pa.table(columns), folder / "a.parquet")
    return STREAM.format(folder)


def results(spark: Any, folder: Path, script: str, query: str) -> list[dict[str, Any]]:
    run = drained(spark, folder, script, flush=True)
    rows = run.results(query).arrow().to_pylist()
    return [{k: v for k, v in row.items() if not k.startswith("window")} for row in rows]


@pytest.mark.slow
def test_words_of_sql_and_other_alphabets(spark: Any, stream: str, tmp_path: Path) -> None:
    """Names of streams, queries and columns; what is cast to text and put in upper case is as in Spark."""
    script = (
        stream
        + """CREATE QUERY größe AS SELECT `order`, 名前, count(*) AS `where`, cast(avg(v) AS STRING) AS a,
      cast(max(f) AS STRING) AS f, upper(名前) AS u, min(ar) AS low, max(ar) AS high
      FROM `sélect` [RANGE 5 MINUTES WA `range`] GROUP BY `order`, 名前 HAVING count(*) > 0"""
    )
    found = results(spark, tmp_path / "ck", script, "größe")
    assert len(found) == 6
    table = pq.read_table(stream.split("path '")[1].split("'")[0])
    spark.createDataFrame(table).createOrReplaceTempView("names")
    expected = spark.sql(
        "SELECT `order`, `名前`, count(*) AS `where`, cast(avg(v) AS STRING) AS a, cast(max(f) AS STRING) AS f, "
        "upper(`名前`) AS u, min(ar) AS low, max(ar) AS high FROM names GROUP BY `order`, `名前`"
    )
    key = lambda row: (row["order"], row["名前"])  # noqa: E731
    assert sorted(found, key=key) == sorted((row.asDict() for row in expected.collect()), key=key)


@pytest.mark.slow
def test_fields_and_elements(spark: Any, stream: str, tmp_path: Path) -> None:
    """Fields of structs and elements of maps are keys and arguments; whole structs are values of results."""
    script = (
        stream
        + """CREATE QUERY `from` AS SELECT st.a, max(`sélect`.st.`b c`) AS b, max(m['x']) AS x, max(st) AS st
      FROM `sélect` [RANGE 5 MINUTES] GROUP BY st.a"""
    )
    found = sorted(results(spark, tmp_path / "ck", script, "from"), key=lambda row: row["a"])
    assert found == [
        {"a": 0, "b": "x", "x": 58, "st": {"a": 0, "b c": "x"}},
        {"a": 1, "b": "x", "x": 59, "st": {"a": 1, "b c": "x"}},
    ]


@pytest.mark.slow
def test_long_expressions(spark: Any, stream: str, tmp_path: Path) -> None:
    """Four hundred additions and fifty parentheses, on rows and on results."""
    more, opened, closed = "+1" * 400, "(1+" * 50, ")" * 50
    script = (
        stream
        + f"""CREATE QUERY q AS SELECT v{more} AS k, max(v){more} AS a, {opened}max(v){closed} AS b
      FROM `sélect` [RANGE 5 MINUTES] WHERE {opened}v{closed} > 107 GROUP BY v{more}
      HAVING {opened}max(v){closed} > 108"""
    )
    assert results(spark, tmp_path / "ck", script, "q") == [{"k": 459, "a": 459, "b": 109}]
