"""`headrace prepare`."""

from __future__ import annotations

import click

from headrace.commands.check_java import need_java
from headrace.commands.reported import Reported


@click.command(cls=Reported)
def prepare() -> None:
    """Make Spark start faster in this Python environment, once.

    Keeps the classes that Java loads for a small run (about 190 MB), so that later runs need not load them
    again. They are deleted with the environment. Takes less than a minute; does nothing if it was done before.
    """
    need_java()
    from headrace.runtime import class_archive

    click.echo(class_archive.prepare())
