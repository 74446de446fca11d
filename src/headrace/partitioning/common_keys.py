"""The keys a node is partitioned by: those its readers group by too, by columns alone.

So were exchanges of results placed before `choose_exchange_keys.py` chose them by expressions, and a checkpoint that began
so goes on so: its plan file does not say by what such a table is partitioned, and state never moves to another hash.
A node may be partitioned by any subset of its group-by keys (document 000 §3.3). The choice is the keys common to a node and its
readers, reader by reader while something is left; a reader that shares nothing with the rest gets an exchange of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlglot import exp

from headrace.logical.graph import Aggregate, Derive, Graph, Merge


def common_keys(graph: Graph, members: Sequence[Aggregate], readers: Collection[str]) -> tuple[int, ...]:
    """Key numbers to partition `members` (which share their keys) by; only `readers` are asked."""
    chosen = list(range(len(members[0].keys)))
    for member in members:
        for grouped in _groupings(graph, member.name, dict(find_key_outputs(member)), readers):
            common = [k for k in chosen if k in grouped]
            if common:
                chosen = common
    return tuple(chosen)


def find_key_outputs(relation: Aggregate) -> list[tuple[str, int]]:
    """(output, key number) for outputs that are a key as it is."""
    return [
        (n, int(e.name[1:]))
        for n, e in relation.outputs
        if isinstance(e, exp.Column) and e.name[:1] == "k" and e.name[1:].isdigit()
    ]


def _groupings(
    graph: Graph, name: str, carried: Mapping[str, int], readers: Collection[str]
) -> list[set[int]]:
    """For each aggregation that reads `name`, the keys it groups by; `carried` maps columns to keys."""
    found: list[set[int]] = []
    for other in readers:
        relation = graph.relations[other]
        if isinstance(relation, Derive) and relation.input == name:
            inner = {
                n: carried[e.name]
                for n, e in relation.outputs
                if isinstance(e, exp.Column) and e.name in carried
            }
            found += _groupings(graph, other, inner, readers)
        elif isinstance(relation, Merge) and name in relation.inputs:
            found += _groupings(graph, other, carried, readers)
        elif isinstance(relation, Aggregate) and relation.input == name:
            keys = {
                i: carried[k.name]
                for i, k in enumerate(relation.keys)
                if isinstance(k, exp.Column) and k.name in carried
            }
            found.append(set(keys.values()))
            inner = {n: keys[i] for n, i in find_key_outputs(relation) if i in keys}
            found += _groupings(graph, other, inner, readers)
    return found
