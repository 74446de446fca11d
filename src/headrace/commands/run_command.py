"""`headrace run`."""

from __future__ import annotations

import tempfile
from collections import deque
from pathlib import Path
from typing import Any

import click

from headrace.commands.check_java import need_java
from headrace.commands.command_options import (
    POLICY_NAMES,
    read_balance,
    read_checkpoint,
    read_defer,
    read_jars,
    read_page,
    read_retain,
    read_settings,
    read_share,
    read_sinks,
    read_slots,
    read_trigger,
)
from headrace.commands.read_script import read_sql, read_statements
from headrace.commands.reported import Reported
from headrace.errors import OptionError
from headrace.report import BatchReport

KEPT_REPORTS = 20_000  # of a run, for its page


@click.command(cls=Reported)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--checkpoint", required=True, metavar="DIR", callback=read_checkpoint,
    help="Where state, progress and results are kept.",
)
@click.option("--available-now", is_flag=True, help="Read what the sources have now, then end.")
@click.option("--flush", is_flag=True, help="At the end, close all open windows, complete or not.")
@click.option("--trigger", metavar="INTERVAL", callback=read_trigger, help="Start a batch every so often, e.g. '5 seconds'.")
@click.option("--master", metavar="M", help="Spark master.  [default: what spark-submit gives, or $HEADRACE_MASTER, or local[*]]")
@click.option("--packages", metavar="MAVEN", help="Packages of sources, GROUP:ARTIFACT:VERSION, separated by commas.")
@click.option("--jars", metavar="FILES", callback=read_jars, help="Jars of sources or of database drivers, separated by commas.")
@click.option("--conf", "settings", multiple=True, callback=read_settings, metavar="KEY=VALUE",
              help="A setting of Spark. May be repeated.")  # fmt: skip
@click.option("--slots", metavar="N|auto", callback=read_slots,
              help="Parallel parts of the state; may change at any time: `headrace slots`. With auto the run adapts them "
              "to its trigger, its backlog and Spark's executors.")  # fmt: skip
@click.option("--balance", metavar="POLICY", callback=read_balance, default=POLICY_NAMES[0], show_default=True,
              help=f"How mini-partitions move between slots while the set runs: {', '.join(POLICY_NAMES)}; the last three with "
              "parameters, if you like: flux-load:delta_min=0.25,th_imb=1.2,th_util=0.9.")  # fmt: skip
@click.option("--defer", metavar="DURATION", callback=read_defer,
              help="Let rows of a mini-partition with a burst wait, at most so long, so that the others are not held up, "
              "e.g. '2 seconds'.  [default: nothing waits]")  # fmt: skip
@click.option("--share", metavar="GROUP", callback=read_share,
              help="Who else may read the checkpoint, and run executors on it: the name of a group, or group (your own); with "
              "all everybody may read it.  [default: nobody]")  # fmt: skip
@click.option("--partition-by", metavar="KEYS",
              help="Partition state by this where it serves, e.g. 'srcIP, destIP'; '' has all in one place.  "
              "[default: by what is best]")  # fmt: skip
@click.option("--rates-from", metavar="DIR", callback=read_checkpoint,
              help="Place the state of a new checkpoint by what the last batches of the one in DIR measured.")  # fmt: skip
@click.option(
    "--sink", "sinks", multiple=True, callback=read_sinks, metavar="SINK",
    help="Also give each query's new results to: console, csv:DIR, json:DIR, parquet:DIR; DIR may be a URI such as "
    "s3://bucket/dir. May be repeated.",
)  # fmt: skip
@click.option("--allow-functions", metavar="NAMES",
              help="Functions that FILE may call although they reach the machine, its files or the session, or are of an "
              "extension of Spark, e.g. java_method,input_file_name.")  # fmt: skip
@click.option("--retain", metavar="DURATION", callback=read_retain,
              help="Delete results and late rows that are older, e.g. '7 days'.  [default: keep all]")  # fmt: skip
@click.option("--report", "page", metavar="PAGE.html", type=click.Path(dir_okay=False, path_type=Path), callback=read_page,
              help="At the end, draw the plan, the run and its results.")  # fmt: skip
@click.option("--log-format", type=click.Choice(["text", "json"]),
              help="Write a line per batch, also on a terminal: text is short, json has everything.")  # fmt: skip
@click.option("--ipv4", metavar="COLUMNS", help="On the page, show these integer columns as IPv4 addresses, e.g. srcIP,destIP.")
@click.pass_context
def run(
    ctx: click.Context,
    file: Path,
    checkpoint: str,
    available_now: bool,
    flush: bool,
    trigger: str | None,
    master: str | None,
    packages: str | None,
    jars: str | None,
    settings: dict[str, str],
    slots: int | str | None,
    balance: str,
    defer: str | None,
    share: str | None,
    partition_by: str | None,
    rates_from: str | None,
    sinks: tuple[str, ...],
    allow_functions: str | None,
    retain: str | None,
    page: Path | None,
    ipv4: str | None,
    log_format: str | None,
) -> None:
    """Run the streams and queries of FILE.

    On a terminal this shows a live view; otherwise, and with --log-format, it writes a line per batch: what a person needs as
    key=value pairs, or all that is known of the batch as JSON. Results are kept in the checkpoint (`headrace results`). A run on
    an existing checkpoint goes on where the last one ended.

    Ctrl-C finishes the batch at hand and stops: exit code 0, or 130 if --available-now had not read
    everything yet. A second Ctrl-C ends at once; nothing committed is lost or doubled.

    Paths in FILE are relative to the directory of FILE.

    $HEADRACE_DRIVER_MEMORY is the memory of Java in embedded Spark (2g); `headrace --help` lists the other variables.

    \b
    Examples:
      headrace run queries.sql --checkpoint out/netmon
      headrace run queries.sql --checkpoint out/netmon --available-now --flush --report netmon.html
      headrace run queries.sql --checkpoint out/netmon --trigger '10 seconds' --sink csv:out/csv
      headrace run queries.sql --checkpoint out/netmon --retain '7 days'
      headrace run queries.sql --checkpoint out/netmon --master spark://host:7077 --slots 16
      headrace run queries.sql --checkpoint out/netmon --trigger '10 seconds' --slots auto
      headrace run queries.sql --checkpoint out/orders --packages org.apache.spark:spark-avro_2.13:4.3.0
    """
    if available_now and trigger:
        raise click.UsageError(
            "--trigger is for a run that goes on; --available-now ends by itself. Give one of them."
        )
    need_java()
    from headrace.report import watch
    from headrace.report.export import has_batches
    from headrace.report.ipv4 import parse_columns
    from headrace.session import Session
    from headrace.sql import CreateQuery, CreateStream
    from headrace.sql.declare import asks_spark

    text = read_sql(file)
    statements = read_statements(file, text)
    queries = {one.name: one.text for one in statements if isinstance(one, CreateQuery)}
    reports: deque[BatchReport] = deque(maxlen=KEPT_REPORTS)
    view, show, say = watch.view(f"{file} → {checkpoint}", checkpoint, log_format)

    def on_batch(report: BatchReport) -> None:
        reports.append(report)
        show(report)

    asked = {"spark.jars.packages": packages, "spark.jars": jars}
    session = Session(
        checkpoint=checkpoint,
        slots=slots,
        master=master,
        conf=settings | {k: v for k, v in asked.items() if v},
        balance=balance,
        partition_by=partition_by,
        rates_from=rates_from,
        defer=defer,
        share=share,
        allow_functions=allow_functions or (),
    )
    with tempfile.NamedTemporaryFile(prefix="headrace-spark-", suffix=".log", delete=False) as spark_log:
        ctx.meta["spark_log"] = Path(spark_log.name)
    if asking := [one for one in statements if isinstance(one, CreateStream) and asks_spark(one)]:
        for one in asking:
            session.check_installed(one.name, one.format)
        _start_spark(session, ctx.meta)
    session.sql(text, base=file.parent)
    session.check()
    options: dict[str, Any] = {"available_now": available_now, "trigger": trigger, "flush": flush, "retain": retain}
    with view, watch.Stops() as stops:
        watch.see_through(
            lambda: _start_spark(session, ctx.meta),
            lambda: session.start(sinks=list(sinks), on_batch=on_batch, **options),
            stops,
            say,
        )
    ctx.meta["spark_log"].unlink()
    if page is not None:
        if not reports and not has_batches(checkpoint):
            raise OptionError(f"{page} is not written: the sources had nothing to read, and no batch was ever committed to draw")
        plan, addresses = session.explain(format="json"), parse_columns(ipv4)
        watch.write_page(page, str(file), plan, list(reports), queries, checkpoint, addresses)
        click.echo(f"{page.resolve()}", err=True)
    if stops.signal and available_now:
        ctx.exit(128 + stops.signal)


def _start_spark(session: Any, meta: dict[str, Any]) -> None:
    """Start Spark, whose chatter goes to a log; when it does not start, the message has the telling line, and the log is kept."""
    from headrace.report.watch import kept_quiet
    from headrace.runtime.spark_faults import log_threads

    log: Path = meta["spark_log"]
    log_threads(log)
    try:
        with kept_quiet(log):
            _ = session.spark
    except Exception as error:
        from headrace.runtime.start_faults import explain_start

        meta["keep_log"] = True
        raise explain_start(error, log.read_text(errors="replace")) from error
