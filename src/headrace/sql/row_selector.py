"""Selections and projections of any relation, as relations.

Of rows of streams they are rows of streams again, which is what keeps them flat; of a union of rows they are a
selection of each arm; of any other relation they are a relation of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from headrace.logical.graph import Branch, Derive, Graph, Merge, Output, Relation, Rows
from headrace.logical.progress_columns import choose_time
from headrace.logical.rewrite import both, substitute
from headrace.logical.rows import read_branches
from headrace.sql.scope import with_window


@dataclass(frozen=True)
class RowSelector:
    graph: Callable[[], Graph]
    add: Callable[[Relation], Relation]
    name: Callable[[], str]  # of a relation that nobody has named

    def filter(self, source: Relation, where: exp.Expr) -> Relation:
        """The source under a WHERE, as a relation of its own."""
        relation: Relation
        if isinstance(source, Merge) and not self.graph().is_windowed(source.name):
            arms = [self.filter(self.rename(self.graph().relations[arm], source.columns), where) for arm in source.inputs]
            relation = Merge(self.name(), tuple(a.name for a in arms), source.unit, source.columns)
        elif isinstance(source, Rows):
            branches = tuple(
                Branch(b.stream, both(b.where, substitute(where, dict(b.columns))), b.columns)
                for b in source.branches
            )
            relation = Rows(self.name(), branches, source.time, source.unit)
        else:
            outputs = tuple((c, exp.column(exp.to_identifier(c, quoted=True))) for c in source.columns)
            relation = Derive(self.name(), source.name, source.unit, outputs, where)
        return self.add(relation)

    def select(
        self, name: str, source: Relation, outputs: tuple[Output, ...], where: exp.Expr | None
    ) -> Relation:
        """A selection and projection of one relation, or of each arm of a union of rows."""
        if isinstance(source, Merge) and not self.graph().is_windowed(source.name):
            arms = []
            for arm in source.inputs:
                rows = self.rename(self.graph().relations[arm], source.columns)
                arms.append(self.add(self.derive(self.name(), rows, outputs, where)))
            return Merge(name, tuple(a.name for a in arms), arms[0].unit, tuple(n for n, _ in outputs))
        return self.derive(name, source, outputs, where)

    def rename(self, relation: Relation, columns: tuple[str, ...]) -> Relation:
        """An arm of a union of rows under the names of the whole."""
        if relation.columns == columns:
            return relation
        pairs = zip(columns, relation.columns, strict=True)
        outputs = tuple((new, exp.column(exp.to_identifier(old, quoted=True))) for new, old in pairs)
        return self.add(self.derive(self.name(), relation, outputs, None))

    def derive(
        self, name: str, source: Relation, outputs: tuple[Output, ...], where: exp.Expr | None
    ) -> Relation:
        """A selection and projection of one relation."""
        if not isinstance(source, Rows):
            if self.graph().is_windowed(source.name):
                return Derive(name, source.name, source.unit, with_window(outputs), where)
            rows = Derive(name, source.name, source.unit, outputs, where)
            found = rows.read_outputs(self.graph())
            time = choose_time(found, (), source.unit)
            return rows if time is None else replace(rows, unit=found[time].unit)
        copies = [n for n, e in outputs if isinstance(e, exp.Column) and e.name == source.time]
        branches = []
        for b in source.branches:
            inner = dict(b.columns)
            branches.append(
                Branch(
                    b.stream,
                    both(b.where, substitute(where, inner) if where is not None else None),
                    tuple((n, substitute(e, inner)) for n, e in outputs),
                )
            )
        return self.unite(name, tuple(branches), copies, source.unit)

    def unite(self, name: str, branches: tuple[Branch, ...], wanted: Iterable[str], unit: str) -> Rows:
        """Rows of streams; of the columns that carry progress, those `wanted` come first."""
        found = read_branches(self.graph().streams, branches)
        time = choose_time(found, wanted, unit)
        return Rows(name, branches, time, unit if time is None else found[time].unit)
