"""Laws of routes with splits, of deciding to split, and of numbering and rescaling slots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.balance.number_slots import number_slots, rescale_slots
from headrace.balance.split_hot import split_hot
from headrace.balance.statistics import Floats, sum_by_slot
from headrace.errors import OptionError
from headrace.state.split_route import (
    DEEPEST,
    Branch,
    Leaf,
    SplitRoute,
    find_slot,
    join_leaves,
    list_leaves,
    replace_slots,
    split_leaf,
)

SLOTS = st.integers(0, 4)
BRANCHES: st.SearchStrategy[Branch] = st.recursive(SLOTS, lambda inner: st.tuples(inner, inner), max_leaves=6)
ROUTES: st.SearchStrategy[SplitRoute] = st.lists(BRANCHES, min_size=1, max_size=8).map(tuple)
HASHES = st.integers(0, (1 << 64) - 1)


@given(ROUTES, HASHES)
def test_every_hash_has_one_leaf(route: SplitRoute, value: int) -> None:
    """Leaves part the hashes, and the slot found is that leaf's."""
    leaves, owners = list_leaves(route)
    held = [n for n, leaf in enumerate(leaves) if leaf.holds(value, len(route))]
    assert len(held) == 1 and owners[held[0]] == find_slot(route, value)


@given(st.lists(SLOTS, min_size=1, max_size=20), HASHES)
def test_a_plain_route_is_todays(slots: list[int], value: int) -> None:
    """Without splits, a hash goes where route[hash mod pids] says."""
    assert find_slot(tuple(slots), value) == slots[value % len(slots)]


@given(ROUTES, st.data(), HASHES)
def test_a_split_moves_rows_of_its_leaf_only_and_can_be_undone(
    route: SplitRoute, data: st.DataObject, value: int
) -> None:
    """Other hashes keep their slot, and joining gives the route of before."""
    leaves, owners = list_leaves(route)
    at = data.draw(st.integers(0, len(leaves) - 1))
    leaf = leaves[at]
    split = split_leaf(route, leaf, (7, 8))
    if leaf.holds(value, len(route)):
        assert find_slot(split, value) == 7 + (value // len(route) >> leaf.depth & 1)
    else:
        assert find_slot(split, value) == find_slot(route, value)
    assert join_leaves(split, leaf, int(owners[at])) == route
    assert [half.parent() for half in leaf.halves()] == [leaf, leaf]
    assert find_slot(split_leaf(route, leaf), value) == find_slot(route, value)


@given(ROUTES)
def test_slots_are_put_back_in_the_order_of_leaves(route: SplitRoute) -> None:
    """Replacing slots by themselves changes nothing."""
    leaves, owners = list_leaves(route)
    assert replace_slots(route, owners) == route
    renamed = replace_slots(route, owners + 1)
    assert list_leaves(renamed)[0] == leaves and (list_leaves(renamed)[1] == owners + 1).all()


def test_wrong_splits_are_refused() -> None:
    """What is not there, not a leaf, or too deep cannot be split or joined."""
    for wrong in (
        lambda: split_leaf(((0, 1),), Leaf(0)),
        lambda: split_leaf((0,), Leaf(0, 1, 0)),
        lambda: split_leaf((0,), Leaf(0, DEEPEST, 0)),
        lambda: join_leaves((0,), Leaf(0), 1),
        lambda: join_leaves((((0, 1), 2),), Leaf(0), 1),
    ):
        with pytest.raises(OptionError):
            wrong()


def shares(*work: float, batches: int = 8) -> list[Floats]:
    return [np.array(work) / sum(work)] * batches


def test_a_hot_mini_partition_is_split_and_joined_when_it_cools() -> None:
    """Above half of a slot's share for two batches it is split into parts that would fit; between the bounds nothing happens;
    cool for eight batches, it is whole again.
    """
    route: SplitRoute = (0, 1, 2, 3)
    loads = (3.2, 1.0, 1.0, 1.0, 1.0)
    assert split_hot((*route, 0), shares(*loads, batches=1), 4).route == (*route, 0)
    spike = [*shares(1, 1, 1, 1, 1), *shares(*loads, batches=1)]
    assert not split_hot((*route, 0), spike, 2).split
    hot = split_hot(route, shares(7.0, 1.0, 1.0, 1.0, batches=2), 2)
    assert hot.split == (Leaf(0),) and hot.route == ((((0, 0), (0, 0)), ((0, 0), (0, 0))), 1, 2, 3)
    route = ((0, 3), *(1, 2) * 10)
    work = [1.0] * 20
    assert split_hot(route, shares(0.1, 0.2, *work, batches=7), 4).route == route
    cool = split_hot(route, shares(0.1, 0.2, *work), 4)
    assert cool.joined == (Leaf(0),) and cool.route == (3, *(1, 2) * 10) and not cool.split
    deep = split_hot(((0, ((3, 2), 1)), *(1, 2) * 10), shares(0.1, 0.05, 0.2, 0.1, *work), 4)
    assert deep.joined == (Leaf(0),) and deep.route == (2, *(1, 2) * 10)
    between = split_hot(route, shares(0.6, 0.7, *work), 4)
    assert between.route == route and not between.joined
    once = [*shares(0.1, 0.2, *work), *shares(1.6, 0.7, *work, batches=1)]
    assert split_hot(route, once, 4).route == route


def test_one_large_group_is_not_split_for_ever() -> None:
    """When a half has nearly all of its parent's load, it is called a hot group, however the other half is split."""
    route: SplitRoute = ((0, 1), 1, 2, 3)
    outcome = split_hot(route, shares(10.0, 0.3, 1.0, 1.0, 1.0), 4)
    assert outcome.hot_groups == (Leaf(0, 1, 0),) and Leaf(0, 1, 0) not in outcome.split
    finer = split_hot(((0, (1, 2)), 1), shares(10.0, 0.3, 0.3, 1.0), 2)
    assert finer.hot_groups == (Leaf(0, 1, 0),)


@given(ROUTES, st.integers(2, 9), st.integers(0, 1000))
def test_what_is_split_stays_where_it_was_and_no_deeper_than_numbers_go(route: SplitRoute, slots: int, seed: int) -> None:
    """Every hash of a leaf that is not joined keeps its slot, in any round."""
    random = np.random.default_rng(seed)
    for _ in range(6):
        leaves, owners = list_leaves(route)
        work = random.pareto(1.0, len(leaves))
        outcome = split_hot(route, [work / work.sum()] * 8, slots)
        after, theirs = list_leaves(outcome.route)
        assert max(leaf.depth for leaf in after) <= DEEPEST
        for leaf, slot in zip(leaves, owners, strict=True):
            if not any(vertex.covers(leaf) for vertex in outcome.joined):
                inside = [s for part, s in zip(after, theirs, strict=True) if leaf.covers(part)]
                assert set(inside) == {slot}
        route = outcome.route


def test_the_heaviest_slot_gets_the_lowest_number() -> None:
    """Numbers follow falling load when they are clearly out of order, and stay when they are not."""
    owners = np.array([0, 1, 1, 2])
    work = np.array([1.0, 2.0, 3.0, 4.0])
    assert number_slots(owners, work, 3).tolist() == [2, 0, 0, 1]
    near = np.array([4.8, 2.0, 3.0, 5.1])
    assert number_slots(owners, near, 3) is owners


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 1 << 20))
def test_rescaling_balances_and_moves_little(before: int, after: int, seed: int) -> None:
    """From n to m slots all numbers are in use, load is level within 10 % and a piece, and more slots take only from others."""
    random = np.random.default_rng(seed)
    owners = np.arange(180) % before
    work = random.uniform(0.5, 1.5, 180)
    found = rescale_slots(owners, work, np.ones(180), after)
    loads = sum_by_slot(work, found, after)
    assert len(loads) == after and loads.max() <= 1.1 * loads.mean() + 1.5 and loads.min() > 0
    if after >= before:
        assert (
            (found == owners) | (found >= before) | (sum_by_slot(work, owners, before)[owners] > loads.mean())
        ).all()
    if after == before:
        assert (found != owners).sum() <= 30
    if after > before:
        assert (found != owners).mean() <= 1 - before / after + 0.1


def test_a_slot_that_goes_is_the_one_with_fewest_bytes() -> None:
    """Rescaling down keeps the slots that hold most state."""
    owners = np.array([0, 1, 1, 2, 2])
    found = rescale_slots(owners, np.ones(5), np.array([1.0, 50.0, 50.0, 60.0, 60.0]), 2)
    assert found[1:].tolist() == [0, 0, 1, 1]
