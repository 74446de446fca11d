"""Aggregations of a plan: over rows of streams the node of a table of panes, over rows of slots SQL in place, or partial rows
that are kept in this slot or sent to the next level. SELECT list and HAVING are SQL over the merged partials.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.dialect.duck_expression import spark_sql
from headrace.errors import PlanError
from headrace.kernels.sql_pieces import map_tick_sql, pane_sql
from headrace.logical.graph import Aggregate, Call, Join
from headrace.logical.join_kind import JoinKind
from headrace.logical.progress_rules import name_column, wait_for
from headrace.optimizer.plan import JointTable, PaneTable, Part, Plan, Table
from headrace.physical.aggregates import Decomposed, decompose
from headrace.physical.keys import normalize_key
from headrace.physical.lowered_node import KnownOfNode
from headrace.physical.lowering import Lowering
from headrace.physical.partials import Partials, fill_finals, fill_template
from headrace.physical.result_sql import show_window_sql, window_scope
from headrace.physical.stored_text import time_sql
from headrace.program.aggregations import ClosedWindows, GatherNode, JointNode, PaneNode
from headrace.program.column_names import alias_keys, alias_partials, name_keys
from headrace.program.node import Node, SourceFeed
from headrace.program.slot_steps import Advance, Compute, Send
from headrace.progress.advance_program import ProgressRule


def lower_aggregate(low: Lowering, relation: Aggregate) -> None:
    id_ = low.plan.table_of[relation.name]
    (part,) = low.plan.parts[relation.name]
    if low.graph.relations[relation.input].is_over_streams:
        assert id_ is not None
        table = low.plan.tables[id_]
        assert isinstance(table, PaneTable)
        if id_ not in low.nodes:
            _add_node(low, table, relation, _lower_source_table(low, table))
            low.step(table.level, Advance(low.nodes[id_].name))
        view = _closed_view(low.nodes[id_], table, relation)
    else:
        view = _chain(low, relation, part, low.plan.tables[id_] if id_ is not None else None)
    _show_aggregate(low, relation, part, view)


def _add_node(low: Lowering, table: Table, relation: Aggregate, node: Node) -> None:
    waits = wait_for(relation.input, relation.find_window_column(low.graph))
    low.add_node(table, node, ProgressRule(node.name, waits, waits, level=node.level, by_group=bool(table.closes_early)))


def _closed_view(node: Node, table: PaneTable, relation: Aggregate) -> str:
    assert relation.window is not None
    return node.gives[table.windows.index(relation.window)]


def _lower_source_table(low: Lowering, table: PaneTable) -> PaneNode:
    feeds = low.plan.feeds[table.id]
    texts = [{c.name: c.expression for c in low.plan.columns[f.stream]} for f in feeds]
    partials, spelled = Partials(len(feeds)), Partials(len(feeds))
    for name in table.members:
        relation = _relation(low, name)
        finals = []
        for i, call in enumerate(relation.calls):
            parts = _decompose(low, relation, call, low.plan.aggregates[name].arguments[i])
            columns = []
            for partial in parts.partials:
                filled, words = [], []
                for feed, text in zip(feeds, texts, strict=True):
                    of = feed.calls[name][i]
                    filled.append(fill_template(partial.sub, of.arguments, map_tick_sql(feed.steps), of.where))
                    spelt = [spark_sql(text[a]) for a in of.arguments]
                    where = spark_sql(text[of.where]) if of.where is not None else None
                    words.append(fill_template(partial.sub, spelt, "_t", where))
                columns.append(partials.column(filled, partial.merge))
                spelled.column(words, partial.merge)
            finals.append(fill_finals(parts, columns))
        low.finals[name] = finals
    types = low.plan.aggregates[table.members[0]].keys
    stored = [
        (
            f.stream,
            spark_sql(text[f.where]) if f.where is not None else None,
            [spark_sql(text[k]) for k in f.keys],
            spelled.subs[i],
            *((f.steps,) if f.steps else ()),
        )
        for i, (f, text) in enumerate(zip(feeds, texts, strict=True))
    ]
    source_feeds = tuple(
        SourceFeed(
            f.stream, f.where, tuple(map(normalize_key, f.keys, types)), tuple(partials.subs[i]), f.steps
        )
        for i, f in enumerate(feeds)
    )
    return _pane_node(low, table, len(types), partials.merges, stored, source_feeds)


def _pane_node(
    low: Lowering, table: PaneTable, keys: int, merges: Sequence[str], stored: object, feeds: tuple[SourceFeed, ...] = ()
) -> PaneNode:
    windows = [_relation(low, m).window for m in table.members]
    identity = (stored, merges, table.grid, table.cohort, windows)
    name = low.name_node(table, (*identity, table.early) if table.early else identity)
    outputs = tuple(ClosedWindows(w, f"w_{name}_{i}") for i, w in enumerate(table.windows))
    return PaneNode(
        **low.describe_node(table, name, keys),
        merges=tuple(merges),
        grid=table.grid,
        outputs=outputs,
        feeds=feeds,
        groups=table.early,
    )


def _relation(low: Lowering, name: str) -> Aggregate:
    relation = low.graph.relations[name]
    assert isinstance(relation, Aggregate)
    return relation


def _decompose(low: Lowering, relation: Aggregate, call: Call, types: tuple[str, ...]) -> Decomposed:
    try:
        return decompose(call, types, low.plan.settings.user)
    except PlanError as e:
        raise PlanError(f"query {relation.name.split('$')[0]}: {e}") from e


def _chain(low: Lowering, relation: Aggregate, part: Part, table: Table | None) -> str:
    """An aggregation over windowed rows: computed in place, kept in this slot, or sent to the next level."""
    windowed = low.graph.is_windowed(relation.input)
    scope = {**low.plan.types[relation.input], **(window_scope(low.plan, relation) if windowed else {})}
    named = relation.joint[0].column if relation.joint else relation.find_time(low.graph) or ""
    time = "_we" if windowed else time_sql(low.graph, relation.input, named)
    types = low.plan.aggregates[relation.name]
    values = [low.sql.translate(relation, k, scope).sql for k in relation.keys]
    keys = list(map(normalize_key, values, types.keys))
    feeds = low.plan.feeds.get(table.id, ()) if table is not None else ()  # of streams that are united with slots' rows
    partials = Partials(1 + len(feeds))
    finals = []
    for number, call in enumerate(relation.calls):
        inputs = [low.sql.translate(relation, a, scope) for a in call.arguments]
        parts = _decompose(low, relation, call, tuple(v.type for v in inputs))
        arguments = [f"({v.sql})" for v in inputs]
        where = low.sql.translate(relation, call.where, scope).sql if call.where is not None else None
        columns = []
        for p in parts.partials:
            filled = [fill_template(p.sub, arguments, time, where)]
            for feed in feeds:
                of = feed.calls[relation.name][number]
                filled.append(fill_template(p.sub, of.arguments, map_tick_sql(feed.steps), of.where))
            columns.append(partials.column(filled, p.merge))
        finals.append(fill_finals(parts, columns))
    low.finals[relation.name] = finals
    subs, *fed = partials.subs
    source_feeds = tuple(
        SourceFeed(f.stream, f.where, tuple(map(normalize_key, f.keys, types.keys)), tuple(fed[i]), f.steps)
        for i, f in enumerate(feeds)
    )
    sources = low.views[relation.input]
    if table is None:
        view, place = low.name_view("v"), ["_ws", "_we", *(["_pid"] if part.pid else [])]
        low.step(part.level, Compute(view, _group_sql(place, keys, subs, sources[0].name), sources[0].name))
        return view
    stored = (relation.name, relation.input, low.graph.queries.get(relation.input), keys, subs)
    node: Node
    if isinstance(table, PaneTable):
        node = _pane_node(low, table, len(keys), partials.merges, stored, source_feeds)
        tick = "_we - 1" if windowed else time
        place, view = [f"{pane_sql(tick, *table.grid)} AS pane"], node.outputs[0].view
        place += ["_pid"] if node.by_folder else []
    elif isinstance(table, JointTable):
        name = low.name_node(table, (stored, partials.merges, relation.joint, table.cohort))
        place, view = [], f"w_{name}"
        known = low.describe_node(table, name, len(keys))
        node = _lower_joint_table(low.plan, relation, known, tuple(partials.merges), view)
    else:
        name = low.name_node(table, (stored, partials.merges))
        place, view = ["_ws", "_we"], f"w_{name}"
        known = low.describe_node(table, name, len(keys))
        node = GatherNode(**known, merges=tuple(partials.merges), view=view)
    _add_node(low, table, relation, node)
    for source in sources:
        local = source.part.level == table.level
        rows = source.name if windowed else f"(SELECT * FROM {source.name} WHERE {time} IS NOT NULL)"
        low.step(source.part.level, Send(node.name, _group_sql(place, keys, subs, rows), source.name, local))
    low.step(table.level, Advance(node.name))
    return view


def _show_aggregate(low: Lowering, relation: Aggregate, part: Part, view: str) -> None:
    """SELECT list and HAVING over the merged partials."""
    finals, types = low.finals[relation.name], low.plan.aggregates[relation.name]
    inner = name_keys(len(relation.keys))
    inner += [f"{d.final} AS a{i}" for i, d in enumerate(finals)]
    if not relation.joint:
        inner += ["_ws", "_we", show_window_sql(low.graph.window_type(relation.name))]
    inner += ["_pid"] if part.pid else []
    source = f"(SELECT {', '.join(inner)} FROM {view})"
    scope = window_scope(low.plan, relation) | {f"a{i}": d.type for i, d in enumerate(finals)}
    scope |= {f"k{i}": type_ for i, type_ in enumerate(types.keys)}
    low.define(relation.name, low.sql.select(relation, source, relation.having, scope, part.pid), view, part)


def _lower_joint_table(
    plan: Plan, aggregate: Aggregate, known: KnownOfNode, merges: tuple[str, ...], view: str
) -> JointNode:
    """The node of an aggregation by times of several inputs. Where it does not read a join directly, all there is of a time is
    what the join says of it.
    """
    each = [name_column(aggregate.input, t.column) for t in aggregate.joint]
    own, source = list(each), plan.graph.relations[aggregate.input]
    if isinstance(source, Join) and source.kind is JoinKind.INNER:
        places = {c.name: c.input for c in source.visible}
        numbers = [places[t.column] for t in aggregate.joint]
        if set(numbers) == set(range(len(source.inputs))):
            own = [name_column(source.inputs[i].relation, source.inputs[i].time) for i in numbers]
    unit = plan.graph.relations[aggregate.input].unit
    ticks = [f"epoch_us(k{t.key})" if unit == "us" else f"k{t.key}::BIGINT" for t in aggregate.joint]
    ends = tuple(f"{tick} + {t.width}" for tick, t in zip(ticks, aggregate.joint, strict=True))
    longest = max(t.width for t in aggregate.joint)
    return JointNode(**known, merges=merges, view=view, ends=ends, own=tuple(own), each=tuple(each), longest=longest)


def _group_sql(place: list[str], keys: Sequence[str], subs: Sequence[str], source: str) -> str:
    """Partial rows of a relation: by pane or window, and keys."""
    select = [*place, *alias_keys(keys), *alias_partials(subs)]
    if not subs:
        return f"SELECT DISTINCT {', '.join(select)} FROM {source}"
    return f"SELECT {', '.join(select)} FROM {source} GROUP BY ALL"
