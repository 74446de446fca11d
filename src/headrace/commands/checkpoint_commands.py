"""`headrace state`, `compact` and `slots`: commands for a checkpoint, whether something runs on it or not."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console

from headrace.commands.command_options import read_grace, read_retain
from headrace.commands.reported import Reported, show_warning


@click.command(cls=Reported, short_help="Show what a checkpoint holds.")
@click.argument("checkpoint", metavar="DIR")
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--all", "all_pids", is_flag=True, help="List every mini-partition, not only the largest.")
@click.option("--by", type=click.Choice(["slot", "pid"]), help="What each slot, or mini-partition, did in the last batch.")
def state(checkpoint: str, format_: str, all_pids: bool, by: str | None) -> None:
    """Show what checkpoint DIR holds: progress, results, and state by node, slot and mini-partition.

    \b
    Examples:
      headrace state out/netmon
      headrace state out/netmon --format json | jq '.streams[].low_watermark'
      headrace state out/netmon --by pid
    """
    from headrace.report import checkpoint as summary
    from headrace.report import load
    from headrace.report.export import open_log

    log = open_log(checkpoint)
    if by is not None:
        lines = load.list_load(log, by)
        click.echo(json.dumps(lines, indent=2)) if format_ == "json" else Console().print(
            load.draw_load(lines, by, all_pids, load.describe_fit(log))
        )
        return
    found = summary.summarize(log)
    report_faults(log)
    if format_ == "json":
        click.echo(json.dumps(found, indent=2))
    else:
        Console().print(summary.draw(found, all_pids))


@click.command(cls=Reported, short_help="Merge the small files of a checkpoint.")
@click.argument("checkpoint", metavar="DIR")
@click.option("--retain", metavar="DURATION", callback=read_retain, help="Delete results and late rows that are older.")
@click.option("--grace", metavar="DURATION", default="10 minutes", show_default=True, callback=read_grace,
              help="How long files that were merged stay, for readers that began before.")  # fmt: skip
def compact(checkpoint: str, retain: str | None, grace: str) -> None:
    """Merge the many small files of checkpoint DIR into few large ones; nothing is lost.

    A run does this by itself, in the background. This command does it for a checkpoint that nobody runs on, and more
    thoroughly: all versions but the last two become one page of the history.

    \b
    Examples:
      headrace compact out/netmon
      headrace compact out/netmon --retain '7 days'
    """
    from headrace.coordinator.epoch_record import read_record
    from headrace.report.export import open_log
    from headrace.sources.source_log import trim_source_logs
    from headrace.state import CheckpointLock, Retention, compact_checkpoint
    from headrace.windows.duration import parse_grace, parse_retention

    log = open_log(checkpoint)
    policy = Retention(retain=parse_retention(retain) if retain else None, grace=parse_grace(grace))
    with CheckpointLock(log.store):
        before = len(log.store.scan())
        done = compact_checkpoint(log.store, policy, whole=True)
        last = log.latest()
        there = last is not None and log.store.exists(last.epoch)
        epoch = read_record(log.store) if there else None
        if epoch is not None:
            trim_source_logs(log.store, [dict(stream["source"][1]) for stream in epoch.streams.values()])
        after = len(log.store.scan())
    expired = f", {done.expired:,} rows expired" if retain else ""
    click.echo(f"{after:,} files, {before:,} before: {done.moved:,} versions moved onto pages{expired}")
    if done.moved and policy.grace > 0:
        click.echo(f"Files that are not needed any more stay for {grace}; the next compaction or run deletes them.", err=True)
    report_faults(log)


def report_faults(log: Any) -> bool:
    """Say what of a checkpoint cannot be read any more; whether there is anything."""
    faults = log.faults()
    for loss in faults:
        show_warning(loss.why)
    return bool(faults)


@click.command(cls=Reported, short_help="Change the number of slots, while it runs too.")
@click.argument("checkpoint", metavar="DIR")
@click.argument("count", metavar="N", type=click.IntRange(1, 1024))
def slots(checkpoint: str, count: int) -> None:
    """Ask for N slots in the run on checkpoint DIR, without stopping it.

    The run goes on with N slots from its next batch; state is not copied, each slot reads the mini-partitions it
    owns. If nothing runs there, the next run without --slots begins with N. Of several requests the last one counts.

    \b
    Example:
      headrace slots out/netmon 8
    """
    from headrace.report.export import open_log
    from headrace.state.slot_requests import request_slots

    log = open_log(checkpoint)
    last = log.latest()
    request_slots(log.store, count)
    click.echo(f"asked for {count} slots from the next batch on; the last one had {last.slots if last else 'none'}")
