"""A `Plan` to a `Program`: what the source stage and the slots compute, in SQL. Nothing is decided here.

Each table becomes a node; its name is a hash of what it stores, so that state is found by meaning: where it comes
from, down to the text of each partial, its windows' grid, its generation, and the windows that decide how old panes
settle. Aggregations over it are SQL over the relations that close its windows; what is windowed but stateless
(filters, projections, HAVING, the same window again) melts into SQL in the slot.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import parse_one

from headrace.dialect.duck import translate
from headrace.dialect.duck_cast import duck_type
from headrace.dialect.duck_expression import spark_sql
from headrace.dialect.sql_quotes import quote_name
from headrace.errors import PlanError
from headrace.kernels.sql_pieces import hash_sql, map_tick_sql, pane_sql
from headrace.logical.graph import (
    WINDOW_COLUMNS,
    Aggregate,
    Call,
    Derive,
    Join,
    Lookup,
    Merge,
    Rows,
    TemporalJoin,
)
from headrace.optimizer.plan import JointTable, PaneTable, Part, Plan, RowTable, Table, TransitTable
from headrace.physical.aggregates import Decomposed, decompose
from headrace.physical.keys import normalize_key
from headrace.physical.lower_join import (
    describe_stored,
    keeps_unmatched,
    lower_join,
    lower_joint_table,
    lower_row_table,
    time_sql,
)
from headrace.physical.lower_lookup import lower_lookup, lower_transit
from headrace.physical.lower_progress import find_ways, list_promised, lower_pending, lower_rules
from headrace.physical.lower_temporal import lower_temporal, lower_temporal_table
from headrace.physical.lowered_node import KnownOfNode
from headrace.physical.partials import Partials, fill_finals, fill_template
from headrace.physical.result_sql import ResultSql, show_window_sql, window_scope
from headrace.program.aggregations import ClosedWindows, GatherNode, PaneNode
from headrace.program.node import Node, SourceFeed
from headrace.program.program import Level, MissableJoins, MissableWindows, Program, RowsQuery, SourceStream
from headrace.program.row_joins import RowNode
from headrace.program.slot_steps import Advance, Compute, Emit, Send
from headrace.program.step import Step


def lower(plan: Plan) -> Program:
    """The program for a plan."""
    return _Lowering(plan).run()


@dataclass(frozen=True)
class _View:
    """A part of a relation, as a relation of the slot."""

    name: str
    part: Part


@dataclass
class _Lowering:
    plan: Plan
    nodes: dict[str, Node] = field(default_factory=dict)  # by table
    finals: dict[str, list[Decomposed]] = field(default_factory=dict)  # by aggregation
    views: dict[str, list[_View]] = field(default_factory=dict)
    steps: dict[int, list[Step]] = field(default_factory=dict)
    count: int = 0

    def __post_init__(self) -> None:
        self.graph, self.sql = self.plan.graph, ResultSql(self.plan)

    def run(self) -> Program:
        for name in self.plan.relations:
            relation = self.graph.relations[name]
            if isinstance(relation, Rows) or name not in self.plan.used:
                continue
            if isinstance(relation, Merge):
                arms = [(arm, view) for arm in relation.inputs for view in self.views.get(arm, ())]
                parts = self.plan.parts.get(name, ())
                self.views[name] = [
                    self._unite(name, arm, view, part) for (arm, view), part in zip(arms, parts, strict=True)
                ]
            elif isinstance(relation, (Join, TemporalJoin)):
                self._join(relation)
            elif isinstance(relation, Lookup):
                self._lookup(relation)
            elif isinstance(relation, Derive):
                self._derive(relation)
            elif isinstance(relation, Aggregate) and self.plan.parts.get(name):
                self._aggregate(relation)
            if name in self.plan.schemas:
                self._emit(name)
        return self._program()

    def _step(self, level: int, step: Step) -> None:
        self.steps.setdefault(level, []).append(step)

    # -- joins --------------------
    def _join(self, join: Join | TemporalJoin) -> None:
        """The tables of its inputs, fed by the source stage or by slots, and the step that joins them."""
        (part,) = self.plan.parts[join.name]
        ids = self.plan.inputs_of[join.name]
        tables = {id_: table for id_ in ids if isinstance(table := self.plan.tables[id_], RowTable)}
        for number, id_ in enumerate(ids):
            if id_ not in self.nodes:
                table = tables[id_]
                temporal = isinstance(join, TemporalJoin)
                stored = describe_stored(self.plan, table)
                name = self._name_node(table, (stored, number) if temporal else stored)
                lower_rows = lower_temporal_table if temporal else lower_row_table
                rows = lower_rows(self.plan, table, self._describe_node(table, name, len(table.keys)))
                self.nodes[id_] = rows
                self._send_rows(rows, table, join.inputs[number].time, temporal)
                self._step(table.level, Advance(rows.name))
        nodes = {id_: node for id_ in ids if isinstance(node := self.nodes[id_], RowNode)}
        view = self._name_view("j")
        if isinstance(join, Join):
            self._step(part.level, lower_join(self.plan, self.sql, join, nodes, tables, view))
        else:
            (one, two) = ids
            both = lower_temporal(self.plan, self.sql, join, (nodes[one], nodes[two]), (tables[one], tables[two]), view)
            self._step(part.level, both)
        self.views[join.name] = [_View(view, part)]

    def _lookup(self, lookup: Lookup) -> None:
        """A step over what slots hold, or over rows that are sent through them."""
        parts, sources = self.plan.parts[lookup.name], self.views.get(lookup.input, [])
        table = self.plan.tables[parts[0].table] if parts else None
        transit = isinstance(table, TransitTable) and lookup.name in table.members
        if isinstance(table, TransitTable) and transit:
            if table.id not in self.nodes:
                name = self._name_node(table, describe_stored(self.plan, table))
                known = self._describe_node(table, name, len(table.keys))
                self.nodes[table.id] = lower_transit(self.plan, table, known)
                self._send_rows(self.nodes[table.id], table, next(iter(self.plan.passages[table.input].columns), ""))
                self._step(table.level, Advance(name))
            node = self.nodes[table.id]
            sources = [_View(node.gives[0], parts[0])]
        for source, part in zip(sources, parts, strict=True):
            view = self._name_view("l")
            self._step(part.level, lower_lookup(self.plan, self.sql, lookup, source.name, view, transit))
            self.views.setdefault(lookup.name, []).append(_View(view, part))

    def _send_rows(self, node: Node, table: RowTable | TransitTable, time: str, temporal: bool = False) -> None:
        """Rows of slots on their way to a table; in a temporal join results of windows are at the end of their window."""
        at_end = temporal and self.graph.is_windowed(table.input)
        scope = dict(self.plan.types[table.input])
        relation = self.graph.relations[table.input]
        if self.graph.is_windowed(table.input):
            assert not isinstance(relation, (Rows, Join))
            scope |= dict.fromkeys(WINDOW_COLUMNS, self.graph.window_type(table.input))
        for view in self.views.get(table.input, ()):
            keys = [self.sql.translate_in(table.input, k, scope).sql for k in table.keys]
            tick = "_we" if at_end else time_sql(self.graph, table.input, time) if time else "0::BIGINT"
            listed = [*(["_pid"] if table.id in self.plan.by_folder else []), f"{tick} AS _t"]
            listed += [f"{normalize_key(k, t)} AS k{i}" for i, (k, t) in enumerate(zip(keys, table.types, strict=True))]
            listed += [f"{quote_name(c)} AS v{i}" for i, c in enumerate(table.columns)]
            sql = f"SELECT {', '.join(listed)} FROM {view.name}"
            # rows of no time, as outer joins give them, meet nobody
            if isinstance(table, RowTable) and not keeps_unmatched(self.plan, table):
                sql = f"SELECT * FROM ({sql}) WHERE _t IS NOT NULL"
            self._step(view.part.level, Send(node.name, sql, view.name, view.part.level == table.level))

    # -- aggregations --------------------
    def _aggregate(self, relation: Aggregate) -> None:
        id_ = self.plan.table_of[relation.name]
        (part,) = self.plan.parts[relation.name]
        if isinstance(self.graph.relations[relation.input], Rows):
            assert id_ is not None
            table = self.plan.tables[id_]
            assert isinstance(table, PaneTable)
            if id_ not in self.nodes:
                self.nodes[id_] = self._lower_source_table(table)
                self._step(table.level, Advance(self.nodes[id_].name))
            view = self._closed_view(self.nodes[id_], table, relation)
        else:
            view = self._chain(relation, part, self.plan.tables[id_] if id_ is not None else None)
        self._show_aggregate(relation, part, view)

    def _closed_view(self, node: Node, table: PaneTable, relation: Aggregate) -> str:
        assert relation.window is not None
        return node.gives[table.windows.index(relation.window)]

    def _lower_source_table(self, table: PaneTable) -> PaneNode:
        feeds = self.plan.feeds[table.id]
        texts = [{c.name: c.expression for c in self.plan.columns[f.stream]} for f in feeds]
        partials, spelled = Partials(len(feeds)), Partials(len(feeds))
        for name in table.members:
            relation = self._relation(name)
            finals = []
            for i, call in enumerate(relation.calls):
                parts = self._decompose(relation, call, self.plan.aggregates[name].arguments[i])
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
            self.finals[name] = finals
        types = self.plan.aggregates[table.members[0]].keys
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
        return self._pane_node(table, len(types), partials.merges, stored, source_feeds)

    def _pane_node(
        self, table: PaneTable, keys: int, merges: Sequence[str], stored: object, feeds: tuple[SourceFeed, ...] = ()
    ) -> PaneNode:
        windows = [self._relation(m).window for m in table.members]
        identity = (stored, merges, table.grid, table.generation, windows)
        name = self._name_node(table, (*identity, table.early) if table.early else identity)
        outputs = tuple(ClosedWindows(w, f"w_{name}_{i}") for i, w in enumerate(table.windows))
        return PaneNode(
            **self._describe_node(table, name, keys),
            merges=tuple(merges),
            grid=table.grid,
            outputs=outputs,
            feeds=feeds,
            groups=table.early,
        )

    def _describe_node(self, table: Table, name: str, keys: int) -> KnownOfNode:
        """What is said of a node of any kind."""
        return KnownOfNode(
            name=name,
            label=table.label,
            level=table.level,
            waits=self.plan.waits_of(table.id),
            keys=keys,
            partition=self._lower_partition(table),
            by_folder=table.id in self.plan.by_folder,
        )

    def _lower_partition(self, table: Table) -> tuple[int | str, ...]:
        """What is hashed, expressions in their declared type."""
        declared = table.types if isinstance(table, (RowTable, TransitTable)) else self.plan.aggregates[table.members[0]].keys
        types = {f"k{i}": t for i, t in enumerate(declared)}
        found: list[int | str] = []
        for key in table.partition:
            if isinstance(key, str):
                value = translate(parse_one(key, dialect="spark"), types)
                key = f"CAST({value.sql} AS {duck_type(value.type)})"
            found.append(key)
        return tuple(found)

    def _name_node(self, table: Table, stored: object) -> str:
        waits = tuple(w.stream if not w.steps else w for w in self.plan.waits_of(table.id))
        parts = (stored, table.level, tuple(sorted(waits, key=repr)), table.partition, self.plan.settings.pids)
        identity = repr((*parts, "by folder") if table.id in self.plan.by_folder else parts)
        name = "n" + hashlib.sha256(identity.encode()).hexdigest()[:12]
        assert name not in {n.name for n in self.nodes.values()}, f"two tables are stored as {name}"
        return name

    def _relation(self, name: str) -> Aggregate:
        relation = self.graph.relations[name]
        assert isinstance(relation, Aggregate)
        return relation

    def _decompose(self, relation: Aggregate, call: Call, types: tuple[str, ...]) -> Decomposed:
        try:
            return decompose(call, types, self.plan.settings.user)
        except PlanError as e:
            raise PlanError(f"query {relation.name.split('$')[0]}: {e}") from e

    def _chain(self, relation: Aggregate, part: Part, table: Table | None) -> str:
        """An aggregation over windowed rows: computed in place, kept in this slot, or sent to the next level."""
        windowed = self.graph.is_windowed(relation.input)
        scope = {**self.plan.types[relation.input], **(window_scope(self.plan, relation) if windowed else {})}
        named = relation.joint[0].column if relation.joint else relation.find_time(self.graph) or ""
        time = "_we" if windowed else time_sql(self.graph, relation.input, named)
        types = self.plan.aggregates[relation.name]
        values = [self.sql.translate(relation, k, scope).sql for k in relation.keys]
        keys = list(map(normalize_key, values, types.keys))
        feeds = self.plan.feeds.get(table.id, ()) if table is not None else ()  # of streams that are united with slots' rows
        partials = Partials(1 + len(feeds))
        finals = []
        for number, call in enumerate(relation.calls):
            inputs = [self.sql.translate(relation, a, scope) for a in call.arguments]
            parts = self._decompose(relation, call, tuple(v.type for v in inputs))
            arguments = [f"({v.sql})" for v in inputs]
            where = self.sql.translate(relation, call.where, scope).sql if call.where is not None else None
            columns = []
            for p in parts.partials:
                filled = [fill_template(p.sub, arguments, time, where)]
                for feed in feeds:
                    of = feed.calls[relation.name][number]
                    filled.append(fill_template(p.sub, of.arguments, map_tick_sql(feed.steps), of.where))
                columns.append(partials.column(filled, p.merge))
            finals.append(fill_finals(parts, columns))
        self.finals[relation.name] = finals
        subs, *fed = partials.subs
        source_feeds = tuple(
            SourceFeed(f.stream, f.where, tuple(map(normalize_key, f.keys, types.keys)), tuple(fed[i]), f.steps)
            for i, f in enumerate(feeds)
        )
        sources = self.views[relation.input]
        if table is None:
            view, place = self._name_view("v"), ["_ws", "_we", *(["_pid"] if part.pid else [])]
            self._step(part.level, Compute(view, _group_sql(place, keys, subs, sources[0].name), sources[0].name))
            return view
        stored = (relation.name, relation.input, self.graph.queries.get(relation.input), keys, subs)
        node: Node
        if isinstance(table, PaneTable):
            node = self._pane_node(table, len(keys), partials.merges, stored, source_feeds)
            tick = "_we - 1" if windowed else time
            place, view = [f"{pane_sql(tick, *table.grid)} AS pane"], node.outputs[0].view
            place += ["_pid"] if node.by_folder else []
        elif isinstance(table, JointTable):
            name = self._name_node(table, (stored, partials.merges, relation.joint, table.generation))
            place, view = [], f"w_{name}"
            known = self._describe_node(table, name, len(keys))
            node = lower_joint_table(self.plan, relation, known, tuple(partials.merges), view)
        else:
            name = self._name_node(table, (stored, partials.merges))
            place, view = ["_ws", "_we"], f"w_{name}"
            known = self._describe_node(table, name, len(keys))
            node = GatherNode(**known, merges=tuple(partials.merges), view=view)
        self.nodes[table.id] = node
        for source in sources:
            local = source.part.level == table.level
            rows = source.name if windowed else f"(SELECT * FROM {source.name} WHERE {time} IS NOT NULL)"
            self._step(source.part.level, Send(node.name, _group_sql(place, keys, subs, rows), source.name, local))
        self._step(table.level, Advance(node.name))
        return view

    def _show_aggregate(self, relation: Aggregate, part: Part, view: str) -> None:
        """SELECT list and HAVING over the merged partials."""
        finals, types = self.finals[relation.name], self.plan.aggregates[relation.name]
        inner = [f"k{i}" for i in range(len(relation.keys))]
        inner += [f"{d.final} AS a{i}" for i, d in enumerate(finals)]
        if not relation.joint:
            inner += ["_ws", "_we", show_window_sql(self.graph.window_type(relation.name))]
        inner += ["_pid"] if part.pid else []
        source = f"(SELECT {', '.join(inner)} FROM {view})"
        scope = window_scope(self.plan, relation) | {f"a{i}": d.type for i, d in enumerate(finals)}
        scope |= {f"k{i}": type_ for i, type_ in enumerate(types.keys)}
        self._define(relation.name, self.sql.select(relation, source, relation.having, scope, part.pid), view, part)

    # -- windowed and stateless --------------------
    def _define(self, name: str, sql: str, source: str, part: Part) -> None:
        view = self._name_view("r")
        self._step(part.level, Compute(view, sql, source))
        self.views.setdefault(name, []).append(_View(view, part))

    def _name_view(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def _derive(self, relation: Derive) -> None:
        scope = dict(self.plan.types[relation.input])
        if self.graph.is_windowed(relation.name):
            scope |= window_scope(self.plan, relation)
        for view, part in zip(self.views.get(relation.input, ()), self.plan.parts[relation.name], strict=True):
            sql = self.sql.select(relation, view.name, relation.where, scope, part.pid)
            self._define(relation.name, sql, view.name, part)

    def _unite(self, union: str, arm: str, view: _View, part: Part) -> _View:
        """A part of one arm of a union, in the types of the whole."""
        theirs, ours = self.plan.types[arm], self.plan.types[union]
        if list(theirs.values()) == list(ours.values()):
            return _View(view.name, part)
        casts = [
            quote_name(c) if t == ours[c] else f"CAST({quote_name(c)} AS {duck_type(ours[c])}) AS {quote_name(c)}"
            for c, t in theirs.items()
        ]
        casts += ["_ws", "_we"] if self.graph.is_windowed(union) else []
        casts += ["_pid"] if part.pid else []
        name = self._name_view("r")
        self._step(part.level, Compute(name, f"SELECT {', '.join(casts)} FROM {view.name}", view.name))
        return _View(name, part)

    def _emit(self, name: str) -> None:
        columns = [quote_name(c) for c in self.graph.relations[name].columns]
        for view in self.views.get(name, ()):
            by = [c for c in view.part.partition or () if isinstance(c, str)]
            told = view.part.partition is not None and len(by) == len(view.part.partition) and not view.part.by_folder
            pid = [hash_sql([quote_name(c) for c in by])] if told else []
            sql = f"SELECT {', '.join([*columns, *pid])} FROM {view.name}"
            node = self.nodes[view.part.table].name
            self._step(view.part.level, Emit(name, sql, view.name, node, bool(pid)))

    # -- the whole --------------------
    def _streams_into(self, node: Node) -> set[str]:
        """The streams whose rows come to a node late if they are late: nothing between them waits."""
        table = self.plan.tables[next(id_ for id_, found in self.nodes.items() if found is node)]
        source = table.find_input(self.graph)
        return {f.stream for f in node.feeds} | self.graph.relations[source].find_passed_streams(self.graph)

    def _program(self) -> Program:
        plan, nodes = self.plan, tuple(self.nodes.values())
        passing = tuple(RowsQuery(p.query, p.stream, p.where, p.columns) for p in plan.passing)
        levels = tuple(_make_level(self.steps.get(i, [])) for i in range(max(self.steps, default=0) + 1))
        streams = []
        for stream in self.graph.streams.values():
            missable = [
                MissableWindows(window, node.name, find_ways(stream.name, node.waits))
                for node in nodes
                if node.windows and stream.name in self._streams_into(node)
                for window in node.windows
            ]
            missable += [
                MissableWindows(window, node.name, find_ways(stream.name, node.waits), tuple(feed.keys[i] for i in keys))
                for id_, table in plan.tables.items()
                if (keys := table.closes_early)
                for feed in plan.feeds.get(id_, ())
                if feed.stream == stream.name
                for node in (self.nodes[id_],)
                for window in node.windows
            ]
            joined = [
                MissableJoins(n.name, find_ways(stream.name, n.waits))
                for n in nodes
                if not n.takes_late and stream.name in self._streams_into(n)
            ]
            observed = plan.observed[stream.name]
            streams.append(
                SourceStream(
                    stream.name,
                    stream.unit,
                    stream.policy,
                    stream.horizon,
                    tuple(dict.fromkeys(missable)),
                    tuple(dict.fromkeys(joined)),
                    observed.groups,
                    observed.mark,
                    stream.marks_are_data,
                    stream.idle,
                )
            )
        steps = [step for level in levels for step in level.steps]
        return Program(
            fingerprint=hashlib.sha256(repr((nodes, levels, passing)).encode()).hexdigest()[:16],
            pids=plan.settings.pids,
            streams=tuple(streams),
            nodes=nodes,
            levels=levels,
            passing=passing,
            rules=lower_rules(plan, self.nodes, steps),
            pending=lower_pending(nodes, steps),
            promised=list_promised(plan),
            schemas=dict(plan.schemas),
            late_schemas=dict(plan.late_schemas),
            user=tuple(plan.settings.user.values()),
            time_zone=plan.settings.time_zone,
        )


def _group_sql(place: list[str], keys: Sequence[str], subs: Sequence[str], source: str) -> str:
    """Partial rows of a relation: by pane or window, and keys."""
    select = [*place, *(f"{k} AS k{i}" for i, k in enumerate(keys)), *(f"{s} AS p{i}" for i, s in enumerate(subs))]
    if not subs:
        return f"SELECT DISTINCT {', '.join(select)} FROM {source}"
    return f"SELECT {', '.join(select)} FROM {source} GROUP BY ALL"


def _make_level(steps: Sequence[Step]) -> Level:
    """Relations read more than once are stored once computed; the others melt into their reader's statement."""
    readers = [step.reads for step in steps if step.reads is not None]
    return Level(tuple(steps), frozenset(name for name in readers if readers.count(name) > 1))
