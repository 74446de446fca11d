"""How commands say that the user can mend it: a message, and the exit code that `cli.py` promises."""

from __future__ import annotations

import re
from typing import TypeVar

import click

_LIKE_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
T = TypeVar("T")


class Refused(click.ClickException):
    """A mistake of the user's."""

    exit_code = 2


def read_local(_: click.Context, __: click.Parameter, value: T) -> T:
    """An option for a file or folder of this machine: a URI, of which a folder of that name would be made, is refused."""
    if value is not None and _LIKE_URI.match(str(value)):
        raise click.BadParameter(f"{str(value)!r} is a URI; expected a path of this machine. If it is one, write ./{value}")
    return value
