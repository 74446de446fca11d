"""The statements in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import SqlError

if TYPE_CHECKING:
    from headrace.session import Session
    from headrace.sql import Statement


def read_sql(file: Path) -> str:
    """The text of a file of statements."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SqlError(
            f"{file} is not a text in UTF-8: byte {error.start + 1} begins no letter. Save it as UTF-8, and see that it is SQL"
        ) from error
    return text


def read_statements(file: Path, text: str) -> list[Statement]:
    from headrace.sql import parse_script

    found = parse_script(text)
    if not found:
        raise SqlError(f"{file} is empty; expected CREATE STREAM and CREATE QUERY statements")
    return found


def read_session(
    file: Path,
    checkpoint: str | None = None,
    allow_functions: str | None = None,
    partition_by: str | None = None,
    rates_from: str | None = None,
) -> Session:
    """The streams and queries of a file, for commands that start no Spark."""
    from headrace.session import Session
    from headrace.sql import CreateStream
    from headrace.sql.declare import columns_of

    text = read_sql(file)
    for one in read_statements(file, text):
        if isinstance(one, CreateStream):
            columns_of(one)  # without Spark, or not at all
    session = Session(
        checkpoint=checkpoint, allow_functions=allow_functions or (), partition_by=partition_by, rates_from=rates_from
    )
    session.sql(text, base=file.parent)
    return session
