"""Names in a SELECT over several FROM items: every column becomes one of the join's, `item.column`.

After that the join is a relation like any other, and the rest of the SELECT is bound as if it had always read one. The
names that results show are fixed before: `SELECT a.ts` is called ts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from headrace.logical.graph import WINDOW_COLUMNS, Relation, StaticTable
from headrace.logical.join_kind import JoinKind
from headrace.sql.error_places import suggest
from headrace.sql.expand_star import StarColumn, expand_star, read_star
from headrace.sql.names import fold_name
from headrace.sql.scope import NO_STAR, Fail, output_name, written


@dataclass(frozen=True)
class FromItem:
    """A relation of a FROM clause."""

    relation: Relation | StaticTable
    alias: str
    node: exp.Expr  # where it is written
    kind: JoinKind = JoinKind.INNER  # how it is joined to those before it
    on: exp.Expr | None = None
    using: tuple[str, ...] = ()
    in_where: bool = False  # it is what EXISTS or IN reads

    def flat(self, column: str) -> str:
        """The name of a column of this item in the join."""
        return f"{self.alias}.{column}"


@dataclass
class Joined:
    """What FROM has given so far: a relation, and which columns of the join it has under which names."""

    relation: Relation
    columns: dict[str, str]  # name in the join -> column of the relation
    items: tuple[FromItem, ...]


def join_nothing(item: FromItem) -> Joined:
    """One item by itself."""
    assert not isinstance(item.relation, StaticTable)
    return Joined(item.relation, {item.flat(c): c for c in item.relation.columns}, (item,))


def used_columns(node: exp.Expr) -> set[str]:
    return {c.name for c in node.find_all(exp.Column)}


def join_column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))


class JoinNames:
    """The columns of some FROM items; those of `outer` are seen where an inner item has no such column."""

    def __init__(
        self, items: Sequence[FromItem], fail: Fail, windowed: bool, outer: JoinNames | None = None
    ) -> None:
        self.items, self.fail, self.outer = tuple(items), fail, outer
        self.windowed = windowed  # the join itself has window_start and window_end
        self.equal: list[set[str]] = []  # columns that conditions make equal, as `input.column` in small letters
        self.windows = {"window"}  # names of windows in GROUP BY, whose start and end may be spoken of

    def flatten(self, node: exp.Expr) -> exp.Expr:
        """A copy of `node` over the join's columns."""

        def visit(child: exp.Expr) -> exp.Expr:
            if isinstance(child, (exp.Subquery, exp.Select)):
                raise self.fail(child, "a sub-select in an expression is not supported")
            if isinstance(child, exp.Star) and not isinstance(child.parent, exp.Count):
                raise self.fail(child.parent, NO_STAR)
            return self.column(child) if isinstance(child, exp.Column) else child

        return node.copy().transform(visit)

    def column(self, node: exp.Column) -> exp.Expr:
        if isinstance(node.this, exp.Star):
            return node
        path = [part.name for part in node.parts]
        found = self.find(path)
        if not found and self.outer is not None:
            return self.outer.column(node)
        if found and found[0][2] and self.outer is not None and self.outer.find(path):
            item, column, _ = found[0]
            what = f"{written(node)!r} is a column of the outer input {path[0]}, or a field of {item.alias}.{column}"
            raise self.fail(node, f"{what}: give the outer input another name")
        if not found and path[0].lower() in self.windows:
            return node
        if not found and len(path) == 1 and path[0].lower() in WINDOW_COLUMNS and self.windowed:
            return exp.column(path[0].lower())
        if len(found) > 1 and len(path) == 1 and (merged := self.merge_using(found)) is not None:
            return merged
        if len(found) > 1 and self._are_equal(found):
            found = found[:1]
        if len(found) > 1:
            places = " or ".join(f"{item.alias}.{column}" for item, column, _ in found)
            raise self.fail(node, f"{written(node)!r} is a column of several inputs: write {places}")
        if not found:
            known = [item.flat(c) for item in self.items for c in item.relation.columns]
            raise self.fail(node, f"there is no column {written(node)!r}." + suggest(written(node), known))
        item, column, fields = found[0]
        name = item.flat(column)
        out: exp.Expr = join_column(name)
        for field in fields:
            out = exp.Dot(this=out, expression=exp.to_identifier(field, quoted=True))
        start = node.parts[0].meta if node.parts else {}
        if "start" in start and "end" in node.parts[-1].meta:
            out.meta.update({**start, "end": node.parts[-1].meta["end"]})
        return out

    def find(self, path: Sequence[str]) -> list[tuple[FromItem, str, list[str]]]:
        """(item, column, fields of a struct) that a dotted name may mean; the name of an item wins over a struct's."""
        named = [i for i in self.items if len(path) > 1 and fold_name(path[0]) == fold_name(i.alias)]
        for items, rest in ((named, path[1:]), (self.items, path)):
            found = []
            for item in items:
                columns = {c.lower(): c for c in item.relation.columns}
                if rest and rest[0].lower() in columns:
                    found.append((item, columns[rest[0].lower()], list(rest[1:])))
            if found:
                return found
        return []

    def _are_equal(self, found: Sequence[tuple[FromItem, str, list[str]]]) -> bool:
        """Whether inner joins make columns equal, so that a name may mean any of them."""
        names = {item.flat(column).lower() for item, column, _ in found}
        inner = all(item.kind is JoinKind.INNER for item in self.items)
        return inner and any(names <= group for group in self.equal)

    def merge_using(self, found: Sequence[tuple[FromItem, str, list[str]]]) -> exp.Expr | None:
        """The one column that USING makes of several: that of the side whose rows are all there."""
        mine = [item.flat(c) for item, c, _ in found if c.lower() not in map(str.lower, item.using)]
        others = [(item, c) for item, c, _ in found if c.lower() in map(str.lower, item.using)]
        if len(mine) != 1 or not others:
            return None
        kinds = {item.kind for item, _ in others}
        if not any(0 in kind.padded for kind in kinds):
            return join_column(mine[0])
        each = [join_column(name) for name in (*mine, *(item.flat(c) for item, c in others))]
        return exp.Coalesce(this=each[0], expressions=each[1:])

    def select_list(self, expressions: Sequence[exp.Expr]) -> list[exp.Expr]:
        """The SELECT list over the join's columns: stars expanded, every item under the name it shows."""
        out: list[exp.Expr] = []
        names = self._name_apart(expressions)
        for i, e in enumerate(expressions):
            if (found := read_star(e)) is not None:
                star, named = found
                columns = self._star_columns(self._named(e, named) if named else self.items, not named)
                for name, value in expand_star(star, columns, self.flatten, self.fail):
                    out.append(exp.alias_(value, name, quoted=True))
                continue
            name = names[i]
            flat = self.flatten(e.unalias())
            windowed = isinstance(flat, exp.Column) and flat.name in WINDOW_COLUMNS
            out.append(flat if windowed and name == flat.name else exp.alias_(flat, name, quoted=True))
        return out

    def _name_apart(self, expressions: Sequence[exp.Expr]) -> list[str]:
        """The names that items show. Columns of several inputs that have one name and get no other are told apart by their
        inputs: `SELECT a.n, b.n` gives a_n and b_n.
        """
        names = [output_name(e, i) for i, e in enumerate(expressions)]
        lowered = [n.lower() for n in names]
        for i, e in enumerate(expressions):
            if isinstance(e, exp.Column) and e.table and lowered.count(lowered[i]) > 1:
                twins = {expressions[k].sql() for k, n in enumerate(lowered) if n == lowered[i]}
                names[i] = f"{e.table}_{e.name}" if len(twins) == lowered.count(lowered[i]) else names[i]
        return names

    def _star_columns(self, items: Sequence[FromItem], everything: bool) -> list[StarColumn]:
        """The columns of items; USING shows a column once."""
        hidden = {c.lower() for item in self.items if item.using for c in item.using}
        out: list[StarColumn] = []
        for item in items:
            for column in item.relation.columns:
                using = column.lower() in hidden
                if using and column.lower() in {c.name.lower() for c in out}:
                    continue
                one = self.column(exp.column(column)) if using and everything else join_column(item.flat(column))
                out.append(StarColumn(column, one, item.alias))
        return out

    def _named(self, star: exp.Expr, table: str) -> list[FromItem]:
        found = [i for i in self.items if fold_name(i.alias) == fold_name(table)]
        if not found:
            raise self.fail(
                star, f"there is no input {table!r} in FROM." + suggest(table, [i.alias for i in self.items])
            )
        return found
