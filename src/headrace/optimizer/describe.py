"""Windows, lengths and inputs in a person's words."""

from __future__ import annotations

from datetime import datetime, timedelta

from headrace.logical.graph import Graph, Rows, Stream
from headrace.progress import ByGroup, Punctuated, Slack, SlackRows
from headrace.windows import Cumulative, Sliding, WindowSpec

_SIZES = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1000, "ms"))


def describe_length(ticks: int, unit: str) -> str:
    """A number of ticks as a person would write it."""
    if unit != "us":
        return str(ticks)
    if ticks == 0:
        return "0 s"
    for size, name in _SIZES:
        if ticks % size == 0:
            return f"{ticks // size} {name}"
    return f"{ticks} µs"


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


def describe_window(window: WindowSpec, unit: str) -> str:
    every = describe_length(window.slide, unit)
    if isinstance(window, Sliding):
        text = f"{window.kind} {describe_length(window.range, unit)}"
        text += "" if window.tumbling else f" every {every}"
        text += ", ends aligned" if window.align == "end" else ""
    else:
        text = f"{window.kind} all every {every}"
        text += f", reset {describe_length(window.reset, unit)}" if isinstance(window, Cumulative) else ""
    return text + (f", origin {_describe_tick(window.origin, unit)}" if window.origin else "")


def _describe_tick(tick: int, unit: str) -> str:
    """A moment, or a length where it is not far from the epoch."""
    if unit != "us" or abs(tick) < _SIZES[0][0]:
        return describe_length(tick, unit)
    return f"{datetime(1970, 1, 1) + timedelta(microseconds=tick)}"


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
