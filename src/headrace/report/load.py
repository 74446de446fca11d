"""What slots and mini-partitions did in the last committed batch, from its manifest.

The seconds of a mini-partition are not measured, one statement serves many of them: they are those of a fitted model, and
are there when a policy has learnt one (see `balance.seconds_model`).
"""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from headrace.errors import OptionError
from headrace.report import text
from headrace.report.checkpoint import draw_table
from headrace.state import ManifestLog
from headrace.state.split_route import list_leaves

SHOWN = 20
Lines = list[dict[str, Any]]


def list_load(log: ManifestLog, by: str) -> Lines:
    """A line for each slot or mini-partition (`by` is slot or pid)."""
    last = log.latest()
    columns = last.load.get(f"by_{by}") if last is not None else None
    if last is None or columns is None:
        raise OptionError(
            f"{log.store.uri}: its last batch was committed before slots reported their load; run one more"
        )
    lines: Lines = [
        {by: number} | dict(zip(columns, values, strict=True))
        for number, values in enumerate(zip(*columns.values(), strict=True))
    ]
    if by == "pid":
        leaves, owners = list_leaves(last.route)
        return [
            line | {"pid": leaf.pid, "part": line.get("part", f"{leaf.pid}"), "slot": int(slot)}
            for line, leaf, slot in zip(lines, leaves, owners, strict=True)
        ]
    mean = sum(line["busy"] for line in lines) / max(len(lines), 1)
    return [line | {"over_mean": round(line["busy"] / mean, 3) if mean > 0 else 1.0} for line in lines]


def describe_fit(log: ManifestLog) -> str:
    """How good the model is that gives the seconds of mini-partitions."""
    last = log.latest()
    error = last.load.get("model", {}).get("error") if last is not None else None
    if error is None:
        return "seconds of mini-partitions are not fitted: too few batches, or nothing balances (static)"
    shown = "seconds" in last.load.get("by_pid", {}) if last is not None else False
    return f"fitted seconds are off by {error:.0%} of a slot's seconds" + ("" if shown else ", too much to show them")


def draw_load(lines: Lines, by: str, everything: bool = False, fit: str = "") -> RenderableType:
    """The lines for a terminal: slots by number, mini-partitions by falling rows of the batch; `fit` is said below these."""
    if by == "slot":
        columns = ("slot", "busy", "over mean", "load", "close", "keep", "waited", "peak memory", "executor")
        of_slots = [
            (f"{s['slot']}", text.span(s["busy"]), f"{s['over_mean']:.2f}", text.span(s["load"]), text.span(s["close"]),
             text.span(s["keep"]), text.span(s["waited_for_input"]), text.size(s["peak_memory"]), s["executor"])
            for s in lines
        ]  # fmt: skip
        return draw_table("slots in the last batch", columns, of_slots)
    ordered = sorted(lines, key=lambda p: (-p["rows"], -p["state_bytes"], p["pid"], p["part"]))
    shown = ordered if everything else ordered[:SHOWN]
    names = (
        "pid",
        "slot",
        "rows in",
        "results",
        "seconds, fitted",
        "state rows",
        "state",
        "last batch with rows",
    )
    rows = [
        (p["part"], f"{p['slot']}", f"{p['rows']:,}", f"{p['results']:,}",
         text.span(p["seconds"]) if "seconds" in p else "-", f"{p['state_rows']:,}", text.size(p["state_bytes"]),
         f"{p['last_touch']}" if p["last_touch"] >= 0 else "-")
        for p in shown
    ]  # fmt: skip
    table = draw_table("mini-partitions in the last batch", names, rows)
    rest = len(ordered) - len(shown)
    below = [f"… {rest:,} more; --all lists them"] if rest else []
    return Group(table, *(Text(line, style="dim") for line in [*below, *([fit] if fit else [])]))
