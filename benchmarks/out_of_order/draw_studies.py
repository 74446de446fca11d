"""Figures and tables of docs/evidence/out-of-order.md from the measured results."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.network.draw import markdown
from headrace.network.comparison_figures import draw_lines

ROOT = Path(__file__).parents[2]
PAGE, FIGURES = ROOT / "docs" / "evidence" / "out-of-order.md", ROOT / "docs" / "figures"
RESULTS = Path(__file__).parent / "results"
LABELS = {
    "product": "Headrace's checkpoint",
    "OOP": "OOP (Headrace's checkpoint)",
    "generous": "generous (Headrace's SLACK)",
}

Series = dict[str, tuple[list[float], list[float]]]


def draw_studies(page: Path = PAGE, figures: Path = FIGURES) -> None:
    """Everything there are results for; a table replaces what stands between its marks in the page."""
    text = page.read_text(encoding="utf-8")
    for name, draw in PARTS.items():
        data = json.loads((RESULTS / f"{name}.json").read_text())
        for mark, table in draw(data, figures).items():
            pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", re.DOTALL)
            assert pattern.search(text), f"{page} has no place for {mark}"
            text = pattern.sub(rf"\g<1>{table}\n\g<2>", text)
    page.write_text(text, encoding="utf-8")


def collect_series(rows: list[dict[str, Any]], line: str, x: str, y: str, scale: float = 1) -> Series:
    """A line for each value of `line`, of the rows that have both values."""
    series: Series = {}
    for row in rows:
        if row.get(x) is not None and y in row:
            xs, ys = series.setdefault(LABELS.get(row[line], row[line]), ([], []))
            xs.append(row[x])
            ys.append(row[y] * scale)
    return series


def draw_bands(data: dict[str, Any], figures: Path) -> dict[str, str]:
    rows = data["rows"]
    for name, title, y, key, scale, log in (
        ("memory", "Q7-2: most rows held (Figs 7-6 a, 7-7)", "rows held", "held_rows", 1, True),
        (
            "latency",
            "Q7-2: from punctuation to result (Fig. 7-6 b)",
            "ms of processor time",
            "latency",
            1000,
            False,
        ),
        ("time", "Q7-2: execution time (Fig. 7-6 c)", "s of processor time", "seconds", 1, False),
    ):
        series = collect_series(rows, "join", "band", key, scale)
        draw_lines(figures / f"out-of-order-bands-{name}.svg", title, "band, s", y, series, log_y=log)
    bands = sorted({r["band"] for r in rows})
    by = {(r["join"], r["band"]): r for r in rows}
    table = [["pairs in the first minute", *(f"{by['OA-Join', b]['pairs']['0']:,}" for b in bands)]]
    for join in ("OA-Join", "OPIB-Join", "OPOB-Join", "product"):
        label = LABELS.get(join, join)
        table.append([f"{label}: rows held", *(f"{by[join, b]['held_rows']:,}" for b in bands)])
        table.append([f"{label}: kB held", *(f"{by[join, b]['held_bytes'] / 1000:,.0f}" for b in bands)])
    for join in ("OA-Join", "OPIB-Join", "OPOB-Join"):
        table.append([f"{join}: latency, ms", *(f"{by[join, b]['latency'] * 1000:.1f}" for b in bands)])
    for join in ("OA-Join", "OPIB-Join", "OPOB-Join"):
        table.append([f"{join}: time, s", *(f"{by[join, b]['seconds']:.2f}" for b in bands)])
    return {"bands": markdown(["band, s", *map(str, bands)], table)}


def draw_skews(data: dict[str, Any], figures: Path) -> dict[str, str]:
    tables = {}
    for query, name, title, x in (
        ("Q8-2", "union-count", "Q8-2: groups per minute of a union (Fig. 8-8)", "M2 behind M1, s"),
        (
            "Q8-3",
            "union-join",
            "Q8-3: tumbling join of two unions (Fig. 8-9)",
            "B behind A and D behind C, s",
        ),
        ("Q8-4", "late-join", "Q8-4: tumbling join, thin input late (Fig. 8-10)", "C behind, s"),
        ("Q8-5", "sliding-count", "Q8-5: sliding count of a union (Fig. 8-11)", "C behind, s"),
    ):
        rows = [r for r in data["rows"] if r["query"] == query]
        if not rows:
            continue
        series = collect_series(rows, "plan", "skew", "held_rows")
        draw_lines(figures / f"out-of-order-{name}.svg", title, x, "most rows held", series)
        skews = sorted({r["skew"] for r in rows})
        by = {(r["plan"], r["skew"]): r for r in rows}
        table = []
        for plan in dict.fromkeys(r["plan"] for r in rows):
            label = LABELS.get(plan, plan)
            table.append([f"{label}: rows", *(f"{by[plan, s]['held_rows']:,}" for s in skews)])
            table.append([f"{label}: kB", *(f"{by[plan, s]['held_bytes'] / 1000:,.0f}" for s in skews)])
        tables[query] = markdown([x, *map(str, skews)], table)
    return tables


def draw_slacks(data: dict[str, Any], figures: Path) -> dict[str, str]:
    tables = {}
    for case, key, name, label, number, unit in (
        ("band", "error", "band", "mean error, %", "6-11", 1000),
        ("block-sorted", "wrong", "block", "wrong results, %", "6-12", 1000),
    ):
        rows = [{**r, "slack": None if r["slack"] is None else r["slack"] / unit} for r in data[case]]
        slacks = sorted({r["slack"] for r in rows if r["slack"] is not None})
        (exact,) = [r for r in rows if r["policy"] == "punctuation"]
        for y, what in ((key, label), ("latency", "latency after punctuation, s")):
            series = collect_series(rows, "policy", "slack", y)
            series["punctuation (Headrace)"] = ([slacks[0], slacks[-1]], [exact[y]] * 2)
            kind = "accuracy" if y == key else "latency"
            title = f"{case} disorder: {kind} by slack (Fig. {number})"
            target = figures / f"out-of-order-{name}-{kind}.svg"
            draw_lines(target, title, "slack, s", what, series, from_zero=False)
        by = {(r["policy"], r["slack"]): r for r in rows}
        table = [["punctuation (Headrace)", "", *(f"{exact[k]:.2f}" for k in ("error", "wrong", "latency"))]]
        for policy in ("generous", "consistent"):
            for slack in slacks:
                cells = (f"{by[policy, slack][k]:.2f}" for k in ("error", "wrong", "latency"))
                table.append([LABELS.get(policy, policy), f"{slack:g}", *cells])
        tables[case] = markdown(
            ["policy", "slack, s", "mean error, %", "wrong results, %", "latency, s"], table
        )
    return tables


PARTS: dict[str, Callable[[dict[str, Any], Path], dict[str, str]]] = {
    "bands": draw_bands,
    "unions": draw_skews,
    "joins": draw_skews,
    "slack": draw_slacks,
}
