"""Tables of docs/evidence/balance.md from runs on Spark: what each policy reached, and against which target."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.balance.draw_balance import markdown
from benchmarks.balance.live_runs import LOADED_FROM
from benchmarks.balance.simulate.batch_mode import schedule_slots
from headrace.network.comparison_figures import Line, draw_lines

CORES = 2
WARM = 6  # batches before the ones that count
WITHIN = 5  # batches after a change in which slots are to be level again
NAMES = {
    "even": "even",
    "zipf": "(a) zipf 1.2",
    "changing": "(b) hot keys change",
    "competing": "(c) a competing process",
    "focused": "(d) 90 % on two of 128",
    "single": "(d) 90 % on one of 128",
    "hot": "a join, 60 % on one key",
}


def measure_run(run: dict[str, Any]) -> dict[str, float]:
    """Throughput, and imbalance of the batches that are more than five after a change. `cores`: what the slots of a batch would
    take on two cores of their own, from the seconds of the processor they used, each core taking the next slot when it is free.
    """
    batches = run["batches"]
    changes = {"changing": (0, 10, 20), "competing": (0, 10)}.get(run["workload"], (0,))
    settled = [b for n, b in enumerate(batches) if n >= WARM and all(not c <= n < c + WITHIN for c in changes)]
    counted = [b for n, b in enumerate(batches) if n >= (10 if run["workload"] == "competing" else WARM)]
    return {
        "batch": statistics.median(b["seconds"] for b in counted),
        "throughput": run["rows"] * len(counted) / sum(b["seconds"] for b in counted),
        "cores": statistics.median(schedule_slots(np.array(b["cpu"]), np.ones(CORES))[1] for b in counted),
        "imbalance": statistics.median(b["imbalance"] for b in settled),
        "work": statistics.median(max(b["cpu"]) / statistics.fmean(b["cpu"]) for b in settled),
        "moves": sum(b["moves"] for b in batches),
        "moving": sum(b["moves"] > 0 for b in batches),
        "move_cost": _cost_of_moving(batches),
    }


def _cost_of_moving(batches: list[dict[str, Any]]) -> float:
    """Batches in which something moved over the mean of their neighbours in which nothing did, at the median."""
    ratios = []
    for n, batch in enumerate(batches):
        near = [batches[k]["seconds"] for k in (n - 1, n + 1) if 2 <= k < len(batches) and not batches[k]["moves"]]
        if batch["moves"] and near and n >= 2:
            ratios.append(batch["seconds"] / statistics.fmean(near))
    return statistics.median(ratios) if ratios else 1.0


def live_table(folder: Path) -> str:
    runs = {}
    for file in sorted(folder.glob("live-*-*.json")):
        data = json.loads(file.read_text())
        runs[data["workload"], data["policy"]] = measure_run(data)
    table = []
    for workload, title in NAMES.items():
        for policy in ("static", "headrace"):
            run = runs.get((workload, policy))
            if run is None:
                continue
            even, static = runs["even", policy], runs[workload, "static"]
            over_even = "" if workload == "hot" else f"{run['throughput'] / even['throughput']:.2f}"  # another query
            cells = [f"{run['batch']:.2f}", f"{run['throughput'] / static['throughput']:.2f}", over_even, f"{run['cores']:.2f}"]
            cells += [f"{static['cores'] / run['cores']:.2f}", f"{run['imbalance']:.2f}", f"{run['work']:.2f}"]
            label = title if policy == "static" else ""
            moves = f"{run['moves']:.0f} in {run['moving']:.0f}" if run["moves"] else "0"
            table.append([label, policy, *cells, moves, f"{run['move_cost']:.2f}" if run["moves"] else ""])
    head = ["workload", "policy", "batch, s", "× static", "× even", "slots on two cores, s", "× static", "imbalance", "of CPU"]
    return markdown([*head, "moves in batches", "batch with moves"], table)


def slow_table(data: dict[str, Any]) -> str:
    """Medians over all runs of a way: batches before and after the process starts, and how even the cores were."""
    ways: dict[tuple[int, str, str], list[dict[str, Any]]] = {}
    for run in data["rows"]:
        way = run["slots"], run["policy"], f"--defer '{run['defer']}'" if run["defer"] else ""
        ways.setdefault(way, []).append(run)
    table = []
    for (slots, policy, defer), runs in ways.items():
        after = [b for run in runs for b in run["batches"][LOADED_FROM + WITHIN :]]
        before = statistics.median(b["seconds"] for run in runs for b in run["batches"][WARM:LOADED_FROM])
        loaded = statistics.median(b["seconds"] for b in after)
        fullest = statistics.median(find_fuller_core(b) for b in after)
        moves = statistics.median(sum(b["moves"] for b in run["batches"]) for run in runs)
        seconds = [f"{before:.2f}", f"{loaded:.2f}", f"{fullest:.2f}"]
        table.append([str(slots), f"{policy} {defer}".strip(), *seconds, f"{moves:.0f}"])
    head = ["slots", "policy", "batch before, s", "batch with the process, s", "fuller core over the mean", "moves"]
    return markdown(head, table)


def find_fuller_core(batch: dict[str, Any]) -> float:
    """The seconds of the core that was longer busy with slots, over the mean of both: nothing that gives the same slots to other
    cores can make them faster than this.
    """
    spent = [0.0] * CORES
    for seconds, core in zip(batch["slots"], batch["on"], strict=True):
        spent[core] += seconds
    return max(spent) / statistics.fmean(spent)


def draw_moves(folder: Path, figures: Path) -> None:
    """Fig. 6 on Spark: rows per second batch by batch, without and with moves."""
    titles = {
        "focused": "90 % of the rows on two of 128 mini-partitions",
        "competing": f"A process wants one core from batch {LOADED_FROM} on",
    }
    for workload, title in titles.items():
        series: dict[str, Line] = {}
        for policy in ("static", "headrace"):
            file = folder / f"live-{workload}-{policy}.json"
            if not file.exists():
                break
            run = json.loads(file.read_text())
            moves = sum(b["moves"] for b in run["batches"])
            name = f"{policy}, {moves} moves" if moves else policy
            series[name] = ([*range(len(run["batches"]))], [run["rows"] / b["seconds"] for b in run["batches"]])
        if len(series) == 2:
            draw_lines(figures / f"balance-live-{workload}.svg", f"{title}, on Spark", "batches", "rows per second", series)


def rivals_table(data: dict[str, Any]) -> str:
    table: dict[str, dict[str, float]] = {}
    for one in data["rows"]:
        seconds = one["seconds"]
        later = seconds[4:] if len(seconds) > 1 else seconds
        table.setdefault(one["workload"], {})[one["policy"]] = one["rows"] * len(later) / sum(later)
    names = ("headrace", "spark-rocksdb", "flink")
    rows = [[NAMES[w], *(f"{found[n] / 1e3:.1f}" if n in found else "" for n in names)] for w, found in table.items()]
    return markdown(["stream", "Headrace", "Spark, RocksDB", "Flink"], rows)


def limits_table(data: dict[str, Any]) -> str:
    table = []
    for one in data["rows"]:
        name = {"burst": "a burst every eighth batch", "memory": "state of 50 MB a slot"}[one["workload"]]
        if "failed" in one:
            table.append([name, one["way"], "failed", *[""] * 5])
            continue
        times = [f"{one[key]:.2f}" for key in ("median", "burst", "longest", "total")]
        if one["workload"] == "memory":
            times[1] = ""
        table.append([name, one["way"], *times, f"{one['waiting']:,}", str(one["peak_mb"])])
    head = ["workload", "way", "batch, s", "with the burst, s", "longest, s", "all, s"]
    return markdown([*head, "rows that wait, at most", "peak of a worker, MB"], table)


def overhead_table(data: dict[str, list[list[float]]]) -> str:
    medians = {policy: [statistics.median(run[WARM:]) for run in runs] for policy, runs in data.items()}
    rows = [[policy, *(f"{m:.3f}" for m in found), f"{statistics.fmean(found):.3f}"] for policy, found in medians.items()]
    return markdown(["policy", *(f"run {n + 1}" for n in range(len(rows[0]) - 2)), "mean"], rows)


def rescales_table(data: dict[str, Any]) -> str:
    names = {
        "minutes": "minutes",
        "batches": "batches",
        "slot_changes": "changes of the number of slots",
        "kills": "kills",
        "median": "batch, s, median",
        "median_of_changes": "batch with a change, s, median",
        "longest_warm": "longest batch, s, without the two after a start",
        "above_twice_warm": "batches above twice the median, without those",
        "above_twice_of_slots": "of these, above twice the median of batches with as many slots",
        "longest": "longest batch, s",
        "above_twice": "batches above twice the median",
    }
    rows = [[title, str(data[key])] for key, title in names.items()]
    rows[5:5] = [[f"with {n} slots", str(seconds)] for n, seconds in data["median_by_slots"].items()]
    for query, found in data["results"].items():
        rows.append([f"rows of {query}; missing, too many", f"{found['rows']:,}; {found['missing']}, {found['surplus']}"])
    return markdown(["", ""], rows)
