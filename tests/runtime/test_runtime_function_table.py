"""The table of Spark's functions is that of the Spark that runs, and what texts may call of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import PlanError, SqlError
from headrace.logical.spark_functions import REACHES, read_functions
from headrace.runtime.spark_registry import is_registered, list_registry, takes_count
from headrace.testing import LocalRun
from spark_kit import COLUMNS

STREAM = f"CREATE STREAM s ({COLUMNS}) PROGRESSING ON ts ORDERED FROM 'parquet' OPTIONS (path '.');"
AGAIN = "run scripts/make-function-table, read what the new functions reach, and say it in the last column"


def test_the_table_is_that_of_the_running_spark(spark: SparkSession) -> None:
    """A function that is new in Spark, or gone, or of another kind."""
    table = {f.name: f.kind for f in read_functions().values() if f.kind != "operator"}
    registry = {name: kind for name, kind in list_registry(spark).items() if name.isidentifier()}
    assert table == registry, AGAIN


def test_numbers_of_arguments_are_those_of_the_running_spark(spark: SparkSession) -> None:
    """Of every function the smallest and the largest number, and one beyond."""
    wrong = []
    for one in read_functions().values():
        if one.kind in ("operator", "table") or one.name == "cast":  # whose arguments are words
            continue
        for count in sorted({one.least - 1, one.least, *([] if one.most is None else [one.most, one.most + 1])} - {-1}):
            if takes_count(spark, one.name, count) != one.takes_count(count):
                wrong.append((one.name, count))
    assert not wrong, AGAIN


def test_every_function_was_read() -> None:
    """What a function reaches is a word that is explained; none is left unread, and what is known to be a door is none."""
    functions = read_functions()
    assert {f.reaches.partition(":")[0] for f in functions.values()} <= {"", *REACHES}
    assert not [f.name for f in functions.values() if f.reaches == "unread"], AGAIN
    for name in ("java_method", "reflect", "try_reflect", "input_file_name", "current_user", "from_protobuf", "raise_error"):
        assert functions[name].reaches, name
    java = [name for name in functions if "reflect" in name or "java" in name or name.startswith("input_file")]
    assert all(functions[name].reaches for name in java)


@pytest.mark.parametrize("call", ["java_method('java.lang.System', 'getenv', 'HOME')", "input_file_name()", "no_such(k)", "nvl2(k, v)"])
def test_what_is_not_open_is_refused_alike(spark: SparkSession, tmp_path: Path, call: str) -> None:
    """By LocalRun and by a session on Spark, in the same words; no Spark is asked."""
    text = f"SELECT ts, {call} AS x FROM s"
    with pytest.raises(SqlError) as local:
        LocalRun(f"{STREAM} CREATE QUERY q AS {text}")
    session = hr.Session(spark=spark, checkpoint=tmp_path / "ck").sql(STREAM, base=tmp_path)
    with pytest.raises(SqlError) as on_spark:
        session.query("q", text)
    assert str(local.value).splitlines()[0] == str(on_spark.value).splitlines()[0]


def test_types_are_refused_alike(spark: SparkSession, tmp_path: Path) -> None:
    """A condition that is a number is refused with its place by LocalRun, by explain, and by a run before its first batch."""
    script = f"{STREAM}\nCREATE QUERY q AS SELECT ts FROM s WHERE v"
    (tmp_path / "data.parquet").touch()
    said = []
    for do in (
        lambda: LocalRun(script),
        lambda: hr.Session(spark=spark).sql(script, base=tmp_path).explain(),
        lambda: hr.Session(spark=spark, checkpoint=tmp_path / "ck").sql(script, base=tmp_path).start(available_now=True),
    ):
        with pytest.raises(SqlError) as refused:
            do()
        said.append(str(refused.value))
    assert said[0] == said[1] == said[2]
    assert said[0].startswith("query q: WHERE or ON takes a condition, true or false; v is INT\n  line 2: CREATE QUERY q")
    assert not (tmp_path / "ck" / "spark").exists()


def test_the_run_opens_functions_by_name(spark: SparkSession, tmp_path: Path) -> None:
    """Not the text of the set: Session and LocalRun take the names, and only these."""
    text = "SELECT ts, java_method('java.lang.Math', 'abs', 3) AS x FROM s"
    hr.Session(spark=spark, allow_functions="reflect, Java_Method").sql(STREAM, base=tmp_path).query("q", text)
    LocalRun(f"{STREAM} CREATE QUERY q AS {text}", allow_functions=["java_method"])
    with pytest.raises(SqlError, match="--allow-functions java_method"):
        hr.Session(spark=spark, allow_functions=["reflect"]).sql(STREAM, base=tmp_path).query("q", text)


def test_functions_of_the_program_are_open(spark: SparkSession, tmp_path: Path) -> None:
    """What a program registered with its own Spark, and its aggregates, are called as before; not before it registered them."""
    session = hr.Session(spark=spark).sql(STREAM, base=tmp_path)
    with pytest.raises(SqlError, match="there is no function 'twice_it'"):
        session.query("early", "SELECT ts, twice_it(v) AS x FROM s")
    spark.udf.register("twice_it", lambda v: v and 2 * v, "int")
    assert is_registered(spark, "twice_it") and not is_registered(spark, "thrice_it")
    session.query("q", "SELECT ts, twice_it(v) AS x FROM s")
    session.aggregate("histogram_numeric", sub=len, super=sum)  # the name of one of Spark's, which takes two arguments
    session.query("a", "SELECT histogram_numeric(v) AS x FROM s [RANGE 1 MINUTE]")
    spark.sql("DROP TEMPORARY FUNCTION twice_it")


def test_local_run_says_what_it_cannot_compute_on_rows() -> None:
    """LocalRun has no Spark for what DuckDB does not know: an error of the text, not one of DuckDB."""
    run = LocalRun(f"{STREAM} CREATE QUERY q AS SELECT ts, spark_partition_id() AS p FROM s;")
    with pytest.raises(PlanError, match="stream s: LocalRun computes on rows with DuckDB"):
        run.push(s=[(0, "a", 1, 1, None, 1.0, True)])
