"""The paper's own problem: all streams are partitioned by the same set (document 000 §4).

Streams are treated as one stream with the attributes all of them are asked for; an attribute whose types do not agree
cannot be used.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot.expressions import Column

from headrace.partitioning.partitioning_key import PartitioningKey, width_of
from headrace.partitioning.plan_cost import CostedPlan
from headrace.partitioning.requirement import KeyView, Requirement

EVERY = "all streams"


def treat_streams_alike(plan: CostedPlan) -> CostedPlan:
    """The same query set over one stream that stands for all; its partitioning is to be used for each."""
    merged: dict[str, set[str]] = {}
    for columns in plan.types.values():
        for name, type_ in columns.items():
            merged.setdefault(name, set()).add(type_.strip().lower())
    types = {
        name: max(found, key=lambda t: width_of(t) or 0)
        for name, found in merged.items()
        if len(found) == 1 or all(width_of(t) for t in found)
    }
    requirements = {n: _merge_streams(r, set(types)) for n, r in plan.requirements.items()}
    return replace(plan, requirements=requirements, types={EVERY: types})


def _merge_streams(requirement: Requirement, known: set[str]) -> Requirement:
    if requirement.views is None:
        return replace(requirement, sources=(EVERY,))
    views = []
    for view in requirement.views:
        keys = tuple(_pick(candidates, known) for candidates in zip(*(k for _, k in view.keys), strict=True))
        views.append(KeyView(((EVERY, keys),)))
    return replace(requirement, views=tuple(views), sources=(EVERY,))


def _pick(candidates: tuple[PartitioningKey | None, ...], known: set[str]) -> PartitioningKey | None:
    usable = (k for k in candidates if k is not None and {c.name for c in k.expression.find_all(Column)} <= known)
    return next(usable, None)
