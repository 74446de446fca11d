"""Figures and tables of docs/evidence/balance.md from the results, simulated and measured."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.balance.simulate import PaperCluster
from headrace.network.comparison_figures import Line, draw_lines

ROOT = Path(__file__).parents[2]
PAGE, FIGURES = ROOT / "docs" / "evidence" / "balance.md", ROOT / "docs" / "figures"
RESULTS = Path(__file__).parent / "results"


def draw() -> None:
    """Everything there are results for; a table replaces what stands between its marks in the page."""
    from benchmarks.balance.draw_live import (
        draw_moves,
        limits_table,
        live_table,
        overhead_table,
        rescales_table,
        rivals_table,
        slow_table,
    )

    live = {
        "live-rivals": rivals_table,
        "live-overhead": overhead_table,
        "rescales": rescales_table,
        "live-limits": limits_table,
        "slow-executor": slow_table,
    }
    text = PAGE.read_text(encoding="utf-8")
    for name, make in (PARTS | live).items():
        file = RESULTS / f"{name}.json"
        if file.exists():
            text = put_table(text, name, make(json.loads(file.read_text())))
    if list(RESULTS.glob("live-even-*.json")):
        text = put_table(text, "live", live_table(RESULTS))
        draw_moves(RESULTS, FIGURES)
    PAGE.write_text(text, encoding="utf-8")


def put_table(text: str, name: str, table: str) -> str:
    """The page with a table between its marks."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    assert pattern.search(text), f"docs/evidence/balance.md has no place for {name}"
    return pattern.sub(lambda m: m[1] + table + "\n" + m[2], text)


def markdown(head: list[str], rows: list[list[str]]) -> str:
    parts = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(parts + ["| " + " | ".join(r) + " |" for r in rows])


def _power(value: float) -> str:
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}·10^{int(exponent)}"


def buffer_sizes(data: dict[str, Any]) -> str:
    rows = data["rows"]
    xs = [r["kilobytes"] for r in rows]
    series: dict[str, Line] = {name: (xs, [r[name] for r in rows]) for name in ("exchange", "flux")}
    series["unloaded"] = ([xs[0], xs[-1]], [data["unloaded"]] * 2)
    title = "A load that goes round, by buffer of a producer (Fig. 3)"
    draw_lines(FIGURES / "balance-fig03.svg", title, "kilobytes", "rows per second", series)
    table = [[str(r["kilobytes"]), _power(r["exchange"]), _power(r["flux"])] for r in rows]
    return markdown(["buffer, KB", "exchange", "flux"], table)


def _time_lines(
    number: int, title: str, label: str, data: dict[str, Any], what: str, log: bool = False
) -> None:
    series: dict[str, Line] = {}
    for name, run in data.items():
        ys = [y * 1e6 for y in run[what]] if what == "latency" else run[what]
        series[name] = ([t + 1 for t in range(len(ys))], ys)
    draw_lines(FIGURES / f"balance-fig{number:02}.svg", title, "seconds", label, series, log_y=log)


def _steady_at(run: dict[str, Any], start: int = 1) -> str:
    """From which second on throughput stays within 5 % of the mean of the last five."""
    rows = run["throughput"]
    level = sum(rows[-5:]) / 5
    late = [t for t, y in enumerate(rows) if t >= start and y < 0.95 * level]
    return f"{late[-1] + 1}" if late else "at once"


def _runs_table(data: dict[str, Any]) -> str:
    table = []
    for name, run in data.items():
        rows = run["throughput"]
        cells = [_power(sum(rows[-5:]) / 5), _power(min(rows[1:])), _steady_at(run)]
        table.append([name, *cells, str(run["moved"]), f"{run['megabytes']:.0f}"])
    head = ["policy", "rows/s at the end", "worst second", "steady from second", "moves", "MB moved"]
    return markdown(head, table)


def one_loaded(data: dict[str, Any]) -> str:
    _time_lines(6, "One machine loaded at 1 s (Fig. 6)", "rows per second", data, "throughput")
    return _runs_table(data)


def many_loaded(data: dict[str, Any]) -> str:
    rows = data["rows"]
    xs = [r["loaded"] for r in rows]
    names, c = ("static", "flux-load", "headrace"), PaperCluster()
    series = {name: (xs, [r[name] for r in rows]) for name in names}
    possible = [(c.nodes - x * (1 - c.loaded_share)) / (c.row_seconds + c.produce_seconds) for x in xs]
    series["all machines together"] = (xs, possible)
    title = "Steady state by number of loaded machines (Fig. 7)"
    draw_lines(FIGURES / "balance-fig07.svg", title, "loaded machines", "rows per second", series)
    table = []
    for r, most in zip(rows, possible, strict=True):
        cells = [f"{_power(r[n])}, {r[n + ' moves']} moves" if n != "static" else _power(r[n]) for n in names]
        table.append([str(r["loaded"]), *cells, _power(most)])
    return markdown(["loaded", *names, "all machines together"], table)


def collection_times(data: dict[str, Any]) -> str:
    deltas = data["deltas"]
    series: dict[str, Line] = {}
    table = []
    for label in ("unloaded", "loaded"):
        for name in ("static", "flux-load", "headrace"):
            ys = data[f"{name}, {label}"]
            ys = ys * len(deltas) if len(ys) == 1 else ys
            series[f"{name}, {label}"] = ([1000 * d for d in deltas], ys)
            table.append([f"{name}, {label}", *(_power(y) for y in ys)])
    title = "80/20 workload by δ_min (Fig. 8)"
    draw_lines(FIGURES / "balance-fig08.svg", title, "δ_min, milliseconds", "rows per second", series)
    return markdown(["δ_min, ms", *(f"{1000 * d:.0f}" for d in deltas)], table)


def memory_lost(data: dict[str, Any]) -> str:
    _time_lines(
        9, "Half of the memory lost on one machine at 1 s (Fig. 9)", "rows per second", data, "throughput"
    )
    title = "Latency after the loss of memory (Fig. 10)"
    _time_lines(10, title, "microseconds per row", data, "latency", log=True)
    return _runs_table(data)


def lost_again(data: dict[str, Any]) -> str:
    """In three parts: before, between and after."""
    title = "Half of the memory lost at 1 s, on a second machine at 60 s; the first has its own back at 120 s"
    series: dict[str, Line] = {}
    for name, run in data.items():
        series[name] = ([t + 1 for t in range(len(run["throughput"]))], run["throughput"])
    draw_lines(FIGURES / "balance-lost-again.svg", title, "seconds", "rows per second", series)
    table = []
    for name, run in data.items():
        cells = []
        for start in (0, 60, 120):
            rows = run["throughput"][start : start + 60]
            cells += [_power(sum(rows) / 60), _steady_at({"throughput": rows})]
        table.append([name, *cells, str(run["moved"])])
    head = ["policy", *(f"{what}{part}" for part in ("", ", second", ", room again") for what in ("rows/s", "steady from"))]
    return markdown([*head, "moves"], table)


def many_lost(data: dict[str, Any]) -> str:
    names = ("static", "flux-memory", "headrace")
    table = []
    rows = data["rows"]
    series = {name: ([r["perturbed"] for r in rows], [r[name] for r in rows]) for name in names}
    title = "Steady state by number of machines with half of their memory (section 6.2)"
    draw_lines(FIGURES / "balance-section62.svg", title, "machines", "rows per second", series)
    for r in rows:
        cells = [f"{_power(r[n])}, {_power(1e6 * r[n + ' latency'])} µs" for n in names]
        table.append([str(r["perturbed"]), *cells])
    return markdown(["machines", *names], table)


def mixed_loads(data: dict[str, Any]) -> str:
    """Means of the whole run and of its last twenty seconds, the worst second, and moves."""
    names = ("static", "flux-load", "flux-memory", "hybrid", "headrace")
    table = []
    for r in data["rows"]:
        for name in names:
            mean, last, latency, worst = r[name]
            label = f"{r['loaded']} loaded, {r['lost']} short of memory" if name == "static" else ""
            cells = [_power(mean), _power(last), _power(worst), f"{_power(1e6 * latency)} µs"]
            table.append([label, name, *cells, str(r[name + " moves"])])
    return markdown(["machines", "policy", "rows/s", "at the end", "worst second", "latency", "moves"], table)


def micro_batches(data: dict[str, Any]) -> str:
    names = ("static", "flux-load", "headrace", "headrace, splits")
    table = []
    for r in data["rows"]:
        base = r["static"][0]
        table.append([r["workload"], *(f"{r[n][0] / base:.2f}, {r[n][1]:.2f}, {r[n][2]}" for n in names)])
    return markdown(["workload", *names], table)


def scale(data: dict[str, Any]) -> str:
    table = [
        [f"{r['nodes']:,}", f"{r['pids']:,}", f"{r['seconds']:.0f}", f"{r['wall']:.0f}", f"{r['moved']:,}"]
        for r in data["rows"]
    ]
    return markdown(["nodes", "mini-partitions", "seconds simulated", "seconds it took", "moves"], table)


PARTS = {
    "buffer-sizes": buffer_sizes,
    "one-loaded": one_loaded,
    "many-loaded": many_loaded,
    "collection-times": collection_times,
    "memory-lost": memory_lost,
    "lost-again": lost_again,
    "many-lost": many_lost,
    "mixed-loads": mixed_loads,
    "micro-batches": micro_batches,
    "scale": scale,
}
