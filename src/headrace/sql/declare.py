"""What a stream may declare: its columns, and an attribute that makes progress; and what a table may."""

from __future__ import annotations

import re
from collections.abc import Mapping

from headrace.errors import HeadraceError, SqlError
from headrace.logical.graph import WINDOW_COLUMNS, StaticTable, Stream
from headrace.logical.option_texts import check_reference, says_which_rows
from headrace.logical.source_formats import FILE_FORMATS, MALFORMED, is_option_of_files, known_columns
from headrace.progress import ByGroup, Ordered, Punctuated, Slack, SlackRows
from headrace.sql.error_places import suggest
from headrace.sql.names import is_column_name
from headrace.sql.statements import CreateStream, CreateTable, ProgressClause
from headrace.windows import LONGEST, spell_longest, ticks
from headrace.windows.duration import parse_length

INTERNAL = {"_ws", "_we", "_row", "_reason", MALFORMED}  # names of columns that only the program has
_DECIMAL = re.compile(r"\b(?:decimal|dec|numeric)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", re.IGNORECASE)
_INTEGERS = {"tinyint", "smallint", "int", "bigint", "byte", "short", "integer", "long"}
_GROUPS = {*_INTEGERS, "string", "boolean"}
_PROGRESSING = ("TIMESTAMP", "TIMESTAMP_NTZ", "DATE", "INT", "BIGINT")
_TIMES = {"timestamp", "timestamp_ltz", "timestamp_ntz", "date"}


def columns_of(statement: CreateStream) -> tuple[tuple[str, str], ...]:
    """The columns of a stream: those it lists, or those its source is known to have."""
    if statement.columns:
        return tuple((c.name, c.type) for c in statement.columns)
    if found := known_columns(statement.format, statement.options):
        return found
    who = "nobody" if statement.format.lower() in FILE_FORMATS else "only Spark"
    raise SqlError(
        f"stream {statement.name}: {who} knows beforehand which columns a {statement.format!r} source has; list those that are "
        f"read: CREATE STREAM {statement.name} (column TYPE, …)"
    )


def asks_spark(statement: CreateStream) -> bool:
    """Whether only Spark can tell the columns of a stream."""
    known = statement.columns or known_columns(statement.format, statement.options)
    return not known and statement.format.lower() not in FILE_FORMATS


def declared_stream(
    name: str, columns: tuple[tuple[str, str], ...], on: str, progress: ProgressClause
) -> Stream:
    """The stream, if it can be one."""
    _check_columns(f"stream {name}", columns)
    known = {c.lower(): (c, t) for c, t in columns}
    if on.lower() not in known:
        raise SqlError(
            f"stream {name}: the progressing attribute {on!r} is not a column."
            + suggest(on, [c for c, _ in columns])
        )
    column, type_ = known[on.lower()]
    unit = _unit_of(type_)
    if unit is None:
        raise SqlError(
            f"stream {name}: {column} is {type_}, but a progressing attribute is a TIMESTAMP, a DATE "
            "or an integer" + ("." + near if "mean" in (near := suggest(type_, _PROGRESSING)) else "")
        )
    groups = tuple(_group_column(name, column, known) for column in progress.groups)
    if doubled := {g for g in groups if groups.count(g) > 1}:
        raise SqlError(f"stream {name}: {sorted(doubled)[0]} is named twice among the columns of its groups")
    try:
        policy = _policy(progress, unit)
        ahead = ticks(progress.horizon, unit) if progress.horizon is not None else None  # type: ignore[arg-type]
        idle = _idle(progress, unit, column, type_)
    except HeadraceError as e:
        raise SqlError(f"stream {name}: {e}") from e
    if ahead is None and unit == "us":
        ahead = ticks("1 day", "us")
    return Stream(
        name,
        columns,
        column,
        unit,
        ByGroup(policy) if groups else policy,
        ahead,
        mark=progress.by,
        marks_are_data=progress.data,
        beside=progress.beside,
        groups=groups,
        idle=idle,
    )


def declared_table(statement: CreateTable) -> StaticTable:
    """The table, if it can be one."""
    what = f"table {statement.name}"
    if not statement.columns:
        raise SqlError(f"{what}: only Spark can tell its columns here; list them: CREATE TABLE {statement.name} (column TYPE, …)")
    columns = tuple((c.name, c.type) for c in statement.columns)
    _check_columns(what, columns)
    check_options(what, statement.format, statement.options)
    return StaticTable(
        statement.name,
        columns,
        statement.format,
        tuple(statement.options.items()),
        refresh_ticks(what, statement.refresh),
    )


def check_options(what: str, format_: str, options: Mapping[str, str]) -> None:
    """Refuse references that cannot be filled in, or not in time."""
    for option, value in options.items():
        check_reference(what, option, value, says_which_rows(option) or is_option_of_files(format_, option))


def refresh_ticks(what: str, words: str | None) -> int | None:
    """The time between two readings of a table, in microseconds."""
    if words is None:
        return None
    try:
        found = parse_length("REFRESH EVERY", words)
    except HeadraceError as e:
        raise SqlError(f"{what}: {e}") from e
    if found <= 0:
        raise SqlError(f"{what}: REFRESH EVERY must be longer than nothing, got {words}")
    return found


def _check_columns(what: str, columns: tuple[tuple[str, str], ...]) -> None:
    lowered = [c.lower() for c, _ in columns]
    if doubled := {c for c in lowered if lowered.count(c) > 1}:
        raise SqlError(f"{what}: column {sorted(doubled)[0]!r} is declared twice")
    if bad := [c for c, _ in columns if not is_column_name(c) or c.lower() in INTERNAL]:
        raise SqlError(f"{what}: {bad[0]!r} cannot be the name of a column; rename it in the source")
    for column, type_ in columns:
        for precision, scale in _DECIMAL.findall(type_):
            if not 1 <= int(precision) <= 38 or int(scale or 0) > int(precision):
                raise SqlError(f"{what}: {column} is {type_}; a DECIMAL has 1 to 38 digits, and no more of them behind the point")
    if reserved := set(lowered) & set(WINDOW_COLUMNS):
        raise SqlError(f"{what}: {sorted(reserved)[0]!r} is the name of a result column; rename it")


def _policy(progress: ProgressClause, unit: str) -> Slack | Ordered | SlackRows | Punctuated:
    if progress.beside is not None and ":" in progress.beside.removeprefix("file:"):
        raise SqlError(
            f"PUNCTUATED FROM {progress.beside!r}: a text does not import code. Register the function in Python, "
            "session.bounds('name', function), and write PUNCTUATED FROM 'name'; or name a table, a file or a folder"
        )
    if progress.by is not None or progress.beside is not None:
        return Punctuated()
    if progress.rows is not None:
        return SlackRows(progress.rows)
    if progress.slack is None:
        return Ordered()
    bound = ticks(progress.slack, unit)  # type: ignore[arg-type]
    if bound < 0:
        raise SqlError(f"SLACK must not be negative, got {progress.slack}; 0 means an ordered stream")
    if bound > LONGEST:
        raise SqlError(f"SLACK is too long, got {progress.slack}, at most {spell_longest(unit)} are possible")
    return Slack(bound)


def _idle(progress: ProgressClause, unit: str, column: str, type_: str) -> int | None:
    if progress.idle is None:
        return None
    if unit != "us":
        raise SqlError(
            f"IDLE AFTER advances to the clock, but {column} is {type_} and knows no clock; leave it out, or punctuate the stream"
        )
    found = ticks(progress.idle, "us")
    if found <= 0:
        raise SqlError(f"IDLE AFTER must be longer than nothing, got {progress.idle}")
    return found


def _group_column(stream: str, name: str, known: dict[str, tuple[str, str]]) -> str:
    if name.lower() not in known:
        listed = [c for c, _ in known.values()]
        raise SqlError(f"stream {stream}: {name!r} is not a column, so there are no groups by it." + suggest(name, listed))
    column, type_ = known[name.lower()]
    if type_.strip().lower() not in _GROUPS:
        raise SqlError(
            f"stream {stream}: {column} is {type_}, but groups that make progress by themselves are told apart by "
            "texts, integers or booleans"
        )
    return column


def _unit_of(type_: str) -> str | None:
    """'us' for times, 'int' for integers, None for types that cannot make progress."""
    base = type_.strip().lower()
    return "us" if base in _TIMES else "int" if base in _INTEGERS else None
