"""Plan transformations: what each rule does, and that a transformed plan gives the agnostic plan's results.

The oracle runs plans of the small algebra on rows in Python: a stream `t` of (x, y, v), `flows` counts by (x, y), `heavy` takes
the largest count by x of what is above one, `pairs` joins heavy with itself on x, and so on.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.partitioning.distributed_plan import (
    DistributedNode,
    DistributedPlan,
    build_agnostic_plan,
    export_plan,
    render_plan,
)
from headrace.partitioning.push_aggregation import can_push_aggregation
from headrace.partitioning.push_join import can_push_join, push_join
from headrace.partitioning.push_selection import can_push_selection
from headrace.partitioning.requirement import Requirement
from headrace.partitioning.separate_merges import separate_merges
from headrace.partitioning.split_aggregation import can_split_aggregation, split_aggregation
from headrace.partitioning.transform_plan import transform_plan

Row = tuple[int | None, ...]
REQUIREMENTS = {
    "t": Requirement("t", "selection", (), None, sources=("t",)),
    "some": Requirement("some", "selection", ("t",), None, sources=("t",)),
    "flows": Requirement("flows", "aggregation", ("some",), (), sources=("t",)),
    "heavy": Requirement("heavy", "aggregation", ("flows",), (), sources=("t",)),
    "pairs": Requirement("pairs", "join", ("heavy",), (), sources=("t",)),
    "sums": Requirement("sums", "aggregation", ("t",), (), sources=("t",)),
    "both": Requirement("both", "join", ("heavy", "sums"), (), sources=("t",)),
    "all": Requirement("all", "union", ("heavy", "sums"), None, sources=("t",)),
}
WANTED = ("flows", "pairs", "both", "all", "sums")
COMPATIBLE = {
    ("x",): ("flows", "heavy", "pairs", "sums", "both"),
    ("y",): ("flows",),
    ("x", "y"): ("flows",),
    ("v",): (),
}
COLUMNS = ("x", "y", "v")


def group(rows: list[Row], keys: int, start: int, fold: str) -> list[Row]:
    found: dict[Row, int] = {}
    for row in rows:
        value = row[start] if fold != "count" else 1
        old = found.get(row[:keys])
        found[row[:keys]] = value if old is None else (max(old, value) if fold == "max" else old + value)  # type: ignore[type-var, operator, assignment]
    return [(*k, v) for k, v in found.items()]


def run_aggregate(query: str, rows: list[Row], step: str) -> list[Row]:
    keys, start, fold = {"flows": (2, 2, "count"), "heavy": (1, 2, "max"), "sums": (1, 2, "sum")}[query]
    if step == "super":
        start, fold = keys, "sum" if fold == "count" else fold
    found = group(rows, keys, start, fold)
    having = query == "heavy" and step != "sub"
    return [r for r in found if not having or r[-1] > 1]  # type: ignore[operator]


def run_plan(plan: DistributedPlan, sources: dict[str, list[Row]]) -> dict[str, Counter[Row]]:
    results: dict[str, list[Row]] = {}
    for name, node in plan.nodes.items():
        inputs = [results[i] for i in node.inputs]
        if node.kind == "source":
            rows = sources[name]
        elif node.kind in ("merge", "union") or node.query == "t":
            rows = [r for i in inputs for r in i]
        elif node.kind == "selection":
            rows = [r for r in inputs[0] if r[2] != 0]
        elif node.kind in ("aggregation", "sub", "super"):
            rows = run_aggregate(node.query, inputs[0], node.kind)
        elif node.kind == "pad":
            rows = [(*r, None) for r in inputs[0]]
        else:
            right = {r[0]: r[1] for r in inputs[1]}
            rows = [(*r, right.get(r[0])) for r in inputs[0] if r[0] in right or 1 in node.padded]
        results[name] = rows
    return {q: Counter(results[q]) for q in WANTED if q in results}


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 5)), max_size=40),
    st.sampled_from(sorted(COMPATIBLE)),
    st.integers(1, 4),
)
@settings(max_examples=150, deadline=None)
def test_a_transformed_plan_gives_the_same_results(rows: list[Row], keys: tuple[str, ...], partitions: int) -> None:
    """For any partitioning, compatible with all, some or none of the queries."""
    padded = {"both": frozenset({1})}
    agnostic = build_agnostic_plan(REQUIREMENTS, partitions, COMPATIBLE[keys], padded, delivered=WANTED)
    sources: dict[str, list[Row]] = {f"source/t/{i}": [] for i in range(partitions)}
    for row in rows:
        sources[f"source/t/{sum(row[COLUMNS.index(k)] or 0 for k in keys) % partitions}"].append(row)
    transformed = transform_plan(agnostic)
    assert run_plan(transformed, sources) == run_plan(agnostic, sources)
    assert set(run_plan(transformed, sources)) == set(WANTED)


def test_compatible_queries_run_on_every_partition() -> None:
    """With a partitioning compatible with all, nothing but merges of results is above the partitions."""
    plan = transform_plan(build_agnostic_plan(REQUIREMENTS, 3, COMPATIBLE[("x",)], delivered=WANTED))
    above = {n.kind for n in plan.nodes.values() if n.partition is None}
    assert above == {"merge"}
    assert {n.query for n in plan.nodes.values() if n.partition is None} == set(WANTED)


def test_an_incompatible_aggregation_is_split() -> None:
    """Sub-aggregates on partitions, a super-aggregate once, and what reads it stays above."""
    chain = {n: REQUIREMENTS[n] for n in ("t", "some", "flows", "heavy")}
    plan = transform_plan(build_agnostic_plan(chain, 2, ("flows",), delivered=("heavy",)))
    assert render_plan(plan) == [
        "t: on 2 partitions",
        "selection t: on 2 partitions over t",
        "selection some: on 2 partitions over selection t",
        "aggregation flows: on 2 partitions over selection some",
        "sub heavy: on 2 partitions over aggregation flows",
        "merge of heavy: once over sub heavy",
        "super heavy: once over merge of heavy",
    ]


def test_the_agnostic_plan_merges_first() -> None:
    """Figure 3: all partitions are merged before anything is done."""
    plan = build_agnostic_plan({n: REQUIREMENTS[n] for n in ("t", "sums")}, 6)
    assert render_plan(plan) == [
        "t: on 6 partitions",
        "merge of t: once over t",
        "selection t: once over merge of t",
        "aggregation sums: once over selection t",
    ]


def test_an_aggregation_that_does_not_split_stays_above() -> None:
    """Without a sub/super pair there is nothing to do but to merge."""
    plan = build_agnostic_plan({n: REQUIREMENTS[n] for n in ("t", "sums")}, 2, unsplit=("sums",))
    assert transform_plan(plan).nodes["sums"].kind == "aggregation"
    assert transform_plan(plan).nodes["sums"].partition is None


def make_plan(*nodes: DistributedNode, compatible: tuple[str, ...] = ("q",), delivered: tuple[str, ...] = ()) -> DistributedPlan:
    return DistributedPlan({n.name: n for n in nodes}, frozenset(compatible), frozenset(delivered))


PARTS = (DistributedNode("s/0", "source", "s", (), 0), DistributedNode("s/1", "source", "s", (), 1))
MERGE = DistributedNode("m", "merge", "s", ("s/0", "s/1"))
Q = DistributedNode("q", "aggregation", "q", ("m",))


def test_the_only_parent_rule() -> None:
    """A merge that others read, or that is wanted itself, is not taken away; separated, it can be."""
    other = DistributedNode("o", "aggregation", "o", ("m",))
    for can, query in ((can_push_aggregation, ("q",)), (can_split_aggregation, ())):
        assert can(make_plan(*PARTS, MERGE, Q, compatible=query), Q)
        assert not can(make_plan(*PARTS, MERGE, Q, other, compatible=query), Q)
        assert not can(make_plan(*PARTS, MERGE, Q, compatible=query, delivered=("m",)), Q)
    apart = separate_merges(make_plan(*PARTS, MERGE, Q, other))
    assert can_push_aggregation(apart, apart.nodes["q"])
    assert "m" not in apart.nodes
    selection = DistributedNode("q", "selection", "q", ("m",))
    assert can_push_selection(make_plan(*PARTS, MERGE, selection), selection)
    assert not can_push_selection(make_plan(*PARTS, MERGE, selection, other), selection)


@pytest.mark.parametrize("kind", ["aggregation", "join", "selection"])
def test_rows_that_are_not_by_partition_cannot_be_pushed_to(kind: str) -> None:
    """Nothing moves below what is in one place already."""
    whole = DistributedNode("w", "super", "w", ())
    merge = DistributedNode("m", "merge", "s", ("w",))
    node = DistributedNode("q", kind, "q", ("m", "m") if kind == "join" else ("m",))
    plan = make_plan(whole, merge, node)
    assert not any(can(plan, node) for can in (can_push_aggregation, can_push_join, can_push_selection, can_split_aggregation))


def make_join_plan(padded: frozenset[int]) -> tuple[DistributedPlan, DistributedNode]:
    left = DistributedNode("l", "merge", "l", ("s/0", "s/1"))
    third = DistributedNode("r/2", "source", "r", (), 2)
    first = DistributedNode("r/1", "source", "r", (), 1)
    right = DistributedNode("r", "merge", "r", ("r/1", "r/2"))
    join = DistributedNode("q", "join", "q", ("l", "r"), padded=padded)
    return make_plan(*PARTS, left, first, third, right, join), join


@pytest.mark.parametrize(
    ("padded", "expected"),
    [((), ["join 1"]), ((1,), ["pad 0", "join 1"]), ((0,), ["join 1", "pad 2"]), ((0, 1), ["pad 0", "join 1", "pad 2"])],
)
def test_partitions_without_a_partner(padded: tuple[int, ...], expected: list[str]) -> None:
    """An inner join ignores them; an outer join that keeps their rows pads these with NULLs."""
    plan, join = make_join_plan(frozenset(padded))
    assert can_push_join(plan, join)
    found = push_join(plan, join)
    assert [f"{n.kind} {n.partition}" for n in found.inputs_of(found.nodes["q"])] == expected
    assert found.nodes["q"].kind == "merge"
    assert "l" not in found.nodes and "r" not in found.nodes


def test_an_incompatible_join_stays_above() -> None:
    """Rows of other partitions may match, so all have to meet."""
    plan, join = make_join_plan(frozenset())
    assert not can_push_join(DistributedPlan(plan.nodes), join)


def test_splitting_keeps_the_name_for_the_whole() -> None:
    """What reads the aggregation reads the super-aggregate."""
    plan = split_aggregation(make_plan(*PARTS, MERGE, Q, compatible=()), Q)
    assert plan.nodes["q"].kind == "super"
    assert [n.kind for n in plan.inputs_of(plan.nodes["merge/q"])] == ["sub", "sub"]


def test_plans_as_data() -> None:
    """Every node and edge is in the JSON."""
    plan = make_plan(*PARTS, MERGE, Q)
    data = export_plan(plan)
    assert {"id": "s/0", "kind": "source", "label": "s", "partition": 0} in data["nodes"]
    assert data["edges"] == [["s/0", "m"], ["s/1", "m"], ["m", "q"]]
    assert json.loads(json.dumps(data)) == data
