"""What a source task observes of a chunk of rows, in the relation `src`: what the policy of its stream asks for."""

from __future__ import annotations

import duckdb

from headrace.kernels.sql_pieces import group_by
from headrace.program.messages import Orders
from headrace.program.program import SourceStream
from headrace.progress import ByGroup, Observation, SlackRows, arrive


def observe_rows(
    con: duckdb.DuckDBPyConnection, stream: SourceStream, orders: Orders, largest: int | None
) -> Observation:
    """What was seen of a stream in `src`, whose `largest` value is known."""
    heard = orders.now if stream.idle is not None and largest is not None else None
    policy = stream.policy.policy if isinstance(stream.policy, ByGroup) else stream.policy
    slack = policy.rows if isinstance(policy, SlackRows) else None
    if largest is None or (stream.mark is None and slack is None and not stream.groups):
        return Observation(largest, heard=heard)
    asked = [*stream.groups, "max(_t)"]
    asked.append(f"max(_t) FILTER (WHERE {stream.mark})" if stream.mark is not None else "NULL")
    if slack is not None:
        asked += ["count(*)", f"max(_t, {slack + 1})"]
    found = []
    for row in con.execute(f"SELECT {', '.join(asked)} FROM src{group_by(list(stream.groups))}").fetchall():
        group, (last, mark, *rows) = tuple(row[: len(stream.groups)]), row[len(stream.groups) :]
        arrivals = (arrive(orders.version, rows[0], rows[1]),) if rows else ()
        found.append((group, Observation(last, mark, heard, arrivals)))
    if not stream.groups:
        return found[0][1]
    return Observation(largest, heard=heard, groups=tuple(sorted(found, key=repr)))
