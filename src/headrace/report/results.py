"""A sample of a result table: its last rows, and a chart when there is one to draw.

The columns of a result are the grouping values and then the aggregates, but a table does not say where one
ends and the other begins. It is found from the data: the grouping columns are the shortest prefix that,
with `window_end`, tells all rows apart; the chart's measure is the first numeric column after it that
varies within a group. The series are the groups with the largest sums. No window_end, fewer than two
windows or no such column: no chart.
"""

from __future__ import annotations

import base64
import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from html import escape
from typing import Any

from headrace.report import chart, text
from headrace.report.chart import Chart, Series

_ROWS, _GROUPS, _CELL = 20, 5, 120
_WINDOW = ("window_start", "window_end")

Row = Sequence[Any]


def draw_results(columns: Sequence[str], rows: Sequence[Row]) -> tuple[str, str]:
    """(chart, table) as HTML; the chart is '' when there is none to draw."""
    if not rows:
        return "", '<p class="none">No results yet: no window has been closed.</p>'
    if "window_end" in columns:
        at = columns.index("window_end")
        rows = sorted(rows, key=lambda row: -math.inf if (end := _number(row[at])) is None else end)
    found = result_chart(columns, rows)
    return (chart.draw(found) if found else ""), draw_table(columns, rows)


def result_chart(columns: Sequence[str], rows: Sequence[Row]) -> Chart | None:
    """A measure over window_end for the largest groups, or None. Rows are in window order."""
    if "window_end" not in columns:
        return None
    at = columns.index("window_end")
    others = [i for i, name in enumerate(columns) if name not in _WINDOW]
    keys = _grouping(rows, at, others)
    numeric = [i for i in others if i not in keys and _numeric([row[i] for row in rows])]
    measure = next((i for i in numeric if not _follows(rows, keys, i)), None)
    ends = sorted({end for row in rows if (end := _number(row[at])) is not None})
    if measure is None or len(ends) < 2:
        return None
    groups: dict[tuple[str, ...], dict[float, float]] = defaultdict(dict)
    for row in rows:
        value, end = _number(row[measure]), _number(row[at])
        if value is not None and end is not None:
            groups[tuple(shown(row[i]) for i in keys)][end] = value
    largest = sorted(groups, key=lambda key: -sum(abs(v) for v in groups[key].values()))[:_GROUPS]
    series = [
        Series(", ".join(key) or columns[measure], [groups[key].get(end) for end in ends]) for key in largest
    ]
    by = ", ".join(columns[i] for i in keys)
    some = f", {len(largest)} largest of {len(groups):,}" if len(groups) > len(largest) else ""
    note = f"by window_end{f' and {by}' if by else ''}{some}"
    moments = all(isinstance(row[at], date) for row in rows if _number(row[at]) is not None)  # a datetime is a date
    return Chart(
        columns[measure],
        note,
        ends,
        series,
        text.number,
        _clock(ends) if moments else text.number,
    )


def shown(value: Any) -> str:
    """A value as a cell shows it."""
    if value is None:
        return "null"
    if isinstance(value, datetime):
        moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return moment.isoformat(" ")
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return base64.b16encode(value[:_CELL]).decode().lower()
    return str(value)


def _grouping(rows: Sequence[Row], at: int, others: Sequence[int]) -> list[int]:
    for count in range(len(others) + 1):
        seen = {tuple(shown(row[i]) for i in (at, *others[:count])) for row in rows}
        if len(seen) == len(rows):
            return list(others[:count])
    return list(others)


def _follows(rows: Sequence[Row], keys: Sequence[int], column: int) -> bool:
    """Whether the grouping values alone decide `column`: then it is one of them, not a measure."""
    seen: dict[tuple[str, ...], str] = {}
    for row in rows:
        value = shown(row[column])
        if seen.setdefault(tuple(shown(row[i]) for i in keys), value) != value:
            return False
    return True


def _numeric(values: Sequence[Any]) -> bool:
    some = [value for value in values if value is not None]
    return bool(some) and all(isinstance(v, int | float | Decimal) and not isinstance(v, bool) for v in some)


def _number(value: Any) -> float | None:
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (moment - text.EPOCH) / timedelta(seconds=1)
    if isinstance(value, date):
        return _number(datetime(value.year, value.month, value.day, tzinfo=UTC))
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() else None
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None


def _clock(ends: Sequence[float]) -> chart.Format:
    """Time of day, or the date when the windows span days."""
    first, last = ends[0], ends[-1]
    pattern = "%m-%d" if last - first > 3 * 86400 else "%m-%d %H:%M" if last - first > 86400 else "%H:%M"
    return lambda value: (text.EPOCH + timedelta(seconds=value)).strftime(pattern)


def draw_table(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """The last rows as HTML, newest first."""
    last = rows[-_ROWS:][::-1]
    right = [_numeric([row[i] for row in last]) for i in range(len(columns))]
    css = [' class="n"' if is_number else "" for is_number in right]
    head = "".join(f"<th{css[i]}>{escape(name)}</th>" for i, name in enumerate(columns))
    body = "".join(
        "<tr>" + "".join(_cell(row[i], css[i]) for i in range(len(columns))) + "</tr>" for row in last
    )
    caption = (
        f"the last {len(last):,} of {len(rows):,} rows at hand"
        if len(rows) > len(last)
        else "all rows at hand"
    )
    return (
        f'<div class="results scroll"><table><caption>{caption}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(value: Any, css: str) -> str:
    if value is None:
        return '<td class="null">null</td>'
    words = shown(value)
    if len(words) > _CELL:
        words = words[: _CELL - 1] + "…"
    return f"<td{css}>{escape(words)}</td>"
