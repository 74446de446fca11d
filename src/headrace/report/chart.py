"""Small charts as SVG text: lines, areas and stacked bars over one x axis that they share.

A chart is drawn for a fixed 480 by 190 box and scaled by the page. Colours are classes (`c1` … `c8`), so
that the page's style decides them for light and dark. Every string is escaped here; the caller passes plain
text. There is no script: a hit area per x value carries a `<title>`, which browsers show on hover and
readers read out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Literal

Format = Callable[[float], str]
Kind = Literal["line", "area", "bar"]

COLOURS = 8
_W, _H = 480.0, 190.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 10.0, 10.0, 26.0


@dataclass(frozen=True)
class Series:
    """A name and one value per x; None is a gap."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Chart:
    title: str
    note: str
    x: Sequence[float]
    series: Sequence[Series]
    y_format: Format
    x_format: Format
    kind: Kind = "line"
    x_name: str = ""
    units: Sequence[float] = (
        1.0,
    )  # round numbers of the axis are multiples of the largest of these that fits


def draw(chart: Chart) -> str:
    """The chart as a `<figure>`, with a legend when there is more than one series."""
    series = _fold(chart.series)
    drawn = _Frame.of(chart, series)
    body = _bars(chart, series, drawn) if chart.kind == "bar" else _lines(chart, series, drawn)
    legend = ""
    if len(series) > 1:
        items = (f'<li class="c{i}"><i></i>{escape(one.name)}</li>' for i, one in enumerate(series, 1))
        legend = f'<ul class="legend">{"".join(items)}</ul>'
    caption = f"<b>{escape(chart.title)}</b> <span>{escape(chart.note)}</span>"
    return (
        f'<figure class="chart"><figcaption>{caption}</figcaption>{legend}'
        f'<svg viewBox="0 0 {_W:.0f} {_H:.0f}" role="img" aria-label="{escape(chart.title)}">'
        f"{_axes(chart, drawn)}{body}{_hits(chart, series, drawn)}</svg></figure>"
    )


_LARGEST, _SMALLEST = 8e307, 1e-290


def scale(low: float, high: float, count: int = 4) -> list[float]:
    """Round values from at most `low` to at least `high`, about `count` steps apart."""
    low, high = max(low, -_LARGEST), min(high, _LARGEST)  # so that their difference is a number
    if not (math.isfinite(low) and math.isfinite(high)) or high - low < _SMALLEST:
        high = low + 1 if math.isfinite(low) else 1.0
        low = low if math.isfinite(low) else 0.0
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw * 0.999)
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)]


@dataclass(frozen=True)
class _Frame:
    """Where data values are on the drawing."""

    ticks: Sequence[float]
    x_low: float
    x_high: float
    slot: float  # drawing units from one x to the next

    @classmethod
    def of(cls, chart: Chart, series: Sequence[Series]) -> _Frame:
        if chart.kind == "bar":
            tops = [sum(v or 0.0 for v in column) for column in zip(*(s.values for s in series), strict=True)]
        else:
            tops = [v for s in series for v in s.values if v is not None]
        low, high = min([*tops, 0.0]), max([*tops, 0.0])
        unit = max((u for u in chart.units if u <= high), default=1.0)
        ticks = [tick * unit for tick in scale(low / unit, high / unit)]
        x_low, x_high = (min(chart.x), max(chart.x)) if chart.x else (0.0, 1.0)
        return cls(ticks, x_low, x_high, (_W - _LEFT - _RIGHT) / max(1, len(chart.x)))

    def x(self, value: float) -> float:
        """Values stand in the middle of equal slots' worth of room, so that bars and lines line up."""
        inner = _W - _LEFT - _RIGHT - self.slot
        share = (value - self.x_low) / (self.x_high - self.x_low) if self.x_high > self.x_low else 0.5
        return _LEFT + self.slot / 2 + share * inner

    def y(self, value: float) -> float:
        low, high = self.ticks[0], self.ticks[-1]
        return _TOP + (1 - (value - low) / (high - low)) * (_H - _TOP - _BOTTOM)


def _fold(series: Sequence[Series]) -> Sequence[Series]:
    """At most `COLOURS` series: the rest is added up as one."""
    if len(series) <= COLOURS:
        return series
    kept, rest = series[: COLOURS - 1], series[COLOURS - 1 :]
    sums = [sum(v or 0.0 for v in column) for column in zip(*(s.values for s in rest), strict=True)]
    return [*kept, Series(f"{len(rest)} others", sums)]


def _axes(chart: Chart, frame: _Frame) -> str:
    parts = []
    for tick in frame.ticks:
        y = frame.y(tick)
        css = "zero" if tick == 0 else "grid"
        parts.append(
            f'<line class="{css}" x1="{_LEFT:.0f}" x2="{_W - _RIGHT:.0f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        label = escape(chart.y_format(tick))
        parts.append(
            f'<text class="tick" x="{_LEFT - 6:.0f}" y="{y + 3.5:.1f}" text-anchor="end">{label}</text>'
        )
    if chart.x:
        count = len(chart.x)
        shown = sorted({round(i * (count - 1) / 4) for i in range(5)}) if count > 1 else [0]
        for i in shown:
            anchor = "middle" if count == 1 else "start" if i == 0 else "end" if i == count - 1 else "middle"
            x = frame.x(chart.x[i])
            label = escape(chart.x_format(chart.x[i]))
            parts.append(
                f'<text class="tick" x="{x:.1f}" y="{_H - 8:.0f}" text-anchor="{anchor}">{label}</text>'
            )
    return "".join(parts)


def _lines(chart: Chart, series: Sequence[Series], frame: _Frame) -> str:
    parts = []
    for number, one in enumerate(series, 1):
        for run in _runs(chart.x, one.values):
            points = [(frame.x(x), frame.y(y)) for x, y in run]
            path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            if chart.kind == "area":
                floor = frame.y(max(0.0, frame.ticks[0]))
                close = f"L{points[-1][0]:.1f} {floor:.1f}L{points[0][0]:.1f} {floor:.1f}Z"
                parts.append(f'<path class="area c{number}" d="{path}{close}"/>')
            parts.append(f'<path class="line c{number}" d="{path}"/>')
            if len(points) <= 40:
                dots = (f'<circle class="dot c{number}" cx="{x:.1f}" cy="{y:.1f}" r="2"/>' for x, y in points)
                parts.append("".join(dots))
    return "".join(parts)


def _runs(xs: Sequence[float], values: Sequence[float | None]) -> list[list[tuple[float, float]]]:
    """The stretches without a gap."""
    runs: list[list[tuple[float, float]]] = [[]]
    for x, value in zip(xs, values, strict=True):
        if value is not None:
            runs[-1].append((x, value))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _bars(chart: Chart, series: Sequence[Series], frame: _Frame) -> str:
    width = min(28.0, max(0.6, frame.slot * 0.78))
    parts = []
    for i, x in enumerate(chart.x):
        base = 0.0
        for number, one in enumerate(series, 1):
            value = one.values[i] or 0.0
            if value <= 0:
                continue
            top, bottom = frame.y(base + value), frame.y(base)
            parts.append(
                f'<rect class="bar c{number}" x="{frame.x(x) - width / 2:.1f}" y="{top:.1f}" '
                f'width="{width:.1f}" height="{max(0.4, bottom - top):.1f}"/>'
            )
            base += value
    return "".join(parts)


def _hits(chart: Chart, series: Sequence[Series], frame: _Frame) -> str:
    """Invisible columns with the values in words; the borders are half-way between neighbours."""
    places = [frame.x(x) for x in chart.x]
    borders = [_LEFT, *((a + b) / 2 for a, b in pairwise(places)), _W - _RIGHT]
    parts = []
    for i, (left, right) in enumerate(pairwise(borders)):
        words = [f"{chart.x_name} {chart.x_format(chart.x[i])}".strip() if chart.x else ""]
        for one in series if chart.x else ():
            value = one.values[i]
            if value is not None:
                shown = chart.y_format(value)
                words.append(f"{one.name}: {shown}" if len(series) > 1 else shown)
        parts.append(
            f'<rect class="hit" x="{left:.1f}" y="{_TOP:.0f}" width="{max(0.0, right - left):.1f}" '
            f'height="{_H - _TOP - _BOTTOM:.0f}"><title>{escape(chr(10).join(words))}</title></rect>'
        )
    return "".join(parts)
