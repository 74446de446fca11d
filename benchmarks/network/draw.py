"""Figures and tables of docs/evidence/network.md from the measured results."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.network.baselines import COMPARED_PLANNERS
from benchmarks.network.experiments import SIZES
from headrace.network.compare_algorithms import HIERARCHICAL, AlgorithmRun
from headrace.network.comparison_figures import draw_bars, draw_cumulative, draw_lines
from headrace.network.network_generators import transit_stub
from headrace.network.network_picture import draw_network
from headrace.network.planners import PreparedWorld
from headrace.network.query_sets import deploy_in_order
from headrace.network.workload import synthetic

ROOT = Path(__file__).parents[2]
PAGE, FIGURES = ROOT / "docs" / "evidence" / "network.md", ROOT / "docs" / "figures"
RESULTS = Path(__file__).parent / "results"


def draw() -> None:
    """Everything there are results for; a table replaces what stands between its marks in the page."""
    text = PAGE.read_text(encoding="utf-8")
    for name, make in PARTS.items():
        file = RESULTS / f"{name}.json"
        if file.exists():
            for mark, table in make(json.loads(file.read_text())).items():
                pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", re.DOTALL)
                assert pattern.search(text), f"docs/evidence/network.md has no place for {mark}"
                text = pattern.sub(lambda m, t=table: m[1] + t + "\n" + m[2], text)
    PAGE.write_text(text, encoding="utf-8")
    picture()


def read_run(data: dict[str, Any]) -> AlgorithmRun:
    return AlgorithmRun(**{**data, "costs": tuple(data["costs"]), "examined": tuple(data["examined"])})


def mean_run(rows: Iterable[dict[str, Any]]) -> AlgorithmRun:
    """The mean over seeds, query by query."""
    runs = [read_run(r["run"]) for r in rows]
    one = runs[0]
    return AlgorithmRun(
        one.algorithm,
        one.max_cs,
        one.height,
        tuple(fmean(v) for v in zip(*(r.costs for r in runs), strict=True)),
        tuple(int(fmean(v)) for v in zip(*(r.examined for r in runs), strict=True)),
        round(fmean(r.joins for r in runs)),
        round(fmean(r.selections for r in runs)),
        fmean(r.seconds for r in runs),
    )


def markdown(head: list[str], rows: list[list[str]]) -> str:
    parts = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(parts + ["| " + " | ".join(r) + " |" for r in rows])


def _ratio(run: AlgorithmRun, runs: list[AlgorithmRun]) -> str:
    return f"{run.cost / runs[0].cost:.3f}"


def cluster_sizes(data: dict[str, Any]) -> dict[str, str]:
    def of(algorithm: str, max_cs: int) -> AlgorithmRun:
        rows = [r for r in data["runs"] if r["max_cs"] == max_cs and r["run"]["algorithm"] == algorithm]
        return mean_run(rows)

    best = of("exact", 0)
    for number, algorithm, what in ((6, "bottom-up", "plans"), (7, "top-down", "plans"),
                                    (8, "bottom-up", "cost"), (9, "top-down", "cost")):  # fmt: skip
        title = f"{algorithm}: {'plans examined' if what == 'plans' else 'cost'} by max_cs (Fig. {number})"
        runs = [of(algorithm, s) for s in SIZES]
        target, relative = FIGURES / f"network-fig{number:02}.svg", best if what == "cost" else None
        draw_cumulative(target, title, runs, what, what == "plans", relative)
    for number, what in ((10, "cost"), (11, "plans")):
        title = f"NPC, Top-Down, Bottom-Up at max_cs 8: {what} (Fig. {number})"
        runs = [of(a, 8) for a in HIERARCHICAL]
        target, relative = FIGURES / f"network-fig{number}.svg", best if what == "cost" else None
        draw_cumulative(target, title, runs, what, what == "plans", relative)
    rows = []
    for algorithm in HIERARCHICAL:
        ours = [of(algorithm, s) for s in SIZES]
        rows.append([f"{algorithm}, cost against exact", *(f"{r.cost / best.cost:.3f}" for r in ours)])
        rows.append([f"{algorithm}, plans examined", *(f"{r.examined[-1]:.1e}" for r in ours)])
    rows.append(["levels of the hierarchy", *(str(of("top-down", s).height) for s in SIZES)])
    return {"cluster sizes": markdown(["max_cs", *map(str, SIZES)], rows)}


def approaches(data: dict[str, Any]) -> dict[str, str]:
    def of(algorithm: str, reuse: bool) -> AlgorithmRun:
        return mean_run(r for r in data["runs"] if r["reuse"] == reuse and r["run"]["algorithm"] == algorithm)

    runs = [of(a, True) for a in COMPARED_PLANNERS]
    draw_cumulative(FIGURES / "network-fig12.svg", "All approaches, synthetic workload (Fig. 12)", runs)
    alone = {a: of(a, False) for a in COMPARED_PLANNERS}
    rows = []
    for r in runs:
        without = alone[r.algorithm].cost / alone["exact"].cost
        rows.append([r.algorithm, _ratio(r, runs), f"{without:.3f}", f"{r.examined[-1]:.1e}", str(r.joins)])
    head = ["algorithm", "cost with reuse", "cost without reuse", "plans examined", "joins"]
    return {"approaches": markdown(head, rows)}


def motivation(data: dict[str, Any]) -> dict[str, str]:
    runs = [read_run(r["run"]) for r in data["runs"]]
    title = "64 nodes, 100 queries over five streams (Fig. 2)"
    draw_cumulative(FIGURES / "network-fig02.svg", title, runs)
    rows = [[r.algorithm, f"{r.cost:.4g}", f"{r.cost / runs[0].cost:.3f}"] for r in runs]
    return {"motivation": markdown(["algorithm", "cost", "against exact"], rows)}


def airline(data: dict[str, Any]) -> dict[str, str]:
    runs = [mean_run(r for r in data["runs"] if r["run"]["algorithm"] == a) for a in COMPARED_PLANNERS]
    draw_cumulative(FIGURES / "network-fig13.svg", "Enterprise workload: cost (Fig. 13)", runs, log=True)
    parts = {"joins": [r.joins for r in runs], "filters": [r.selections for r in runs]}
    names = [r.algorithm for r in runs]
    draw_bars(
        FIGURES / "network-fig14.svg", "Enterprise workload: operators (Fig. 14)", "deployed", names, parts
    )
    rows = []
    for r in runs:
        mean, least, most = _ratios(data["runs"], r.algorithm)
        spread = f"{least:.3f} – {most:.3f}"
        cells = [f"{mean:.3f}", spread, f"{r.examined[-1]:.1e}", str(r.joins), str(r.selections)]
        rows.append([r.algorithm, *cells])
    seeds = len({r["seed"] for r in data["runs"]})
    head = [
        "algorithm",
        f"cost against exact, mean of {seeds} networks",
        "least – most",
        "plans examined",
        "joins",
    ]
    return {"airline": markdown([*head, "filters"], rows)}


def _ratios(rows: list[dict[str, Any]], algorithm: str) -> tuple[float, float, float]:
    """Cost against exact on each network: mean, least, most."""
    cost = {(r["seed"], r["run"]["algorithm"]): r["run"]["costs"][-1] for r in rows}
    found = [c / cost[seed, "exact"] for (seed, name), c in cost.items() if name == algorithm]
    return fmean(found), min(found), max(found)


def common_key(data: dict[str, Any]) -> dict[str, str]:
    rows = []
    for a in COMPARED_PLANNERS:
        mean, least, most = _ratios(data["runs"], a)
        run = mean_run(r for r in data["runs"] if r["run"]["algorithm"] == a)
        rows.append(
            [a, f"{mean:.3f}", f"{least:.3f} – {most:.3f}", f"{run.examined[-1]:.1e}", str(run.joins)]
        )
    head = ["algorithm", "cost against exact", "least – most", "plans examined", "joins"]
    return {"common key": markdown(head, rows)}


def airline_improved(data: dict[str, Any]) -> dict[str, str]:
    gain = 100 * (1 - data["improved"] / data["cost"])
    row = [f"{data['queries']} airline queries, 132 nodes", f"{data['planning_seconds']:.1f} s"]
    row += [f"{data['improving_seconds']:.1f} s", f"{gain:.1f} %"]
    head = ["workload", "planning with reuse", "improvement rounds", "cost saved by them"]
    return {"airline improved": markdown(head, [row])}


def scale(data: dict[str, Any]) -> dict[str, str]:
    rows = data["rows"]
    sizes = [r["nodes"] for r in rows]
    names = {"exhaustive": "exhaustive (Lemma 1)", "bound": "bound (Theorems 2, 4)"}
    series = {
        names.get(k, k): (sizes, [float(r[k]) for r in rows])
        for k in ("exhaustive", "bound", "top-down", "bottom-up")
    }
    title = "Plans per query by network size, four streams, max_cs 32 (Fig. 15)"
    draw_lines(FIGURES / "network-fig15.svg", title, "nodes", "plans per query", series, log_y=True)
    table = [
        [str(r["nodes"]), *(f"{r[k]:.2e}" for k in ("exhaustive", "bound", "top-down", "bottom-up"))]
        for r in rows
    ]
    return {"scale": markdown(["nodes", "exhaustive", "bound", "top-down", "bottom-up"], table)}


def topologies(data: dict[str, Any]) -> dict[str, str]:
    rows = []
    for row in data["rows"]:
        runs = {r["algorithm"]: read_run(r) for r in row["runs"]}
        best = runs["exact"].cost
        name = f"{row['network']} ({row['nodes']} nodes, {row['links']} links)"
        rows.append([name, *(f"{runs[a].cost / best:.3f}" for a in COMPARED_PLANNERS)])
    return {"topologies": markdown(["network", *COMPARED_PLANNERS], rows)}


def speed(data: dict[str, Any]) -> dict[str, str]:
    rows = [
        [f"{r['nodes']} nodes, {r['streams']} streams", *(f"{1000 * r[k]:.1f}" for k in
         ("first", "median", "worst", "reuse", "reuse_worst")), f"{r['megabytes']:.0f}"]
        for r in data["rows"]
    ]  # fmt: skip
    head = ["network", "first query, ms", "median", "worst", "beside others, median", "worst", "process, MB"]
    return {"speed": markdown(head, rows)}


def yardstick(data: dict[str, Any]) -> dict[str, str]:
    found = data["rows"]
    proved = sum(r["proved"] for r in found)
    rows = []
    for key, label in (
        ("incremental", "exact, in arrival order"), ("replanned", "and queries re-planned one at a time"),
        ("improved", "and joins offered where several can share them"),
    ):  # fmt: skip
        values = [r[key] for r in found]
        within = sum(v <= 1.02 for v in values)
        rows.append([label, f"{fmean(values):.4f}", f"{max(values):.4f}", f"{within} of {len(values)}"])
    head = [f"{len(found)} sets, {proved} optima proved", "mean", "worst", "within 2 %"]
    return {"yardstick": markdown(head, rows)}


def sensitivity(data: dict[str, Any]) -> dict[str, str]:
    rows = []
    for r in data["rows"]:
        kind = "reuse" if r["reuse"] else "no reuse"
        rows.append(
            [f"{r['low']} – {r['high']}, {kind}", *(f"{r['ratios'][a]:.3f}" for a in COMPARED_PLANNERS)]
        )
    return {"sensitivity": markdown(["selectivities", *COMPARED_PLANNERS], rows)}


def picture() -> None:
    """The network with three queries on it."""
    world, queries = synthetic(transit_stub(0), 0, 3, joins=(2, 3))
    deployed = deploy_in_order(PreparedWorld(world).planner("exact"), queries).deployment
    (FIGURES / "network-deployment.svg").write_text(draw_network(world, deployed) + "\n", encoding="utf-8")


PARTS: dict[str, Callable[[dict[str, Any]], dict[str, str]]] = {
    "speed": speed,
    "cluster-sizes": cluster_sizes,
    "approaches": approaches,
    "motivation": motivation,
    "sensitivity": sensitivity,
    "scale": scale,
    "topologies": topologies,
    "yardstick": yardstick,
    "airline": airline,
    "common-key": common_key,
    "airline-improved": airline_improved,
}
