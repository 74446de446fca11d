"""Windows, lengths and inputs in a person's words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from headrace.logical.graph import Graph, Rows, Stream
from headrace.optimizer.plan import Part, Table
from headrace.progress import ByGroup, Punctuated, Slack, SlackRows
from headrace.windows.describe_window import describe_length


def describe_progress(stream: Stream) -> str:
    """How the progress of a stream is known."""
    own = stream.policy.policy if isinstance(stream.policy, ByGroup) else stream.policy
    if isinstance(own, Slack) and own.bound:
        text = f"slack {describe_length(own.bound, stream.unit)}"
    elif isinstance(own, SlackRows):
        text = f"slack {own.rows} rows"
    elif isinstance(own, Punctuated):
        text = f"punctuated from {stream.beside!r}"
        if stream.mark is not None:
            text = f"punctuated by {stream.mark.sql(dialect='spark')}"
            text += "" if stream.marks_are_data else " (not data)"
    else:
        text = "ordered"
    if stream.groups:
        text += f" {'for' if isinstance(own, Punctuated) else 'per'} ({', '.join(stream.groups)})"
    return text + (f", idle after {describe_length(stream.idle, stream.unit)}" if stream.idle is not None else "")


def describe_input(graph: Graph, name: str) -> str:
    """What a query reads: a name, or for a part without one the streams it selects from."""
    relation = graph.relations[name]
    if "$" not in name:
        return name
    if not isinstance(relation, Rows):
        return f"{name.split('$')[0]}'s input"
    conditions = {b.where for b in relation.branches}
    where = next(iter(conditions)) if len(conditions) == 1 else None
    streams = " + ".join(dict.fromkeys(b.stream for b in relation.branches))
    return streams if where is None else f"{streams} where {where.sql(dialect='spark')}"


def describe_table_keys(table: Table, keys: Sequence[exp.Expr]) -> tuple[str, ...]:
    """What a table is partitioned by, in the words of one of its readers, whose keys these are."""
    words = [k.sql(dialect="spark") for k in keys]
    shown = [f"k{k}" if isinstance(k, int) else k for k in table.partition]
    return tuple(re.sub(r"\bk(\d+)\b", lambda m: words[int(m[1])], text) for text in shown)


def describe_part_keys(part: Part) -> tuple[str, ...] | None:
    """What rows are partitioned by, in their own columns."""
    if part.partition is None:
        return None
    return tuple(k if isinstance(k, str) else k.sql(dialect="spark") for k in part.partition)
