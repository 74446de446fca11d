"""Flink SQL: one streaming job over bounded CSV files for the whole set of queries.

Runs in an environment of its own, so it imports nothing but PyFlink. In Flink's favour: window table
functions with two-phase, slice-sharing aggregation (the planner's default), interval and window joins, state on the heap, no
checkpoints, object reuse; mini-batches are chosen by `benchmarks tune`. Results are written as CSV, all
windows being closed at the end.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


def run(spec: dict[str, Any]) -> dict[str, Any]:
    from pyflink.common import Configuration
    from pyflink.table import EnvironmentSettings, TableEnvironment

    born = time.monotonic()
    settings = {
        "parallelism.default": str(spec["cores"]),
        "table.local-time-zone": "UTC",
        "pipeline.object-reuse": "true",
        "taskmanager.memory.network.min": "512mb",  # twenty queries have many channels
        "taskmanager.memory.network.max": "512mb",
    }
    if spec["settings"]["mini_batch"]:
        settings |= {
            "table.exec.mini-batch.enabled": "true",
            "table.exec.mini-batch.allow-latency": "1 s",
            "table.exec.mini-batch.size": "5000",
        }
    config = Configuration()
    for key, value in settings.items():
        config.set_string(key, value)
    mode = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(config)
    tables = TableEnvironment.create(mode.build())
    columns = ", ".join(f"{name} INT" for name in spec["columns"] if name != "ts")
    for stream, folder in spec["csv"].items():
        tables.execute_sql(
            f"CREATE TABLE {stream} (ms BIGINT, {columns}, ts AS TO_TIMESTAMP_LTZ(ms, 3), "
            f"WATERMARK FOR ts AS ts - INTERVAL '{spec['slack_us'] // 1_000_000}' SECOND) "
            f"WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = 'file://{folder}')"
        )
    root = Path(spec["work"]).absolute()
    statements, results = tables.create_statement_set(), dict[str, dict[str, Any]]()
    for name, statement in spec["queries"].items():
        tables.execute_sql(statement)
        schema = tables.from_path(name)._j_table.getResolvedSchema().getColumns()
        types = {c.getName(): c.getDataType().getLogicalType().asSerializableString() for c in schema}
        path = root / "results" / name
        tables.execute_sql(
            f"CREATE TABLE {name}_sink ({', '.join(f'`{n}` {t}' for n, t in types.items())}) "
            f"WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = 'file://{path}')"
        )
        statements.add_insert_sql(f"INSERT INTO {name}_sink SELECT * FROM {name}")
        results[name] = {"format": "csv", "folder": str(path), "columns": list(types)}
    started = time.monotonic()
    statements.execute().wait()
    ended = time.monotonic()
    for result in results.values():
        result["paths"] = [str(p) for p in Path(result.pop("folder")).glob("part-*")]
    return {
        "clock": (started, ended),
        "startup_seconds": started - born,
        "seconds": ended - started,
        "batches": [],
        "results": results,
    }


if __name__ == "__main__":
    spec = json.loads(Path(sys.argv[1]).read_text())
    Path(spec["answer"]).write_text(json.dumps(run(spec)))
