"""The summary as docs/benchmarks.md: words from `page.md`, numbers from the summary, none by hand."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import verdicts
from benchmarks.compare import number
from benchmarks.measure import HEAP
from benchmarks.workloads import (
    CONTENDERS,
    DEFAULT_STORE,
    FLINK,
    FLOOR,
    HEADRACE,
    JOINS,
    LARGE,
    MAIN,
    RACES,
    RIVALS,
    ROCKSDB,
    ROWS,
    WORKLOADS,
    Workload,
)

TEMPLATE = Path(__file__).parent / "page.md"
_NAMES = {
    HEADRACE: "Headrace",
    LARGE: "Headrace, 2 M rows a batch",
    ROWS: "Headrace, rows through Spark",
    ROCKSDB: "Spark, RocksDB",
    DEFAULT_STORE: "Spark, default store",
    FLINK: "Flink SQL",
    FLOOR: "DuckDB (floor)",
}
_MARK = {True: "✓", False: "**✗**", None: ""}


def page(summary: dict[str, Any]) -> str:
    """The whole page."""
    problems = verdicts.wrong(summary)
    return TEMPLATE.read_text().format_map(
        {
            "sets": "\n".join(map(_set, summary["sets"])),
            "rows": _wrap("Rows: " + "; ".join(f"{n:,}: {', '.join(names)}" for n, names in sorted(_by_rows(summary).items()))),
            "heap": HEAP,
            "ratios": _ratios(summary, MAIN),
            "join_ratios": _ratios(summary, JOINS),
            "cpu_ratios": _cpu_ratios(summary),
            "notes": _notes(summary),
            "by_batch": _by_batch(summary),
            "seconds": _seconds(summary),
            "agreement": _agreement(problems),
            "shapes": _shapes(summary),
            "floors": _floors(summary),
            "memory": _memory(summary),
            "settings": _settings(summary),
        }
    )


def _by_rows(summary: dict[str, Any]) -> dict[int, list[str]]:
    """Titles of the workloads that ran on so many rows."""
    found: dict[int, list[str]] = {}
    for workload, _, line in _lines(summary):
        if workload.title not in found.setdefault(line["rows"], []):
            found[line["rows"]].append(workload.title)
    return found


def _set(one: dict[str, Any]) -> str:
    """What was measured together, when, where and how."""
    m, versions = one["machine"], ", ".join(f"{name} {v}" for name, v in one["versions"].items() if v)
    return _wrap(
        f"- {_date(one['from'])} to {_date(one['to'])} (UTC) with `{one['command']}`: "
        f"{'; '.join(WORKLOADS[w].title for w in one['workloads'])}. "
        f"On {m['cpu']}, {m['cores']} cores, {m['memory_gb']} GB, {m['system']}; {versions}.",
        "  ",
    )


def _notes(summary: dict[str, Any]) -> str:
    return "\n\n".join(_wrap(one["note"]) for one in summary["sets"] if one.get("note"))


def _wrap(text: str, indent: str = "") -> str:
    """Lines as they are elsewhere in the documentation."""
    return textwrap.fill(text, 110, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _ratios(summary: dict[str, Any], workloads: Sequence[Workload]) -> str:
    cells: dict[str, list[str]] = {w.title: [] for w in workloads}
    for r in verdicts.ratios(summary):
        if r.workload not in workloads:
            continue
        measured = number(r.value, "x") if r.value is not None else "not measured"
        cells[r.workload.title].append(f"{measured} (≥ {r.target:g}x) {_MARK[r.passed]}".strip())
    return _table(["workload", *(_NAMES[r] for r in RIVALS)], ([title, *row] for title, row in cells.items()))


def _cpu_ratios(summary: dict[str, Any]) -> str:
    rows = (
        [w.title, *(number(verdicts.cpu_ratio(summary, w, r).value, "x") for r in RIVALS)]
        for w in RACES
        if any(verdicts.cpu_ratio(summary, w, r).value for r in RIVALS)
    )
    return _table(["workload", *(_NAMES[r] for r in RIVALS)], rows)


def _by_batch(summary: dict[str, Any]) -> str:
    sizes = (HEADRACE, LARGE)
    rows = (
        [
            w.title,
            *(number(verdicts.ratio(summary, w, c, FLINK).value, "x") for c in sizes),
            number(verdicts.steady_ratio(summary, w, FLINK).value, "x"),
        ]
        for w in RACES
    )
    head = ["Flink SQL over Headrace", "whole, 1 M rows a batch", "whole, 2 M rows a batch", "warm-up apart, 2 M rows a batch"]
    return _table(head, rows)


def _seconds(summary: dict[str, Any]) -> str:
    rows = (
        [
            workload.title,
            _NAMES[contender],
            f"{line['rows'] / 1e6:g} M",
            number(line["steady"]),
            number(line["whole_flushed"]),
            number(line.get("cpu")),
            number(line.get("cpu_whole")),
            number(line["warmup_seconds"] or None),
            str(line["runs"]),
            f"{100 * line['spread']:.0f} %",
            f"{line['result_rows']:,}",
        ]
        for workload, contender, line in _lines(summary)
    )
    return _table(
        [
            "workload",
            "contender",
            "rows",
            "steady",
            "whole",
            "CPU steady",
            "CPU whole",
            "warm-up, s",
            "runs",
            "spread",
            "result rows",
        ],
        rows,
    )


def _agreement(problems: list[str]) -> str:
    if problems:
        return "Differences and failures:\n\n" + "\n".join(f"- {problem}" for problem in problems)
    return "Results equal the floor's in every run, in number and checksum, for all windows that both closed."


def _shapes(summary: dict[str, Any]) -> str:
    rows = (
        [s.what, number(s.value, s.unit), f"{s.limit}{s.unit}", _MARK[s.passed]]
        for s in verdicts.shapes(summary)
    )
    return _table(["what", "measured", "at most", ""], rows)


def _floors(summary: dict[str, Any]) -> str:
    rows = (
        [WORKLOADS[name].title, number(whole, "x"), number(steady, "x")]
        for name, (whole, steady) in verdicts.floors(summary).items()
    )
    return _table(["workload", "whole run", "steady state"], rows)


def _memory(summary: dict[str, Any]) -> str:
    rows = (
        [
            workload.title,
            _NAMES[contender],
            *(f"{line['memory_mb'][k]:,}" for k in ("java", "python", "total")),
        ]
        for workload, contender, line in _lines(summary)
    )
    return _table(["workload", "contender", "JVM", "Python", "together"], rows)


def _settings(summary: dict[str, Any]) -> str:
    rows = (
        [workload.title, _NAMES[contender], ", ".join(f"{k} = {v}" for k, v in line["settings"].items())]
        for workload, contender, line in _lines(summary)
        if line["settings"]
    )
    return _table(["workload", "contender", "settings"], rows)


def _lines(summary: dict[str, Any]) -> Iterator[tuple[Workload, str, dict[str, Any]]]:
    """What was measured, in the order of the tables; what failed is among the differences."""
    for workload in WORKLOADS.values():
        for contender in CONTENDERS:
            line = summary["workloads"].get(workload.name, {}).get(contender)
            if line and line["runs"]:
                yield workload, contender, line


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _date(at: str | None) -> str:
    return at.replace("T", " ").rstrip("Z") if at else "–"
