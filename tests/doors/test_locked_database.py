"""The databases that compute for users have no way out, and no other ones are opened."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from headrace.kernels import connection
from headrace.kernels.locked_database import open_locked_database
from headrace.physical.scratch_database import open_scratch
from headrace.testing import LocalRun

SOURCE = Path(__file__).parent.parent.parent / "src" / "headrace"
KINDS = ("worker", "spilling worker", "planner", "local run", "reader of bounds")
HERE = pa.table({"a": [1]})
WAYS_OUT = (
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM read_blob('{file}')",
    "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM read_json('{file}')",
    "SELECT * FROM read_parquet('{file}')",
    "SELECT * FROM '{file}'",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM sniff_csv('{file}')",
    "SELECT * FROM read_text('{folder}/spill/../secret')",
    "SELECT * FROM read_text('https://example.org/')",
    "SELECT * FROM parquet_metadata('{file}')",
    "COPY (SELECT 1) TO '{folder}/out.csv'",
    "COPY (SELECT 1) TO '{folder}/out.parquet'",
    "EXPORT DATABASE '{folder}/out'",
    "IMPORT DATABASE '{folder}'",
    "ATTACH '{folder}/other.db'",
    "ATTACH '{folder}/other.db' AS o (READ_ONLY)",
    "INSTALL httpfs",
    "INSTALL '{file}'",
    "LOAD httpfs",
    "LOAD '{file}'",
    "SELECT sql_auto_complete('x')",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET GLOBAL allowed_directories = ['/']",
    "SET allowed_paths = ['{file}']",
    "SET temp_directory = '{folder}'",
    "SET memory_limit = '1TB'",
    "SET TimeZone = 'Asia/Tokyo'",
    "SET SESSION TimeZone = 'Asia/Tokyo'",
    "RESET TimeZone",
    "SET python_enable_replacements = true",
    "SET autoload_known_extensions = true",
    "SET profiling_output = '{folder}/profile'",
    "PRAGMA enable_profiling",
    "CALL enable_logging(storage_path = '{folder}/log')",
    "SELECT getenv('HOME')",
    "SELECT * FROM HERE",
    "SELECT * FROM local_rows",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM duckdb_extensions()",
    "CREATE PERSISTENT SECRET s (TYPE s3)",
)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text("a\n1\n")
    return file


@pytest.fixture(params=KINDS)
def con(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The very connections the product uses."""
    connection.reset()
    if request.param == "worker":
        yield connection.connect()
    elif request.param == "spilling worker":
        yield connection.connect(memory=64 << 20, scratch=str(tmp_path / "scratch"))
    elif request.param == "planner":
        yield open_scratch()
    elif request.param == "local run":
        yield LocalRun("CREATE STREAM a (t INT) PROGRESSING ON t ORDERED FROM 'memory'; CREATE QUERY q AS SELECT t FROM a")._con
    else:
        (tmp_path / "bounds.csv").write_text("bound\n1\n")
        yield open_locked_database(files=[str(tmp_path / "bounds.csv")])
    connection.reset()


@pytest.mark.parametrize("sql", WAYS_OUT)
def test_there_is_no_way_out(con: duckdb.DuckDBPyConnection, sql: str, secret: Path) -> None:
    """No file, address, extension, setting or variable is reached by SQL."""
    local_rows = HERE
    before = {path: path.read_bytes() for path in secret.parent.iterdir() if path.is_file()}
    with pytest.raises(duckdb.Error):
        con.sql(sql.format(file=secret, folder=secret.parent)).fetchall()
    assert {path: path.read_bytes() for path in secret.parent.iterdir() if path.is_file()} == before
    assert local_rows is HERE


def test_they_are_what_spark_is(con: duckdb.DuckDBPyConnection) -> None:
    """UTC unless the run says otherwise, NULL for a division by zero, one thread; and tables can be given to them."""
    con.register("given", HERE)
    assert con.sql("SELECT current_setting('TimeZone'), 1 // 0, current_setting('threads'), a FROM given").fetchall() == [
        ("UTC", None, 1, 1)
    ]
    con.unregister("given")


def test_other_settings_are_another_connection(tmp_path: Path) -> None:
    """A worker keeps its connection from task to task, and opens another one for a run that differs."""
    connection.reset()
    first = connection.connect("Asia/Tokyo", memory=64 << 20, scratch=str(tmp_path))
    assert connection.connect("Asia/Tokyo", memory=64 << 20, scratch=str(tmp_path)) is first
    second = connection.connect("UTC", memory=64 << 20, scratch=str(tmp_path))
    assert second is not first
    assert second.sql("SELECT current_setting('TimeZone')").fetchall() == [("UTC",)]
    connection.reset()


def test_only_here_a_database_is_opened() -> None:
    """A new duckdb.connect, or a query of DuckDB's own default database, would stand beside the wall. What generates test
    data runs no text of a user.
    """
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "duckdb":
                found.add((str(path.relative_to(SOURCE)), called.attr))
            if isinstance(node, ast.ImportFrom) and node.module == "duckdb":
                found |= {(str(path.relative_to(SOURCE)), alias.name) for alias in node.names}
    assert found == {("kernels/locked_database.py", "connect"), ("generate/files.py", "connect")}


def test_quotes_are_written_in_one_place() -> None:
    """Whoever doubles quotes by hand has found a place that does not use `dialect/sql_quotes.py`."""
    doubled = ("""replace("'", "''")""", """replace('"', '""')""", """replace("`", "``")""", """replace('`', '``')""")
    found = {
        str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if any(how in path.read_text() for how in doubled)
    }
    assert found == {"dialect/sql_quotes.py", "generate/files.py"}
