"""`headrace results`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from headrace.commands.checkpoint_commands import report_faults
from headrace.commands.reported import Reported
from headrace.errors import OptionError
from headrace.refused import read_local

POLL_SECONDS = 0.5


@click.command(cls=Reported, short_help="Print committed results, or late rows.")
@click.argument("checkpoint", metavar="DIR")
@click.argument("query", required=False)
@click.option("--format", "format_", type=click.Choice(["table", "csv", "json", "parquet"]), default="table",
              show_default=True, help="json: one object per line.")  # fmt: skip
@click.option("--follow", "-f", is_flag=True, help="Go on with new results as they are committed.")
@click.option("--late", metavar="STREAM", help="The late and rejected rows of a stream, instead of a query.")
@click.option("--ipv4", metavar="COLUMNS", help="Show these integer columns as IPv4 addresses, e.g. srcIP,destIP.")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), callback=read_local,
              help="Write to a file.")  # fmt: skip
@click.pass_context
def results(
    ctx: click.Context, checkpoint: str, query: str | None, format_: str, follow: bool, late: str | None, output: Path | None,
    ipv4: str | None,
) -> None:
    """Print the committed results of QUERY from checkpoint DIR; without QUERY, list what there is.

    Needs no Spark and no Java, and may be used while a run is going on: only whole, committed batches are
    seen, each row once. Rows come batch by batch; within a batch their order means nothing.

    Where the disk has damaged what says which files hold the results of a batch, all others are printed, a warning says
    what is missing, and the exit code is 2.

    \b
    Examples:
      headrace results out/netmon
      headrace results out/netmon flows | head
      headrace results out/netmon flows --format json --follow | jq .cnt
      headrace results out/netmon flows --format parquet --output flows.parquet
      headrace results out/netmon flows --ipv4 srcIP,destIP
      headrace results out/netmon --late tcp
    """
    from headrace.report import checkpoint as summary
    from headrace.report import export
    from headrace.report.ipv4 import parse_columns
    from headrace.sql.error_places import suggest

    if query and late:
        raise click.UsageError("give a QUERY or --late STREAM, not both")
    if follow and format_ == "parquet":
        raise click.UsageError("a Parquet file has an end; --follow needs --format table, csv or json")
    log = _await_log(checkpoint, follow)
    damaged = report_faults(log)
    if not query and not late:
        for one in summary.summarize(log)["queries"]:
            click.echo(f"{one['query']}\t{one['rows']}")
        ctx.exit(2 if damaged else 0)
    name = query or late or ""
    outputs = export.CommittedFiles(log, name, late=bool(late), ipv4=parse_columns(ipv4))
    known = summary.stream_names(log) if late else summary.query_names(log)
    if name not in known and not outputs.rows():
        raise OptionError(
            f"{log.store.uri} has no {'stream' if late else 'query'} {name!r}.{suggest(name, known)}"
        )
    if format_ == "parquet" and output is None and sys.stdout.isatty():
        raise click.UsageError("Parquet is not for a terminal: give --output FILE or redirect")
    with _open_output(output) if output else nullcontext(sys.stdout.buffer) as sink:
        if format_ == "parquet":
            count = export.write_parquet(outputs.batches(), sink)
        else:
            count = _print(outputs, export.encoder(format_), sink, follow)
    if not count:
        click.echo(f"No {'late rows' if late else 'results'} of {name} have been committed yet.", err=True)
    if damaged:
        ctx.exit(2)


def _open_output(output: Path) -> Any:
    try:
        return output.open("wb")
    except OSError as e:
        raise OptionError(f"{output} cannot be written: {e.strerror}; give a file in a directory that is there") from e


def _print(outputs: Any, encode: Callable[[Any], bytes], sink: Any, follow: bool) -> int:
    count = 0
    try:
        while True:
            for batch in outputs.batches():
                sink.write(encode(batch))
                count += batch.num_rows
            sink.flush()
            if not follow:
                return count
            time.sleep(POLL_SECONDS)
    except KeyboardInterrupt:
        return count or 1


def _await_log(checkpoint: str, follow: bool) -> Any:
    """The manifests; with --follow, wait for the first one."""
    from headrace.report.export import open_log
    from headrace.state import ManifestLog, Store

    while follow and ManifestLog(Store.open(checkpoint)).latest() is None:
        time.sleep(POLL_SECONDS)
    return open_log(checkpoint)
