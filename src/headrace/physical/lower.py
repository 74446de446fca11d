"""The query graph to a `Program`: what the source stage and the slots compute, in SQL.

* Aggregations over streams that agree on source, filter and keys share one *node* of pane state; its panes
  are the gcd of their windows (document 003 §6.2), its partials the union of theirs. A landmark shares only
  with its like, and a window joins a node only if the shared pane is no finer than the finest of them needs
  by itself.
* A node is partitioned by those of its keys that the aggregations downstream also group by, so that they
  run in the same slot; where there are none, their partial rows are sent on to the next level, one more
  exchange.
* What is windowed but stateless (filters, projections, HAVING, the same window again) becomes SQL in the
  slot.

Queries registered later never change a node that already holds state (`generations`), and a query that was
dropped keeps its share of a node that others use (`retired`), so a query set can change on a live
checkpoint.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from headrace.errors import PlanError
from headrace.kernels.spec import (
    Close,
    Compute,
    Emit,
    Feed,
    Gather,
    Node,
    Program,
    RawQuery,
    Send,
    Step,
    StreamSpec,
)
from headrace.kernels.sql import pane_sql
from headrace.logical.plan import Aggregate, Branch, Call, Derive, Graph, Merge, Raw
from headrace.logical.user_aggregate import UserAggregate
from headrace.optimizer.share_panes import PaneGroup, share_panes
from headrace.partitioning.common_keys import common_keys, key_outputs
from headrace.physical.aggregates import Decomposed, decompose
from headrace.physical.duck import spark_sql
from headrace.physical.duck_cast import duck_type
from headrace.physical.frame import Frame, Typer
from headrace.physical.partials import Partials, with_arguments
from headrace.physical.result_sql import ResultSql, window_times, window_types
from headrace.progress import Slack
from headrace.windows import WindowSpec, shared_pane

PIDS = 128


@dataclass(frozen=True)
class _Part:
    """A relation as it exists in the slots of one level; `partition` are the columns that decide the slot."""

    view: str
    level: int
    partition: tuple[str, ...] | None


def lower(
    graph: Graph,
    typer: Typer,
    user: Mapping[str, UserAggregate] | None = None,
    generations: Mapping[str, int] | None = None,
    retired: frozenset[str] = frozenset(),
    pids: int = PIDS,
    time_zone: str = "UTC",
) -> tuple[Program, Frame]:
    """The program for a graph, and the frame its source stage reads."""
    return _Lowering(
        graph, typer, {n.lower(): a for n, a in (user or {}).items()}, dict(generations or {}), retired, pids
    ).run(time_zone)


class _Lowering:
    def __init__(
        self,
        graph: Graph,
        typer: Typer,
        user: dict[str, UserAggregate],
        generations: dict[str, int],
        retired: frozenset[str],
        pids: int,
    ) -> None:
        self.graph, self.typer, self.user, self.pids = graph, typer, user, pids
        self.generations, self.retired = generations, retired
        self.frame = Frame({name: [] for name in graph.streams})
        self.nodes: dict[str, Node] = {}
        self.parts: dict[str, list[_Part]] = {}
        self.levels: dict[int, list[Step]] = {}
        self.live = [n for n in graph.relations if n in graph.live()]
        self.views: dict[str, str] = {}
        self.sql = ResultSql(typer)
        self.used = _used_by(graph, set(graph.queries) - retired)

    def run(self, time_zone: str) -> tuple[Program, Frame]:
        groups = self._groups()
        by_member = {m.name: g for g in groups for m in g.members}
        done: dict[int, tuple[Node, dict[str, list[Decomposed]]]] = {}
        for name in self.live:
            relation = self.graph.relations[name]
            if isinstance(relation, Raw):
                continue
            if isinstance(relation, Merge):
                self.parts[name] = [
                    self._arm(name, i, p) for i in relation.inputs for p in self.parts.get(i, [])
                ]
            elif isinstance(relation, Derive):
                self._derive(relation)
            elif name in by_member:
                group = by_member[name]
                if id(group) not in done:
                    done[id(group)] = self._source_node(group)
                node, decomposed = done[id(group)]
                self._close(relation, node, decomposed[name])
            else:
                self._chained(relation)
            if name in self.graph.queries and name not in self.retired:
                self._emit(name)
        return self._program(time_zone), self.frame

    # -- nodes over streams --------------------
    def _groups(self) -> list[PaneGroup]:
        over_streams = []
        for name in self.live:
            relation = self.graph.relations[name]
            if isinstance(relation, Aggregate) and isinstance(self.graph.relations[relation.input], Raw):
                over_streams.append(relation)
        return share_panes(over_streams, self._signature, lambda a: self._generation(a.name))

    def _signature(self, relation: Aggregate) -> tuple[object, ...]:
        source = self.graph.relations[relation.input]
        assert isinstance(source, Raw)
        return tuple(
            (b.stream, spark_sql(b.where) if b.where is not None else None, *self._keys(relation, source, b))
            for b in source.branches
        )

    def _generation(self, name: str) -> int:
        return self.generations.get(name.split("$")[0], 0)

    def _keys(self, relation: Aggregate, source: Raw, branch: Branch) -> list[str]:
        return [self._branch_sql(source, branch, key) for key in relation.keys]

    def _branch_sql(self, source: Raw, branch: Branch, expression: exp.Expr) -> str:
        """An expression over a raw relation's columns, as Spark SQL over one branch's stream."""
        inner = dict(branch.columns)
        types = self.typer.column_types(source.name) if len(source.branches) > 1 else {}

        def visit(child: exp.Expr) -> exp.Expr:
            if isinstance(child, exp.Column) and child.name in inner:
                e = inner[child.name].copy()
                if child.name in types:
                    return exp.Cast(this=e, to=exp.DataType.build(types[child.name], dialect="spark"))
                return e if isinstance(e, (exp.Column, exp.Literal)) else exp.paren(e)
            return child

        return spark_sql(expression.copy().transform(visit))

    def _source_node(self, group: PaneGroup) -> tuple[Node, dict[str, list[Decomposed]]]:
        first = group.members[0]
        source = self.graph.relations[first.input]
        assert isinstance(source, Raw)
        decomposed: dict[str, list[Decomposed]] = {}
        partials = Partials(len(source.branches))
        for member in group.members:
            raw = self.graph.relations[member.input]
            assert isinstance(raw, Raw)
            finals: list[Decomposed] = []
            for call in member.calls:
                types = tuple(self.typer.types(raw.name, [spark_sql(a) for a in call.arguments]))
                d = self._decomposed(member, call, types)
                columns = []
                for partial in d.partials:
                    filled = []
                    for branch in raw.branches:
                        args = [
                            self.frame.column(branch.stream, self._branch_sql(raw, branch, a))
                            for a in call.arguments
                        ]
                        where = None
                        if call.where is not None:
                            where = self.frame.column(
                                branch.stream, self._branch_sql(raw, branch, call.where)
                            )
                        filled.append(with_arguments(partial.sub, args, "_t", where))
                    columns.append(partials.column(filled, partial.merge))
                finals.append(replace(d, final=with_arguments(d.final, [f"p{c}" for c in columns])))
            decomposed[member.name] = finals
        feeds = []
        for i, branch in enumerate(source.branches):
            where = None
            if branch.where is not None:
                where = self.frame.column(branch.stream, spark_sql(branch.where))
            keys = tuple(self.frame.column(branch.stream, k) for k in self._keys(first, source, branch))
            feeds.append(Feed(branch.stream, where, keys, tuple(partials.subs[i])))
        width, offset = shared_pane(group.specs)
        outlets = [m for m in group.members if m.name in self.used]
        node = self._node(
            label=f"{source.name} by {', '.join(k.sql(dialect='spark') for k in first.keys) or 'all'}",
            identity=(group.signature, [self._spelled(f) for f in feeds]),
            level=0,
            streams=self.graph.streams_of(source.name),
            keys=len(first.keys),
            merges=tuple(partials.merges),
            partition=self._partition(group.members),
            grid=(width, offset),
            feeds=tuple(feeds),
            specs=tuple(dict.fromkeys(m.window for m in outlets if m.window is not None)),
        )
        return node, decomposed

    def _spelled(self, feed: Feed) -> list[str]:
        """A feed's partials with the Spark text of each column they read: what the node stores, in words."""
        texts = dict(self.frame.columns[feed.stream])
        return [re.sub(r"\bc\d+\b", lambda m: texts[m[0]], sub) for sub in feed.subs]

    def _decomposed(self, relation: Aggregate, call: Call, types: tuple[str, ...]) -> Decomposed:
        try:
            return decompose(call, types, self.user)
        except PlanError as e:
            raise PlanError(f"query {relation.name.split('$')[0]}: {e}") from e

    def _node(
        self,
        *,
        label: str,
        identity: object,
        level: int,
        streams: tuple[str, ...],
        keys: int,
        merges: tuple[str, ...],
        partition: tuple[int, ...],
        grid: tuple[int, int],
        feeds: tuple[Feed, ...] = (),
        specs: tuple[WindowSpec, ...] = (),
    ) -> Node:
        text = repr((identity, level, streams, keys, merges, partition, grid, self.pids))
        name = "n" + hashlib.sha256(text.encode()).hexdigest()[:12]
        node = Node(name, label, level, streams, keys, merges, partition, *grid, feeds, specs)
        self.nodes[name] = node
        return node

    def _partition(self, members: Sequence[Aggregate]) -> tuple[int, ...]:
        """The keys shared with readers that are no younger: a later query must not move state that exists."""
        born = self._generation(members[0].name)
        return common_keys(self.graph, members, [n for n in self.live if self._generation(n) <= born])

    # -- windowed relations --------------------
    def _close(self, relation: Aggregate, node: Node, decomposed: list[Decomposed]) -> None:
        assert relation.window is not None
        if relation.name not in self.used:
            return
        view = f"w_{node.name}_{node.specs.index(relation.window)}"
        step = Close(node.name, relation.window, view)
        if step not in self._steps(node.level):
            self._steps(node.level).append(step)
        self._outputs(relation, node, decomposed, view)

    def _outputs(self, relation: Aggregate, node: Node, decomposed: list[Decomposed], view: str) -> None:
        """SELECT list and HAVING over the merged partials."""
        inner = [f"k{i}" for i in range(node.keys)]
        inner += [f"{d.final} AS a{i}" for i, d in enumerate(decomposed)]
        source = f"(SELECT {', '.join([*inner, '_ws', '_we'])}, {window_times(relation.unit)} FROM {view})"
        scope = window_types(relation.unit) | {f"a{i}": d.type for i, d in enumerate(decomposed)}
        keys = self.typer.types(relation.input, [spark_sql(k) for k in relation.keys])
        scope |= {f"k{i}": type_ for i, type_ in enumerate(keys)}
        sql = self.sql.select(relation, source, relation.having, scope)
        by_key = {i: n for n, i in key_outputs(relation)}
        partition = (
            tuple(by_key[k] for k in node.partition) if all(k in by_key for k in node.partition) else None
        )
        self._relation(relation.name, sql, view, node.level, partition)

    def _relation(
        self, name: str, sql: str, source: str, level: int, partition: tuple[str, ...] | None
    ) -> None:
        view = f"r{len(self.views)}"
        self.views[view] = name
        self._steps(level).append(Compute(view, sql, source))
        self.parts.setdefault(name, []).append(_Part(view, level, partition))

    def _derive(self, relation: Derive) -> None:
        for part in self.parts.get(relation.input, []):
            carried = {e.name: n for n, e in relation.outputs if isinstance(e, exp.Column)}
            partition = None
            if part.partition is not None and all(c in carried for c in part.partition):
                partition = tuple(carried[c] for c in part.partition)
            scope = {**self.typer.column_types(relation.input), **window_types(relation.unit)}
            sql = self.sql.select(relation, part.view, relation.where, scope)
            self._relation(relation.name, sql, part.view, part.level, partition)

    def _arm(self, union: str, arm: str, part: _Part) -> _Part:
        """A part of one arm of a union, in the types of the whole; a hash of another type may be another slot."""
        theirs, ours = self.typer.column_types(arm), self.typer.column_types(union)
        if list(theirs.values()) == list(ours.values()):
            return part
        casts = [
            f'"{c}"' if t == ours[c] else f'CAST("{c}" AS {duck_type(ours[c])}) AS "{c}"'
            for c, t in theirs.items()
        ]
        view = f"r{len(self.views)}"
        self.views[view] = union
        self._steps(part.level).append(
            Compute(view, f"SELECT {', '.join(casts)}, _ws, _we FROM {part.view}", part.view)
        )
        same = part.partition is not None and all(theirs[c] == ours[c] for c in part.partition)
        return _Part(view, part.level, part.partition if same else None)

    def _chained(self, relation: Aggregate) -> None:
        """An aggregation over windowed rows: in the same window, or in a window of its own."""
        parts = self.parts.get(relation.input, [])
        if not parts or relation.name not in self.used:
            return
        self._same_progress(relation)
        columns = {k.name: i for i, k in enumerate(relation.keys) if isinstance(k, exp.Column)}
        local = len({p.level for p in parts}) == 1 and all(
            p.partition is not None and all(c in columns for c in p.partition) for p in parts
        )
        local = local and len({p.partition for p in parts}) == 1
        level = max(p.level for p in parts) + (not local)
        decomposed, partials = self._chained_calls(relation)
        (subs,) = partials.subs
        if local and parts[0].partition is not None:
            partition = tuple(columns[c] for c in parts[0].partition)
        else:
            partition = self._partition([relation])
        scope = {**self.typer.column_types(relation.input), **window_types(relation.unit)}
        keys = [self.sql.duck(relation, k, scope).sql for k in relation.keys]
        grid = shared_pane([relation.window]) if relation.window is not None else (0, 0)
        node = self._node(
            label=f"{relation.input} by {', '.join(keys) or 'all'}",
            identity=(relation.input, self.graph.queries.get(relation.input), keys, subs),
            level=level,
            streams=self.graph.streams_of(relation.name),
            keys=len(keys),
            merges=tuple(partials.merges),
            partition=partition,
            grid=grid,
            specs=(relation.window,) if relation.window is not None else (),
        )
        time = "_we - 1"
        view = f"w_{node.name}_0"
        direct = local and relation.window is None and len(parts) == 1
        if direct:
            del self.nodes[node.name]
        for part in parts:
            place = ["_ws", "_we"] if relation.window is None else [f"{pane_sql(time, *grid)} AS pane"]
            select = [
                *place,
                *(f"{k} AS k{i}" for i, k in enumerate(keys)),
                *(f"{s} AS p{i}" for i, s in enumerate(subs)),
            ]
            sql = f"SELECT {', '.join(select)} FROM {part.view} GROUP BY ALL"
            if not subs:
                sql = f"SELECT DISTINCT {', '.join(select)} FROM {part.view}"
            step: Step = Compute(view, sql, part.view) if direct else Send(node.name, sql, part.view, local)
            self._steps(part.level).append(step)
        if relation.window is not None:
            self._steps(level).append(Close(node.name, relation.window, view))
        elif not direct:
            self._steps(level).append(Gather(node.name, view))
        self._outputs(relation, node, decomposed, view)

    def _same_progress(self, relation: Aggregate) -> None:
        if relation.window is not None:
            return
        inputs = {self.graph.streams_of(i) for i in _leaves(self.graph, relation.input)}
        if len(inputs) > 1:
            raise PlanError(
                f"query {relation.name}: {relation.input} unites queries over different streams, whose windows close at "
                "different times; give this query a window of its own, like [RANGE 1 HOUR], or unite the streams first"
            )

    def _chained_calls(self, relation: Aggregate) -> tuple[list[Decomposed], Partials]:
        partials = Partials()
        finals = []
        scope = {**self.typer.column_types(relation.input), **window_types(relation.unit)}
        for call in relation.calls:
            values = [self.sql.duck(relation, a, scope) for a in call.arguments]
            d = self._decomposed(relation, call, tuple(v.type for v in values))
            arguments = [f"({v.sql})" for v in values]
            where = self.sql.duck(relation, call.where, scope).sql if call.where is not None else None
            columns = [
                partials.column([with_arguments(p.sub, arguments, "_we", where)], p.merge) for p in d.partials
            ]
            finals.append(replace(d, final=with_arguments(d.final, [f"p{c}" for c in columns])))
        return finals, partials

    def _emit(self, name: str) -> None:
        columns = ", ".join(f'"{c}"' for c in self.graph.relations[name].columns)
        for part in self.parts[name]:
            self._steps(part.level).append(Emit(name, f"SELECT {columns} FROM {part.view}", part.view))

    def _steps(self, level: int) -> list[Step]:
        return self.levels.setdefault(level, [])

    # -- the whole --------------------
    def _program(self, time_zone: str) -> Program:
        raw = []
        for name in self.graph.queries:
            relation = self.graph.relations[name]
            if isinstance(relation, Raw) and name not in self.retired:
                for branch in relation.branches:
                    where = (
                        self.frame.column(branch.stream, spark_sql(branch.where))
                        if branch.where is not None
                        else None
                    )
                    columns = tuple(
                        self.frame.column(branch.stream, self._branch_sql(relation, branch, exp.column(c)))
                        for c in relation.columns
                    )
                    raw.append(RawQuery(name, branch.stream, where, columns))
        streams = []
        for stream in self.graph.streams.values():
            missed = [
                (spec, node.streams)
                for node in self.nodes.values()
                if any(f.stream == stream.name for f in node.feeds)
                for spec in node.specs
            ]
            slack = stream.policy.bound if isinstance(stream.policy, Slack) else 0
            streams.append(
                StreamSpec(stream.name, stream.unit, slack, stream.horizon, tuple(dict.fromkeys(missed)))
            )
        queries = [q for q in self.graph.queries if q not in self.retired]
        nodes = tuple(n for n in self.nodes.values() if n.specs or n.width == 0)
        self.frame.keep([f for n in nodes for f in n.feeds], raw)
        levels = tuple(tuple(_stored(self.levels.get(i, []))) for i in range(max(self.levels, default=0) + 1))
        return Program(
            fingerprint=hashlib.sha256(repr((nodes, levels, raw)).encode()).hexdigest()[:16],
            pids=self.pids,
            streams=tuple(streams),
            nodes=nodes,
            levels=levels,
            raw=tuple(raw),
            schemas={q: self.typer.result_schema(q) for q in queries},
            late_schemas={s: self.typer.late_schema(s) for s in self.graph.streams},
            user=tuple(self.user.values()),
            time_zone=time_zone,
        )


def _stored(steps: list[Step]) -> list[Step]:
    """Views read more than once are stored once computed; the others melt into their reader's statement."""
    readers = [s.source for s in steps if isinstance(s, (Compute, Send, Emit))]
    return [
        replace(s, stored=readers.count(s.view) > 1) if isinstance(s, (Close, Gather, Compute)) else s
        for s in steps
    ]


def _leaves(graph: Graph, name: str) -> list[str]:
    relation = graph.relations[name]
    if isinstance(relation, Merge):
        return [leaf for i in relation.inputs for leaf in _leaves(graph, i)]
    if isinstance(relation, Derive):
        return _leaves(graph, relation.input)
    return [name]


def _used_by(graph: Graph, queries: set[str]) -> set[str]:
    return Graph(graph.streams, graph.relations, dict.fromkeys(queries, "")).live()


__all__ = ["PIDS", "lower"]
