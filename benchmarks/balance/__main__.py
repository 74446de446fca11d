"""Run the experiments and draw what docs/evidence/balance.md shows.

python -m benchmarks.balance run [NAME …]               simulate, into benchmarks/balance/results/NAME.json
python -m benchmarks.balance live [WORKLOAD:POLICY …]   on Spark, standalone, two executors pinned to a core each
python -m benchmarks.balance slow [RUNS]                a process that wants one core: slots as many as cores, and finer
python -m benchmarks.balance rivals [STREAM …]          Headrace, Spark's own streaming and Flink on smaller batches of the same
python -m benchmarks.balance overhead [PAIRS]           static and headrace in turn on an even load
python -m benchmarks.balance limits [ROWS [BATCHES]]    bursts with and without --defer, little memory with and without turns
python -m benchmarks.balance cost                       the share of a batch that statistics and controller take, in one process
python -m benchmarks.balance rescale [MINUTES [CHANGES]]  2, 8 and 3 slots in turn, 9 or so many changes a minute, with kills
python -m benchmarks.balance draw                       figures into docs/figures, tables into docs/evidence/balance.md
"""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.balance.paper_figures import EXPERIMENTS

RESULTS = Path(__file__).parent / "results"
FOLDER = Path("out/bench/balance").absolute()
LIVE = [f"{w}:{p}" for w in ("even", "zipf", "changing", "competing", "focused", "single", "hot") for p in ("static", "headrace")]


def main(arguments: list[str]) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that clusters end with it
    command, rest = arguments[:1], arguments[1:]
    if command == ["run"]:
        for name in rest or EXPERIMENTS:
            started = time.perf_counter()
            write_result(name, _rounded(EXPERIMENTS[name]()))
            print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
    elif command == ["live"]:
        run_live(rest or LIVE)
    elif command == ["slow"]:
        run_slow(int(rest[0]) if rest else 3)
    elif command == ["rivals"]:
        run_rivals(rest or ["even", "zipf", "focused"])
    elif command == ["overhead"]:
        run_overhead(int(rest[0]) if rest else 3)
    elif command == ["limits"]:
        run_limits(*(int(value) for value in (*rest, *("400000", "30")[len(rest) :])))
    elif arguments == ["cost"]:
        from benchmarks.balance.statistics_cost import measure_cost

        write_result("statistics-cost", _rounded(measure_cost(FOLDER)))
    elif command == ["rescale"]:
        from benchmarks.balance.rescale_soak import soak_rescales

        minutes, changes = (float(value) for value in (*rest, *("10", "9")[len(rest) :]))
        write_result("rescales", soak_rescales(FOLDER / "rescale", minutes, change=60 / changes))
    elif arguments == ["draw"]:
        from benchmarks.balance.draw_balance import draw

        draw()
    else:
        sys.exit(__doc__)


def run_live(names: list[str]) -> None:
    """Runs by workload and policy, each into a file of its own."""
    from benchmarks.balance.live_runs import LiveCase, open_spark, run_cases
    from benchmarks.balance.pinned_cluster import pinned_cluster

    cases = []
    for name in names:
        workload, policy = name.split(":")
        compete = workload == "competing"
        batches = {"changing": 24, "competing": 20}.get(workload, 16)
        cases.append(LiveCase("even" if compete else workload, policy, batches=batches, compete=compete))
    with pinned_cluster(FOLDER / "cluster") as url:
        spark = open_spark(url)
        run_cases(spark, cases, FOLDER, keep_run)
        spark.stop()


def keep_run(found: dict[str, Any]) -> None:
    write_result(f"live-{found['workload']}-{found['policy']}", found)
    seconds = sorted(b["seconds"] for b in found["batches"][5:])
    print(f"{found['workload']} {found['policy']}: {seconds[len(seconds) // 2]:.2f} s a batch", flush=True)


def run_slow(runs: int) -> None:
    """One slow executor: who gains by which means, in turn."""
    from benchmarks.balance.live_runs import LiveCase, open_spark, run_cases
    from benchmarks.balance.pinned_cluster import pinned_cluster

    ways = [(2, "static", None), (2, "headrace", None), (8, "static", None), (8, "headrace", None)]
    ways += [(8, "static", "10 seconds"), (32, "static", None), (32, "headrace", None)]
    found: list[dict[str, Any]] = []

    def keep(run: dict[str, Any]) -> None:
        slots, _, defer = ways[len(found) % len(ways)]
        found.append(run | {"slots": slots, "defer": defer})
        print(slots, run["policy"], defer, [b["seconds"] for b in run["batches"]], flush=True)
        write_result("slow-executor", {"rows": found})

    with pinned_cluster(FOLDER / "cluster") as url:
        spark = open_spark(url)
        cases = [LiveCase("even", policy, batches=20, slots=slots, compete=True, defer=defer) for slots, policy, defer in ways]
        run_cases(spark, cases * runs, FOLDER, keep)
        spark.stop()


def run_rivals(streams: list[str]) -> None:
    """Smaller batches, so that Spark's own streaming comes to an end."""
    from benchmarks.balance.live_runs import LiveCase, open_spark, run_case, run_flink, run_spark
    from benchmarks.balance.pinned_cluster import pinned_cluster

    flink, found = has_flink(), []
    with pinned_cluster(FOLDER / "cluster") as url:
        spark = open_spark(url)
        run_case(spark, LiveCase("even", "static", 20_000, 6), FOLDER)
        for stream in streams:
            found.append(run_case(spark, LiveCase(stream, "headrace", 20_000, 8), FOLDER))
            found.append(run_spark(spark, LiveCase(stream, "spark-rocksdb", 20_000, 8), FOLDER))
            if flink:
                found.append(run_flink(LiveCase(stream, "flink", 20_000, 8), FOLDER))
            here = [one for one in found if one["workload"] == stream]
            print(stream, [round(sum(b["seconds"] for b in one["batches"]), 1) for one in here], flush=True)
            kept = ("workload", "policy", "rows")
            rows = [{k: one[k] for k in kept} | {"seconds": [b["seconds"] for b in one["batches"]]} for one in found]
            write_result("live-rivals", {"rows": rows})
        spark.stop()


def run_limits(rows: int, batches: int) -> None:
    """What a slot does not take at once: bursts that wait, and mini-partitions that take turns."""
    from benchmarks.balance.limit_runs import measure_limits, run_bursts, run_memory
    from benchmarks.balance.pinned_cluster import pinned_cluster

    found: list[dict[str, Any]] = []

    def keep(run: dict[str, Any]) -> None:
        found.append({"workload": run["workload"], "way": run["way"], "rows": run["rows"]} | measure_limits(run))
        print(found[-1], flush=True)
        write_result("live-limits", _rounded({"rows": found}))

    with pinned_cluster(FOLDER / "cluster") as url:
        run_bursts(url, FOLDER, rows, batches, keep)
        run_memory(url, FOLDER, rows // 2, min(batches, 20), keep)


def has_flink() -> bool:
    """Whether Flink is installed, or can be now."""
    from benchmarks import flink_env

    try:
        flink_env.ensure()
    except flink_env.FlinkMissing as missing:
        print(missing, flush=True)
        return False
    return True


def run_overhead(pairs: int) -> None:
    """An even load with and without a policy, in turn."""
    from benchmarks.balance.live_runs import LiveCase, open_spark, run_cases
    from benchmarks.balance.pinned_cluster import pinned_cluster

    found: dict[str, list[list[float]]] = {"static": [], "headrace": []}

    def keep(run: dict[str, Any]) -> None:
        found[run["policy"]].append([b["seconds"] for b in run["batches"]])

    with pinned_cluster(FOLDER / "cluster") as url:
        spark = open_spark(url)
        run_cases(spark, [LiveCase("even", p, batches=20) for _ in range(pairs) for p in found], FOLDER, keep)
        spark.stop()
    write_result("live-overhead", found)


def write_result(name: str, data: object) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(data) + "\n")


def _rounded(data: object) -> object:
    if isinstance(data, float):
        return float(f"{data:.4g}")
    if isinstance(data, dict):
        return {k: _rounded(v) for k, v in data.items()}
    return [_rounded(v) for v in data] if isinstance(data, (list, tuple)) else data


if __name__ == "__main__":
    main(sys.argv[1:])
