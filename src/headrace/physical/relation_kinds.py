"""How each kind of relation is lowered; rows over streams are what the source stage makes. A new kind is a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.logical.graph import Aggregate, Derive, Join, Lookup, Merge, Relation
from headrace.logical.temporal_join import TemporalJoin
from headrace.physical.lower_aggregate import lower_aggregate
from headrace.physical.lower_join import lower_join
from headrace.physical.lower_lookup import lower_lookup
from headrace.physical.lower_selection import lower_derive, lower_merge
from headrace.physical.lower_temporal import lower_temporal
from headrace.physical.lowering import Lowering

RELATIONS: Mapping[type[Relation], Callable[[Lowering, Any], None]] = {
    Aggregate: lower_aggregate,
    Derive: lower_derive,
    Join: lower_join,
    Lookup: lower_lookup,
    Merge: lower_merge,
    TemporalJoin: lower_temporal,
}
