"""Run the experiments of document 000 §6 and draw what docs/evidence/partitioning.md shows.

python -m benchmarks.partitioning run [--rows N] [NAME …]     on a cluster of 1 to 4 workers, into results/NAME.json
python -m benchmarks.partitioning here [--rows N] [NAME …]    bytes without Spark, in this process, into results/here-NAME.json
python -m benchmarks.partitioning leaves [ROWS]               suspicious flows with more rows, for what leaves work
python -m benchmarks.partitioning behind [SECONDS]            more rows a second than the naive plan can take, on 4 workers
python -m benchmarks.partitioning draw                        figures into docs/figures, tables into docs/evidence/partitioning.md

Names: suspicious, jitter, pairs (the document's sets), subnets (jitter with the text's mix), join (of jitter, alone), fifty (50
queries over one stream).
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.partitioning.experiments import EXPERIMENTS, PlannedRun, many_queries
from benchmarks.partitioning.measure_plan import measure_here, measure_on_spark
from benchmarks.partitioning.packet_files import make_packets, split_for, write_packets
from benchmarks.partitioning.standalone_cluster import StandaloneCluster

RESULTS = Path(__file__).parent / "results"
WORKERS = (1, 2, 3, 4)
ROWS, MINUTES = 600_000, 3
FIFTY = "fifty"
GROUPS = {FIFTY: 3_000} | {name: one.groups for name, one in EXPERIMENTS.items()}


def main(arguments: list[str]) -> None:
    if arguments[:1] in (["run"], ["here"]):
        rows, names = ROWS if arguments[0] == "run" else ROWS // 10, arguments[1:]
        if names[:1] == ["--rows"]:
            rows, names = int(names[1]), names[2:]
        if arguments[0] == "run":
            run_experiments(names or [*EXPERIMENTS, FIFTY], rows)
        else:
            run_here(names or [*EXPERIMENTS], rows)
    elif arguments[:1] == ["leaves"]:
        run_experiments(["suspicious"], int((*arguments[1:], 6_000_000)[0]), "leaves")
    elif arguments[:1] == ["behind"]:
        from benchmarks.partitioning.falling_behind import measure_backlogs

        write_result("behind", measure_backlogs(float((*arguments[1:], 60)[0])))
    elif arguments == ["draw"]:
        from benchmarks.partitioning.draw_shuffles import draw

        draw()
    else:
        sys.exit(__doc__)


def run_experiments(names: list[str], rows: int, result: str | None = None) -> None:
    """Every configuration on 1 to 4 workers; on 4 also with source tasks that pre-aggregate, as they do by default."""
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    answers: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="headrace-partitioning-") as work:
        tables = {groups: make_packets(rows, groups, MINUTES) for groups in {GROUPS[name] for name in names}}
        with StandaloneCluster(Path(work) / "cluster") as cluster:
            for workers in WORKERS:
                folders = {groups: Path(work) / f"packets{workers}-{groups}" for groups in tables}
                for groups, folder in folders.items():
                    write_packets(split_for(tables[groups], workers), folder)
                cluster.add_worker()
                spark = cluster.open_session(workers)
                warm = EXPERIMENTS["suspicious"].configurations["naive"]
                measure_on_spark(spark, folder, warm, workers)  # workers of Python start
                for name in names:
                    folder = folders[GROUPS[name]]
                    if name == FIFTY:
                        if workers == WORKERS[-1]:
                            found[name] = measure_fifty(spark, folder, workers)
                        continue
                    for configuration, plans in EXPERIMENTS[name].configurations.items():
                        for preaggregate in (False, True) if workers == WORKERS[-1] else (False,):
                            one = measure_on_spark(spark, folder, plans, workers, preaggregate)
                            for query in EXPERIMENTS[name].answers:
                                assert answers.setdefault(query, one.answers[query]) == one.answers[query], (name, configuration)
                            key = f"{configuration}, {workers}" + (", pre-aggregated" if preaggregate else "")
                            found[name][key] = one.to_json()
                            print(f"{name}, {key}: {one.bytes:,} bytes, {one.cpu:.2f} s of CPU", flush=True)
                spark.stop()
    for name, measured in found.items():
        results = {q: sum(answers[q].values()) for q in EXPERIMENTS[name].answers} if name != FIFTY else {}
        data = {"rows": rows, "results": results, "runs": measured, "date": time.strftime("%Y-%m-%d")}
        write_result(result or name, data)


def run_here(names: list[str], rows: int) -> None:
    """Every configuration without Spark; the trace has so many times fewer pairs of hosts as it has fewer rows."""
    for name in names:
        found: dict[str, Any] = {}
        table = make_packets(rows, GROUPS[name] * rows // ROWS, MINUTES)
        for workers in WORKERS:
            split = split_for(table, workers)
            measured = {c: measure_here(split, plans, workers) for c, plans in EXPERIMENTS[name].configurations.items()}
            for query in EXPERIMENTS[name].answers:
                assert all(one.answers[query] == measured["naive"].answers[query] for one in measured.values()), query
            found |= {f"{c}, {workers}": one.to_json() for c, one in measured.items()}
            print(name, workers, {c: f"{one.bytes:,}" for c, one in measured.items()}, flush=True)
        write_result(f"here-{name}", {"rows": rows, "runs": found, "date": time.strftime("%Y-%m-%d")})


def write_result(name: str, data: dict[str, Any]) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n")


def measure_fifty(spark: Any, folder: Path, workers: int) -> dict[str, Any]:
    """Fifty queries with and without pre-aggregation: rows that go through the exchange for each row of the source."""
    plan = [PlannedRun(many_queries())]
    kinds = {"rows": False, "pre-aggregated": True}
    return {name: measure_on_spark(spark, folder, plan, workers, on).to_json() for name, on in kinds.items()}


if __name__ == "__main__":
    main(sys.argv[1:])
