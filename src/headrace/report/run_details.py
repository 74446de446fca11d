"""Parts of a run's page that look inside: rows along the plan's edges, seconds by phase, the load of each slot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from headrace.report import text
from headrace.report.model import BatchReport

_SPENT = ("read and exchange", "load state", "close windows", "keep state", "commit")


def count_edges(plan: Mapping[str, Any], reports: Sequence[BatchReport]) -> dict[tuple[str, str], str]:
    """What passed along each edge of the plan over the whole run, where it is known.

    Into a table of state that is partial rows, aggregated where they were read; out of a stream or query its rows. A
    table that several streams feed does not know how many rows came from each.
    """
    tables: Counter[str] = Counter()
    streams: Counter[str] = Counter()
    queries: Counter[str] = Counter()
    for report in reports:
        tables.update(report.tables)
        streams.update({name: one.rows for name, one in report.streams.items()})
        queries.update({name: one.results for name, one in report.queries.items()})
    nodes = {str(node["id"]): node for node in plan.get("nodes", ())}
    labels = Counter(str(node.get("label")) for node in nodes.values() if node.get("kind") == "panes")
    edges = [(str(a), str(b)) for a, b in plan.get("edges", ()) if str(a) in nodes and str(b) in nodes]
    fed = Counter(b for _, b in edges)
    found: dict[tuple[str, str], str] = {}
    for a, b in edges:
        source, target = nodes[a], nodes[b]
        label = str(target.get("label"))
        rows: int | None = None
        if target.get("kind") == "panes":
            rows = tables.get(label) if fed[b] == 1 and labels[label] == 1 else None
        elif source.get("kind") == "stream":
            rows = streams.get(str(source.get("label")))
        elif source.get("kind") == "query":
            rows = queries.get(str(source.get("label")))
        else:
            rows = queries.get(label)
        if rows is not None:
            found[a, b] = text.number(rows)
    return found


def split_seconds(report: BatchReport) -> dict[str, float]:
    """Where a batch's seconds went, in parts that add up to them; empty if it does not say."""
    phases = report.phases
    if not {"job", "load", "close", "keep"} <= set(phases):
        return {}
    slot = [phases["load"], phases["close"], phases["keep"]]
    rest = max(0.0, phases["job"] - sum(slot))
    spent = (rest, *slot, max(0.0, report.seconds - phases["job"]))
    return dict(zip(_SPENT, spent, strict=True))


def draw_slots(reports: Sequence[BatchReport]) -> str:
    """A table of the slots: what came to each over the run, how long it worked, and what it holds now."""
    last = next((r.slot_loads for r in reversed(reports) if r.slot_loads), ())
    if len(last) < 2:
        return ""
    same = [r for r in reports if len(r.slot_loads) == len(last)]  # since the number of slots last changed
    rows = [sum(r.slot_loads[i].rows for r in same) for i in range(len(last))]
    seconds = [sum(r.slot_loads[i].seconds for r in same) for i in range(len(last))]
    most = max(seconds) or 1.0
    body = "".join(
        f'<tr><td class="n">{i}</td><td class="n">{rows[i]:,}</td><td class="n">{escape(text.span(seconds[i]))}</td>'
        f'<td class="wide"><span class="load" style="width:{100 * seconds[i] / most:.1f}%"></span></td>'
        f'<td class="n">{escape(text.size(last[i].state_bytes))}</td></tr>'
        for i in range(len(last))
    )
    caption = f"the busiest slot worked {_skew(seconds)} and was sent {_skew(rows)} the mean of all"
    head = '<th class="n">slot</th><th class="n">rows in</th><th class="n">worked</th><th></th><th class="n">state now</th>'
    return (
        f'<h2>Slots</h2><div class="card scroll"><table><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _skew(values: Sequence[float]) -> str:
    total = sum(values)
    return f"{max(values) * len(values) / total:.2f}×" if total else "1.00×"
