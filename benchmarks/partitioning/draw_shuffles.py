"""Figures and tables of docs/evidence/partitioning.md from the measured results."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.balance.draw_balance import markdown
from benchmarks.partitioning.experiments import EXPERIMENTS
from headrace.network.comparison_figures import draw_lines

ROOT = Path(__file__).parents[2]
PAGE, FIGURES = ROOT / "docs" / "evidence" / "partitioning.md", ROOT / "docs" / "figures"
RESULTS = Path(__file__).parent / "results"
WORKERS = (1, 2, 3, 4)


def draw() -> None:
    """Everything there are results for; a table replaces what stands between its marks in the page."""
    text = PAGE.read_text(encoding="utf-8")
    data = {f.stem: json.loads(f.read_text()) for f in RESULTS.glob("*.json")}
    for name, experiment in EXPERIMENTS.items():
        runs = data[name]["runs"]
        drawn = (("cpu", "the aggregator's CPU, seconds", 1), ("bytes", "MB to the aggregator", 1e6))
        for number, (what, label, scale) in zip(experiment.figures, drawn, strict=True):
            lines = {c: (WORKERS, [runs[f"{c}, {w}"][what] / scale for w in WORKERS]) for c in experiment.configurations}
            title = f"{experiment.title} (Fig. {number})"
            draw_lines(FIGURES / f"partitioning-fig{number:02}.svg", title, "workers", label, lines)
    for name, table in {"received": tabulate_received(data), "exchanges": tabulate_exchanges(data)}.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        assert pattern.search(text), f"docs/evidence/partitioning.md has no place for {name}"
        text = pattern.sub(lambda m, t=table: m[1] + t + "\n" + m[2], text)
    PAGE.write_text(text, encoding="utf-8")


def list_configurations() -> list[tuple[str, str]]:
    return [(name, c) for name, one in EXPERIMENTS.items() for c in one.configurations]


def tabulate_received(data: dict[str, Any]) -> str:
    """What the aggregator receives and works."""
    table = []
    for name, configuration in list_configurations():
        runs = [data[name]["runs"][f"{configuration}, {w}"] for w in WORKERS]
        last = runs[-1]
        megabytes = [f"{r['bytes'] / 1e6:.2f}" for r in runs]
        spark = f"{last['shuffled'] / 1e6:.2f}"
        work = f"{1000 * runs[0]['cpu']:.0f}, {1000 * last['cpu']:.0f}"
        table.append([f"{name}, {configuration}", *megabytes, f"{last['rows']:,}", spark, work])
    head = ["set, configuration", *(f"MB, {w}" for w in WORKERS), "rows, 4", "Spark's MB, 4", "CPU ms, 1 and 4"]
    return markdown(head, table)


def tabulate_exchanges(data: dict[str, Any]) -> str:
    """What goes through all exchanges at four workers, with source tasks that send rows or groups."""
    table = []
    for name, configuration in list_configurations():
        cells = []
        for suffix in ("", ", pre-aggregated"):
            one = data[name]["runs"][f"{configuration}, 4{suffix}"]
            results = sum(size for node, size in one["nodes"].items() if node in EXPERIMENTS[name].answers)
            sizes = one["split"] + one["bytes"] - results, one["split_shuffled"] + one["shuffled"]
            cells += [f"{size / 1e6:.1f}" for size in sizes]
        table.append([f"{name}, {configuration}", *cells])
    return markdown(["set, configuration", "rows: MB", "Spark's MB", "groups: MB", "Spark's MB"], table)
