"""The summary as tables on a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import verdicts
from benchmarks.workloads import HEADRACE, RACES, RIVALS


def show(summary: dict[str, Any], console: Console) -> bool:
    """Print ratios, shapes and differences; True if nothing measured misses its target or differs."""
    ratios = {(r.workload.name, r.rival): r for r in verdicts.ratios(summary)}
    table = Table(title="Headrace against its rivals: times faster (target); seconds per million rows")
    table.add_column("workload", no_wrap=True)
    for column in ("headrace", *RIVALS, "floor"):
        table.add_column(column, justify="right")
    floors = verdicts.floors(summary)
    for workload in RACES:
        if workload.name not in summary["workloads"]:
            continue
        steady = verdicts.value(summary, workload.name, HEADRACE, "steady")
        whole = verdicts.value(summary, workload.name, HEADRACE, "whole_flushed")
        cells = [f"{number(steady)} steady\n{number(whole)} whole"]
        cells += [_cell(ratios[workload.name, rival]) for rival in RIVALS]
        table.add_row(workload.name, *cells, f"{number(floors[workload.name][0], 'x')} whole")
    console.print(table)
    shapes = [s for s in verdicts.shapes(summary) if s.value is not None]
    for shape in shapes:
        measured, limit = number(shape.value, shape.unit), f"{shape.limit}{shape.unit}"
        console.print(f"{mark(shape.passed)} {shape.what}: {measured} (at most {limit})")
    problems = verdicts.wrong(summary)
    for problem in problems:
        console.print(f"[red]✗[/] {problem}")
    if not problems:
        console.print("[green]✓[/] results agree in number and checksum wherever there are two to compare")
    passed = [r.passed for r in ratios.values()] + [s.passed for s in shapes]
    return not problems and False not in passed


def number(value: float | None, unit: str = "") -> str:
    if value is None:
        return "–"
    return f"{value:.2f}{unit}" if value < 10 else f"{value:.1f}{unit}"


def mark(passed: bool | None) -> str:
    return {True: "[green]✓[/]", False: "[red]✗[/]", None: " "}[passed]


def _cell(ratio: verdicts.Ratio) -> str:
    if ratio.value is None:
        return f"– (≥ {ratio.target:g}x)"
    seconds = f"{number(ratio.other)} {ratio.workload.basis(ratio.rival)}"
    return f"{mark(ratio.passed)} {number(ratio.value, 'x')} (≥ {ratio.target:g}x)\n{seconds}"
