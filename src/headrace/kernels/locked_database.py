"""Every DuckDB that computes for users: it has the tables it is given, and no way out of them.

What users write comes into SQL through `dialect/sql_quotes.py` only. This is the second wall, should something ever get
through: a locked database opens no file and no address, attaches nothing, installs and loads no extension, does not see
variables of Python as tables, and none of that can be set otherwise, since the configuration is locked. Workers need no
more: Arrow reads and writes their files, and relations are registered. The one folder DuckDB may use is the one it is
told to spill into; files that it is meant to read are named one by one.

What is set here stays as it is: other settings are another database, which takes some 10 ms to open.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from headrace.dialect.sql_quotes import quote_text

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": "1",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}


def open_locked_database(
    time_zone: str = "UTC",
    memory: int | None = None,
    spill: str | None = None,
    files: Sequence[str] = (),
) -> duckdb.DuckDBPyConnection:
    """A database in memory that divides by zero as Spark does. Beyond `memory` bytes it spills into the folder `spill`;
    without one it does not. It may read `files`, paths or patterns, exactly as they are written here.
    """
    config = _SETTINGS | {"temp_directory": spill or ""}
    if memory is not None:
        config["memory_limit"] = f"{memory}B"
    con = duckdb.connect(config=config)
    con.execute("SET GLOBAL error_on_division_by_zero = false; SET GLOBAL preserve_insertion_order = false")  # of cursors too
    con.execute(f"SET GLOBAL TimeZone = {quote_text(time_zone)}; SET enable_progress_bar = false")
    if files:
        con.execute(f"SET allowed_paths = [{', '.join(map(quote_text, files))}]")
    con.execute("SET enable_external_access = false; SET lock_configuration = true")
    return con
