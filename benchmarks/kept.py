"""What is kept: a JSON file for every run, and a summary of medians made from them.

Runs are kept in out/bench/results/LABEL (not committed); the summary is small and is committed under
benchmarks/results, from where docs/benchmarks.md is written. Workloads need not be measured all at once:
those measured together are a *set*, with machine, versions, dates and command, and a new set takes the
place of its workloads in older ones.
"""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
import subprocess
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks import flink_env
from benchmarks.check import differences
from benchmarks.workloads import CONTENDERS, DEFAULT_STORE, FLOOR, HEADRACE, ROCKSDB, WORKLOADS

COMMITTED = Path(__file__).parent / "results" / "summary.json"
_MEDIANS = (
    "startup_seconds",
    "seconds",
    "flush_seconds",
    "whole",
    "whole_flushed",
    "steady",
    "cpu",
    "cpu_whole",
    "warmup_seconds",
    "batch_seconds",
    "drift",
)


def path_of(folder: Path, workload: str, contender: str, repeat: int, files: int | None = None) -> Path:
    """Where a run is kept; one on the first files of a stream stands beside one on all of them."""
    return folder / f"{workload}.{contender}.{f'{files}-files.' if files else ''}{repeat}.json"


def read(folder: Path) -> list[dict[str, Any]]:
    """The records of all runs, by workload, contender and repeat."""
    return [
        json.loads(path.read_text())
        for w in WORKLOADS
        for c in CONTENDERS
        for path in sorted(folder.glob(f"{w}.{c}.*.json"))
    ]


def summary(records: Iterable[dict[str, Any]], command: str) -> dict[str, Any]:
    """Medians by workload and contender, whether results agree, and where all this was."""
    runs: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for record in records:
        runs.setdefault(record["workload"], {}).setdefault(record["contender"], []).append(record)
    dates = sorted(r["at"] for by in runs.values() for rs in by.values() for r in rs)
    one = {
        "command": command,
        "from": dates[0] if dates else None,
        "to": dates[-1] if dates else None,
        "machine": machine(),
        "versions": versions(),
        "workloads": list(runs),
    }
    return {
        "sets": [one],
        "workloads": {
            w: {c: _medians(_longest(rs)) | _growth(rs) | {"same_results": _agrees(c, rs, by)} for c, rs in by.items()}
            for w, by in runs.items()
        },
    }


def merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The old summary with the workloads of the new one in place of its own."""
    sets = []
    for one in old["sets"]:
        left = [w for w in one["workloads"] if w not in new["workloads"]]
        sets += [one | {"workloads": left}] if left else []
    return {"sets": [*sets, *new["sets"]], "workloads": {**old["workloads"], **new["workloads"]}}


def _longest(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs on the most rows: of a workload on which a rival takes too long, it and the floor may have shorter ones."""
    most = max(r.get("rows", 0) for r in records)
    return [r for r in records if r.get("rows", most) == most]


def _growth(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Of an engine without batches, measured on two lengths of the stream: what a million rows more take, warm-up apart."""
    good = [r for r in records if "error" not in r]
    lengths = sorted({r["rows"] for r in good})
    if len(lengths) < 2 or any(r.get("steady") for r in good):
        return {}
    short, long = lengths[0], lengths[-1]

    def more(key: str) -> float | None:
        totals = [
            [r[key] * r["rows"] for r in good if r["rows"] == rows and r.get(key) is not None] for rows in (short, long)
        ]
        if not all(totals):
            return None
        return round((statistics.median(totals[1]) - statistics.median(totals[0])) / (long - short), 4)

    return {"steady": more("whole"), "cpu": more("cpu_whole")}


def _medians(records: list[dict[str, Any]]) -> dict[str, Any]:
    good = [r for r in records if "error" not in r]
    if not good:
        return {"runs": 0, "error": records[-1]["error"]}
    line: dict[str, Any] = {"runs": len(good), "failed": len(records) - len(good)}
    for key in ("rows", "files_per_batch", "settings"):
        line[key] = good[-1][key]
    for key in _MEDIANS:
        values = [r[key] for r in good if r.get(key) is not None]
        line[key] = round(statistics.median(values), 4) if values else None
    measured = [r["steady"] or r["whole"] for r in good]
    line["spread"] = round((max(measured) - min(measured)) / statistics.median(measured), 3)
    line["load_before"] = max(r["load_before"] for r in good)
    line["memory_mb"] = {k: max(r["memory_mb"][k] for r in good) for k in good[0]["memory_mb"]}
    line["result_rows"] = sum(c["closed"]["rows"] for c in good[-1]["check"].values())
    return line


def _agrees(
    contender: str, records: list[dict[str, Any]], by: dict[str, list[dict[str, Any]]]
) -> list[str] | None:
    """Differences from the truth (the floor's results on the same rows, else Headrace's); None without anything to compare."""
    truths = [r for c in (FLOOR, HEADRACE) for r in by.get(c, []) if "error" not in r]
    which = "closed" if contender in (ROCKSDB, DEFAULT_STORE) else "all"
    found: list[str] | None = None
    for record in (r for r in records if "error" not in r):
        truth = next((t for t in truths if t["rows"] == record["rows"]), None)
        if truth is not None and truth is not record:
            found = [*(found or []), *differences(truth["check"], record["check"], which)]
    return None if found is None else list(dict.fromkeys(found))


def machine() -> dict[str, Any]:
    cpu = re.search(r"model name\s*:\s*(.+)", _text("/proc/cpuinfo"))
    memory = re.search(r"MemTotal:\s*(\d+)", _text("/proc/meminfo"))
    system = re.search(r'PRETTY_NAME="(.+)"', _text("/etc/os-release"))
    return {
        "cpu": cpu.group(1).strip() if cpu else platform.processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(int(memory.group(1)) / 1e6) if memory else None,
        "system": system.group(1) if system else platform.platform(),
    }


def versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {"Python": platform.python_version()}
    for name in ("headrace", "pyspark", "duckdb", "pyarrow"):
        found[name] = metadata.version(name)
    java = str(Path(os.environ["JAVA_HOME"]) / "bin" / "java") if os.environ.get("JAVA_HOME") else "java"
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
        found["Java"] = match.group(1) if (match := re.search(r'"([^"]+)"', said)) else None
    except OSError:
        found["Java"] = None
    found["Flink"] = flink_env.version()
    return found


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
