"""A run as one HTML page: the plan, how it went, and what came out.

The page needs nothing but itself: style inside, drawings as SVG, no script, no address of any kind, so it
can be mailed, kept with a build, or opened ten years from now. It is a function of data (`render_page`) and
can be drawn from saved reports. Query texts, names and values come from strangers: every string passes
through `html.escape` on its way in, here, in `chart` or in `plan_drawing`; nothing else adds text to the page.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from typing import Any

from headrace.report import chart, plan_drawing, text
from headrace.report.chart import Chart, Series
from headrace.report.heat_map import draw_balance
from headrace.report.model import BatchReport, Totals
from headrace.report.partitioning_drawing import draw_partitioning_section
from headrace.report.results import draw_results, draw_table
from headrace.report.run_details import count_edges, draw_slots, split_seconds

_UNITS: dict[chart.Format, tuple[float, ...]] = {
    text.size: tuple(1024.0**power for power in range(5)),
    text.span: (1.0, 60.0, 3600.0, 86400.0),
}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_LONG = 8  # letters of a tile's value, from which on they are smaller
_POINTS = 240  # a chart of more batches than this shows groups of them


def render_page(
    title: str,
    plan: Mapping[str, Any],
    reports: Sequence[BatchReport],
    queries: Mapping[str, Mapping[str, Any]],
    late: Mapping[str, Mapping[str, Any]] | None = None,
    partitioning: Mapping[str, Any] | None = None,
) -> str:
    """The page as text.

    `plan` is {nodes: [{id, label, kind, detail}], edges: [[from, to]]}; `queries` maps a name to {sql,
    columns, rows} (and `total`, when `rows` are only the last of more), `late` a stream to the last of its late rows.
    `partitioning` is what EXPLAIN says of it.
    """
    counts = count_edges(plan, reports)
    drawing = plan_drawing.draw(plan, counts)
    legend = '<p class="none">At an edge: rows that passed along it. Into state go partial rows, one per pane and group.</p>'
    flushed = before_flush(reports)
    sections = [
        _tiles(reports),
        f'<h2>Plan</h2><div class="card scroll">{drawing}</div>{legend if counts else ""}' if drawing else "",
        "<h2>How it ran</h2>" + _charts(reports),
        draw_slots(reports),
        draw_balance(reports),
        draw_partitioning_section(partitioning or {}),
        _late(late or {}),
        "<h2>Queries and results</h2>" + "".join(_query(name, one, flushed) for name, one in queries.items()),
    ]
    return frame_page(title, _when(reports), sections, "Times are UTC. Hover over a chart for its values.")


def render_plan_page(title: str, plan: Mapping[str, Any]) -> str:
    """EXPLAIN as a page, from what it gives as JSON: the plan, what was weighed to partition the streams, the queries."""
    drawing = plan_drawing.draw(plan["graph"])
    sections = [
        f'<h2>Plan</h2><div class="card scroll">{drawing}</div>',
        draw_partitioning_section(plan["partitioning"]),
        "<h2>Queries</h2>",
        *(
            f'<div class="card query"><h3>{escape(name)}</h3><div class="split"><pre>{highlight(sql)}</pre></div></div>'
            for name, sql in plan["queries"].items()
        ),
    ]
    return frame_page(title, "How these queries would run together. Bytes are estimates, to be compared.", sections)


def frame_page(title: str, subtitle: str, sections: Sequence[str], footer: str = "") -> str:
    """Sections as a whole page."""
    style = files("headrace.report").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body><main>"
        f'<header><p class="brand">headrace</p><h1>{escape(title)}</h1>'
        f"<p>{escape(subtitle)}</p></header>"
        f"{''.join(sections)}"
        f"<footer>{escape(footer)}</footer></main></body></html>\n"
    )


def _late(late: Mapping[str, Mapping[str, Any]]) -> str:
    parts = [
        f'<details class="card query" open><summary><h3>{escape(name)}</h3><span>{one["total"]:,} rows</span></summary>'
        f"{draw_table(one['columns'], one['rows'])}</details>"
        for name, one in late.items()
        if one["rows"]
    ]
    return f"<h2>Late and rejected rows</h2>{''.join(parts)}" if parts else ""


def _when(reports: Sequence[BatchReport]) -> str:
    if not reports:
        return "No batch has been committed yet."
    began = datetime.fromtimestamp(reports[0].started_at, UTC)
    ended = datetime.fromtimestamp(reports[-1].started_at + reports[-1].seconds, UTC)
    slots = reports[-1].slots
    batches = f"{len(reports):,} {'batch' if len(reports) == 1 else 'batches'}"
    until = f"{ended:%H:%M:%S}" if ended.date() == began.date() else f"{ended:%Y-%m-%d %H:%M:%S}"
    return f"{began:%Y-%m-%d %H:%M:%S} to {until}, {batches} on {slots} {'slot' if slots == 1 else 'slots'}"


def _tiles(reports: Sequence[BatchReport]) -> str:
    if not reports:
        return ""
    totals = Totals()
    for report in reports:
        totals = totals.add(report)
    last = reports[-1]
    tiles = [
        ("rows read", *_count(totals.rows), ""),
        ("rows per second", *_rate(totals.rows, totals.seconds), ""),
        ("median batch", text.span(statistics.median(report.seconds for report in reports)), "", ""),
        ("result rows", *_count(totals.results), ""),
        ("late rows", *_count(totals.late), "warn" if totals.late else ""),
        ("rejected rows", *_count(totals.rejected), "warn" if totals.rejected else ""),
        ("open windows", *_count(last.open_windows), ""),
        ("state now", text.size(last.state_bytes), f"{last.state_bytes:,} bytes", ""),
    ]
    return f'<dl class="tiles">{"".join(_tile(*tile) for tile in tiles)}</dl>'


def _tile(name: str, value: str, exact: str, css: str) -> str:
    size = ' class="long"' if len(value) > _LONG else ""
    return f'<div class="{css}" title="{escape(exact)}"><dt>{name}</dt><dd{size}>{escape(value)}</dd></div>'


def _count(count: int) -> tuple[str, str]:
    """A count as a tile has room for it, and exactly."""
    return (f"{count:,}" if count < 1_000_000 else text.number(count)), f"{count:,}"


def _rate(rows: int, seconds: float) -> tuple[str, str]:
    return (text.number(rows / seconds), f"{rows / seconds:,.0f}") if seconds else (text.NONE, "")


def before_flush(reports: Sequence[BatchReport]) -> dict[str, float]:
    """By unit, how far progress had come when a flush closed all windows: those that end later are not complete.

    A flush is a last batch without rows that moves low-watermarks beyond every value seen.
    """
    if not reports or not _is_flush(reports[-1]):
        return {}
    reached: dict[str, float] = {}
    for name, stream in reports[-1].streams.items():
        earlier = [r.streams[name].low_watermark for r in reports[:-1] if name in r.streams]
        mark = next((m for m in reversed(earlier) if m is not None), stream.max_value)
        if mark is not None:
            value = mark / 1e6 if stream.unit == "us" else float(mark)
            reached[stream.unit] = min(value, reached.get(stream.unit, value))
    return reached


def _is_flush(report: BatchReport) -> bool:
    return report.rows == 0 and any(
        s.low_watermark is not None and s.max_value is not None and s.low_watermark > s.max_value
        for s in report.streams.values()
    )


def _charts(reports: Sequence[BatchReport]) -> str:
    if not reports:
        return '<p class="none">Nothing to draw yet.</p>'
    return f'<div class="charts">{"".join(chart.draw(one) for one in _run_charts(reports))}</div>'


def _run_charts(reports: Sequence[BatchReport]) -> Iterator[Chart]:
    """Each point is one batch, or a few in a row when there are many."""
    width = math.ceil(len(reports) / _POINTS)
    groups = [reports[i : i + width] for i in range(0, len(reports), width)]
    each = "per batch" if width == 1 else f"mean of {width} batches"
    x = [float(group[0].batch_id) for group in groups]

    def one(title: str, note: str, series: Sequence[Series], y: chart.Format, kind: chart.Kind) -> Chart:
        if len(x) < 3 and len(series) == 1:  # too few points for a line
            kind = "bar"
        return Chart(
            title, note, x, series, y, lambda batch: f"{batch:.0f}", kind, "batch", _UNITS.get(y, (1.0,))
        )

    rates = [
        None
        if all(map(_is_flush, group))
        else _ratio(sum(r.rows for r in group), sum(r.seconds for r in group))
        for group in groups
    ]
    yield one("Throughput", f"rows per second, {each}", [Series("rows/s", rates)], text.number, "area")
    yield one("Batch time", each, _phases(groups), text.span, "bar")
    yield from _distances(groups, one)
    yield one(
        "State size",
        "at the end of the batch",
        [Series("bytes", [float(g[-1].state_bytes) for g in groups])],
        text.size,
        "area",
    )
    names = list(dict.fromkeys(name for report in reports for name in report.queries))
    results = [
        Series(n, [_mean(g, lambda r, n=n: r.queries[n].results if n in r.queries else 0) for g in groups])
        for n in names
    ]
    if names:
        yield one("Results", f"rows published, {each}", results, text.number, "bar")
    yield one(
        "Open windows",
        "at the end of the batch",
        [Series("windows", [float(g[-1].open_windows) for g in groups])],
        text.number,
        "area",
    )
    if any(report.slots > 1 for report in reports):
        imbalance = [Series("slowest over mean", [_mean(g, lambda r: r.imbalance) for g in groups])]
        yield one("Imbalance", f"slowest slot over the mean, {each}", imbalance, _times, "line")
    if any(report.moves for report in reports):
        moved = [Series("moved", [float(sum(r.moved for r in g)) for g in groups])]
        total = "per batch" if width == 1 else f"in {width} batches"
        yield one("Moves", f"mini-partitions given to another slot, {total}", moved, text.number, "bar")
    if any(report.late or report.rejected for report in reports):
        late = [Series("late", [_mean(g, lambda r: r.late) for g in groups])]
        rejected = [Series("rejected", [_mean(g, lambda r: r.rejected) for g in groups])]
        yield one("Late and rejected rows", each, late + rejected, text.number, "bar")


def _times(value: float) -> str:
    return f"{value:.2f}×"


def _phases(groups: Sequence[Sequence[BatchReport]]) -> list[Series]:
    """Batch time split by phase where the phases are parts of it; the rest is 'other'."""
    totals = [_mean(group, lambda r: r.seconds) for group in groups]
    spent = [[split_seconds(report) for report in group] for group in groups]
    if all(parts for group in spent for parts in group):
        return [
            Series(name, [float(statistics.fmean(parts[name] for parts in group)) for group in spent])
            for name in spent[0][0]
        ]
    names = list(dict.fromkeys(name for group in groups for report in group for name in report.phases))
    parts = [Series(n, [_mean(g, lambda r, n=n: r.phases.get(n, 0.0)) for g in groups]) for n in names]
    rest = [total - sum(s.values[i] or 0.0 for s in parts) for i, total in enumerate(totals)]
    if not names or any(value < -0.05 * total for value, total in zip(rest, totals, strict=True)):
        return [Series("batch", totals)]
    other = Series("other", [max(0.0, value) for value in rest])
    return [*parts, other] if sum(rest) > 0.02 * sum(totals) else parts


def _distances(groups: Sequence[Sequence[BatchReport]], one: Any) -> Iterator[Chart]:
    """One chart per unit: seconds and plain integers do not share an axis."""
    for unit in ("us", "int"):
        names = dict.fromkeys(n for g in groups for r in g for n, s in r.streams.items() if s.unit == unit)
        divide = 1e6 if unit == "us" else 1.0
        found = [Series(name, [_behind_newest(group[-1], name, divide) for group in groups]) for name in names]
        if any(value is not None for series in found for value in series.values):
            note = "low-watermark behind the largest value seen: what is waited for because rows may be out of order"
            yield one("Behind the newest row", note, found, text.span if unit == "us" else text.number, "line")


def _behind_newest(report: BatchReport, name: str, divide: float) -> float | None:
    found = report.streams[name].behind_newest if name in report.streams and not _is_flush(report) else None
    return None if found is None else found / divide


def _mean(group: Sequence[BatchReport], value: Any) -> float:
    return float(statistics.fmean(value(report) for report in group))


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else 0.0


def _query(name: str, query: Mapping[str, Any], flushed: Mapping[str, float]) -> str:
    columns, rows = list(query.get("columns", ())), list(query.get("rows", ()))
    total = query.get("total", len(rows))
    count = f"{total:,} result {'row' if total == 1 else 'rows'}"
    drawing, table = draw_results(columns, rows)
    complete = _complete(columns, rows, flushed)
    if len(complete) < len(rows):
        drawing = draw_results(columns, complete)[0] if complete else ""
        which = "Windows" if drawing else "No chart: all windows at hand, or all but one,"
        note = "that the flush closed early are left out." if drawing else "were closed early by the flush."
        drawing = f'<div>{drawing}<p class="none">{which} {note}</p></div>'
    return (
        f'<details class="card query" open><summary><h3>{escape(name)}</h3><span>{count}</span></summary>'
        f'<div class="split"><pre>{highlight(str(query.get("sql", "")))}</pre>{drawing}</div>'
        f"{table}</details>"
    )


def _complete(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], flushed: Mapping[str, float]
) -> Sequence[Sequence[Any]]:
    """The rows of windows that were complete before a flush."""
    if not flushed or "window_end" not in columns:
        return rows
    at = columns.index("window_end")

    def ended(row: Sequence[Any]) -> bool:
        end = row[at]
        if isinstance(end, datetime):
            moment = end if end.tzinfo else end.replace(tzinfo=UTC)
            return (moment - text.EPOCH).total_seconds() <= flushed.get("us", math.inf)
        return not isinstance(end, int) or end <= flushed.get("int", math.inf)

    return [row for row in rows if ended(row)]


_TOKEN = re.compile(
    r"(?P<i>--[^\n]*|/\*.*?\*/)|(?P<q>'(?:[^'\\]|''|\\.)*')|(?P<b>\b(?:create|stream|query|as|select|distinct|from|where|"
    r"group|by|having|union|all|order|join|left|right|full|outer|inner|on|and|or|not|in|is|null|between|like|case|when|"
    r"then|else|end|range|slide|rows|landmark|origin|align|progressing|ordered|slack|options|with|window|interval|"
    r"second|seconds|minute|minutes|hour|hours|day|days)\b)",
    re.IGNORECASE | re.DOTALL,
)


def highlight(sql: str) -> str:
    """`sql` escaped, with keywords, strings and comments marked."""
    parts, end = [], 0
    for match in _TOKEN.finditer(sql):
        tag = match.lastgroup
        parts += [escape(sql[end : match.start()]), f"<{tag}>{escape(match.group())}</{tag}>"]
        end = match.end()
    return "".join([*parts, escape(sql[end:])])
