"""EXPLAIN: a plan for a person, as JSON, or as a Graphviz drawing.

The text is made to fit a screen: what is read and how progress is known, which queries share which state,
what each state is bounded by, and every exchange with its reason. What it leaves out is for `--verbose`: what
was weighed to partition the streams (`partitioning/explain_partitioning.py`) and the SQL
(`physical/explain_program.py`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from headrace.errors import OptionError
from headrace.logical.graph import (
    Graph,
    Lookup,
    StaticTable,
    Stream,
)
from headrace.optimizer.describe import (
    describe_part_keys,
    describe_progress,
    describe_table_keys,
)
from headrace.optimizer.lay_out_plan import export_layout, lay_out_plan
from headrace.optimizer.plan import Plan, Table
from headrace.partitioning.advise_partitioning import fix_streams
from headrace.partitioning.explain_partitioning import draw_partitioning, export_partitioning
from headrace.partitioning.plan_cost import RateStatistics
from headrace.progress.monotone_steps import Multiply, Shift, Truncate
from headrace.progress.waits import Back, Floor, Wait
from headrace.windows.describe_window import describe_length, describe_window


def explain_plan(
    plan: Plan,
    format: str = "text",
    statistics: RateStatistics | None = None,
    unchecked: Sequence[str] = (),
    agnostic: Plan | None = None,
) -> str:
    """The plan for a reader; `statistics` are what was measured, for the cost of partitionings; `unchecked`
    says what could not be looked at; the JSON compares with the partition-`agnostic` plan, if it is given.
    """
    if format == "text":
        return _write_text(plan) + "".join(f"\nnot checked: {sentence}\n" for sentence in unchecked)
    if format == "json":
        return json.dumps(_make_data(plan, statistics, agnostic) | {"not_checked": list(unchecked)}, indent=2)
    if format == "dot":
        fixed = fix_streams(plan.graph, plan.settings.partition_by)
        return _write_dot(draw_plan(plan), draw_partitioning(plan.graph, statistics, fixed))
    raise OptionError(f"explain: expected text, json, dot or html, got {format!r}")


# -- text --------------------
def _write_text(plan: Plan) -> str:
    queries, streams = len(plan.schemas), len(plan.graph.streams)
    exchanges = len({e.level for e in plan.exchanges})
    lines = [
        f"{_count(queries, 'query', 'queries')} over {_count(streams, 'stream')}: one pass over the input, "
        f"{_count(exchanges, 'exchange') if exchanges else 'no exchange'}, {plan.settings.pids} mini-partitions",
        "",
    ]
    lines += [_stream_line(plan, s) for s in plan.graph.streams.values()]
    lines += [_static_line(plan, t) for t in plan.graph.tables.values() if t.name in plan.types]
    for table in _tables(plan):
        lines += ["", *_table_lines(plan, table)]
    lines += _exchange_lines(plan)
    for query in dict.fromkeys(p.query for p in plan.passing):
        alone = plan.graph.relations[query].is_over_streams
        lines += ["", f"{query}: rows {'' if alone else 'of streams '}pass at once, no exchange, no state"]
    return "\n".join(lines) + "\n"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _tables(plan: Plan) -> list[Table]:
    """The tables in use."""
    return [table for table in plan.tables.values() if table.is_used]


def _stream_line(plan: Plan, stream: Stream) -> str:
    progress = describe_progress(stream)
    reading, columns = plan.readings[stream.name], len(plan.columns[stream.name])
    reader = "its files are read in the tasks" if reading.in_tasks else f"read by Spark: {reading.reason}"
    if stream.partition_by and stream.partition_fixed:
        by = ", ".join(e.sql(dialect="spark") for e in stream.partition_by)
        kept = stream.name in (plan.settings.by_folder or ())
        if kept:
            reader += f", each folder by one slot: partitioned by {by}"
        elif stream.name in plan.settings.flat:
            reader += f"; that it is partitioned by {by} is not used, since its files all lie in one folder"
        else:
            reader += f"; that it is partitioned by {by} is not used"
    return f"stream {stream.name}: progressing on {stream.on}, {progress}; {_count(columns, 'expression')}; {reader}"


def _static_line(plan: Plan, table: StaticTable) -> str:
    again = "" if table.refresh is None else f", and again every {describe_length(table.refresh, 'us')}"
    keys = _lookup_keys(plan, table)
    divided = " and ".join(f"({by})" for by in keys if by)
    how = f"; broadcast to every slot, or divided by {divided} if it is large" if divided else "; broadcast to every slot"
    how += ", and all of it read by lookups without equal keys" if divided and "" in keys else ""
    return f"table {table.name}: {len(table.columns)} columns; read by Spark at the start{again}{how}"


def _lookup_keys(plan: Plan, table: StaticTable) -> list[str]:
    """The sets of keys by which lookups find rows of a table; "" for none."""
    lookups = [r for n in plan.relations if isinstance(r := plan.graph.relations[n], Lookup) and n in plan.used]
    spelled = {r.name: [k.name if isinstance(k, exp.Column) else k.sql(dialect="spark") for _, k in r.keys] for r in lookups}
    found = [", ".join(spelled[r.name]) for r in lookups if r.table == table.name]
    return list(dict.fromkeys(found))


def _table_lines(plan: Plan, table: Table) -> list[str]:
    graph, keys = plan.graph, table.list_keys(plan.graph)
    kind = f"{table.describe(graph)}, " if table.describe(graph) else ""
    by = ", ".join(describe_table_keys(table, keys)) or "nothing (one mini-partition)"
    lines = [f"{table.id}  {table.label}: {kind}partitioned by {by}"]
    lines += _head_lines(plan, table)
    bound = table.bound(graph)
    lines.append(f"    keeps {bound.keeps} {bound.until}")
    if table.closes_early:
        groups = ", ".join(keys[i].sql(dialect="spark") for i in table.closes_early)
        lines.append(f"    closes the windows of each ({groups}) by its own progress")
    return [*lines, *_place_lines(plan, table)]


def _head_lines(plan: Plan, table: Table) -> list[str]:
    """What reads a table in the same slots: under a line of words each, or side by side."""
    lines, listed = [], []
    for name, words in table.list_heads(plan.graph, plan.inputs_of):
        shown = [(n, d) for n, d in _readers(plan, name, table.id, 0) if n in plan.schemas] if name in plan.used else []
        if words:
            lines += [f"    {words}", *_reader_lines(plan, "      ", shown)]
        listed += [] if words else shown
    width = max((len(name) + 2 * depth for name, depth in listed), default=0)
    return [*lines, *_reader_lines(plan, "    ", listed, width)]


def _reader_lines(plan: Plan, indent: str, shown: Sequence[tuple[str, int]], width: int = 0) -> list[str]:
    """Queries, deeper as they read each other, with what each is."""
    return [
        f"{indent}{'  ' * depth}{name.ljust(width - 2 * depth)}  {plan.graph.relations[name].describe(plan.graph)}"
        for name, depth in dict.fromkeys(shown)
    ]


def _place_lines(plan: Plan, table: Table) -> list[str]:
    """Why its rows are where they are, beside the exchange."""
    said = (describe_folders(plan, table), describe_numbers(plan, table))
    return [f"    {one}" for one in said if one]


def describe_numbers(plan: Plan, table: Table) -> str:
    """By which numbers a table is partitioned as it is, if they were not assumed, or since when."""
    placement = plan.placements.get(table.members[0])
    if placement is None or table.id in plan.by_folder:
        return ""
    by = f" by rates {placement.numbers}" if placement.numbers else ""
    if table.members[0] in plan.settings.placements:
        return f"partitioned so since it was new{f',{by}' if by else ''}: state stays where it is"
    return f"partitioned so{by}" if by else ""


def describe_folders(plan: Plan, table: Table) -> str:
    """Why rows come to a table without an exchange, if they do."""
    if table.id not in plan.by_folder:
        return ""
    feeds = [f.stream for f in plan.feeds.get(table.id, ())] + [f.stream for f in plan.row_feeds.get(table.id, ())]
    if not feeds:
        return ""
    clauses = [", ".join(e.sql(dialect="spark") for e in plan.graph.streams[s].partition_by) for s in feeds]
    return f"no exchange: partitioned by {' and by '.join(dict.fromkeys(clauses))} in the source"


def describe_wait(wait: Wait, unit: str) -> str:
    """What an attribute waits for, in words."""
    words: list[str] = []
    for step in wait.steps:
        if isinstance(step, (Back, Shift)):
            less = step.ticks if isinstance(step, Back) else -step.ticks
            words.append(f"{'less' if less >= 0 else 'and'} {describe_length(abs(less), unit)}")
        elif isinstance(step, (Floor, Truncate)):
            words.append(f"down to {describe_length(step.width, unit)}")
        else:
            words.append(f"{'times' if isinstance(step, Multiply) else 'by'} {step.by}")
    return " ".join([wait.stream, *words])


def _exchange_lines(plan: Plan) -> list[str]:
    """The first exchange brings every table its groups; each later one has a reason of its own."""
    used = {t.id for t in _tables(plan)}
    found = [e for e in plan.exchanges if e.table in used]
    first = [e.table for e in found if e.level == 0]
    lines = ["", f"exchange 1 to {', '.join(first)}: groups come from every source task"] if first else []
    for exchange in found:
        if exchange.level:
            by = f"by {', '.join(exchange.by)}" if exchange.by else "to one mini-partition"
            lines.append(f"exchange {exchange.level + 1} to {exchange.table} {by}: {exchange.reason}")
    return lines


def _readers(plan: Plan, name: str, table: str, depth: int) -> list[tuple[str, int]]:
    """A relation and those computed from it in the same slots, without state of their own."""
    found = [(name, depth)]
    deeper = depth + (name in plan.schemas)
    for other in plan.relations:
        relation = plan.graph.relations[other]
        if name in relation.reads and other in plan.used and any(p.table == table for p in plan.parts.get(other, ())):
            found += _readers(plan, other, table, deeper)
    return found


# -- JSON --------------------
def _make_data(plan: Plan, statistics: RateStatistics | None, agnostic: Plan | None) -> dict[str, Any]:
    queries, fixed = _find_queries(plan), fix_streams(plan.graph, plan.settings.partition_by)
    compared = {} if agnostic is None else {"before": agnostic, "after": plan}
    return {
        "streams": {
            s.name: {
                "progressing": s.on,
                "progress": describe_progress(s),
                "reading": "tasks" if plan.readings[s.name].in_tasks else "spark",
                "by_folder": s.name in (plan.settings.by_folder or ()),
                "reason": plan.readings[s.name].reason,
                "columns": {c.name: c.expression.sql(dialect="spark") for c in plan.columns[s.name]},
            }
            for s in plan.graph.streams.values()
        },
        "relations": {
            name: {
                "columns": dict(plan.types[name]),
                "waits_for": list(plan.passages[name].streams),
                "progress": {
                    column: [describe_wait(w, plan.graph.relations[name].unit) for w in waits]
                    for column, waits in plan.passages[name].columns.items()
                },
                "parts": [
                    {"level": p.level, "partition": None if keys is None else list(keys), "table": p.table}
                    for p, keys in ((p, describe_part_keys(p)) for p in plan.parts.get(name, ()))
                ],
            }
            for name in plan.relations
        },
        "static_tables": {
            t.name: {"columns": list(t.columns), "refresh": t.refresh, "keys": _lookup_keys(plan, t)}
            for t in plan.graph.tables.values()
            if t.name in plan.types
        },
        "tables": [_table_data(plan, t, queries[t.id]) for t in _tables(plan)],
        "exchanges": [
            {"table": e.table, "level": e.level, "by": list(e.by), "reason": e.reason} for e in plan.exchanges
        ],
        "queries": dict(plan.graph.queries),
        "partitioning": export_partitioning(plan.graph, statistics, fixed)
        | {when: export_layout(lay_out_plan(one)) for when, one in compared.items()},
        "graph": draw_plan(plan),
    }


def _table_data(plan: Plan, table: Table, queries: list[str]) -> dict[str, Any]:
    keys, bound, unit = table.list_keys(plan.graph), table.bound(plan.graph), plan.graph.relations[table.members[0]].unit
    return {
        "table": table.id,
        "label": table.label,
        "level": table.level,
        "streams": list(plan.streams_of(table.id)),
        "pane": table.pane,
        "partition": list(describe_table_keys(table, keys)),
        "windows": [describe_window(w, unit) for w in table.closed_windows],
        "queries": queries,
        "keeps": bound.keeps,
        "until": bound.until,
        "early": [keys[i].sql(dialect="spark") for i in table.closes_early],
        "no_exchange": describe_folders(plan, table),
        "numbers": describe_numbers(plan, table),
    }


def _find_queries(plan: Plan) -> dict[str, list[str]]:
    """By table, the queries whose results come from it; those of a join from the tables of all its inputs."""
    found: dict[str, list[str]] = {id_: [] for id_ in plan.tables}
    for query in plan.schemas:
        tables = {p.table for p in plan.parts.get(query, ())}
        for name in plan.graph.reachable([query]):
            if plan.inputs_of.get(name, ("",))[0] in tables:
                tables |= set(plan.inputs_of[name])
        for id_ in tables.intersection(found):
            found[id_].append(query)
    return found


# -- drawing --------------------
def draw_plan(plan: Plan) -> dict[str, Any]:
    """Nodes and edges: streams, tables of state, queries."""
    nodes: list[dict[str, str]] = []
    edges: list[tuple[str, str]] = []
    for stream in plan.graph.streams.values():
        detail = f"progress on {stream.on}"
        nodes.append({"id": f"s:{stream.name}", "label": stream.name, "kind": "stream", "detail": detail})
    for table in _tables(plan):
        spared = describe_folders(plan, table)
        detail = table.describe_short(plan.graph) + (f"\n{spared}" if spared else "")
        nodes.append({"id": f"n:{table.id}", "label": table.label, "kind": "panes", "detail": detail})
        edges += [(f"s:{f.stream}", f"n:{table.id}") for f in plan.feeds.get(table.id, ())]
        edges += [(f"s:{f.stream}", f"n:{table.id}") for f in plan.row_feeds.get(table.id, ())]
    queries = _find_queries(plan)
    for name in plan.schemas:
        relation = plan.graph.relations[name]
        nodes.append({"id": f"q:{name}", "label": name, "kind": "query", "detail": relation.describe(plan.graph)})
        edges += [(f"s:{stream}", f"q:{name}") for stream in relation.own_streams]
        above = _queries_above(plan.graph, name)
        edges += [(f"q:{u}", f"q:{name}") for u in above]
        if not above:
            edges += [(f"n:{t.id}", f"q:{name}") for t in _tables(plan) if name in queries[t.id]]
    return {"nodes": nodes, "edges": [list(e) for e in dict.fromkeys(edges)]}


def _queries_above(graph: Graph, name: str) -> list[str]:
    """The nearest queries a relation reads, through relations without a name."""
    found: list[str] = []
    for parent in graph.relations[name].reads:
        if parent in graph.queries:
            found.append(parent)
        elif not graph.relations[parent].is_over_streams:
            found += _queries_above(graph, parent)
    return found


def _write_dot(drawing: dict[str, Any], more: list[str]) -> str:
    shapes = {"stream": "cds", "panes": "cylinder", "query": "box"}
    out = ["digraph headrace {", "  rankdir=LR;", '  node [fontname="sans-serif"];']
    for node in drawing["nodes"]:
        label = json.dumps(f"{node['label']}\n{node['detail']}")
        out.append(f"  {json.dumps(node['id'])} [label={label}, shape={shapes[node['kind']]}];")
    out += [f"  {json.dumps(a)} -> {json.dumps(b)};" for a, b in drawing["edges"]]
    return "\n".join([*out, *more, "}"]) + "\n"
