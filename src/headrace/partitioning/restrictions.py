"""What is fixed about the partitioning of a stream (document 000 §1, §3.2): the hardware, or a topic that has a key.

`PARTITIONED BY (destIP)`: the stream comes partitioned so, nothing else can be had without an exchange.
`PARTITIONABLE BY (srcIP, destIP)`: it may be partitioned by any functions of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from headrace.errors import PlanError
from headrace.logical.graph import Graph, Stream
from headrace.partitioning.partitioning_key import PartitioningKey
from headrace.partitioning.recognize_key import recognize_key


@dataclass(frozen=True)
class StreamRestriction:
    keys: tuple[PartitioningKey, ...]
    fixed: bool  # PARTITIONED BY; else PARTITIONABLE BY


Restrictions = Mapping[str, StreamRestriction]


def read_restriction(stream: Stream, expressions: Sequence[exp.Expr], fixed: bool) -> StreamRestriction:
    """The restriction that the expressions in the brackets of a clause stand for."""
    clause = f"stream {stream.name}: {'PARTITIONED' if fixed else 'PARTITIONABLE'} BY"
    return StreamRestriction(read_key_list(stream, expressions, clause), fixed)


def read_restrictions(graph: Graph) -> dict[str, StreamRestriction]:
    """What the streams of a query set declare."""
    return {
        s.name: read_restriction(s, s.partition_by, s.partition_fixed) for s in graph.streams.values() if s.partition_by
    }


def read_key_list(stream: Stream, expressions: Sequence[exp.Expr], clause: str) -> tuple[PartitioningKey, ...]:
    """Partitioning keys from expressions over a stream's attributes; `clause` says where they are written."""
    known = {c.lower(): c for c, _ in stream.columns}
    found = []
    for expression in expressions:
        text = expression.sql(dialect="spark")
        for column in expression.find_all(exp.Column):
            if column.name.lower() not in known:
                raise PlanError(f"{clause} ({text}): there is no column {column.name!r}; it has {', '.join(known.values())}")
        if stream.on.lower() in {c.name.lower() for c in expression.find_all(exp.Column)}:
            raise PlanError(
                f"{clause} ({text}): {stream.on} is the progressing attribute, and rows that come together would all be in "
                "one partition; name attributes that tell what a row is about"
            )
        key = recognize_key(expression, dict(stream.columns))
        if key is None:
            raise PlanError(f"{clause} ({text}): expected an expression over columns that gives the same value every time")
        found.append(key)
    if not found:
        raise PlanError(f"{clause} (): expected at least one column or expression")
    return tuple(dict.fromkeys(found))
