"""Laws of routes with dealt leaves."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from benchmarks.simulate.random_routes import draw_branch
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import OptionError
from headrace.program.dealt_tables import DealtTable
from headrace.state.dealt_route import (
    deal_leaf,
    end_dealing,
    find_parts,
    list_copies,
    list_dealt,
    pass_through_whole,
)
from headrace.state.leaf_numbers import find_owner, keep_together, list_numbers, list_owners, number_hashes
from headrace.state.split_route import (
    DealtLeaf,
    Leaf,
    SplitRoute,
    find_slot,
    join_leaves,
    list_leaves,
    read_route,
    write_branch,
)

TABLES = (DealtTable("a", ("b", "c")), DealtTable("b", ("a", "c")))


def draw(seed: int) -> SplitRoute:
    rng = random.Random(seed)
    return tuple(draw_branch(rng, 4, tables=TABLES) for _ in range(5))


SEEDS = st.integers(0, 10_000)


@given(SEEDS)
def test_a_route_is_read_as_it_was_written(seed: int) -> None:
    """Dealt leaves are part of the manifest."""
    route = draw(seed)
    assert read_route(json.loads(json.dumps(route, default=write_branch))) == route


@given(SEEDS, st.integers(0, (1 << 64) - 1))
def test_keys_lead_to_the_first_part(seed: int, value: int) -> None:
    """The number of a hash is that of a leaf or of a first part, in the slot that `find_slot` names."""
    route = draw(seed)
    number = int(number_hashes(route, np.array([value], np.uint64))[0])
    assert list_owners(route)[number] == find_owner(route, number) == find_slot(route, value)
    parts = {n for table in "abc" for found in find_parts(route, table) for part in found.values() for n in part[1:]}
    assert number not in parts and parts <= set(list_numbers(route))


@given(SEEDS, SEEDS)
def test_no_number_changes_its_meaning(one: int, other: int) -> None:
    """From one route to the next a number is of the same leaf, split or dealt as before, or of none."""
    before, after = draw(one), draw(other)
    passed = pass_through_whole(before, after)
    assert pass_through_whole(before, passed) == passed

    def mean(route: SplitRoute) -> dict[Leaf, object]:
        dealt = {part: (leaf, d.dealt, d.copied) for leaf, d in list_dealt(route) for part in d.list_parts(leaf)}
        return {leaf: dealt.get(leaf) for leaf in list_leaves(route)[0]}

    was, now = mean(before), mean(passed)
    assert all(was[leaf] == now[leaf] for leaf in was.keys() & now.keys())
    gone = {n for numbers in list_copies(before, passed).values() for n in numbers}
    assert gone.isdisjoint(list_numbers(passed))


def test_a_leaf_is_dealt_in_its_slot_and_whole_again() -> None:
    """All parts begin where the leaf is; copies of all parts but the first go."""
    route: SplitRoute = (0, (1, 2), 3)
    dealt = deal_leaf(route, Leaf(1, 1, 1), "a", ("b",), 2)
    assert dealt == (0, (1, DealtLeaf("a", ("b",), (2, 2, 2, 2))), 3)
    parts = (25, 31, 37, 43)  # 1 + 3·(7 + 1 + 2·n): three bits, the first of them 1
    assert find_parts(dealt, "a") == ({parts[0]: parts}, {})
    assert find_parts(dealt, "b") == ({}, {parts[0]: parts}) and find_parts(dealt, "c") == ({}, {})
    assert join_leaves(dealt, Leaf(1, 1, 1), 2) == route == end_dealing(dealt, lambda _: False)
    assert end_dealing(dealt, lambda one: one.dealt == "a") == dealt
    assert list_copies(dealt, route) == {"b": frozenset(parts[1:])} and list_copies(dealt, dealt) == {}
    assert keep_together((0, (1, DealtLeaf("a", ("b",), (0, 1, 2, 3))), 3), [1 + 3 * 2]) == (
        (0, (1, DealtLeaf("a", ("b",), (0, 0, 0, 0))), 3)
    )
    for leaf, bits in ((Leaf(1), 1), (Leaf(0), 9), (Leaf(0), 0)):
        with pytest.raises(OptionError):
            deal_leaf(route, leaf, "a", ("b",), bits)
