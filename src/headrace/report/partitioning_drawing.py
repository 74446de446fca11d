"""The partitioning of the streams, as a part of the page: what each query needs, what was weighed, the plan
before and after.

It is drawn from what EXPLAIN gives as JSON (`optimizer/explain_plan.py`), so it can be drawn again from a
file. The query graph has each node's set and what it receives; a dashed box is a node that the choice does
not serve. The plans before and after are those of document 000 §5, as `optimizer/lay_out_plan.py` has them:
boxes of one colour work in every source task or slot, the others in one slot, on what was brought together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from headrace.partitioning.explain_choice import describe_bytes
from headrace.report import plan_drawing

_CANDIDATES = 12  # of the best


def draw_partitioning_section(data: Mapping[str, Any]) -> str:
    """HTML; nothing if no query brings rows together."""
    nodes = data.get("nodes", {})
    if not any(not node["anything"] for node in nodes.values()):
        return ""
    before, after = draw_layout(data["before"]), draw_layout(data["after"])
    key = (
        '<p class="none">A set: what a query can be partitioned by, or anything that follows from it. '
        "Dashed: not served, so its input is brought to one place.</p>"
    )
    return (
        f"<h2>Partitioning of the streams</h2>"
        f'<div class="card"><p class="choice">{_describe_choice(data)}</p>'
        f'<div class="scroll">{draw_graph(nodes)}</div>{key}</div>'
        f'<div class="card scroll weighed">{_list_candidates(data)}</div>'
        '<div class="card plans"><h3>Before: everything in one place</h3>'
        f'<div class="scroll">{before}</div>'
        "<h3>After: the plan that runs, in every slot</h3>"
        f'<div class="scroll">{after}</div></div>'
    )


def _describe_choice(data: Mapping[str, Any]) -> str:
    chosen = [f"{s} by {', '.join(keys)}" for s, keys in data["chosen"].items() if keys]
    fixed = [
        f"{s} {'comes partitioned' if one['fixed'] else 'can be partitioned'} by {', '.join(one['keys'])}"
        for s, one in data.get("restrictions", {}).items()
    ]
    said = f" ({'; '.join(fixed)})" if fixed else ""
    return f"<b>{escape('; '.join(chosen) or 'evenly, by nothing')}</b>{escape(said)}: {escape(data.get('why', ''))}."


# -- the query graph --------------------
def draw_graph(nodes: Mapping[str, Mapping[str, Any]]) -> str:
    """The query graph as SVG; what only renames or filters is left out where something reads it."""
    streams = dict.fromkeys(s for one in nodes.values() if not one["inputs"] for s in one["streams"])
    shown = {n: one for n, one in nodes.items() if n not in streams and (not one["anything"] or _is_last(n, nodes))}
    drawn = [{"id": s, "label": s, "kind": "stream", "style": "stream", "detail": ""} for s in streams]
    for name, one in shown.items():
        style, kind = "query" if one["served"] else "unserved", one["kind"] if not one["anything"] else "results"
        drawn.append({"id": name, "label": name, "kind": kind, "style": style, "detail": _describe_needs(one)})
    edges = [[i, n] for n, one in shown.items() for i in dict.fromkeys(_find_shown(one, nodes, shown))]
    return plan_drawing.draw({"nodes": drawn, "edges": edges})


def _describe_needs(node: Mapping[str, Any]) -> str:
    lines = []
    if not node["anything"]:
        sets = node["compatible"]
        lines.append(f"set: {', '.join(sets)}" if sets else "set: none")
        lines += [f"not counted: {one}" for one in node["not used"][:1]]
    what = "results" if node["served"] else "input"
    lines.append(f"receives {describe_bytes(node['cost'])} of {what}" if node["cost"] else "receives nothing")
    return "\n".join(lines)


def _is_last(name: str, nodes: Mapping[str, Mapping[str, Any]]) -> bool:
    return all(name not in one["inputs"] for one in nodes.values())


def _find_shown(
    node: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]], shown: Mapping[str, Any]
) -> Iterable[str]:
    """The nearest nodes that are drawn below one, through those that are not, down to its streams."""
    if not node["inputs"]:
        yield from node["streams"]
    for name in node["inputs"]:
        if name in shown:
            yield name
        elif name in nodes:
            yield from _find_shown(nodes[name], nodes, shown)


# -- what was weighed --------------------
def _list_candidates(data: Mapping[str, Any]) -> str:
    candidates = sorted(data["candidates"], key=lambda c: (c["maximum"], c["total"]))
    most = max((c["maximum"] for c in candidates), default=0.0) or 1.0
    rows = []
    for c in candidates[:_CANDIDATES]:
        served = ", ".join(dict.fromkeys(n.split("$")[0] for n in c["serves"])) or "none"
        mark = " ✓" if c.get("chosen") else ""
        rows.append(
            f'<tr{" class=chosen" if mark else ""}><td>{escape(c["partitioning"])}{mark}</td>'
            f'<td class="n">{escape(describe_bytes(c["maximum"]))}</td>'
            f'<td class="wide"><span class="load" style="width:{100 * c["maximum"] / most:.1f}%"></span></td>'
            f'<td class="n">{escape(describe_bytes(c["total"]))}</td><td>{escape(served)}</td></tr>'
        )
    left = len(candidates) - len(rows)
    more = f" {left} more that cost no less are not shown." if left > 0 else ""
    some = "" if data.get("exhaustive", True) else " There were too many to weigh all."
    caption = f"Every partitioning that serves some query, by the most bytes one node receives per epoch.{more}{some}"
    head = '<th>candidate</th><th class="n">most</th><th></th><th class="n">in all</th><th>serves</th>'
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


# -- the plan before and after --------------------
def draw_layout(plan: Mapping[str, Any]) -> str:
    """Where each part of a plan works, as SVG; what is done in one slot looks different."""
    drawn = [
        {**n, "style": "stream" if n["kind"] == "stream" else "query" if n["place"] != "one slot" else "shared"}
        for n in plan["nodes"]
    ]
    return plan_drawing.draw({"nodes": drawn, "edges": plan["edges"]})
