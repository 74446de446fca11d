"""What a query node requires of a partitioning (document 000 §3.4): that rows it brings together are together.

An aggregation brings rows with equal group-by values together, a join rows with equal join values; both may read rows
that come along several ways (`trace_sources.SourceView`). So a requirement is *numbered keys along several ways*:
key 0 is `srcIP` along one way and `address` along another. A partitioning is compatible if along every way each of its
keys is the same function of the numbered keys. For one way over one stream that is the paper's definition: every
partitioning key is a scalar expression of group-by variables, and subsets are compatible too. It also decides what
the paper's rule for joins leaves open: a self-join on S1.x = S2.x DIV 60 is not compatible with {x DIV 60}, since
a row with x = 1 has to meet rows with x from 60 to 119.

Selections, projections and unions require nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot.expressions import Column

from headrace.partitioning.express_key import express_key, renumber_step
from headrace.partitioning.partitioning_key import PartitioningKey, width_of
from headrace.partitioning.stream_partitioning import (
    AlignedKey,
    Partitioning,
    Types,
    align_keys,
    make_group,
)


@dataclass(frozen=True)
class KeyView:
    """The numbered keys along one way: by stream, as attributes of it; None where the stream does not have the key.

    Where only one stream is asked, keys say what is told apart (x for x + 7); `values` are the same keys as they are written.
    """

    keys: tuple[tuple[str, tuple[PartitioningKey | None, ...]], ...]
    values: tuple[PartitioningKey | None, ...] = ()

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(s for s, _ in self.keys)


@dataclass(frozen=True)
class Requirement:
    """What one node requires. `views` is None for a node that is compatible with anything."""

    node: str
    kind: str  # aggregation, join, distinct, selection or union
    inputs: tuple[str, ...]
    views: tuple[KeyView, ...] | None
    ignored: tuple[str, ...] = ()  # group-by values that do not count, and why
    sources: tuple[str, ...] = ()  # all streams its rows come from
    numbers: tuple[int, ...] = ()  # of the group-by values that are keys, in the aggregation's own counting

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(s for v in self.views or () for s in v.streams))


def propose_partitioning(requirement: Requirement, types: Types) -> Partitioning | None:
    """The finest partitioning a node is compatible with; None if there is none."""
    if requirement.views is None:
        return Partitioning()
    if not requirement.views:
        return None
    chosen = [max(view.keys, key=lambda entry: sum(k is not None for k in entry[1])) for view in requirement.views]
    found: list[AlignedKey] = []
    for number in range(len(chosen[0][1])):
        keys: dict[str, PartitioningKey] = {}
        usable = True
        for stream, numbered in chosen:
            key = numbered[number]
            usable = usable and key is not None and keys.setdefault(stream, key) == key
        if usable and agree_on_type(keys, types):
            found.append(align_keys(keys))
    group = make_group(found, types) if found else None
    return Partitioning((group,)) if group is not None else None


def is_compatible(requirement: Requirement, partitioning: Partitioning, types: Types) -> bool:
    """Whether a node, its inputs aside, gives the right result on every mini-partition by itself."""
    return requirement.views is None or find_partition_steps(requirement, partitioning, types) is not None


def find_partition_steps(
    requirement: Requirement, partitioning: Partitioning, types: Types
) -> tuple[str, ...] | None:
    """How each key of the partitioning is computed of the node's numbered keys, as text over `_k0`…; None if the node is
    not compatible.
    """
    groups = {partitioning.group_of(s) for s in requirement.streams}
    group = next(iter(groups), None)
    if not requirement.views or len(groups) != 1 or group is None:
        return None
    steps = []
    for position in range(len(group.keys)):
        ways: frozenset[str] | None = None
        for view in requirement.views:
            here: frozenset[str] = frozenset()
            for stream, numbered in view.keys:
                key, given = group.keys[position].of(stream), (*numbered, *view.values)
                found = express_key(key, given, types.get(stream, {}), as_value=len(requirement.streams) > 1)
                numbers = [*range(len(numbered))] * 2  # a key as it is written has the number of the key
                here |= {renumber_step(step, numbers) for step in found} if view.values else found
            ways = here if ways is None else ways & here
        if not ways:
            return None
        steps.append(min(ways))
    return tuple(steps) if all(agree_on_type(dict(k.keys), types) for k in group.keys) else None


def agree_on_type(keys: dict[str, PartitioningKey], types: Types) -> bool:
    """Whether corresponding keys can be hashed alike: all integers, or all of one type."""
    if len(keys) == 1:
        return True
    if any(k.column is None for k in keys.values()):
        used = [
            (k.text, tuple(types.get(s, {}).get(c.name, "") for c in k.expression.find_all(Column))) for s, k in keys.items()
        ]
        return len(set(used)) == 1
    found = {types.get(s, {}).get(k.column or "", "").strip().lower() for s, k in keys.items()}
    return len(found) == 1 or all(width_of(t) for t in found)
