"""Seeing a run to its end: what shows its batches, what stops it, and the page that is left.

A run is anything with `wait()` and `stop()`; stopping waits for the batch at hand.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import click
import pyarrow as pa
from rich.console import Console

from headrace.report.checkpoint import count_before
from headrace.report.export import CommittedFiles, open_log
from headrace.report.ipv4 import show_addresses
from headrace.report.live import LiveView
from headrace.report.log import log_json, log_line
from headrace.report.model import BatchReport
from headrace.report.page import render_page
from headrace.report.python_values import list_values

PAGE_ROWS, MOST_ROWS = 2_000, 200_000  # of each query: enough for a chart, and not too many to draw
LATE_ROWS = 20

View = tuple[AbstractContextManager[object], Callable[[BatchReport], None], Callable[[str], None]]


class Running(Protocol):
    def wait(self) -> Any: ...
    def stop(self) -> Any: ...


def view(title: str, checkpoint: str, log_format: str | None = None) -> View:
    """What to enter, what to call per batch, and what to call when the state of the run changes. On a terminal a picture,
    unless lines of a format are asked for.
    """
    console = Console()
    if console.is_terminal and log_format is None:
        live = LiveView(title, console, before=count_before(checkpoint))
        return live, live.on_batch, live.set_state
    spell = log_json if log_format == "json" else log_line
    return (
        nullcontext(),
        lambda report: click.echo(spell(report)),
        lambda state: click.echo(state, err=True),
    )


@contextmanager
def kept_quiet(log: Path) -> Iterator[None]:
    """Within it, a process that is started writes its errors to `log`: Java would tear the view apart."""
    sys.stderr.flush()
    with log.open("wb") as file:
        terminal = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


class Stops:
    """While entered, Ctrl-C and SIGTERM ask for a stop; the second of them ends the process at once."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self.news = threading.Event()  # a signal, or the end of the run
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Stops:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, _: object) -> None:
        if self.signal is not None:
            os._exit(128 + number)
        self.signal = number
        self.news.set()


def see_through(
    prepare: Callable[[], None], start: Callable[[], Running], stops: Stops, say: Callable[[str], None]
) -> None:
    """Prepare, start and wait for the end of a run, or stop it when that is asked for.

    All of it happens in another thread: one inside the JVM bridge hears no signal, and Spark, started in the
    main thread, would install a handler of its own that cancels the batch at hand.
    """
    failures: list[BaseException] = []
    runs: list[Running] = []
    prepared, started, ended = threading.Event(), threading.Event(), threading.Event()

    def follow() -> None:
        try:
            prepare()
            prepared.set()
            runs.append(start())
            started.set()
            runs[0].wait()
        except BaseException as error:
            failures.append(error)
        finally:
            for event in (started, ended, stops.news):
                event.set()

    threading.Thread(target=follow, name="headrace-run", daemon=True).start()
    stops.news.wait()
    if not ended.is_set():
        say("stopping")
        if not prepared.is_set():
            raise KeyboardInterrupt  # nothing has been started that would have to be ended
        started.wait()
        for running in runs:
            running.stop()
        ended.wait()
        say("stopped")
    if failures:
        raise failures[0]


def write_page(
    page: Path,
    title: str,
    plan: str,
    reports: Sequence[BatchReport],
    queries: Mapping[str, str],
    checkpoint: str,
    ipv4: tuple[str, ...] = (),
) -> None:
    """Draw a run to the file `page`.

    `plan` is what EXPLAIN gives as JSON, `queries` maps names to SQL; results come from the checkpoint.
    """
    log = open_log(checkpoint)
    results = {name: {"sql": sql, **_sample(CommittedFiles(log, name), ipv4, PAGE_ROWS)} for name, sql in queries.items()}
    streams = reports[-1].streams if reports else ()
    late = {name: _sample(CommittedFiles(log, name, late=True), ipv4, LATE_ROWS) for name in streams}
    page.parent.mkdir(parents=True, exist_ok=True)
    data = json.loads(plan)
    text = render_page(title, data["graph"], reports, results, late, data.get("partitioning"))
    page.write_text(text, encoding="utf-8")


def _sample(outputs: CommittedFiles, ipv4: tuple[str, ...], count: int) -> dict[str, Any]:
    """The last rows of a query or of late rows, and how many there are."""
    table = outputs.last(count, at_most=MOST_ROWS)
    if table is not None and ipv4:
        there = [name.lower() for name in table.column_names]
        columns = tuple(name for name in ipv4 if name.lower() in there)
        table = pa.Table.from_batches(list(show_addresses(table.to_batches(), columns)))
    return {
        "columns": table.column_names if table is not None else [],
        "rows": list(zip(*(list_values(c) for c in table.columns), strict=True)) if table is not None else [],
        "total": outputs.rows(),
    }
