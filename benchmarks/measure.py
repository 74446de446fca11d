"""One run of one contender on one workload: prepare, start a process, watch it, keep what it did.

Everybody gets the same files (read once before, so that none pays for the disk), two cores and, for a JVM,
the same heap; the engine's own start-up is not timed. A run that fails is kept as a failure, with its last
words.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import check, datasets, flink_env
from benchmarks.memory import Peak
from benchmarks.workloads import FLINK, FLOOR, HEADRACE, LARGE, ROWS, Workload

CORES = 2
HEAP = "8g"  # of the rivals' JVM
SCHEMA = "ts TIMESTAMP, " + ", ".join(f"{name} INT" for name in datasets.COLUMNS[1:])
MODULES = {**dict.fromkeys((HEADRACE, LARGE, ROWS), "on_headrace"), FLINK: "on_flink", FLOOR: "on_duckdb"}
DEFAULTS: dict[str, dict[str, Any]] = {
    HEADRACE: {},
    LARGE: {},
    ROWS: {},
    "spark-rocksdb": {"partitions": 2, "changelog": True, "join_format": 4},
    "spark-default": {"partitions": 2},
    FLINK: {"mini_batch": False},
    FLOOR: {},
}


@dataclass(frozen=True)
class Options:
    """How to run. `files`: take only the first so many."""

    rows: int = datasets.ROWS
    files: int | None = None
    files_per_batch: int = 2
    warmup: int = 2
    timeout: int = 7200
    keep: bool = False
    out: Path = datasets.OUT
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)  # by contender, over DEFAULTS
    tree: Path | None = None  # a checkout whose Headrace is measured; None: the one that is installed


def measure(workload: Workload, contender: str, options: Options) -> dict[str, Any]:
    """Run it; the record of the run, with `error` instead of numbers if it failed."""
    streams = datasets.DATASETS[workload.dataset].streams(options.rows, options.files, options.out)
    settings = DEFAULTS[contender] | options.settings.get(contender, {})
    work = (options.out / "work" / f"{workload.name}.{contender}").absolute()
    shutil.rmtree(work, ignore_errors=True)
    spec: dict[str, Any] = {
        "contender": contender,
        "settings": settings,
        "text": workload.text(contender),
        "queries": statements(workload.text(contender)),
        "inputs": {s: str(datasets.linked(files, work / "input" / s)) for s, files in streams.items()},
        "files": {s: [str(f.absolute()) for f in files] for s, files in streams.items()},
        "files_per_batch": workload.files_per_batch
        or options.files_per_batch * (2 if contender == LARGE else 1),
        "columns": datasets.COLUMNS,
        "schema": SCHEMA,
        "slack": datasets.SLACK,
        "slack_us": datasets.SLACK_US,
        "cores": CORES,
        "memory": HEAP,
        "work": str(work),
        "tree": str(options.tree.absolute()) if options.tree is not None else None,
        "answer": str(work / "answer.json"),
    }
    for stream, files in streams.items():
        if contender == FLINK:
            folder = datasets.csv_of(files).absolute()
            spec.setdefault("csv", {})[stream] = str(folder)
            datasets.warm(sorted(folder.iterdir()))
        else:
            datasets.warm(files)
    facts = datasets.facts(streams)
    record: dict[str, Any] = {
        "workload": workload.name,
        "contender": contender,
        "settings": settings,
        "rows": facts["rows"],
        "files": max(len(files) for files in streams.values()),
        "files_per_batch": spec["files_per_batch"],
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "load_before": round(os.getloadavg()[0], 2),
    }
    try:
        answer, peak = _process(spec, options.timeout)
        warmup = workload.warmup or options.warmup
    except RunError as error:
        record["error"] = str(error)
    else:
        record |= {"memory_mb": peak.mb, **_numbers(answer, facts["rows"], warmup)}
        record |= _cpu(answer, peak, facts["rows"], warmup)
        record["check"] = {
            q: check.checksums(r, facts["low_watermark"] - workload.reach) for q, r in answer["results"].items()
        }
    if not options.keep and "error" not in record:
        shutil.rmtree(work, ignore_errors=True)
    return record


class RunError(Exception):
    """A contender did not come to its end."""


def _process(spec: dict[str, Any], timeout: int) -> tuple[dict[str, Any], Peak]:
    """Start the contender and wait; its answer, and what it used."""
    work = Path(spec["work"])
    (work / "spec.json").write_text(json.dumps(spec, indent=1))
    env = dict(os.environ)
    if spec["contender"] == FLINK:
        script = Path(__file__).parent / "contenders" / "on_flink.py"
        command = [str(flink_env.python()), str(script)]
        env |= flink_env.variables(spec["memory"])
    else:
        command = [
            sys.executable,
            "-m",
            f"benchmarks.contenders.{MODULES.get(spec['contender'], 'on_spark')}",
        ]
        source = f"{spec['tree']}/src" if spec["tree"] else None
        paths = [str(Path(__file__).parents[1]), source, env.get("PYTHONPATH")]
        env["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    log = work / "log.txt"
    with log.open("wb") as said:
        process = subprocess.Popen(
            [*command, str(work / "spec.json")], stdout=said, stderr=said, env=env, start_new_session=True
        )
        with Peak(process.pid) as peak:
            try:
                process.wait(timeout)
            except subprocess.TimeoutExpired:
                raise RunError(f"stopped after {timeout} s; see {log}") from None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)  # the group is this run's own: a new session
                    process.wait()
    if process.returncode or not Path(spec["answer"]).exists():
        last = [line for line in log.read_text(errors="replace").splitlines() if line.strip()][-3:]
        raise RunError(
            f"ended with code {process.returncode}; see {log}; last words: {' | '.join(last)[-500:]}"
        )
    return json.loads(Path(spec["answer"]).read_text()), peak


def _numbers(answer: dict[str, Any], rows: int, warmup: int) -> dict[str, Any]:
    """Seconds per million rows, whole and steady, from what the contender answered."""
    million = rows / 1e6
    flush = answer.get("flush_seconds", 0.0)
    first, later = _split(answer["batches"], warmup)
    busy = [b["seconds"] / b["rows"] * 1e6 for b in later if b["rows"]]
    return {
        "startup_seconds": answer["startup_seconds"],
        "seconds": answer["seconds"],
        "flush_seconds": flush,
        "whole": answer["seconds"] / million,
        "whole_flushed": (answer["seconds"] + flush) / million,
        "steady": statistics.median(busy) if busy else None,
        "warmup_seconds": sum(b["seconds"] for b in first),
        "batch_seconds": statistics.median(b["seconds"] for b in later) if later else None,
        "drift": _drift(busy),
        "batches": answer["batches"],
        "reports": answer.get("reports"),
        "late": answer.get("late"),
    }


def _cpu(answer: dict[str, Any], peak: Peak, rows: int, warmup: int) -> dict[str, float | None]:
    """Seconds of the processor per million rows: of the batches after the warm-up, and of the whole run."""
    begun, ended = answer["clock"]
    whole = (peak.cpu_until(ended) - peak.cpu_until(begun)) / rows * 1e6
    first, later = _split(answer["batches"], warmup)
    busy = sum(b["rows"] for b in later)
    if not first or not busy:
        return {"cpu": None, "cpu_whole": whole}
    used = peak.cpu_until(later[-1]["reported"]) - peak.cpu_until(first[-1]["reported"])
    return {"cpu": used / busy * 1e6, "cpu_whole": whole}


def _drift(seconds: list[float]) -> float | None:
    """The last quarter of the batches against the first."""
    quarter = len(seconds) // 4
    if not quarter:
        return None
    return statistics.median(seconds[-quarter:]) / statistics.median(seconds[:quarter])


def _split(batches: list[dict[str, Any]], warmup: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The first `warmup` batches of a single query, and the others. Of many at once, none means much."""
    if len({b["query"] for b in batches}) != 1:
        return [], []
    return batches[:warmup], batches[warmup:]


def statements(text: str) -> dict[str, str]:
    """The statements of a script by the name they create."""
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
    parts = [part.strip() for part in code.split(";")]
    return {part.partition(" AS")[0].split()[-1]: part for part in parts if part}
