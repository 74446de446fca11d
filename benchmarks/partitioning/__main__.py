"""Run the experiments of document 000 §6 and draw what docs/evidence/partitioning.md shows.

python -m benchmarks.partitioning run [--rows N] [NAME …]     on a cluster of 1 to 4 workers, into results/NAME.json
python -m benchmarks.partitioning draw                        figures into docs/figures, tables into docs/evidence/partitioning.md

Names: suspicious, jitter, pairs (the document's sets), fifty (50 queries over one stream).
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.partitioning.experiments import EXPERIMENTS, PlannedRun, many_queries
from benchmarks.partitioning.measure_plan import measure_on_spark
from benchmarks.partitioning.packet_files import make_packets, split_for, write_packets
from benchmarks.partitioning.standalone_cluster import StandaloneCluster

RESULTS = Path(__file__).parent / "results"
WORKERS = (1, 2, 3, 4)
ROWS, GROUPS, MINUTES = 600_000, 3_000, 3
FIFTY = "fifty"


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["run"]:
        rows, names = ROWS, arguments[1:]
        if names[:1] == ["--rows"]:
            rows, names = int(names[1]), names[2:]
        run_experiments(names or [*EXPERIMENTS, FIFTY], rows)
    elif arguments == ["draw"]:
        from benchmarks.partitioning.draw_shuffles import draw

        draw()
    else:
        sys.exit(__doc__)


def run_experiments(names: list[str], rows: int) -> None:
    """Every configuration on 1 to 4 workers; on 4 also with source tasks that pre-aggregate, as they do by default."""
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    answers: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="headrace-partitioning-") as work:
        table = make_packets(rows, GROUPS, MINUTES)
        with StandaloneCluster(Path(work) / "cluster") as cluster:
            for workers in WORKERS:
                folder = Path(work) / f"packets{workers}"
                write_packets(split_for(table, workers), folder)
                cluster.add_worker()
                spark = cluster.open_session(workers)
                warm = EXPERIMENTS["suspicious"].configurations["naive"]
                measure_on_spark(spark, folder, warm, workers)  # workers of Python start
                for name in names:
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
    RESULTS.mkdir(exist_ok=True)
    for name, measured in found.items():
        results = {q: sum(answers[q].values()) for q in EXPERIMENTS[name].answers} if name != FIFTY else {}
        data = {"rows": rows, "results": results, "runs": measured, "date": time.strftime("%Y-%m-%d")}
        (RESULTS / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n")


def measure_fifty(spark: Any, folder: Path, workers: int) -> dict[str, Any]:
    """Fifty queries with and without pre-aggregation: rows that go through the exchange for each row of the source."""
    plan = [PlannedRun(many_queries())]
    kinds = {"rows": False, "pre-aggregated": True}
    return {name: measure_on_spark(spark, folder, plan, workers, on).to_json() for name, on in kinds.items()}


if __name__ == "__main__":
    main(sys.argv[1:])
