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
from rich.console import Console

from headrace.report.export import Outputs, open_log
from headrace.report.live import LiveView
from headrace.report.log import log_line
from headrace.report.model import BatchReport
from headrace.report.page import render_page

PAGE_ROWS, MOST_ROWS = 2_000, 200_000  # of each query: enough for a chart, and not too many to draw

View = tuple[AbstractContextManager[object], Callable[[BatchReport], None], Callable[[str], None]]


class Running(Protocol):
    def wait(self) -> Any: ...
    def stop(self) -> Any: ...


def view(title: str) -> View:
    """What to enter, what to call per batch, and what to call when the state of the run changes."""
    console = Console()
    if console.is_terminal:
        live = LiveView(title, console)
        return live, live.on_batch, live.set_state
    return (
        nullcontext(),
        lambda report: click.echo(log_line(report)),
        lambda state: click.echo(state, err=True),
    )


@contextmanager
def kept_quiet(log: Path) -> Iterator[None]:
    """Within it, a process that is started writes its errors to `log`: Java's chatter would tear the view."""
    sys.stderr.flush()
    with log.open("wb") as file:
        terminal = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


def wait(running: Running, say: Callable[[str], None]) -> int | None:
    """Wait for the end of the run; the number of the signal that ended it, if one did.

    Another thread does the waiting, since a thread inside the JVM bridge hears no signal. Spark's own
    handler of SIGINT would cancel the batch, so ours replaces it meanwhile. A second signal ends the
    process at once.
    """
    failures: list[BaseException] = []
    stops: list[int] = []
    news, ended = threading.Event(), threading.Event()

    def follow() -> None:
        try:
            running.wait()
        except BaseException as error:
            failures.append(error)
        finally:
            ended.set()
            news.set()

    def on_signal(number: int, _: object) -> None:
        if stops:
            os._exit(128 + number)
        stops.append(number)
        news.set()

    with _handled(on_signal):
        threading.Thread(target=follow, name="headrace-wait", daemon=True).start()
        news.wait()
        if stops and not ended.is_set():
            say("stopping")
            running.stop()
            ended.wait()
            say("stopped")
    if failures:
        raise failures[0]
    return stops[0] if stops else None


@contextmanager
def _handled(handler: Callable[[int, object], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def write_page(
    page: Path,
    title: str,
    plan: str,
    reports: Sequence[BatchReport],
    queries: Mapping[str, str],
    checkpoint: str,
) -> None:
    """Draw a run to the file `page`.

    `plan` is what EXPLAIN gives as JSON, `queries` maps names to SQL; results come from the checkpoint.
    """
    log = open_log(checkpoint)
    shown: dict[str, dict[str, Any]] = {}
    for name, sql in queries.items():
        outputs = Outputs(log, name)
        table = outputs.last(PAGE_ROWS, at_most=MOST_ROWS)
        shown[name] = {
            "sql": sql,
            "columns": table.column_names if table is not None else [],
            "rows": list(zip(*(c.to_pylist() for c in table.columns), strict=True))
            if table is not None
            else [],
            "total": outputs.rows(),
        }
    page.parent.mkdir(parents=True, exist_ok=True)
    graph = json.loads(plan)["graph"]
    page.write_text(render_page(title, graph, reports, shown), encoding="utf-8")
