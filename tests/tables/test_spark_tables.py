"""Static tables on Spark: files and DataFrames, types and headers, a refresh between batches, a restart."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import SourceError
from headrace.program.limits import Limits
from spark_kit import drained, events, multiset, stream_sql, write, write_batches

TABLE = "CREATE TABLE t (name STRING, k STRING) FROM 'csv' OPTIONS (path '{}', header 'true') REFRESH EVERY 1 SECOND;"
QUERIES = """
CREATE QUERY q AS SELECT s.v, t.name FROM s JOIN t ON s.k = t.k;
CREATE QUERY n AS SELECT t.name, count(*) AS n FROM s [RANGE 1 MINUTE] LEFT JOIN t ON s.k = t.k GROUP BY t.name;
"""


def write_table(path: Path, names: dict[str, str]) -> None:
    """A CSV file whose columns are in another order than they are declared in, and one more."""
    lines = ["k,more,name", *(f"{k},0,{name}" for k, name in names.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_csv_table_is_refreshed_between_batches_and_at_a_restart(spark: Any, tmp_path: Path) -> None:
    """Each batch is joined with the table as it was read last; a second run reads it anew, and nothing is there twice."""
    rows = events(120, seconds=300, disorder=2)
    write_batches(tmp_path / "s", rows[:90], 3)
    table = tmp_path / "t.csv"
    versions = [{"a": f"{i}", "b": f"{i}{i}", "x": "nobody"} for i in range(4)]
    write_table(table, versions[0])
    script = stream_sql("s", tmp_path / "s") + TABLE.format(table) + QUERIES
    done = []

    def change(report: Any) -> None:
        done.append(report)
        write_table(table, versions[len(done)])
        time.sleep(1.1)

    drained(spark, tmp_path / "ck", script, on_batch=change)
    assert len(done) == 3
    write(tmp_path / "s", rows[90:], 3)
    run = drained(spark, tmp_path / "ck", script, flush=True)
    batches = [rows[i : i + 30] for i in range(0, 120, 30)]
    expected = Counter(
        (r["v"], version[r["k"]])
        for batch, version in zip(batches, versions, strict=True)
        for r in batch
        if r["k"] in version
    )
    assert multiset(run.results("q").arrow()) == expected
    found = run.results("n").arrow().to_pylist()
    assert sum(r["n"] for r in found) == 120
    assert sum(r["n"] for r in found if r["name"] is not None) == expected.total()


def test_tables_from_python_parquet_and_the_catalog(spark: Any, tmp_path: Path) -> None:
    """A DataFrame, files with columns of their own and a view of Spark's catalog are tables alike."""
    write_batches(tmp_path / "s", rows := events(40), 1)
    frame = spark.createDataFrame([("a", 1), ("b", 2)], "k STRING, x INT")
    frame.write.parquet(str(tmp_path / "files"))
    frame.createOrReplaceTempView("known_keys")
    session = hr.Session(spark, checkpoint=tmp_path / "ck").table("given", frame).table("made", lambda: frame, refresh="1 hour")
    session.sql(stream_sql("s", tmp_path / "s"))
    session.sql(f"CREATE TABLE files FROM 'parquet' OPTIONS (path '{tmp_path / 'files'}')")
    session.sql("CREATE TABLE known (k STRING, x BIGINT) FROM 'table' OPTIONS (name 'known_keys')")
    for name in ("given", "made", "files", "known"):
        session.query(f"q_{name}", f"SELECT s.v, t.x FROM s JOIN {name} t ON s.k = t.k")
    run = session.start(available_now=True)
    run.wait()
    expected = Counter((r["v"], {"a": 1, "b": 2}[r["k"]]) for r in rows if r["k"] in ("a", "b"))
    for name in ("given", "made", "files", "known"):
        assert multiset(run.results(f"q_{name}").arrow()) == expected, name
    with pytest.raises(SourceError, match="table bad: expected a batch DataFrame"):
        session.table("bad", spark.readStream.format("rate").load())
    with pytest.raises(SourceError, match="table gone: there is nothing at"):
        session.sql("CREATE TABLE gone FROM 'csv' OPTIONS (path 'no/such.csv')")


def test_versions_at_a_time_and_a_table_on_spark(spark: Any, tmp_path: Path) -> None:
    """On Spark, too, each row has the last version of its key that is not later, and after a lookup its name."""
    rows, versions = events(60, seconds=300, disorder=5), events(60, seconds=300, disorder=5, seed=2)
    write_batches(tmp_path / "s", rows, 2)
    write_batches(tmp_path / "r", versions, 3)
    write_table(tmp_path / "t.csv", {"a": "one", "b": "two"})
    query = """
    CREATE QUERY q AS SELECT s.ts, s.v, r.x, t.name FROM s
      LEFT JOIN r FOR SYSTEM_TIME AS OF s.ts AS r ON s.k = r.k JOIN t ON t.k = s.k;
    """
    script = stream_sql("s", tmp_path / "s") + stream_sql("r", tmp_path / "r") + TABLE.format(tmp_path / "t.csv") + query
    run = drained(spark, tmp_path / "ck", script, flush=True)
    expected: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        if row["k"] in ("a", "b"):
            known = [v for v in versions if v["k"] == row["k"] and v["ts"] <= row["ts"]]
            found = max(known, key=lambda v: v["ts"])["x"] if known else None
            expected[(row["ts"], row["v"], found, {"a": "one", "b": "two"}[row["k"]])] += 1
    table = run.results("q").arrow()
    assert Counter(tuple(r.values()) for r in table.to_pylist()) == expected


def test_a_table_of_csv_files_in_different_order(spark: Any, tmp_path: Path) -> None:
    """Each file of a table is matched by its own header, as those of a stream are."""
    write(tmp_path / "s", [{"ts": r["ts"], "k": k, "v": 1} for r, k in zip(events(2), "ab", strict=True)])
    (tmp_path / "t").mkdir()
    write_table(tmp_path / "t" / "1 %20.csv", {"a": "Anna"})
    (tmp_path / "t" / "2.csv").write_text("name,k\nBert,b\n")
    script = stream_sql("s", tmp_path / "s") + TABLE.format(tmp_path / "t") + QUERIES
    assert multiset(drained(spark, tmp_path / "ck", script).results("q").arrow()) == {(1, "Anna"): 1, (1, "Bert"): 1}


DIVIDED = {
    "inner_days": "SELECT s.v, t.name FROM s JOIN t ON s.day = t.day AND s.v = t.n",
    "left_prices": "SELECT s.price, t.name FROM s LEFT JOIN t ON s.price = t.price",
    "semi": "SELECT s.v FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.n = s.v)",
    "anti": "SELECT s.v, s.k FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.price = s.price)",
    "doubles": "SELECT s.v, t.name FROM s JOIN t ON s.v / 2 = t.half",
    "counted": "SELECT t.name, count(*) AS n FROM s JOIN t ON s.v = t.n GROUP BY t.name",
}


@pytest.mark.parametrize("limit", ["1k", pytest.param(None, marks=pytest.mark.slow)])
def test_a_large_table_is_divided_in_tasks_and_answers_as_spark_does(
    spark: Any, tmp_path: Path, limit: str | None
) -> None:
    """Days, prices and numbers of another type as keys, in a table of several files; the whole run equals a join of Spark."""
    write_batches(tmp_path / "s", rows := events(300, seconds=300), 2)
    frame = spark.sql("""
        SELECT date_add(DATE '2024-03-01', CAST(id % 25 AS INT)) AS day, id % 60 - 20 AS n, concat('name ', id) AS name,
          CAST(id - 1000 AS DECIMAL(12, 1)) AS price, CAST(id % 40 AS FLOAT) / 2 AS half FROM range(0, 3000, 1, 3)""")
    frame.write.parquet(str(tmp_path / "t"))
    table = f"CREATE TABLE t FROM 'parquet' OPTIONS (path '{tmp_path / 't'}');"
    window = {"counted": DIVIDED["counted"].replace("FROM s", "FROM s [RANGE 1 DAY]")}
    script = stream_sql("s", tmp_path / "s") + "".join(f"CREATE QUERY {n} AS {q};\n" for n, q in (DIVIDED | window).items())
    if limit is not None:
        spark.conf.set("spark.headrace.table.broadcast", limit)
    try:
        started = hr.Session(spark, checkpoint=tmp_path / "ck", slots=2, limits=Limits(piece_bytes=20_000))  # several ranges
        started.sql(table + script)
        run = started.start(available_now=True, flush=True)
        run.wait()
    finally:
        spark.conf.unset("spark.headrace.table.broadcast")
    (version,) = run.manifest.tables.values()
    assert (version.divided, version.rows) == (limit is not None, 3000)
    assert len({file.copy for file in version.files}) == (4 if limit is not None else 1)
    assert len(version.files) > 4 or limit is None
    assert sorted(run.driver.store.list("tables")) == sorted(version.paths)  # no piece is left
    spark.read.parquet(str(tmp_path / "s")).createOrReplaceTempView("s")
    frame.createOrReplaceTempView("t")
    for name, query in DIVIDED.items():
        found, expected = run.results(name).arrow(), spark.sql(query).toArrow()
        assert multiset(found, expected.column_names) == multiset(expected), name
    assert len(rows) == 300
