"""What tables of rows store, as text, and the time of rows of slots."""

from __future__ import annotations

from headrace.dialect.duck_expression import spark_sql
from headrace.dialect.sql_quotes import quote_name
from headrace.logical.graph import Graph
from headrace.optimizer.plan import Plan, RowTable, TransitTable
from headrace.optimizer.trace_columns import describe_rows, has_columns_of_streams


def describe_stored(plan: Plan, table: RowTable | TransitTable) -> object:
    """What a table of rows stores, down to the text of its columns: its name is a hash of it."""
    feeds = []
    for feed in plan.row_feeds[table.id]:
        text = {c.name: spark_sql(c.expression) for c in plan.columns[feed.stream]}
        where = text[feed.where] if feed.where is not None else None
        stored = (feed.stream, where, [text[k] for k in feed.keys], [text[v] for v in feed.values])
        feeds.append((*stored, feed.steps) if feed.steps else stored)
    query = plan.graph.queries.get(table.input)
    keys = [spark_sql(k) for k in table.keys]
    cohort = table.cohort if isinstance(table, RowTable) else "transit"
    rows: object = feeds or (table.input, query)
    first = next(iter(plan.passages[table.input].columns), None)
    time = table.find_time(plan.graph) or first
    if feeds and not has_columns_of_streams(plan.graph, table.input):  # others may store the same of the stream
        rows = feeds, describe_rows(plan.graph, table.input), query, time
    elif time != first:  # results of a join have several
        rows = rows, time
    return ("rows", rows, keys, table.types, table.columns, cohort)



def keeps_unmatched(plan: Plan, table: RowTable) -> bool:
    """Whether some join, or lookup of versions, shows rows of a table that meet nobody."""
    return any(i in join.kind.kept for join, i in table.list_joins(plan.graph))



def time_sql(graph: Graph, relation: str, column: str) -> str:
    """The progressing value of a row of slots, in ticks."""
    if graph.is_windowed(relation):
        return "_we - 1"
    return tick_sql(graph.relations[relation].unit, column)



def tick_sql(unit: str, column: str) -> str:
    """A value of a progressing column, in ticks."""
    return f"epoch_us({quote_name(column)})" if unit == "us" else f"{quote_name(column)}::BIGINT"
