"""`JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency`: the version valid at the row's time.

The keys are what ON, or WHERE, makes equal. Everything else that is said of the version is asked after it was found: the last row
of the key, not the last one that suits. Only AS OF the progressing attribute makes sense, since its progress, and that of the
versions, is what tells when an answer is final. Results of windows take part at the end of their window, on either side.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from headrace.logical.graph import Graph, JoinColumn, JoinInput, StaticTable
from headrace.logical.join_kind import JoinKind
from headrace.logical.progress_columns import find_progress, find_progress_columns
from headrace.logical.temporal_join import TemporalJoin
from headrace.sql.bind_context import BindContext
from headrace.sql.bind_lookup import find_key, is_table, spell_over
from headrace.sql.join_names import FromItem, Joined, JoinNames, used_columns
from headrace.sql.scope import Fail


def is_versioned(item: FromItem) -> bool:
    return item.node.args.get("version") is not None


def check_not_first(item: FromItem, fail: Fail) -> None:
    """Refuse versions where no rows are before them; a table has none."""
    check_versions(item, fail)
    what = "FOR SYSTEM_TIME AS OF belongs to an input that is joined to another"
    raise fail(item.node, f"{what}: JOIN … FOR SYSTEM_TIME AS OF a.ts")


def check_versions(item: FromItem, fail: Fail) -> None:
    if is_table(item):
        what = f"{item.relation.name} is a table and has one version"
        raise fail(item.node, f"{what}; leave FOR SYSTEM_TIME out, or make it a stream")


def find_moment(item: FromItem, names: JoinNames, fail: Fail) -> str:
    """The column of the join that AS OF names."""
    version = item.node.args["version"]
    column = version.expression
    kind = str(version.this).upper(), str(version.args.get("kind")).upper()
    if kind != ("TIMESTAMP", "AS OF") or not isinstance(column, exp.Column):
        raise fail(item.node, "expected FOR SYSTEM_TIME AS OF a column, the progressing attribute of another input")
    return names.flatten(column).name


def look_up_version(
    context: BindContext,
    names: JoinNames,
    done: Joined,
    item: FromItem,
    kind: JoinKind,
    conjuncts: Sequence[exp.Expr],
    wanted: set[str],
) -> Joined:
    """What FROM has given so far, each row with the version of its key; `wanted` are columns that somebody reads afterwards."""
    graph, fail, versions, rows = context.graph(), context.fail, item.relation, done.relation
    check_versions(item, fail)
    assert not isinstance(versions, StaticTable)
    moment = find_moment(item, names, fail)
    if any(item.node.args.get(clause) is not None for clause in ("stream_window", "within")):
        raise fail(item.node, f"{item.alias} has its time from AS OF; leave the window or WITHIN behind it out")
    if kind not in (JoinKind.INNER, JoinKind.LEFT):
        raise fail(item.node, f"FOR SYSTEM_TIME AS OF is for JOIN and LEFT JOIN, not for {kind.upper()} JOIN")
    time = _find_version_time(graph, item, fail)
    if done.columns.get(moment) not in find_progress(graph, rows.name):
        known = [flat for flat, c in done.columns.items() if c in find_progress(graph, rows.name)]
        found = " or ".join(known) or "but there is none"
        raise fail(item.node, f"AS OF {moment}: expected a column that carries progress, {found}")
    theirs = {item.flat(c): c for c in versions.columns}
    pairs = [(c, find_key(c, set(done.columns), set(theirs))) for c in conjuncts]
    keys = [(spell_over(p[0], done.columns), spell_over(p[1], theirs)) for _, p in pairs if p is not None]
    rest = [c for c, p in pairs if p is None]
    if not keys:
        like = f"ON {done.items[0].alias}.key = {item.alias}.key"
        raise fail(item.node, f"{item.alias} needs a key whose last row is meant: {like}")
    condition = exp.and_(*rest) if rest else None
    needed = used_columns(condition) if condition is not None else set()
    own = done.columns[moment]
    columns = {flat: JoinColumn(flat, 0, c) for flat, c in done.columns.items()}
    columns |= {flat: JoinColumn(flat, 1, c) for flat, c in theirs.items()}
    shown = {flat: c for flat, c in columns.items() if flat in wanted or (c.input == 0 and c.column == own)}
    join = TemporalJoin(
        context.name(),
        (
            JoinInput(rows.name, done.items[0].alias, own, tuple(k for k, _ in keys)),
            JoinInput(versions.name, item.alias, time, tuple(k for _, k in keys)),
        ),
        kind,
        condition,
        tuple(shown.values()),
        tuple(c for flat, c in columns.items() if flat not in shown and flat in needed),
        rows.unit,
    )
    context.add(join)
    return Joined(join, {flat: flat for flat in shown}, (*done.items, item))


def _find_version_time(graph: Graph, item: FromItem, fail: Fail) -> str:
    """The time from which on a version holds: the progressing column of its relation, the copied one before functions of it."""
    found = find_progress_columns(graph, item.relation.name)
    if not found:
        raise fail(item.node, f"{item.alias} has no column that carries progress, so no version is ever known to be the last")
    first = next(iter(found))
    alike = [name for name, one in found.items() if one.applied == found[first].applied]
    if not all(graph.relations[item.relation.name].has_equal(graph, name, first) for name in alike):
        others = ", ".join(c for c in item.relation.columns if c not in alike)
        raise fail(
            item.node,
            f"{item.alias} makes progress on {' and '.join(alike)}, and either could be the time of a version; join a query that "
            f"keeps only one of them, like CREATE QUERY versions AS SELECT {', '.join(filter(None, (first, others)))} FROM "
            f"{item.node.name}",
        )
    return first
