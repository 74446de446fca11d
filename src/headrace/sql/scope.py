"""The names one FROM item brings, and the SELECT list over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlglot import exp

from headrace.errors import SqlError
from headrace.logical.functions import aggregate_call, there_is
from headrace.logical.graph import WINDOW_COLUMNS, Output, Relation
from headrace.sql.declare import INTERNAL
from headrace.sql.error_places import suggest
from headrace.sql.expand_star import StarColumn, expand_star, read_star
from headrace.sql.names import fold_name, is_column_name, shown_name

NO_STAR = "* stands for columns in the SELECT list and in count(*) alone: list the columns"
Fail = Callable[[exp.Expr | None, str], SqlError]  # an error that points at an expression


class Scope:
    """Column names of one FROM item."""

    def __init__(self, source: Relation, alias: str, fail: Fail, user_defined: Sequence[str]) -> None:
        self.source, self.alias, self.fail, self.user_defined = source, alias, fail, user_defined
        self.columns = {c.lower(): c for c in source.columns}
        self.shown = shown_name(source.name, alias)

    def resolve(self, node: exp.Expr) -> exp.Expr:
        """A copy of `node` with every column checked and spelled as declared."""

        def visit(child: exp.Expr) -> exp.Expr:
            if isinstance(child, (exp.Subquery, exp.Select)):
                raise self.fail(child, "a sub-select in an expression is not supported")
            if isinstance(child, exp.Star):
                raise self.fail(child.parent, NO_STAR)
            return self.column(child) if isinstance(child, exp.Column) else child

        return node.copy().transform(visit)

    def column(self, node: exp.Column) -> exp.Expr:
        """A column, or a field of a struct column: `st.a` and `s.st.a.b` read like tables and catalogs to sqlglot."""
        name = node.name
        path = [part.name for part in node.parts]
        if len(path) > 1 and fold_name(path[0]) in (fold_name(self.alias), fold_name(self.source.name)):
            if path[1].lower() in self.columns:
                path = path[1:]
            elif path[0].lower() not in self.columns:
                path = []
        if not path or path[0].lower() not in self.columns:
            raise self.fail(
                node, f"{self.shown} has no column {written(node)!r}." + suggest(name, self.columns.values())
            )
        found: exp.Expr = exp.column(self.columns[path[0].lower()])
        found.meta.update(node.this.meta)
        for field in path[1:]:
            found = exp.Dot(this=found, expression=exp.to_identifier(field, quoted=True))
        return found

    def outputs(self, expressions: Iterable[exp.Expr], windowed: bool = False) -> tuple[Output, ...]:
        """A SELECT list without aggregates: stars expanded, names given; `windowed`: window columns too."""
        out: list[Output] = []
        for i, e in enumerate(expressions):
            if (found := read_star(e)) is not None:
                star, named = found
                if named and fold_name(named) not in (fold_name(self.alias), fold_name(self.source.name)):
                    raise self.fail(e, f"there is no input {named!r} in FROM." + suggest(named, [self.shown]))
                columns = [StarColumn(c, exp.column(c), self.alias) for c in self.source.columns]
                out += expand_star(star, columns, self.resolve, self.fail)
            elif (
                windowed
                and isinstance(e.unalias(), exp.Column)
                and e.unalias().name.lower() in WINDOW_COLUMNS
            ):
                out.append((output_name(e, i), exp.column(e.unalias().name.lower())))
            else:
                out.append((output_name(e, i), self.resolve(e.unalias())))
        return unique(out)

    def aggregate_in(self, *nodes: exp.Expr | None) -> exp.Expr | None:
        """The first aggregate there is."""
        for node in nodes:
            for child in node.walk() if node is not None else ():
                if aggregate_call(child, self.user_defined, self.fail) is not None:
                    return child
                if isinstance(child, exp.AggFunc):
                    raise self.fail(child, "this aggregate is not supported." + there_is())
        return None


def written(node: exp.Expr) -> str:
    """A column or a table as a message names it."""
    return (
        ".".join(part.name for part in node.parts)
        if isinstance(node, (exp.Column, exp.Table))
        else node.sql()
    )


def output_name(node: exp.Expr, position: int) -> str:
    """The name of a SELECT item: its alias, its column, or Spark-like text."""
    if isinstance(node, (exp.Alias, exp.Column, exp.Dot)):
        name = node.alias or node.name
        return name.lower() if name.lower() in WINDOW_COLUMNS else name
    text = node.sql(dialect="spark").lower().replace("`", "")
    return text.replace("count(*)", "count(1)") or f"_c{position}"


def unique(outputs: list[Output]) -> tuple[Output, ...]:
    """The outputs, if no two have one name and none has the window's."""
    names = [n.lower() for n, _ in outputs]
    if doubled := [n for n in names if names.count(n) > 1]:
        raise SqlError(f"two result columns are called {doubled[0]!r}; give one of them another name with AS")
    for name, e in outputs:
        if name in WINDOW_COLUMNS and not (isinstance(e, exp.Column) and e.name == name):
            raise SqlError(
                f"a result column is called {name!r}, which is the window's; give it another name with AS"
            )
        if name.lower() in INTERNAL or not is_column_name(name):
            raise SqlError(f"a result column cannot be called {name!r}; give it another name with AS")
    return tuple(outputs)


def with_window(outputs: tuple[Output, ...]) -> tuple[Output, ...]:
    """The outputs and, where they are not among them, the columns of the window."""
    present = {n.lower() for n, _ in outputs}
    return outputs + tuple((c, exp.column(c)) for c in WINDOW_COLUMNS if c not in present)
