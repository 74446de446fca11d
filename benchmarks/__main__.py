"""`python -m benchmarks`: data, tune, run, compare, report; `full` does them all, no command a quick part; `soak` and `idle`
are of Headrace alone.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from benchmarks import compare as tables
from benchmarks import datasets, flink_env, kept
from benchmarks.before import compare_trees, draw_trees
from benchmarks.measure import Options, measure
from benchmarks.report import page
from benchmarks.soak import fit_lines
from benchmarks.soak import idle as measure_idle
from benchmarks.soak import soak as run_soak
from benchmarks.tune import tune as tune_all
from benchmarks.tune import tuned
from benchmarks.workloads import CONTENDERS, FLINK, MAIN, RACES, WORKLOADS

PAGE = Path("docs/benchmarks.md")
_rows = click.option(
    "--rows", default=datasets.ROWS, show_default=True, help="Rows of two hours of the stream."
)
_label = click.option("--label", help="Name of this set of runs.  [default: the number of rows]")
_workloads = click.option(
    "--workload",
    "-w",
    "workloads",
    multiple=True,
    type=click.Choice(list(WORKLOADS)),
    help="Only this; repeatable.",
)
_contenders = click.option(
    "--contender",
    "-c",
    "contenders",
    multiple=True,
    type=click.Choice(CONTENDERS),
    help="Only this; repeatable.",
)


@click.group(invoke_without_command=True)
@click.pass_context
def main(context: click.Context) -> None:
    """Headrace and its rivals on the same files.

    Without a command: the five workloads without joins on the first 2 M rows, three times (most of an hour).
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the run under way is ended too
    if context.invoked_subcommand is None:
        options = Options(files=4, warmup=1)
        folder = _folder("quick", options.rows)
        _run([w.name for w in MAIN], CONTENDERS, options, 3, folder)
        tables.show(_summary(folder), _console())


@main.command()
@_rows
@_workloads
@click.option(
    "--flink/--no-flink", default=True, show_default=True, help="CSV files and the environment for Flink."
)
def data(rows: int, workloads: Sequence[str], flink: bool) -> None:
    """Generate the streams (kept in out/bench/data) and install Flink beside them."""
    chosen = [WORKLOADS[w] for w in workloads or WORKLOADS]
    if flink:
        _flink()
    with_csv = {w.dataset for w in chosen if flink and FLINK in w.contenders}
    for name in dict.fromkeys(w.dataset for w in chosen):
        for line in datasets.make([name], rows, csv=name in with_csv):
            click.echo(line)


@main.command()
@_rows
@_workloads
@_contenders
@_label
@click.option("--files", type=int, help="Only the first so many files of each stream.")
@click.option("--files-per-batch", default=2, show_default=True)
@click.option("--warmup", default=2, show_default=True, help="Batches at the start that are reported apart.")
@click.option(
    "--repeat",
    default=3,
    show_default=True,
    help="Runs of each; a run that is there already is not repeated.",
)
@click.option("--fresh", is_flag=True, help="Repeat those too.")
@click.option("--keep", is_flag=True, help="Keep results and checkpoints in out/bench/work.")
def run(
    rows: int,
    workloads: Sequence[str],
    contenders: Sequence[str],
    label: str | None,
    repeat: int,
    fresh: bool,
    **options: Any,
) -> None:
    """Run every contender on every workload; one JSON file a run, in out/bench/results/LABEL."""
    folder = _folder(label, rows)
    _run(
        workloads or list(WORKLOADS),
        contenders or CONTENDERS,
        Options(rows=rows, **options),
        repeat,
        folder,
        fresh,
    )


@main.command()
@_rows
@_workloads
@_contenders
@click.option("--files", default=4, show_default=True, help="First files of each stream to try settings on.")
def tune(rows: int, workloads: Sequence[str], contenders: Sequence[str], files: int) -> None:
    """Find the rivals' fastest settings for each workload; `run` uses them."""
    _flink()
    chosen = [w for w in RACES if not workloads or w.name in workloads]
    tune_all(chosen, contenders or CONTENDERS, Options(rows=rows, files=files, warmup=1), click.echo)


@main.command()
@_rows
@_label
@click.option(
    "--committed", is_flag=True, help="Show benchmarks/results/summary.json instead of the runs kept here."
)
@click.option("--strict", is_flag=True, help="Fail if a target is missed or results differ.")
def compare(rows: int, label: str | None, committed: bool, strict: bool) -> None:
    """Print the ratios against the targets."""
    summary = json.loads(kept.COMMITTED.read_text()) if committed else _summary(_folder(label, rows))
    if not tables.show(summary, _console()) and strict:
        sys.exit(1)


@main.command()
@_rows
@_label
@click.option("--command", help="How it was run, for the page.  [default: python -m benchmarks full]")
@click.option("--note", help="What a reader of the page should know of these runs.")
@click.option("--add", is_flag=True, help="Keep what the committed summary says of other workloads.")
def report(rows: int, label: str | None, command: str | None, note: str | None = None, add: bool = False) -> None:
    """Write the summary of the runs kept here to benchmarks/results, and docs/benchmarks.md from it."""
    summary = _summary(_folder(label, rows), command or "python -m benchmarks full")
    if not summary["workloads"]:
        raise click.ClickException(
            f"no runs in {_folder(label, rows)}; `python -m benchmarks run` makes them"
        )
    if note:
        summary["sets"][0]["note"] = note
    if add:
        summary = kept.merge(json.loads(kept.COMMITTED.read_text()), summary)
    kept.COMMITTED.parent.mkdir(exist_ok=True)
    kept.COMMITTED.write_text(json.dumps(summary, indent=1) + "\n")
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(summary))
    click.echo(f"{kept.COMMITTED}\n{PAGE}")


@main.command()
@click.argument("tree", type=click.Path(exists=True, file_okay=False, path_type=Path))
@_rows
@_workloads
@click.option("--files", type=int, help="Only the first so many files of each stream.")
@click.option("--repeat", default=3, show_default=True, help="Turns; each runs both trees once.")
def before(tree: Path, rows: int, workloads: Sequence[str], files: int | None, repeat: int) -> None:
    """This tree against the checkout TREE of Headrace, turn by turn: how many times faster, and its memory."""
    options = Options(rows=rows, files=files)
    chosen = [WORKLOADS[w] for w in workloads or WORKLOADS]
    records = compare_trees(chosen, tree, options, repeat, click.echo)
    path = datasets.OUT / "before.json"
    path.write_text(json.dumps(records, indent=1) + "\n")
    _console().print(draw_trees(records))


@main.command()
@click.option("--minutes", default=60.0, show_default=True)
@click.option("--rows", default=20_000, show_default=True, help="Rows of each file.")
@click.option("--files-per-second", default=2.0, show_default=True)
@click.option("--retain", default="10 minutes", show_default=True, help="How long results are kept.")
@click.option("--grace", default=600.0, show_default=True, help="Seconds that merged files stay for readers.")
def soak(minutes: float, rows: int, files_per_second: float, retain: str, grace: float) -> None:
    """A run under steady load: what grows, per hour."""
    samples = run_soak(datasets.OUT / "soak", minutes, rows, files_per_second, retain, grace)
    (datasets.OUT / "soak.json").write_text(json.dumps(samples, indent=1) + "\n")
    table = Table("", "mean", "per hour", "over the run", box=None, pad_edge=False)
    for line in fit_lines(samples):
        numbers = (f"{line['mean']:,.3g}", f"{line['per_hour']:+,.3g}", f"{line['over_run']:+.1%}")
        table.add_row(str(line["name"]), *numbers)
    _console().print(table)
    click.echo(f"{samples[-1]['batches']:.0f} batches in {minutes:g} minutes; samples in {datasets.OUT / 'soak.json'}")


@main.command()
@click.option("--seconds", default=30.0, show_default=True, help="How long to measure.")
@click.option("--files", default=10, show_default=True, help="Files to put there afterwards.")
@click.option("--there", default=1, show_default=True, help="Files that are there from the start.")
def idle(seconds: float, files: int, there: int) -> None:
    """A run with nothing to read: what it uses of a core, and how soon it sees a file."""
    found = measure_idle(datasets.OUT / "idle", seconds, files, there)
    waits = f"a file's batch begins after {found['median_wait']:.2f} s (median), {found['longest_wait']:.2f} s (longest)"
    click.echo(f"{found['core']:.2%} of a core; {waits}")


@main.command()
@_rows
@click.option("--repeat", default=3, show_default=True)
@click.pass_context
def full(context: click.Context, rows: int, repeat: int) -> None:
    """Everything: data, tune, run, compare, report. Hours; begins again where it was interrupted."""
    context.invoke(data, rows=rows, workloads=(), flink=True)
    if not tuned(datasets.OUT, rows):
        context.invoke(tune, rows=rows, workloads=(), contenders=(), files=4)
    folder = _folder(None, rows)
    _run(list(WORKLOADS), CONTENDERS, Options(rows=rows), repeat, folder)
    context.invoke(report, rows=rows, label=None, command=None)
    tables.show(_summary(folder), _console())


def _run(
    workloads: Sequence[str],
    contenders: Sequence[str],
    options: Options,
    repeat: int,
    folder: Path,
    fresh: bool = False,
) -> None:
    """All runs, one after the other; repeats are the outer loop, so that a slow hour hits everybody."""
    if FLINK in contenders and not _flink():
        contenders = [c for c in contenders if c != FLINK]
    folder.mkdir(parents=True, exist_ok=True)
    settings = tuned(options.out, options.rows)
    for n in range(1, repeat + 1):
        for name in workloads:
            workload = WORKLOADS[name]
            for contender in [c for c in workload.contenders if c in contenders]:
                path = kept.path_of(folder, name, contender, n, options.files)
                if path.exists() and not fresh and "error" not in json.loads(path.read_text()):
                    continue
                record = measure(workload, contender, replace(options, settings=settings.get(name, {})))
                path.write_text(json.dumps(record, indent=1) + "\n")
                click.echo(_line(record, n, repeat))


def _line(record: dict[str, Any], n: int, repeat: int) -> str:
    what = f"{n}/{repeat} {record['workload']:18} {record['contender']:14}"
    if "error" in record:
        return f"{what} FAILED: {record['error']}"
    steady = f", {record['steady']:.2f} s per million rows in steady state" if record["steady"] else ""
    return f"{what} {record['seconds']:7.1f} s{steady}, {record['memory_mb']['total']} MB"


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=132)  # a log is as wide as the table


def _flink() -> bool:
    try:
        flink_env.ensure()
    except flink_env.FlinkMissing as missing:
        click.echo(str(missing), err=True)
        return False
    return True


def _folder(label: str | None, rows: int) -> Path:
    return datasets.OUT / "results" / (label or str(rows))


def _summary(folder: Path, command: str = "") -> dict[str, Any]:
    return kept.summary(kept.read(folder), command)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
