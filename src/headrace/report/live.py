"""The live view: a picture of a run that redraws itself in a terminal, fed by batch reports.

Everything shown is computed from the reports when it is drawn, so a resized terminal is right at the next
redraw. The view never needs more lines than the terminal has: rows of streams and queries are dropped, with
a line that says how many, before anything else is. On 120 columns or more the two tables stand side by
side.

`on_batch` is called by the thread that commits batches, drawing happens in rich's own; a lock keeps the two
apart.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from threading import Lock
from types import TracebackType

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from headrace.report import text
from headrace.report.model import BatchReport, Totals, throughput

_NARROW, _WIDE, _WIDER = 64, 120, 150
_TOLD_SHARE = 0.01  # of a batch's seconds: a shorter phase is not listed
_HISTORY = 400
_FIXED_LINES = 13  # title, throughput panel, state panel, the heads of the tables


class LiveView:
    """Use as a context manager; give `on_batch` to whatever makes reports."""

    def __init__(
        self,
        title: str,
        console: Console | None = None,
        clock: Callable[[], float] = time.time,
        before: Mapping[tuple[str, str], int] | None = None,
    ) -> None:
        self.console = console or Console()
        self._title = text.one_line(title)
        self._clock = clock
        self._began = clock()
        self._lock = Lock()
        self._reports: deque[BatchReport] = deque(maxlen=_HISTORY)
        self._counts = Counter(before or {})  # (kind, name) → rows, late, rejected or results since the checkpoint began
        self._totals = Totals(**{kind: self._sum(kind) for kind in ("rows", "late", "rejected", "results")})
        self._state = "starting"
        self._live = Live(self, console=self.console, refresh_per_second=4, vertical_overflow="crop")

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._state in ("starting", "running"):
            self._state = "failed" if error is not None else "done"
        self._live.stop()

    def on_batch(self, report: BatchReport) -> None:
        with self._lock:
            self._reports.append(report)
            self._totals = self._totals.add(report)
            for name, stream in report.streams.items():
                self._counts["rows", name] += stream.rows
                self._counts["late", name] += stream.late
                self._counts["rejected", name] += stream.rejected
            for name, query in report.queries.items():
                self._counts["results", name] += query.results
            if self._state == "starting":
                self._state = "running"

    def _sum(self, kind: str) -> int:
        return sum(count for (one, _), count in self._counts.items() if one == kind)

    def set_state(self, state: str) -> None:
        """What the top right corner says: starting, running, stopping, stopped, done, failed."""
        self._state = state

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with self._lock:
            yield self._draw(options.max_width, options.size.height)

    def _draw(self, width: int, height: int) -> RenderableType:
        last = self._reports[-1] if self._reports else None
        if last is None:
            return Group(self._head(), Text("  waiting for the first batch", style="dim"))
        wide = width >= _WIDE
        budget = max(2, height - _FIXED_LINES)
        streams, queries = len(last.streams), len(last.queries)
        for_streams = (
            budget if wide else max(1, min(streams, budget // 2, budget - min(queries, budget // 2)))
        )
        for_queries = budget if wide else max(1, budget - min(streams, for_streams))
        tables = (self._streams(last, for_streams, width), self._queries(last, for_queries))
        body: RenderableType = Group(*tables)
        if wide:
            pair = Table.grid(expand=True, padding=(0, 1))
            pair.add_column(ratio=3)
            pair.add_column(ratio=2)
            pair.add_row(*tables)
            body = pair
        return Group(self._head(), self._rate(last, width), body, self._foot(last))

    def _head(self) -> RenderableType:
        head = Table.grid(expand=True, padding=(0, 1))
        head.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        head.add_column(justify="right", no_wrap=True)
        colour = {"running": "green", "failed": "red", "stopping": "yellow"}.get(self._state, "cyan")
        state = Text.assemble(
            ("● ", colour), self._state, (f"  {text.span(int(self._clock() - self._began))}", "dim")
        )
        head.add_row(Text.assemble(("headrace  ", "bold cyan"), (self._title, "bold")), state)
        return head

    def _rate(self, last: BatchReport, width: int) -> RenderableType:
        rates = [report.rows / report.seconds if report.seconds > 0 else 0.0 for report in self._reports]
        speed = text.rate(throughput(list(self._reports)))
        line = Text.assemble((f"{speed:<14}", "bold green"), "  ")
        line.append(text.sparkline(rates, width - len(line) - 6), style="green")
        batch = Text.assemble(
            ("batch ", "dim"),
            f"{last.batch_id}",
            ("  took ", "dim"),
            text.span(last.seconds),
            ("  rows ", "dim"),
            f"{last.rows:,}",
            ("  total ", "dim"),
            f"{text.number(self._totals.rows)} rows",
            ("  results ", "dim"),
            text.number(self._totals.results),
        )
        told = [(n, s) for n, s in last.phases.items() if s >= _TOLD_SHARE * last.seconds]
        for name, seconds in sorted(told, key=lambda one: -one[1]):
            batch.append(f"  {text.one_line(name)} ", style="dim")
            batch.append(text.span(seconds), style="dim cyan")
        batch.no_wrap, batch.overflow = True, "ellipsis"
        return Panel(
            Group(line, batch), box=box.ROUNDED, border_style="dim", title="throughput", title_align="left"
        )

    def _streams(self, last: BatchReport, room: int, width: int) -> RenderableType:
        wider, roomy = width >= _WIDER, width >= _NARROW + 12
        clock, newest, rejects = ["behind clock"] * wider, ["behind newest"] * roomy, ["rejected"] * roomy
        table = _table("stream", "rows", "low-watermark", *newest, *clock, "late", *rejects)
        now = self._clock()
        for name in list(last.streams)[: _fits(len(last.streams), room)]:
            stream = last.streams[name]
            late, rejected = self._counts["late", name], self._counts["rejected", name]
            table.add_row(
                text.one_line(name),
                text.number(self._counts["rows", name]),
                text.ticks(stream.low_watermark, stream.unit).split(".")[0],
                *([text.distance(stream.behind_newest, stream.unit)] if roomy else []),
                *([text.span(stream.behind_clock(now))] if wider else []),
                Text(text.number(late), style="yellow" if late else "dim"),
                *([Text(text.number(rejected), style="red" if rejected else "dim")] if roomy else []),
            )
        return _with_rest(table, len(last.streams), room)

    def _queries(self, last: BatchReport, room: int) -> RenderableType:
        table = _table("query", "results", "last batch")
        for name in list(last.queries)[: _fits(len(last.queries), room)]:
            new = last.queries[name].results
            table.add_row(
                text.one_line(name),
                f"{self._counts['results', name]:,}",
                Text(f"+{new:,}" if new else "0", style="green" if new else "dim"),
            )
        return _with_rest(table, len(last.queries), room)

    def _foot(self, last: BatchReport) -> RenderableType:
        line = Text.assemble(
            ("state ", "dim"),
            text.size(last.state_bytes),
            ("  rows ", "dim"),
            text.number(last.state_rows),
            ("  segments ", "dim"),
            f"{last.segments:,}",
            ("  open windows ", "dim"),
            f"{last.open_windows:,}",
            ("  slots ", "dim"),
            f"{last.slots}",
            ("  late ", "dim"),
            text.number(self._totals.late),
        )
        slots = Text.assemble(
            ("imbalance ", "dim"), f"{last.imbalance:.2f}", ("  moved ", "dim"), f"{last.moved:,}  "
        )
        slots.append(text.sparkline(list(last.slot_seconds), 40), style="cyan")
        for name, table in last.static_tables.items():
            way = "divided" if table.divided else "broadcast"
            slots.append(f"  {text.one_line(name)} ", style="dim")
            slots.append(f"{text.size(table.bytes)} {way}")
        if last.waiting_rows:
            slots.append(f"  waiting {last.waiting_rows:,} rows, {text.span(last.behind_seconds)} behind", style="yellow")
        for note in last.notes:
            slots.append(f"  {text.one_line(note)}", style="yellow")
        for one in (line, slots):
            one.no_wrap, one.overflow = True, "ellipsis"
        return Panel(Group(line, slots), box=box.ROUNDED, border_style="dim")


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, expand=True, pad_edge=False, header_style="dim", show_edge=False)
    table.add_column(first, ratio=1, no_wrap=True, overflow="ellipsis", style="bold", min_width=8)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _fits(count: int, room: int) -> int:
    return count if count <= room else max(1, room - 1)


def _with_rest(table: Table, count: int, room: int) -> RenderableType:
    hidden = count - _fits(count, room)
    return Group(table, Text(f"… {hidden} more", style="dim")) if hidden else table
