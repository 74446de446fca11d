"""`headrace explain` and `headrace advise`: what a set would do, without running it and without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import click

from headrace.commands.command_options import read_checkpoint
from headrace.commands.read_script import read_session
from headrace.commands.reported import Reported

_MEASURED = click.option(
    "--checkpoint", metavar="DIR", type=click.Path(exists=True, file_okay=False),
    help="Weigh partitionings by what the last batches there have measured.",
)  # fmt: skip
_BORROWED = click.option(
    "--rates-from", metavar="DIR", callback=read_checkpoint,
    help="Weigh them by what another checkpoint has measured, as a new run with this option would.",
)  # fmt: skip
_ALLOWED = click.option(
    "--allow-functions", metavar="NAMES",
    help="Functions that FILE may call although they reach the machine or the session, or are an extension's: java_method,…",
)  # fmt: skip


@click.command(cls=Reported, short_help="Show how the queries of FILE would run together.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--format", "format_", type=click.Choice(["text", "json", "dot", "html"]), default="text", show_default=True
)
@click.option("--verbose", "-v", is_flag=True, help="Also show what was weighed to partition streams, and the SQL of every step.")
@click.option("--partition-by", metavar="KEYS",
              help="Show the plan of a run with this option: 'srcIP, destIP'; '' has all in one place.")  # fmt: skip
@_MEASURED
@_BORROWED
@_ALLOWED
def explain(
    file: Path,
    format_: str,
    verbose: bool,
    partition_by: str | None,
    checkpoint: str | None,
    rates_from: str | None,
    allow_functions: str | None,
) -> None:
    """Show how the queries of FILE would run together, without running them: what is read and how progress is
    known, which queries share state and what bounds it, every exchange and why. Neither Spark nor the data is needed: what could
    not be looked at without them is said at the end.

    \b
    Examples:
      headrace explain queries.sql
      headrace explain queries.sql --verbose
      headrace explain queries.sql --partition-by 'srcIP, destIP'
      headrace explain queries.sql --format dot | dot -Tsvg > plan.svg
      headrace explain queries.sql --format html > plan.html
    """
    session = read_session(file, checkpoint, allow_functions, partition_by, rates_from)
    session.check(to_run=False)  # what `run` will be given is not known, nor whether the data is there yet
    if format_ == "html":
        from headrace.report.page import render_plan_page

        click.echo(render_plan_page(str(file), json.loads(session.explain(format="json"))), nl=False)
    else:
        click.echo(session.explain(format=format_, verbose=verbose))


@click.command(cls=Reported, short_help="Recommend how to partition the sources of FILE.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--by", metavar="KEYS", help="A partitioning to compare: 'srcIP, destIP', or 'tcp: srcIP; udp: address'.")
@_MEASURED
@_BORROWED
@_ALLOWED
def advise(
    file: Path, by: str | None, checkpoint: str | None, rates_from: str | None, allow_functions: str | None
) -> None:
    """Recommend how to partition the sources of FILE: the key of a topic, the layout of files, what hardware splits by.

    For every join and aggregation of the queries this says which partitionings it can run on without moving rows between
    partitions, weighs all combinations, and prints what each query would pay in bytes received per epoch: with rows dealt
    out evenly (round robin), under the recommended partitioning, and under one you propose with --by. Where a query is
    not served it pays for its input; where it is, only for its results. What streams declare (PARTITIONED BY,
    PARTITIONABLE BY) is respected. Rates and selectivities are assumed, unless streams declare them (RATE) or --checkpoint
    or --rates-from names a run that measured them; then each number is printed with where it comes from.

    KEYS are columns or expressions over them. Without a stream's name before a colon they are for every stream that has
    the columns.

    \b
    Examples:
      headrace advise queries.sql
      headrace advise queries.sql --by 'srcIP, destIP'
      headrace advise queries.sql --by 'tcp: srcIP & 0xFFFFFF00; udp: address'
      headrace advise queries.sql --checkpoint out/netmon
    """
    session = read_session(file, checkpoint, allow_functions, rates_from=rates_from)
    click.echo(session.advise(by), nl=False)
