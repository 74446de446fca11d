"""Partitionings of streams, and Reconcile (document 000 §4.1).

The paper partitions all streams by one set. Here each stream has a set of its own; where rows of two streams must meet
(a join, an aggregation of a union) their sets are *aligned*: the i-th key of one stream is computed as the i-th key of
the other is, so that values that are equal go to the same mini-partition. An `AlignedKey` is one such row of
corresponding keys; streams whose keys are aligned form a `StreamGroup`; a `Partitioning` is groups without a stream in
common.

`reconcile` gives the finest partitioning that is a coarsening of both: for a single stream, the meets of all pairs of
keys; for groups that share streams, what can be computed in the same way from the keys of both on every shared
stream, carried over to the streams only one of them has. None means that no partitioning serves both. It is
idempotent, commutative and associative.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from headrace.partitioning.coarsening import Constant, meet
from headrace.partitioning.express_key import compute_key, express_key
from headrace.partitioning.partitioning_key import PartitioningKey

Types = Mapping[str, Mapping[str, str]]  # stream -> attribute -> Spark type


@dataclass(frozen=True)
class AlignedKey:
    """Corresponding keys of the streams of a group, by stream in alphabetical order."""

    keys: tuple[tuple[str, PartitioningKey], ...]

    def of(self, stream: str) -> PartitioningKey:
        for name, key in self.keys:
            if name == stream:
                return key
        raise KeyError(stream)

    @cached_property
    def streams(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.keys)

    @cached_property
    def text(self) -> str:
        """What it is, in words: one expression if all streams agree on it."""
        texts = dict.fromkeys(k.text for _, k in self.keys)
        return next(iter(texts)) if len(texts) == 1 else " = ".join(f"{s}.{k.text}" for s, k in self.keys)


def align_keys(keys: Mapping[str, PartitioningKey]) -> AlignedKey:
    return AlignedKey(tuple(sorted(keys.items())))


@dataclass(frozen=True)
class StreamGroup:
    """Streams that are partitioned together, and their keys (never none), sorted by text."""

    streams: tuple[str, ...]
    keys: tuple[AlignedKey, ...]

    def keys_of(self, stream: str) -> tuple[PartitioningKey, ...]:
        return tuple(k.of(stream) for k in self.keys)

    @property
    def text(self) -> str:
        return f"{{{', '.join(k.text for k in self.keys)}}}"


@dataclass(frozen=True)
class Partitioning:
    """How streams are partitioned; a stream in no group is not partitioned by values at all (round robin)."""

    groups: tuple[StreamGroup, ...] = ()

    def group_of(self, stream: str) -> StreamGroup | None:
        return next((g for g in self.groups if stream in g.streams), None)

    def keys_of(self, stream: str) -> tuple[PartitioningKey, ...]:
        group = self.group_of(stream)
        return group.keys_of(stream) if group is not None else ()

    def text_of(self, stream: str) -> str:
        """What a stream is partitioned by, in a canonical spelling."""
        return ", ".join(k.text for k in self.keys_of(stream))

    @property
    def text(self) -> str:
        return "; ".join(f"{', '.join(g.streams)} by {g.text}" for g in self.groups) or "round robin"


def make_group(keys: Iterable[AlignedKey], types: Types) -> StreamGroup | None:
    """The group of these keys, which have the same streams, without keys that follow from others."""
    kept = sorted(dict.fromkeys(keys), key=lambda k: (len(k.text), k.text), reverse=True)
    for key in list(kept):
        others = [k for k in kept if k != key]
        if others and find_steps(key, others, types):
            kept = others
    if not kept:
        return None
    streams = tuple(s for s, _ in kept[0].keys)
    return StreamGroup(streams, tuple(sorted(kept, key=lambda k: k.text)))


def make_partitioning(sets: Mapping[str, Iterable[PartitioningKey]], types: Types) -> Partitioning:
    """Each stream by a set of its own, nothing aligned."""
    groups = [make_group([align_keys({s: k}) for k in keys], types) for s, keys in sets.items()]
    return Partitioning(_sort(g for g in groups if g is not None))


def reconcile(a: Partitioning, b: Partitioning, types: Types) -> Partitioning | None:
    """The finest partitioning that is coarser than both; None if there is none."""
    groups = list(a.groups)
    for group in b.groups:
        shared = [g for g in groups if set(g.streams) & set(group.streams)]
        merged: StreamGroup | None = group
        for other in shared:
            merged = _reconcile_groups(other, merged, types) if merged is not None else None
        if merged is None:
            return None
        groups = [g for g in groups if g not in shared] + [merged]
    return Partitioning(_sort(groups))


def find_steps(key: AlignedKey, given: Iterable[AlignedKey], types: Types) -> frozenset[str]:
    """How an aligned key is computed of others, in the same way on every stream it has in common with them."""
    given = list(given)
    shared = [s for s in key.streams if s in given[0].streams] if given else []
    alone = len(key.keys) == 1 and all(len(g.keys) == 1 for g in given)
    found: frozenset[str] | None = None
    for stream in shared:
        ways = express_key(key.of(stream), [g.of(stream) for g in given], types.get(stream, {}), as_value=not alone)
        found = ways if found is None else found & ways
        if not found:
            break
    return found or frozenset()


def _reconcile_groups(a: StreamGroup, b: StreamGroup, types: Types) -> StreamGroup | None:
    if a == b:
        return a
    found: list[AlignedKey] = []
    for one, other in ((a, b), (b, a)):
        for key in one.keys:
            if steps := find_steps(key, other.keys, types):
                found += _extend(key, other, min(steps), types)
    for left in a.keys:
        for right in b.keys:
            found += _meet_keys(left, right, types)
    return make_group(found, types) if found else None


def _extend(key: AlignedKey, group: StreamGroup, step: str, types: Types) -> list[AlignedKey]:
    """A key of some streams as one of more: computed by `step` of the group's keys."""
    keys = dict(key.keys)
    for stream in group.streams:
        if stream not in keys:
            computed = compute_key(step, group.keys_of(stream), types.get(stream, {}))
            if computed is None:
                return []
            keys[stream] = computed
    return [align_keys(keys)]


def _meet_keys(left: AlignedKey, right: AlignedKey, types: Types) -> list[AlignedKey]:
    """The meet of two members of the lattice, if it is the same step from both on all streams."""
    stream = next(s for s in left.streams if s in right.streams)
    a, b = left.of(stream), right.of(stream)
    if a.column is None or a.column != b.column or not (a.exact and b.exact):
        return []
    coarsening = meet(a.coarsening, b.coarsening, a.width)
    if isinstance(coarsening, Constant):
        return []
    target = align_keys({stream: a.coarsen(coarsening)})
    if len(left.keys) == len(right.keys) == 1:
        return [target]
    for step in sorted(find_steps(target, [left], types)):
        for back in sorted(find_steps(target, [right], types)):
            keys: dict[str, PartitioningKey] = {}
            for origin, text in ((left, step), (right, back)):
                for name, key in origin.keys:
                    computed = compute_key(text, [key], types.get(name, {}))
                    if computed is None or keys.setdefault(name, computed) != computed:
                        return []
            return [align_keys(keys)]
    return []


def _sort(groups: Iterable[StreamGroup]) -> tuple[StreamGroup, ...]:
    return tuple(sorted(groups, key=lambda g: g.streams))
