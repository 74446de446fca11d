"""EXPLAIN: the plan of a set as text, JSON or a Graphviz drawing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headrace.errors import OptionError
from headrace.kernels.spec import Close, Emit, Node, Program
from headrace.logical.plan import Aggregate, Graph, Merge, Raw, Stream, inputs_of
from headrace.physical.frame import Frame, Typer
from headrace.physical.scan import read_in_tasks
from headrace.windows import WindowSpec


def explain(graph: Graph, program: Program, frame: Frame, typer: Typer, format: str = "text") -> str:
    reading = {n: reader(s, frame, typer) for n, s in graph.streams.items()}
    if format == "text":
        return _text(graph, program, frame, reading)
    if format == "json":
        return json.dumps(_data(graph, program, frame, reading), indent=2)
    if format == "dot":
        return _dot(drawing(graph, program))
    raise OptionError(f"explain: expected text, json or dot, got {format!r}")


def reader(stream: Stream, frame: Frame, typer: Typer) -> str:
    """Who decodes the rows of a stream."""
    ours, why = read_in_tasks(stream, frame, typer)
    return "its files are read in the tasks" if ours else f"read by Spark: {why}"


def length(ticks: int, unit: str) -> str:
    """A number of ticks as a person would write it."""
    if unit != "us":
        return str(ticks)
    for size, name in (
        (86_400_000_000, "d"),
        (3_600_000_000, "h"),
        (60_000_000, "min"),
        (1_000_000, "s"),
        (1000, "ms"),
    ):
        if ticks % size == 0 and ticks:
            return f"{ticks // size} {name}"
    return f"{ticks} µs"


def window_text(spec: WindowSpec, unit: str) -> str:
    size = "all" if spec.range is None else length(spec.range, unit)
    text = f"{spec.kind} {size}" if spec.tumbling else f"{spec.kind} {size} every {length(spec.slide, unit)}"
    text += f", reset {length(spec.reset, unit)}" if spec.reset else ""
    text += ", ends aligned" if spec.align == "end" else ""
    return text + (f", origin {spec.origin}" if spec.origin else "")


def _unit(graph: Graph, node: Node) -> str:
    return graph.streams[node.streams[0]].unit


def _readers(program: Program) -> dict[str, list[str]]:
    """For each node, the queries whose results come from its windows."""
    found: dict[str, list[str]] = {n.name: [] for n in program.nodes}
    for steps in program.levels:
        of: dict[str, set[str]] = {}
        for step in steps:
            if isinstance(step, Emit):
                for node in of.get(step.source, ()):
                    if step.query not in found[node]:
                        found[node].append(step.query)
            elif hasattr(step, "view"):
                if hasattr(step, "node"):
                    of[step.view] = {step.node}
                else:
                    of[step.view] = of.get(step.source, set())
    return found


def _text(graph: Graph, program: Program, frame: Frame, reading: Mapping[str, str]) -> str:
    lines = [
        f"{len(program.schemas)} queries over {len(graph.streams)} streams: one pass over the input, "
        f"{len(program.levels)} exchange{'s' if len(program.levels) > 1 else ''}, {program.pids} mini-partitions"
    ]
    readers = _readers(program)
    for stream in graph.streams.values():
        slack = (
            f"slack {length(getattr(stream.policy, 'bound', 0), stream.unit)}"
            if getattr(stream.policy, "bound", 0)
            else "ordered"
        )
        lines += ["", f"stream {stream.name}: progressing on {stream.on}, {slack}; {reading[stream.name]}"]
        lines += [f"  {c} = {e}" for c, e in frame.columns[stream.name]]
    for node in program.nodes:
        unit = _unit(graph, node)
        by = ", ".join(f"k{i}" for i in node.partition) or "nothing (one mini-partition)"
        kind = f"panes of {length(node.width, unit)}" if node.width else "the window of its input"
        lines += ["", f"node {node.name} ({node.label}): {kind}, partitioned by {by}, level {node.level}"]
        for feed in node.feeds:
            where = f" where {feed.where}" if feed.where else ""
            keys = ", ".join(f"k{i} = {k}" for i, k in enumerate(feed.keys))
            lines.append(f"  from {feed.stream}{where}: {keys or 'no keys'}")
        feed_subs = node.feeds[0].subs if node.feeds else ()
        for i, merge in enumerate(node.merges):
            sub = f"{feed_subs[i]} then " if feed_subs else ""
            lines.append(f"  p{i} = {sub}{merge}")
        for step in program.levels[node.level]:
            if isinstance(step, Close) and step.node == node.name:
                lines.append(f"  window {window_text(step.spec, unit)}")
        lines.append(f"  gives {', '.join(readers[node.name]) or 'other nodes'}")
    for level, steps in enumerate(program.levels):
        lines += ["", f"in a slot, level {level}:"]
        lines += [f"  {type(s).__name__.lower()} {_step(s)}" for s in steps]
    for raw in program.raw:
        lines += ["", f"query {raw.query}: rows of {raw.stream} pass at once, no exchange"]
    return "\n".join(lines) + "\n"


def _step(step: Any) -> str:
    if isinstance(step, Emit):
        return f"{step.query} from {step.source}"
    if isinstance(step, Close):
        return f"{step.view}"
    sql: str = getattr(step, "sql", "")
    name = str(getattr(step, "view", None) or getattr(step, "node", ""))
    return f"{name}: {sql}" if sql else name


def _data(graph: Graph, program: Program, frame: Frame, reading: Mapping[str, str]) -> dict[str, Any]:
    return {
        "streams": {
            s.name: {
                "progressing": s.on,
                "reading": reading[s.name],
                "columns": dict(frame.columns[s.name]),
            }
            for s in graph.streams.values()
        },
        "nodes": [
            {
                "name": n.name,
                "label": n.label,
                "level": n.level,
                "streams": list(n.streams),
                "pane": n.width,
                "partition": [f"k{i}" for i in n.partition],
                "partials": list(n.merges),
                "windows": [window_text(s, _unit(graph, n)) for s in n.specs],
                "queries": _readers(program)[n.name],
            }
            for n in program.nodes
        ],
        "levels": [
            [{"step": type(s).__name__.lower(), **_plain(s)} for s in steps] for steps in program.levels
        ],
        "queries": graph.queries,
        "graph": drawing(graph, program),
    }


def _plain(step: Any) -> dict[str, Any]:
    return {k: v if isinstance(v, (str, bool, int)) else str(v) for k, v in vars(step).items()}


def drawing(graph: Graph, program: Program) -> dict[str, Any]:
    """Nodes and edges: streams, shared pane tables, relations, queries."""
    nodes: list[dict[str, str]] = []
    edges: list[list[str]] = []
    live = graph.live()
    for stream in graph.streams.values():
        nodes.append(
            {
                "id": f"s:{stream.name}",
                "label": stream.name,
                "kind": "stream",
                "detail": f"progress on {stream.on}",
            }
        )
    for node in program.nodes:
        unit = _unit(graph, node)
        detail = f"panes of {length(node.width, unit)}" if node.width else "same window"
        nodes.append({"id": f"n:{node.name}", "label": node.label, "kind": "panes", "detail": detail})
        edges += [[f"s:{s}", f"n:{node.name}"] for s in sorted({f.stream for f in node.feeds})]
    readers = _readers(program)
    for name, relation in graph.relations.items():
        if name not in graph.queries or name not in live:
            continue
        detail = "stateless"
        if isinstance(relation, Aggregate):
            detail = window_text(relation.window, relation.unit) if relation.window else "same window"
        elif isinstance(relation, Merge):
            detail = "union"
        nodes.append({"id": f"q:{name}", "label": name, "kind": "query", "detail": detail})
        if isinstance(relation, Raw):
            edges += [[f"s:{b.stream}", f"q:{name}"] for b in relation.branches]
        up = _queries_above(graph, name)
        edges += [[f"q:{u}", f"q:{name}"] for u in up]
        if not up:
            edges += [[f"n:{n}", f"q:{name}"] for n, queries in readers.items() if name in queries]
    unique = [list(e) for e in dict.fromkeys(tuple(e) for e in edges)]
    return {"nodes": nodes, "edges": unique}


def _queries_above(graph: Graph, name: str) -> list[str]:
    """The nearest queries a relation reads, through relations without a name."""
    found: list[str] = []
    for parent in inputs_of(graph.relations[name]):
        if parent in graph.queries:
            found.append(parent)
        elif not isinstance(graph.relations[parent], Raw):
            found += _queries_above(graph, parent)
    return found


def _dot(drawn: dict[str, Any]) -> str:
    shapes = {"stream": "cds", "panes": "cylinder", "query": "box"}
    out = ["digraph headrace {", "  rankdir=LR;", '  node [fontname="sans-serif"];']
    for node in drawn["nodes"]:
        label = json.dumps(f"{node['label']}\n{node['detail']}")
        out.append(f"  {json.dumps(node['id'])} [label={label}, shape={shapes[node['kind']]}];")
    out += [f"  {json.dumps(a)} -> {json.dumps(b)};" for a, b in drawn["edges"]]
    return "\n".join([*out, "}"]) + "\n"
