"""Which scalar expressions are computed on source rows: those of every table and stateless query, each once.

Expressions are traced through selections, projections and unions to the columns of the stream itself, so that
the whole set is one pass over it. What only removed queries have asked for is not computed.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from headrace.dialect.duck_expression import spark_sql
from headrace.errors import PlanError
from headrace.logical.graph import Aggregate, Branch, Rows, Stream
from headrace.logical.rewrite import substitute
from headrace.logical.rows import find_branch_steps
from headrace.optimizer.plan import (
    CallColumns,
    FedPlan,
    ObservedColumns,
    PaneTable,
    PassingRows,
    PlacedPlan,
    RowFeedColumns,
    RowTable,
    SourceColumn,
    TableFeed,
    TransitTable,
    Typer,
)
from headrace.optimizer.trace_columns import cast_to, find_leaves, name_column, trace_to_stream


def collect_columns(plan: PlacedPlan, typer: Typer) -> FedPlan:
    collecting = _Collecting(plan)
    feeds = {
        t.id: collecting.feed(t)
        for t in plan.tables.values()
        if isinstance(t, PaneTable) and t.is_used and find_leaves(plan.graph, t.find_input(plan.graph))
    }
    row_feeds = {
        t.id: tuple(f for leaf in find_leaves(plan.graph, t.input) for f in collecting.feed_rows(t, leaf))
        for t in plan.tables.values()
        if isinstance(t, (RowTable, TransitTable))
    }
    passing = tuple(collecting.pass_rows())
    observed = {name: collecting.observe(stream) for name, stream in plan.graph.streams.items()}
    columns = {}
    for stream, expressions in collecting.expressions.items():
        types = typer.types(stream, list(expressions.values()))
        columns[stream] = tuple(
            SourceColumn(f"c{i}", e, t) for i, (e, t) in enumerate(zip(expressions.values(), types, strict=True))
        )
    for name, found in observed.items():
        mark = next((c for c in columns[name] if c.name == found.mark), None)
        if mark is not None and mark.type != "boolean":
            raise PlanError(
                f"stream {name}: PUNCTUATED BY takes a predicate, true for rows that punctuate; "
                f"{mark.expression.sql(dialect='spark')} is {mark.type}"
            )
    return plan.then(FedPlan, columns=columns, feeds=feeds, row_feeds=row_feeds, passing=passing, observed=observed)


class _Collecting:
    def __init__(self, plan: PlacedPlan) -> None:
        self.plan = plan
        self.expressions: dict[str, dict[str, exp.Expr]] = {s: {} for s in plan.graph.streams}  # by spelling

    def name(self, stream: str, expression: exp.Expr) -> str:
        mine, spelled = self.expressions[stream], spark_sql(expression)
        mine.setdefault(spelled, expression)
        return f"c{list(mine).index(spelled)}"

    def observe(self, stream: Stream) -> ObservedColumns:
        groups = tuple(self.name(stream.name, exp.column(c)) for c in stream.groups)
        return ObservedColumns(groups, self.name(stream.name, stream.mark) if stream.mark is not None else None)

    def feed(self, table: PaneTable) -> tuple[TableFeed, ...]:
        members = [m for name in table.members if isinstance(m := self.plan.graph.relations[name], Aggregate)]
        first = members[0]
        out = []
        for number, source in enumerate(find_leaves(self.plan.graph, first.input)):
            alike = self._make_alike(source, first.input)
            for i, branch in enumerate(source.branches):
                where = self.name(branch.stream, branch.where) if branch.where is not None else None
                keys = tuple(self._trace(source, branch, substitute(key, alike)) for key in first.keys)
                calls: Mapping[str, tuple[CallColumns, ...]] = {m.name: self._calls(m, number, i) for m in members}
                steps = find_branch_steps(self.plan.graph, branch, first.find_time(self.plan.graph))
                out.append(TableFeed(branch.stream, where, keys, calls, steps))
        return tuple(out)

    def _make_alike(self, source: Rows, whole: str) -> dict[str, exp.Expr]:
        """The columns of rows in the types of the relation they are, or are an arm of."""
        theirs, ours = self.plan.types[source.name], self.plan.types[whole]
        return {c: cast_to(name_column(c), theirs[c], ours[c]) for c in source.columns}

    def feed_rows(self, table: RowTable | TransitTable, source: Rows) -> list[RowFeedColumns]:
        """What a table of rows needs of each branch of `source`, which it reads directly or as an arm of a
        union.
        """
        alike = self._make_alike(source, table.input)
        keys = [substitute(k, alike) for k in table.keys]
        out = []
        for branch in source.branches:
            where = self.name(branch.stream, branch.where) if branch.where is not None else None
            traced = tuple(self._trace(source, branch, k) for k in keys)
            values = tuple(self._trace(source, branch, alike[c]) for c in table.columns)
            steps = find_branch_steps(self.plan.graph, branch, table.find_time(self.plan.graph))
            out.append(RowFeedColumns(branch.stream, where, traced, values, steps))
        return out

    def _calls(self, member: Aggregate, leaf: int, branch: int) -> tuple[CallColumns, ...]:
        source = find_leaves(self.plan.graph, member.input)[leaf]
        arm, alike = source.branches[branch], self._make_alike(source, member.input)
        return tuple(
            CallColumns(
                tuple(self._trace(source, arm, substitute(a, alike)) for a in call.arguments),
                self._trace(source, arm, substitute(call.where, alike)) if call.where is not None else None,
            )
            for call in member.calls
        )

    def _trace(self, source: Rows, branch: Branch, expression: exp.Expr) -> str:
        types = self.plan.types[source.name]
        return self.name(branch.stream, trace_to_stream(source, branch, expression, types))

    def pass_rows(self) -> list[PassingRows]:
        """Rows of streams that are results as they come: those of selections, and of arms of unions with what
        slots compute.
        """
        out = []
        for name in self.plan.graph.queries:
            if name in self.plan.settings.retired:
                continue
            for source in find_leaves(self.plan.graph, name):
                alike = self._make_alike(source, name)
                for branch in source.branches:
                    where = self.name(branch.stream, branch.where) if branch.where is not None else None
                    columns = tuple(self._trace(source, branch, alike[c]) for c in source.columns)
                    out.append(PassingRows(name, branch.stream, where, columns))
        return out
