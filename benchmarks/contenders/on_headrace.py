"""Headrace, through its public interface, with the settings a user gets."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import headrace as hr
from benchmarks.contenders.batches import Batches
from headrace.report.model import BatchReport


def run(spec: dict[str, Any]) -> dict[str, Any]:
    born = time.monotonic()
    checkpoint = Path(spec["work"]) / "checkpoint"
    session = hr.Session(
        master=f"local[{spec['cores']}]", checkpoint=checkpoint, slots=spec["settings"].get("slots")
    )
    for stream, folder in spec["inputs"].items():
        if spec["contender"] == "headrace-rows":
            source = session.spark.readStream.schema(spec["schema"])
            rows = source.option("maxFilesPerTrigger", spec["files_per_batch"]).parquet(folder)
            session.stream(stream, rows, progress=hr.slack(spec["slack"], on="ts"))
        else:
            session.sql(
                f"""CREATE STREAM {stream} ({spec["schema"]}) PROGRESSING ON ts SLACK {spec["slack"]}
                FROM 'parquet' OPTIONS (path '{folder}', maxFilesPerTrigger '{spec["files_per_batch"]}')"""
            )
    session.sql(spec["text"])
    batches, reports = Batches(), list[BatchReport]()
    session.spark.streams.addListener(batches)
    started = time.monotonic()
    running = session.start(available_now=True, flush=True, on_batch=reports.append)
    running.wait()
    ended = time.monotonic()
    flush = reports[-1].seconds if reports and not reports[-1].rows else 0.0
    results = {query: checkpoint.with_name(f"{query}.parquet") for query in spec["queries"]}
    for query, path in results.items():
        pq.write_table(running.results(query).arrow(), path)
    return {
        "clock": (started, ended),
        "startup_seconds": started - born,
        "seconds": ended - started - flush,
        "flush_seconds": flush,
        "batches": [
            {**batch, "rows": report.rows}
            for batch, report in zip(batches.of_ended(1), reports, strict=False)
        ],
        "reports": [asdict(r) for r in reports],
        "results": {q: {"format": "parquet", "paths": [str(path)]} for q, path in results.items()},
        "late": sum(r.late for r in reports),
    }


if __name__ == "__main__":
    spec = json.loads(Path(sys.argv[1]).read_text())
    Path(spec["answer"]).write_text(json.dumps(run(spec)))
