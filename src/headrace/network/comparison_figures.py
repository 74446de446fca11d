"""Figures in the manner of the document's, drawn with matplotlib into small SVG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace.errors import NetworkError
from headrace.network.compare_algorithms import AlgorithmRun

COLOURS = {
    "exact": "#1b1b1b",
    "top-down": "#0072b2",
    "npc": "#009e73",
    "bottom-up": "#56b4e9",
    "plan-then-deploy": "#e69f00",
    "in-network": "#d55e00",
    "relaxation": "#cc79a7",
}
MARKS = "osD^vP*X"
Line = tuple[Sequence[float], Sequence[float]]


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise NetworkError("figures are drawn with matplotlib: install headrace[network]") from None
    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {"svg.fonttype": "none", "svg.hashsalt": "headrace", "font.size": 9, "font.family": "sans-serif"}
    )
    from matplotlib import pyplot

    return pyplot


def draw_lines(
    path: str | Path,
    title: str,
    x_label: str,
    y_label: str,
    series: Mapping[str, Line],
    log_y: bool = False,
    from_zero: bool = True,
) -> Path:
    """A line per name."""
    plot = _pyplot()
    figure, axes = plot.subplots(figsize=(5.2, 3.3))
    for i, (name, (xs, ys)) in enumerate(series.items()):
        key = next((a for a in COLOURS if name.startswith(a)), None)
        axes.plot(
            xs,
            ys,
            label=name,
            color=COLOURS[key] if name in COLOURS and key else None,
            marker=MARKS[i % len(MARKS)],
            markersize=4,
            markevery=max(1, len(xs) // 8),
            linewidth=1.4,
        )
    if log_y:
        axes.set_yscale("log")
    return _finish(plot, figure, axes, path, title, x_label, y_label, from_zero and not log_y)


def draw_bars(
    path: str | Path, title: str, y_label: str, names: Sequence[str], parts: Mapping[str, Sequence[float]]
) -> Path:
    """Groups of bars: one group per name, one bar per part."""
    plot = _pyplot()
    figure, axes = plot.subplots(figsize=(5.2, 3.3))
    width = 0.8 / len(parts)
    for i, (part, heights) in enumerate(parts.items()):
        places = [n + (i - (len(parts) - 1) / 2) * width for n in range(len(names))]
        drawn = axes.bar(places, heights, width, label=part, color=["#0072b2", "#e69f00", "#009e73"][i % 3])
        axes.bar_label(drawn, fmt="%.0f", fontsize=7)
    axes.set_xticks(range(len(names)), names, rotation=20, ha="right")
    return _finish(plot, figure, axes, path, title, "", y_label, True)


def _finish(
    plot: Any,
    figure: Any,
    axes: Any,
    path: str | Path,
    title: str,
    x_label: str,
    y_label: str,
    from_zero: bool,
) -> Path:
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    if from_zero:
        axes.set_ylim(bottom=0)
    axes.grid(True, axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(fontsize=7.5, frameon=False)
    figure.tight_layout()
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, metadata={"Date": None})
    plot.close(figure)
    return target


def draw_cumulative(
    path: str | Path,
    title: str,
    runs: Sequence[AlgorithmRun],
    what: str = "cost",
    log: bool = False,
    against: AlgorithmRun | None = None,
) -> Path:
    """Cumulative cost or plans over the queries, a line per run; cost against another run's if one is
    given.
    """
    names = [r.algorithm for r in runs]
    several = len(set(names)) < len(names)
    series: dict[str, Line] = {}
    for r in runs:
        ys = [float(v) for v in (r.costs if what == "cost" else r.examined)]
        if against is not None:
            ys = [y / other for y, other in zip(ys, against.costs, strict=True)]
        step = max(1, len(ys) // 30)
        keep = sorted({*range(step - 1, len(ys), step), len(ys) - 1})
        label = f"max_cs {r.max_cs}" if several else r.algorithm
        series[label] = ([k + 1 for k in keep], [ys[k] for k in keep])
    y_label = "total cost per second" if what == "cost" else "plans examined (cumulative)"
    y_label = y_label if against is None else f"total cost / {against.algorithm}"
    return draw_lines(path, title, "queries deployed", y_label, series, log_y=log, from_zero=against is None)
