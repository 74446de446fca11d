"""What the values of options must be; a wrong one is refused before anything starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from headrace.errors import CheckpointError, OptionError
from headrace.refused import read_local

SINKS = ("csv", "json", "parquet")
POLICY_NAMES = ("headrace", "static", "flux-load", "flux-memory", "hybrid")  # of `headrace.balance`, the default first
T = TypeVar("T")


def read_sinks(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    from headrace.state import Store

    for value in values:
        kind, colon, directory = value.partition(":")
        if value != "console" and not (kind in SINKS and colon and directory):
            raise click.BadParameter(f"{value!r}; expected console, csv:DIR, json:DIR or parquet:DIR")
        store = _checked_address(Store.open, directory) if colon else None
        if store is not None and store.is_local and (file := _file_in_the_way(Path(store.uri))):
            raise click.BadParameter(f"{value!r}: {file} is a file; expected a directory, or a path where none is yet")
    return values


def _checked_address(check: Callable[[str], T], value: str) -> T:
    try:
        return check(value)
    except CheckpointError as e:
        raise click.BadParameter(str(e)) from e


def read_checkpoint(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """A URI that cannot be opened is refused before anything starts."""
    from headrace.state.store import check_address

    return _checked_address(check_address, value) if value else value


def _file_in_the_way(directory: Path) -> Path | None:
    """What keeps a directory from being made: it, or one above it, is a file."""
    return next((one for one in (directory, *directory.parents) if one.exists() and not one.is_dir()), None)


def read_page(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    read_local(ctx, param, value)
    if value is not None:
        try:
            value.parent.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise click.BadParameter(f"{value} cannot be written: {e.strerror}: {e.filename}") from e
    return value


def read_jars(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Of a jar that is not there Spark only writes a line into its log."""
    missing = [one for one in (value or "").split(",") if one and "://" not in one and not Path(one).is_file()]
    if missing:
        raise click.BadParameter(f"there is no file {missing[0]!r}; expected paths of jars, separated by commas")
    return value


def read_settings(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    for value in values:
        key, equals, _rest = value.partition("=")
        if not (key.startswith("spark.") and equals):
            raise click.BadParameter(f"{value!r}; expected KEY=VALUE, like spark.executor.memory=4g")
    return dict(value.split("=", 1) for value in values)


def read_trigger(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    from headrace.windows.duration import parse_trigger

    return _checked(parse_trigger, value)


def read_retain(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    from headrace.windows.duration import parse_retention

    return _checked(parse_retention, value)


def read_grace(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    from headrace.windows.duration import parse_grace

    return _checked(parse_grace, value)


def read_defer(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    from headrace.windows.duration import parse_defer

    return _checked(parse_defer, value)


def read_share(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    from headrace.state import check_share

    return _checked(check_share, value)


def read_slots(_: click.Context, __: click.Parameter, value: str | None) -> int | str | None:
    if value is None or value == "auto":
        return value
    if not value.isdecimal() or not 1 <= int(value) <= 1024:
        raise click.BadParameter(f"{value!r}; expected a number from 1 to 1024, or auto")
    return int(value)


def read_balance(_: click.Context, __: click.Parameter, value: str) -> str:
    """A policy, maybe with parameters; only these need what knows them."""
    if value in POLICY_NAMES:
        return value
    from headrace.balance.find_policy import find_policy

    return _checked(find_policy, value) or value


def _checked(parse: Callable[[str], object], value: str | None) -> str | None:
    try:
        if value is not None:
            parse(value)
    except OptionError as e:
        raise click.BadParameter(str(e)) from e
    return value
