"""Figures and tables of docs/evidence/partitioning.md from the measured results."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.balance.draw_balance import markdown
from benchmarks.partitioning.experiments import EXPERIMENTS, count_remote
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
        if name not in data:
            continue
        runs = data[name]["runs"]
        work, came = (
            {c: (WORKERS, [read(runs[f"{c}, {w}"], w) for w in WORKERS]) for c in experiment.configurations}
            for read in (lambda run, _: run["cpu"], lambda run, w: count_remote(run["bytes"], w) / 1e6)
        )
        drawn = ((work, "the aggregator's CPU, seconds"), (came, "MB to the aggregator from other hosts"))
        for figure, (lines, label) in zip(experiment.figures, drawn, strict=True):
            title = f"{experiment.title} ({figure})" if figure.startswith("Fig") else experiment.title
            draw_lines(FIGURES / name_file(name, figure), title, "workers", label, lines)
    tables = {"received": tabulate_received(data), "exchanges": tabulate_exchanges(data), "savings": tabulate_savings(data)}
    tables["join"] = tabulate_join(data["jitter"]["runs"])
    if any(name.startswith("here-") for name in data):
        tables["here"] = tabulate_here(data)
    if "leaves" in data:
        tables["leaves"] = tabulate_leaves(data["leaves"])
    if "behind" in data:
        tables["behind"] = tabulate_backlogs(data["behind"])
    for name, table in tables.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        assert pattern.search(text), f"docs/evidence/partitioning.md has no place for {name}"
        text = pattern.sub(lambda m, t=table: m[1] + t + "\n" + m[2], text)
    PAGE.write_text(text, encoding="utf-8")


def name_file(name: str, figure: str) -> str:
    number = figure.removeprefix("Fig. ")
    return f"partitioning-fig{int(number):02}.svg" if number.isdecimal() else f"partitioning-{name}-{figure}.svg"


def list_configurations(data: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Of the experiments there are results of."""
    return [(name, c) for name, one in EXPERIMENTS.items() if prefix + name in data for c in one.configurations]


def tabulate_received(data: dict[str, Any]) -> str:
    """What the aggregator receives and works."""
    table = []
    for name, configuration in list_configurations(data):
        runs = [data[name]["runs"][f"{configuration}, {w}"] for w in WORKERS]
        last = runs[-1]
        megabytes = [f"{count_remote(r['bytes'], w) / 1e6:.2f}" for r, w in zip(runs, WORKERS, strict=True)]
        megabytes[0] = f"{runs[0]['bytes'] / 1e6:.2f}"
        spark = f"{last['shuffled'] / 1e6:.2f}"
        work = f"{1000 * runs[0]['cpu']:.0f}, {1000 * last['cpu']:.0f}"
        table.append([f"{name}, {configuration}", *megabytes, f"{last['rows']:,}", spark, work])
    head = ["set, configuration", "MB at home, 1", *(f"MB, {w}" for w in WORKERS[1:]), "rows, 4", "Spark's MB, 4"]
    return markdown([*head, "CPU ms, 1 and 4"], table)


TEXT = {  # what section 6 says each configuration saves of the naive one: of the processor, of the network
    ("suspicious", "optimized"): ("20 to 22 %", ""),
    ("subnets", "partial"): ("43 to 47 %", "36 to 52 %"),
    ("subnets", "full"): ("67 %", "64 to 70 %"),
    ("pairs", "optimized"): ("23 to 24 %", ""),
    ("pairs", "partial"): ("about 80 %", ""),
    ("pairs", "full"): ("about 90 %", ""),
}


def tabulate_savings(data: dict[str, Any]) -> str:
    """What a configuration saves of the naive one, at two to four workers, beside the document's numbers."""
    table = []
    for name, configuration in list_configurations(data):
        runs = data[name]["runs"]
        if configuration == "naive":
            continue
        cells = []
        for what, said in zip(("cpu", "bytes"), TEXT.get((name, configuration), ("", "")), strict=True):
            saved = [1 - runs[f"{configuration}, {w}"][what] / runs[f"naive, {w}"][what] for w in WORKERS]
            cells += [f"{100 * min(saved):.0f} to {100 * max(saved):.0f} %", said]
        table.append([f"{name}, {configuration}", *cells])
    return markdown(["set, configuration", "CPU saved", "in the text", "network saved", "in the text"], table)


def tabulate_join(runs: dict[str, Any]) -> str:
    """Of the run with both, what the join brings to the aggregator from other hosts: all rows of its inputs, or its results."""
    table = []
    for configuration, table_of in (("naive", "rows of tcp"), ("full", "jitter")):
        sizes = [sum(b for n, b in runs[f"{configuration}, {w}"]["nodes"].items() if n.startswith(table_of)) for w in WORKERS]
        came = [f"{count_remote(size, w) / 1e6:.2f}" for size, w in zip(sizes, WORKERS, strict=True)]
        table.append([configuration, f"{sizes[0] / 1e6:.2f}", *came[1:]])
    return markdown(["configuration", "MB at home, 1", *(f"MB, {w}" for w in WORKERS[1:])], table)


def tabulate_here(data: dict[str, Any]) -> str:
    """Bytes of runs in one process: to the aggregator from other hosts, and what is saved of the naive plan."""
    table = []
    for name, configuration in list_configurations(data, "here-"):
        runs = data[f"here-{name}"]["runs"]
        sizes = [runs[f"{configuration}, {w}"]["bytes"] for w in WORKERS]
        came = [f"{count_remote(size, w) / 1e6:.2f}" for size, w in zip(sizes, WORKERS, strict=True)]
        saved = [1 - size / runs[f"naive, {w}"]["bytes"] for size, w in zip(sizes, WORKERS, strict=True)]
        share = "" if configuration == "naive" else f"{100 * min(saved):.0f} to {100 * max(saved):.0f} %"
        table.append([f"{name}, {configuration}", *came, share, TEXT.get((name, configuration), ("", ""))[1]])
    return markdown(["set, configuration", *(f"MB, {w}" for w in WORKERS), "saved", "in the text"], table)


def tabulate_leaves(data: dict[str, Any]) -> str:
    """Seconds of the processor that the leaves of one host work."""
    table = []
    for configuration in EXPERIMENTS["suspicious"].configurations:
        each = [data["runs"][f"{configuration}, {w}"]["leaf_cpu"] / w for w in WORKERS]
        table.append([configuration, *(f"{s:.2f}" for s in each), f"{each[-1] / each[0]:.2f}"])
    return markdown(["configuration", *(f"{w} hosts" for w in WORKERS), "4 over 1"], table)


def tabulate_backlogs(data: dict[str, Any]) -> str:
    """How far a run is behind, through the time in which rows come, and how long it then takes to be done."""
    table, parts = [], (0.25, 0.5, 0.75, 1.0)
    lines: dict[str, Any] = {}
    for name, run in data["runs"].items():
        points = run["points"]
        lines[name] = ([p[0] for p in points], [(p[1] - p[2]) / 1e6 for p in points])
        behind = [next((came - done for at, came, done in points if at >= part * data["seconds"]), 0) for part in parts]
        table.append([name, *(f"{b / 1e6:.2f}" for b in behind), f"{max(0.0, run['seconds'] - data['seconds']):.0f}"])
    title = f"{data['rate'] / 1e6:.2f} million rows a second, 4 workers"
    draw_lines(FIGURES / "partitioning-behind.svg", title, "seconds", "million rows behind", lines)
    return markdown(["configuration", *(f"behind at {100 * p:.0f} %, million rows" for p in parts), "seconds to catch up"], table)


def tabulate_exchanges(data: dict[str, Any]) -> str:
    """What goes through all exchanges at four workers, with source tasks that send rows or groups."""
    table = []
    for name, configuration in list_configurations(data):
        cells = []
        for suffix in ("", ", pre-aggregated"):
            one = data[name]["runs"][f"{configuration}, 4{suffix}"]
            results = sum(size for node, size in one["nodes"].items() if node in EXPERIMENTS[name].answers)
            sizes = one["split"] + one["bytes"] - results, one["split_shuffled"] + one["shuffled"]
            cells += [f"{size / 1e6:.1f}" for size in sizes]
        table.append([f"{name}, {configuration}", *cells])
    return markdown(["set, configuration", "rows: MB", "Spark's MB", "groups: MB", "Spark's MB"], table)
