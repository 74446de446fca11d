"""The command line: `headrace run | explain | advise | results | state | slots | compact | prepare | generate | network`.

Commands only parse, call and print; what they print is made in `report`. Spark is imported by the commands
that run something, when they run it: `results` and `state` read manifests, start in a blink and need no
Java.

Exit codes: 0 done; 2 something the user can act on (the message says what); 1 a fault of ours. A run that
is asked to stop, by Ctrl-C or SIGTERM, finishes its batch and exits with 0 if it was meant to run for ever,
and with 130 or 143 if it was to drain its sources (`--available-now`) and has not. A second Ctrl-C ends the
process at once; the next run picks up from the last committed batch.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from headrace.errors import HeadraceError, InternalError, OptionError, SqlError
from headrace.report import BatchReport

if TYPE_CHECKING:
    from headrace.session import Session
    from headrace.sql import Statement

KEPT_REPORTS = 20_000  # of a run, for its page
POLL_SECONDS = 0.5
ELSEWHERE = {
    "generate": "headrace.generate.generate_command",
    "network": "headrace.network.network_command",
}
SINKS = ("csv", "json", "parquet")
POLICY_NAMES = ("headrace", "static", "flux-load", "flux-memory", "hybrid")  # of `headrace.balance`, the default first


class Reported(click.Command):
    """A command whose errors are messages; `--debug` adds the traceback."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        help_ = "Show the traceback of an error."
        self.params.append(
            click.Option(["--debug"], is_flag=True, expose_value=False, help=help_, callback=_debug)
        )

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default", RuntimeWarning)
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except BrokenPipeError:  # nobody reads any more, so there must be no flush at exit either
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except KeyboardInterrupt:
            ctx.exit(130)
        except InternalError as error:
            _fail(ctx, error, str(error), 1)
        except HeadraceError as error:
            _fail(ctx, error, str(error), 2)
        except (click.exceptions.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            _fail(ctx, error, f"{type(error).__name__}: {error}", 1)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"{click.style('Warning', fg='yellow', bold=True)}: {message}", err=True)


def _debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta["debug"] = value


def _fail(ctx: click.Context, error: Exception, message: str, code: int) -> None:
    debug, log = ctx.meta.get("debug"), ctx.meta.get("spark_log")
    if debug:
        click.echo("".join(traceback.format_exception(error)), err=True)
    click.echo(f"{click.style('Error', fg='red', bold=True)}: {message}", err=True)
    if code == 1 and not debug:
        click.echo("This is a fault of Headrace; --debug shows where it happened.", err=True)
    if log is not None and (code == 1 or debug):
        click.echo(f"What Spark itself wrote is in {log}.", err=True)
    elif log is not None:
        log.unlink(missing_ok=True)
    ctx.exit(code)


class Commands(click.Group):
    """Commands here, and those of packages that are loaded when they are asked for."""

    command_class = Reported

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands, *(name for name in ELSEWHERE if self._there(name))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in ELSEWHERE and self._there(cmd_name):
            try:
                command: click.Command = getattr(importlib.import_module(ELSEWHERE[cmd_name]), cmd_name)
                return command
            except ModuleNotFoundError as error:
                raise click.ClickException(
                    f"'headrace {cmd_name}' needs the package {error.name}; install headrace[{cmd_name}]"
                ) from error
        return super().get_command(ctx, cmd_name)

    def _there(self, name: str) -> bool:
        try:
            return importlib.util.find_spec(ELSEWHERE[name]) is not None
        except ModuleNotFoundError:
            return False


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="headrace", prog_name="headrace")
def main() -> None:
    """Sets of continuous SQL queries over high-rate streams, on Apache Spark.

    \b
    A first run:
      headrace generate packets --rows 1000000 --disorder band --out examples/netmon/data/packets
      headrace run examples/netmon/queries.sql --checkpoint out/netmon --available-now
      headrace results out/netmon suspicious
    """


def _sink(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        kind, colon, directory = value.partition(":")
        if value != "console" and not (kind in SINKS and colon and directory):
            raise click.BadParameter(f"{value!r}; expected console, csv:DIR, json:DIR or parquet:DIR")
        if colon and (file := _file_in_the_way(Path(directory))):
            raise click.BadParameter(f"{value!r}: {file} is a file; expected a directory, or a path where none is yet")
    return values


def _file_in_the_way(directory: Path) -> Path | None:
    """What keeps a directory from being made: it, or one above it, is a file."""
    return next((one for one in (directory, *directory.parents) if one.exists() and not one.is_dir()), None)


def _page(_: click.Context, __: click.Parameter, value: Path | None) -> Path | None:
    if value is not None:
        try:
            value.parent.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise click.BadParameter(f"{value} cannot be written: {e.strerror}: {e.filename}") from e
    return value


def _jars(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Of a jar that is not there Spark only writes a line into its log."""
    missing = [one for one in (value or "").split(",") if one and "://" not in one and not Path(one).is_file()]
    if missing:
        raise click.BadParameter(f"there is no file {missing[0]!r}; expected paths of jars, separated by commas")
    return value


def _setting(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    for value in values:
        key, equals, _rest = value.partition("=")
        if not (key.startswith("spark.") and equals):
            raise click.BadParameter(f"{value!r}; expected KEY=VALUE, like spark.executor.memory=4g")
    return dict(value.split("=", 1) for value in values)


def _trigger(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    from headrace.windows.duration import parse_trigger

    return _checked(parse_trigger, value)


def _retain(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    from headrace.windows.duration import parse_retention

    return _checked(parse_retention, value)


def _grace(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    from headrace.windows.duration import parse_grace

    return _checked(parse_grace, value)


def _absorb(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    from headrace.windows.duration import parse_absorb

    return _checked(parse_absorb, value)


def _slots(_: click.Context, __: click.Parameter, value: str | None) -> int | str | None:
    if value is None or value == "auto":
        return value
    if not value.isdecimal() or not 1 <= int(value) <= 1024:
        raise click.BadParameter(f"{value!r}; expected a number from 1 to 1024, or auto")
    return int(value)


def _checked(parse: Callable[[str], object], value: str | None) -> str | None:
    try:
        if value is not None:
            parse(value)
    except OptionError as e:
        raise click.BadParameter(str(e)) from e
    return value


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--checkpoint", required=True, metavar="DIR", help="Where state, progress and results are kept."
)
@click.option("--available-now", is_flag=True, help="Read what the sources have now, then end.")
@click.option("--flush", is_flag=True, help="At the end, close all open windows, complete or not.")
@click.option("--trigger", metavar="INTERVAL", callback=_trigger, help="Start a batch every so often, e.g. '5 seconds'.")
@click.option("--master", metavar="M", help="Spark master.  [default: local[*], or what spark-submit gives]")
@click.option("--packages", metavar="MAVEN", help="Packages of sources, GROUP:ARTIFACT:VERSION, separated by commas.")
@click.option("--jars", metavar="FILES", callback=_jars, help="Jars of sources, separated by commas.")
@click.option("--conf", "settings", multiple=True, callback=_setting, metavar="KEY=VALUE",
              help="A setting of Spark. May be repeated.")  # fmt: skip
@click.option("--slots", metavar="N|auto", callback=_slots,
              help="Parallel parts of the state; may change at any time: `headrace slots`. With auto the run adapts them "
              "to its trigger, its backlog and Spark's executors.")  # fmt: skip
@click.option("--balance", type=click.Choice(POLICY_NAMES), default=POLICY_NAMES[0], show_default=True,
              help="How mini-partitions move between slots while the set runs.")  # fmt: skip
@click.option("--absorb", metavar="DURATION", callback=_absorb,
              help="Let rows of a mini-partition with a burst wait, at most so long, so that the others are not held up, "
              "e.g. '2 seconds'.  [default: nothing waits]")  # fmt: skip
@click.option("--partition-by", metavar="KEYS",
              help="Partition state by this where it serves, e.g. 'srcIP, destIP'.  [default: by what is best]")  # fmt: skip
@click.option(
    "--sink", "sinks", multiple=True, callback=_sink, metavar="SINK",
    help="Also give each query's new results to: console, csv:DIR, json:DIR, parquet:DIR. May be repeated.",
)  # fmt: skip
@click.option("--retain", metavar="DURATION", callback=_retain,
              help="Delete results and late rows that are older, e.g. '7 days'.  [default: keep all]")  # fmt: skip
@click.option("--report", "page", metavar="PAGE.html", type=click.Path(dir_okay=False, path_type=Path), callback=_page,
              help="At the end, draw the plan, the run and its results.")  # fmt: skip
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
    absorb: str | None,
    partition_by: str | None,
    sinks: tuple[str, ...],
    retain: str | None,
    page: Path | None,
    ipv4: str | None,
) -> None:
    """Run the streams and queries of FILE.

    On a terminal this shows a live view; otherwise it writes a line of key=value pairs per batch. Results
    are kept in the checkpoint (`headrace results`). A run on an existing checkpoint goes on where the last
    one ended.

    Ctrl-C finishes the batch at hand and stops: exit code 0, or 130 if --available-now had not read
    everything yet. A second Ctrl-C ends at once; nothing committed is lost or doubled.

    Paths in FILE are relative to the directory of FILE.

    \b
    Examples:
      headrace run queries.sql --checkpoint out/netmon
      headrace run queries.sql --checkpoint out/netmon --available-now --flush --report netmon.html
      headrace run queries.sql --checkpoint out/netmon --trigger '10 seconds' --sink csv:out/csv
      headrace run queries.sql --checkpoint out/netmon --retain '7 days'
      headrace run queries.sql --checkpoint out/netmon --master spark://host:7077 --slots 16
      headrace run queries.sql --checkpoint out/netmon --trigger '10 seconds' --slots auto
      headrace run queries.sql --checkpoint out/orders --jars spark-sql-kafka-0-10_2.13-4.2.0.jar,kafka-clients-3.9.2.jar
    """
    if available_now and trigger:
        raise click.UsageError(
            "--trigger is for a run that goes on; --available-now ends by itself. Give one of them."
        )
    _need_java()
    from headrace.report import watch
    from headrace.report.export import has_batches
    from headrace.report.ipv4 import parse_columns
    from headrace.session import Session
    from headrace.sql import CreateQuery, CreateStream
    from headrace.sql.declare import asks_spark

    text = _read_sql(file)
    statements = _statements(file, text)
    queries = {one.name: one.text for one in statements if isinstance(one, CreateQuery)}
    reports: deque[BatchReport] = deque(maxlen=KEPT_REPORTS)
    view, show, say = watch.view(f"{file} → {checkpoint}")

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
        absorb=absorb,
    )
    with tempfile.NamedTemporaryFile(prefix="headrace-spark-", suffix=".log", delete=False) as spark_log:
        ctx.meta["spark_log"] = Path(spark_log.name)
    if asking := [one for one in statements if isinstance(one, CreateStream) and asks_spark(one)]:
        for one in asking:
            session.check_installed(one.name, one.format)
        _start_spark(session, ctx.meta["spark_log"])
    session.sql(text, base=file.parent)
    session.check()
    options: dict[str, Any] = {"available_now": available_now, "trigger": trigger, "flush": flush, "retain": retain}
    with view, watch.Stops() as stops:
        watch.see_through(
            lambda: _start_spark(session, ctx.meta["spark_log"]),
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


def _start_spark(session: Any, log: Path) -> None:
    """Start Spark, whose chatter goes to `log`; when it does not start, the end of `log` is the message."""
    from headrace.report.watch import kept_quiet
    from headrace.runtime.spark_faults import log_threads

    log_threads(log)
    try:
        with kept_quiet(log):
            _ = session.spark
    except Exception as error:
        said = log.read_text(errors="replace").strip().splitlines()
        old = any("UnsupportedClassVersionError" in line for line in said)
        why = "this Java is too old, it must be 17 or newer" if old else f"{error}"
        raise OptionError("\n  ".join([f"Spark did not start: {why}", *said[-6:]])) from error


def _need_java() -> None:
    """PySpark's message for a missing Java is a Java one; say it plainly, before anything is started."""
    home = os.environ.get("JAVA_HOME")
    found = os.access(f"{home}/bin/java", os.X_OK) if home else shutil.which("java") is not None
    if not found:
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no java on PATH"
        raise OptionError(
            f"Spark needs Java 17 or newer, and {where}. Install one (Debian, Ubuntu: apt-get install "
            "openjdk-17-jre-headless, or openjdk-21-jre-headless on newer releases) or point JAVA_HOME to one"
        )


_MEASURED = click.option(
    "--checkpoint", metavar="DIR", type=click.Path(exists=True, file_okay=False),
    help="Weigh partitionings by what the last batches there have measured.",
)  # fmt: skip


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--format", "format_", type=click.Choice(["text", "json", "dot", "html"]), default="text", show_default=True
)
@click.option("--verbose", "-v", is_flag=True, help="Also show what was weighed to partition streams, and the SQL of every step.")
@_MEASURED
def explain(file: Path, format_: str, verbose: bool, checkpoint: str | None) -> None:
    """Show how the queries of FILE would run together, without running them: what is read and how progress is
    known, which queries share state and what bounds it, every exchange and why.

    \b
    Examples:
      headrace explain queries.sql
      headrace explain queries.sql --verbose
      headrace explain queries.sql --format dot | dot -Tsvg > plan.svg
      headrace explain queries.sql --format html > plan.html
    """
    session = _read_session(file, checkpoint)
    session.check(installed=False)  # what `run` will be given is not known
    if format_ == "html":
        from headrace.report.page import render_plan_page

        click.echo(render_plan_page(str(file), json.loads(session.explain(format="json"))), nl=False)
    else:
        click.echo(session.explain(format=format_, verbose=verbose))


def _read_sql(file: Path) -> str:
    """The text of a file of statements."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SqlError(
            f"{file} is not a text in UTF-8: byte {error.start + 1} begins no letter. Save it as UTF-8, and see that it is SQL"
        ) from error
    return text


def _statements(file: Path, text: str) -> list[Statement]:
    from headrace.sql import parse_script

    found = parse_script(text)
    if not found:
        raise SqlError(f"{file} is empty; expected CREATE STREAM and CREATE QUERY statements")
    return found


def _read_session(file: Path, checkpoint: str | None = None) -> Session:
    """The streams and queries of a file, for commands that start no Spark."""
    from headrace.session import Session
    from headrace.sql import CreateStream
    from headrace.sql.declare import columns_of

    text = _read_sql(file)
    for one in _statements(file, text):
        if isinstance(one, CreateStream):
            columns_of(one)  # without Spark, or not at all
    session = Session(checkpoint=checkpoint)
    session.sql(text, base=file.parent)
    return session


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--by", metavar="KEYS", help="A partitioning to compare: 'srcIP, destIP', or 'tcp: srcIP; udp: address'.")
@_MEASURED
def advise(file: Path, by: str | None, checkpoint: str | None) -> None:
    """Recommend how to partition the sources of FILE: the key of a topic, the layout of files, what hardware splits by.

    For every join and aggregation of the queries this says which partitionings it can run on without moving rows between
    partitions, weighs all combinations, and prints what each query would pay in bytes received per epoch: with rows dealt
    out evenly (round robin), under the recommended partitioning, and under one you propose with --by. Where a query is
    not served it pays for its input; where it is, only for its results. What streams declare (PARTITIONED BY,
    PARTITIONABLE BY) is respected. Rates and selectivities are assumed, unless streams declare them (RATE) or --checkpoint
    names a run that measured them; then each number is printed with where it comes from.

    KEYS are columns or expressions over them. Without a stream's name before a colon they are for every stream that has
    the columns.

    \b
    Examples:
      headrace advise queries.sql
      headrace advise queries.sql --by 'srcIP, destIP'
      headrace advise queries.sql --by 'tcp: srcIP & 0xFFFFFF00; udp: address'
      headrace advise queries.sql --checkpoint out/netmon
    """
    click.echo(_read_session(file, checkpoint).advise(by), nl=False)


@main.command()
@click.argument("checkpoint", metavar="DIR")
@click.argument("query", required=False)
@click.option("--format", "format_", type=click.Choice(["table", "csv", "json", "parquet"]), default="table",
              show_default=True, help="json: one object per line.")  # fmt: skip
@click.option("--follow", "-f", is_flag=True, help="Go on with new results as they are committed.")
@click.option("--late", metavar="STREAM", help="The late and rejected rows of a stream, instead of a query.")
@click.option("--ipv4", metavar="COLUMNS", help="Show these integer columns as IPv4 addresses, e.g. srcIP,destIP.")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write to a file.")
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
    damaged = _report_faults(log)
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


@main.command()
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
    _report_faults(log)
    if format_ == "json":
        click.echo(json.dumps(found, indent=2))
    else:
        Console().print(summary.draw(found, all_pids))


@main.command()
@click.argument("checkpoint", metavar="DIR")
@click.option("--retain", metavar="DURATION", callback=_retain, help="Delete results and late rows that are older.")
@click.option("--grace", metavar="DURATION", default="10 minutes", show_default=True, callback=_grace,
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
    from headrace.report.export import open_log
    from headrace.runtime.source_log import trim_source_logs
    from headrace.state import CheckpointLock, Retention, compact_checkpoint
    from headrace.windows.duration import parse_grace, parse_retention

    log = open_log(checkpoint)
    policy = Retention(retain=parse_retention(retain) if retain else None, grace=parse_grace(grace))
    with CheckpointLock(log.store):
        before = len(log.store.scan())
        done = compact_checkpoint(log.store, policy, whole=True)
        if log.store.exists("plan.json"):
            streams = json.loads(log.store.read("plan.json"))["streams"].values()
            trim_source_logs(log.store, [dict(stream["source"][1]) for stream in streams])
        after = len(log.store.scan())
    expired = f", {done.expired:,} rows expired" if retain else ""
    click.echo(f"{after:,} files, {before:,} before: {done.moved:,} versions moved onto pages{expired}")
    if done.moved and policy.grace > 0:
        click.echo(f"Files that are not needed any more stay for {grace}; the next compaction or run deletes them.", err=True)
    _report_faults(log)


def _report_faults(log: Any) -> bool:
    """Say what of a checkpoint cannot be read any more; whether there is anything."""
    faults = log.faults()
    for loss in faults:
        _show_warning(loss.why)
    return bool(faults)


@main.command()
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


@main.command()
def prepare() -> None:
    """Make Spark start faster in this Python environment, once.

    Keeps the classes that Java loads for a small run (about 190 MB), so that later runs need not load them
    again. They are deleted with the environment. Takes less than a minute; does nothing if it was done before.
    """
    _need_java()
    from headrace.runtime import class_archive

    click.echo(class_archive.prepare())
