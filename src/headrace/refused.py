"""How commands say that the user can mend it: a message, and the exit code that `cli.py` promises."""

from __future__ import annotations

import click


class Refused(click.ClickException):
    """A mistake of the user's."""

    exit_code = 2
