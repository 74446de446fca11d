"""From a summary to what it says: ratios against targets, and the shapes that must be flat.

Only what was measured is judged; a target without its measurement is open (`passed` is None).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.workloads import FLINK, FLOOR, HEADRACE, LARGE, RACES, RIVALS, Workload

FLAT = 1.15
EMPTY_BATCH = 0.3


@dataclass(frozen=True)
class Ratio:
    """Seconds per million rows of a rival over Headrace's, on the same basis. None: not measured."""

    workload: Workload
    rival: str
    headrace: float | None
    other: float | None
    target: float

    @property
    def value(self) -> float | None:
        return self.other / self.headrace if self.headrace and self.other else None

    @property
    def passed(self) -> bool | None:
        return None if self.value is None else self.value >= self.target


@dataclass(frozen=True)
class Shape:
    """A measured value that must not exceed a limit."""

    what: str
    value: float | None
    limit: float
    unit: str = ""

    @property
    def passed(self) -> bool | None:
        return None if self.value is None else self.value <= self.limit


def ratios(summary: dict[str, Any]) -> list[Ratio]:
    found = []
    for workload in RACES:
        for rival in RIVALS:
            found.append(ratio(summary, workload, LARGE if rival == FLINK else HEADRACE, rival))
    return found


def cpu_ratio(summary: dict[str, Any], workload: Workload, rival: str) -> Ratio:
    """The same in seconds of the processor, which what else the machine does changes less."""
    contender = LARGE if rival == FLINK else HEADRACE
    key = "cpu" if workload.basis(rival) == "steady" else "cpu_whole"
    ours, theirs = (value(summary, workload.name, c, key) for c in (contender, rival))
    return Ratio(workload, rival, ours, theirs, workload.targets[rival])


def ratio(summary: dict[str, Any], workload: Workload, contender: str, rival: str) -> Ratio:
    """One contender, of Headrace's, against one rival."""
    basis = workload.basis(rival)
    key = "whole_flushed" if rival == FLINK else basis  # Flink closes all windows at the end
    ours, theirs = (value(summary, workload.name, c, k) for c, k in ((contender, key), (rival, basis)))
    return Ratio(workload, rival, ours, theirs, workload.targets[rival])


def steady_ratio(summary: dict[str, Any], workload: Workload, rival: str) -> Ratio:
    """Warm-up apart on both sides; of Flink known where it was measured on two lengths of the stream."""
    contender = LARGE if rival == FLINK else HEADRACE
    ours, theirs = (value(summary, workload.name, c, "steady") for c in (contender, rival))
    return Ratio(workload, rival, ours, theirs, workload.targets[rival])


def shapes(summary: dict[str, Any]) -> list[Shape]:
    steady = {w: value(summary, w, HEADRACE, "steady") for w in summary["workloads"]}
    by_range = [steady.get(w) for w in ("tumbling_1k", "sliding_10_1_1k", "sliding_60_1_1k")]
    return [
        Shape(
            "stream 5 times longer: time per row",
            _over(steady.get("long"), steady.get("sliding_10_1_50k")),
            FLAT,
            "x",
        ),
        Shape(
            "the longer stream: last quarter over first", value(summary, "long", HEADRACE, "drift"), FLAT, "x"
        ),
        Shape(
            "band join, stream 5 times longer: time per row",
            _over(steady.get("long_join"), steady.get("band_join")),
            FLAT,
            "x",
        ),
        Shape(
            "band join, stream 5 times longer: processor's time per row",
            _over(value(summary, "long_join", HEADRACE, "cpu"), value(summary, "band_join", HEADRACE, "cpu")),
            FLAT,
            "x",
        ),
        Shape(
            "band join, the longer stream: last quarter over first",
            value(summary, "long_join", HEADRACE, "drift"),
            FLAT,
            "x",
        ),
        Shape(
            "band join, stream 5 times longer: peak memory of Python",
            _over(_python_mb(summary, "long_join"), _python_mb(summary, "band_join")),
            FLAT,
            "x",
        ),
        Shape(
            "band join, 8 times as many results of a row: peak memory of Python",
            _over(_python_mb(summary, "crowded_join"), _python_mb(summary, "band_join")),
            FLAT,
            "x",
        ),
        Shape(
            "RANGE/SLIDE from 1 to 10, 1,000 groups: time per row", _over(by_range[1], by_range[0]), FLAT, "x"
        ),
        Shape(
            "RANGE/SLIDE from 1 to 60, 1,000 groups: time per row", _over(by_range[2], by_range[0]), FLAT, "x"
        ),
        Shape(
            "an empty batch, one query", value(summary, "quiet", HEADRACE, "batch_seconds"), EMPTY_BATCH, " s"
        ),
        Shape(
            "an empty batch, 20 queries",
            value(summary, "quiet_twenty", HEADRACE, "batch_seconds"),
            EMPTY_BATCH,
            " s",
        ),
    ]


def floors(summary: dict[str, Any]) -> dict[str, tuple[float | None, float | None]]:
    """Headrace's whole run and steady state over the floor, by workload."""
    found = {}
    for workload in RACES:
        floor = value(summary, workload.name, FLOOR, "whole")
        whole, steady = (value(summary, workload.name, HEADRACE, k) for k in ("whole_flushed", "steady"))
        found[workload.name] = (_over(whole, floor), _over(steady, floor))
    return found


def wrong(summary: dict[str, Any]) -> list[str]:
    """Where results differ from the truth, or a run failed."""
    return [
        f"{workload} {contender}: {problem}"
        for workload, by in summary["workloads"].items()
        for contender, line in by.items()
        for problem in [*(line.get("same_results") or []), *([line["error"]] if "error" in line else [])]
    ]


def value(summary: dict[str, Any], workload: str, contender: str, key: str) -> Any:
    return summary["workloads"].get(workload, {}).get(contender, {}).get(key)


def _python_mb(summary: dict[str, Any], workload: str) -> float | None:
    found = value(summary, workload, HEADRACE, "memory_mb")
    return found["python"] if found else None


def _over(a: float | None, b: float | None) -> float | None:
    return a / b if a and b else None
