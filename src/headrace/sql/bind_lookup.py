"""A static table in FROM or in a sub-select of WHERE: a lookup, by the conditions that name it.

A table has no time, so nothing bounds such a join and nothing has to: its rows are there, and each row of a stream is answered at
once. What it cannot do is keep the table's own rows, RIGHT or FULL: a row without a partner today may have one tomorrow, and
no progress ever says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from headrace.errors import SqlError
from headrace.logical.graph import WINDOW_COLUMNS, JoinColumn, Lookup, StaticTable
from headrace.logical.join_kind import JoinKind
from headrace.logical.progress_columns import find_progress
from headrace.logical.rewrite import substitute
from headrace.sql.bind_context import BindContext
from headrace.sql.join_names import FromItem, Joined, JoinNames, join_column, used_columns
from headrace.sql.scope import Fail


def is_table(item: FromItem) -> bool:
    return isinstance(item.relation, StaticTable)


def check_table_item(
    node: exp.Expr, table: StaticTable, fail: Fail, fail_at: Callable[[int, int, str], SqlError]
) -> None:
    """Refuse clauses that are about time, and other names for columns."""
    for clause in ("stream_window", "within"):
        found = node.args.get(clause)
        if found is not None:
            raise fail_at(found.start, found.end, f"{table.name} is a table and has no time; leave this out")
    if node.args.get("alias") and node.args["alias"].columns:
        what = f"{table.name} is a table and its columns keep their names"
        raise fail(node.args["alias"], f"{what}: write {node.alias}.a AS x where it is read")


def choose_kind(kind: JoinKind, item: FromItem, stream: str, fail: Fail) -> JoinKind:
    """The kind of the lookup, if the table's own rows are not kept."""
    if 1 in kind.kept:
        raise fail(
            item.node,
            f"this join keeps the rows of the table {item.alias} that have no partner, but a partner may always come later, so "
            f"they could never be given out; keep those of {stream}, with LEFT JOIN {item.alias}, or join without keeping any",
        )
    return kind


def look_up_table(
    context: BindContext,
    names: JoinNames,
    done: Joined,
    item: FromItem,
    kind: JoinKind,
    conjuncts: Sequence[exp.Expr],
    wanted: set[str],
) -> Joined:
    """What FROM has given so far, looked up in a table; `wanted` are the columns that somebody reads afterwards."""
    kind = choose_kind(kind, item, done.items[0].alias, context.fail)
    table, graph = item.relation, context.graph()
    assert isinstance(table, StaticTable)
    theirs = {item.flat(c): c for c in table.columns}
    keys, rest = [], []
    for conjunct in conjuncts:
        pair = find_key(conjunct, set(done.columns), set(theirs))
        if pair is None:
            rest.append(conjunct)
        else:
            keys.append((spell_over(pair[0], done.columns), spell_over(pair[1], theirs)))
    condition = exp.and_(*rest) if rest else None
    needed = used_columns(condition) if condition is not None else set()
    times = find_progress(graph, done.relation.name)
    windowed = graph.is_windowed(done.relation.name)
    columns = {flat: JoinColumn(c if windowed and c in WINDOW_COLUMNS else flat, 0, c) for flat, c in done.columns.items()}
    columns |= {flat: JoinColumn(flat, 1, c) for flat, c in theirs.items()}
    shown = {
        flat: c
        for flat, c in columns.items()
        if (c.input == 0 or kind.shows_both)
        and (flat in wanted or (c.input == 0 and (c.column in times or c.name in WINDOW_COLUMNS)))
    }
    renamed = {flat: c.name for flat, c in columns.items() if c.name != flat}
    lookup = Lookup(
        context.name(),
        done.relation.name,
        table.name,
        item.alias,
        kind,
        tuple(keys),
        None if condition is None else spell_over(condition, renamed),
        tuple(shown.values()),
        tuple(c for flat, c in columns.items() if flat not in shown and flat in needed),
        done.relation.unit,
    )
    context.add(lookup)
    return Joined(lookup, {flat: c.name for flat, c in shown.items()}, (*done.items, item))


def find_key(node: exp.Expr, mine: set[str], theirs: set[str]) -> tuple[exp.Expr, exp.Expr] | None:
    """The two sides of an equality, one of each input."""
    if not isinstance(node, exp.EQ):
        return None
    for one, other in ((node.this, node.expression), (node.expression, node.this)):
        first, second = used_columns(one), used_columns(other)
        if first and second and first <= mine and second <= theirs:
            return one, other
    return None


def spell_over(node: exp.Expr, columns: dict[str, str]) -> exp.Expr:
    """An expression over the join's columns as one over those of an input."""
    return substitute(node, {name: join_column(c) for name, c in columns.items()})
