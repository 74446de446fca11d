"""How tasks read a stream's files by themselves, for streams that `optimizer/choose_reader.py` lets them read."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from headrace.dialect.duck import translate
from headrace.dialect.duck_cast import duck_type
from headrace.dialect.sql_quotes import quote_name
from headrace.kernels.scan import Scan
from headrace.logical.graph import Stream
from headrace.optimizer.plan import Plan, RowFeedColumns, TableFeed

_TICKS = {
    "timestamp": "epoch_us({})",
    "timestamp_ntz": "epoch_us({})",
    "date": "TRY_CAST(date_diff('day', DATE '1970-01-01', {})::HUGEINT * 86400000000 AS BIGINT)",
}


def lower_scan(plan: Plan, stream: Stream, schema: bytes, folder: str = "", by_folder: bool = False) -> Scan:
    """The scan of a stream whose files, of Arrow type `schema`, are below `folder` (none: its path names files): for what an
    exchange brings to tables, or for tables kept `by_folder`.
    """
    wanted = find_scanned(plan, stream.name, by_folder)
    scope = plan.types[stream.name]
    tick = _TICKS.get(scope[stream.on], "CAST({} AS BIGINT)").format(quote_name(stream.on))
    select, read = [f"{tick} AS _t"], {stream.on}
    for column in plan.columns[stream.name]:
        if column.name not in wanted:
            continue
        value = translate(column.expression, scope)
        select.append(f"CAST({value.sql} AS {duck_type(column.type)}) AS {column.name}")
        read |= {c.name for c in column.expression.find_all(exp.Column)}
    options, root = {k.lower(): v.lower() for k, v in stream.options}, folder
    if options.get("recursivefilelookup") == "true":
        folder = ""  # names of folders then mean nothing
    columns = tuple(c for c in scope if c in read)
    by = None
    if by_folder and any(f.stream == stream.name for id_ in plan.by_folder for f in _feeds(plan, id_)):
        by = tuple(e.name if isinstance(e, exp.Column) else "" for e in stream.partition_by)
    return Scan(stream.name, ", ".join(select), tick, columns, schema, folder, by, root)


def _feeds(plan: Plan, table: str) -> Sequence[TableFeed | RowFeedColumns]:
    return (*plan.feeds.get(table, ()), *plan.row_feeds.get(table, ()))


def find_scanned(plan: Plan, stream: str, by_folder: bool) -> set[str]:
    """The source columns of a stream that are read for tables kept by folder, or for all else."""
    observed = plan.observed[stream]
    found: set[str | None] = {*observed.groups, observed.mark}
    for id_, feeds in plan.feeds.items():
        for feed in feeds:
            if feed.stream == stream and (id_ in plan.by_folder) == by_folder:
                found |= {feed.where, *feed.keys}
                found |= {c for calls in feed.calls.values() for call in calls for c in (call.where, *call.arguments)}
    for id_, row_feeds in plan.row_feeds.items():
        for rows in row_feeds:
            if rows.stream == stream and (id_ in plan.by_folder) == by_folder:
                found |= {rows.where, *rows.keys, *rows.values}
    for passing in plan.passing:
        if passing.stream == stream and not by_folder:
            found |= {passing.where, *passing.columns}
    return {c for c in found if c is not None}
