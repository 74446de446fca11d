"""Query sets: order of arrival, improvement, the mixed-integer yardstick; queries that leave."""

from __future__ import annotations

import random

import pytest

from headrace.errors import NetworkError
from headrace.network.deployment import EMPTY, settle_views, withdraw_query
from headrace.network.milp import optimum_of_set
from headrace.network.network_plan import deploy_plan
from headrace.network.planners import PreparedWorld
from headrace.network.query_sets import deploy_in_order, improve_set

from .worlds import change_capacity, random_query, random_world


def small_set(seed: int, plain: bool):
    rng = random.Random(seed)
    world = random_world(rng, rng.choice([5, 6, 8]), 4, plain)
    queries = [
        random_query(rng, world, f"Q{i}", rng.choice([2, 3, 3]), plain) for i in range(rng.choice([3, 4]))
    ]
    return world, queries, PreparedWorld(world).planner("exact")


@pytest.mark.parametrize("seed", range(6))
def test_improved_sets_are_within_two_percent_of_the_optimum(seed):
    """And the mixed-integer optimum is never above what any planner finds: it is a bound on the same
    costs.
    """
    world, queries, planner = small_set(seed, plain=seed % 2 == 0)
    best = optimum_of_set(world, queries)
    assert best.proved
    first = deploy_in_order(planner, queries)
    after = improve_set(world, planner, queries, first)
    assert best.cost <= after.cost * (1 + 1e-6)
    assert after.cost <= first.cost * (1 + 1e-9)
    assert after.cost <= best.cost * 1.02 + 1e-6
    assert world.cost(after.deployment) == pytest.approx(after.cost)
    assert set(after.deployment.queries) == {q.name for q in queries}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_improved_sets_are_within_two_percent(seed):
    """The same on larger sets that share more."""
    rng = random.Random(seed)
    world = random_world(rng, rng.choice([6, 8, 12]), 4, plain=True)
    queries = [random_query(rng, world, f"Q{i}", rng.choice([2, 3, 3, 4]), plain=True) for i in range(5)]
    planner = PreparedWorld(world).planner("exact")
    best = optimum_of_set(world, queries, 120)
    assert (
        improve_set(world, planner, queries, deploy_in_order(planner, queries)).cost
        <= best.cost * 1.02 + 1e-6
    )


@pytest.mark.parametrize("seed", range(3))
def test_costs_add_up(seed):
    """The running total is the cost of what is deployed."""
    world, queries, planner = small_set(seed, plain=True)
    outcome = deploy_in_order(planner, queries[:3])
    assert outcome.cost == pytest.approx(world.cost(outcome.deployment))


@pytest.mark.parametrize("seed", range(15))
def test_what_others_use_stays_when_a_query_leaves(seed):
    """Withdrawing in any order leaves the others whole, never costs more, and ends with nothing."""
    world, queries, planner = small_set(seed, plain=False)
    rng = random.Random(seed)
    deployed = deploy_in_order(planner, queries).deployment
    names = [q.name for q in queries]
    rng.shuffle(names)
    for name in names:
        before = deployed
        deployed = withdraw_query(deployed, name)
        assert settle_views(deployed) == deployed
        assert world.cost(deployed) <= world.cost(before) + 1e-6
        for other in deployed.queries:
            assert deployed.delivery[other].asked == before.delivery[other].asked
        ids = {o.id for o in deployed.operators}
        sinks = {d.query for d in deployed.deliveries}
        for feed, _ in deployed.feeds():
            assert feed.origin.kind == "stream" or feed.origin.name in ids | sinks
    assert deployed == EMPTY


def test_a_query_can_come_back_while_others_read_its_old_sink():
    """What arrives at the old sink goes on under another name until nobody reads it."""
    for seed in range(15):
        world, queries, planner = small_set(seed, plain=True)
        deployed = deploy_in_order(planner, queries).deployment
        for query in queries:
            without = withdraw_query(deployed, query.name)
            again = deploy_plan(without, planner(query, without))
            assert sorted(again.queries) == sorted(deployed.queries)
            assert world.cost(again) <= world.cost(without) + planner(query, without).cost + 1e-6


def test_clear_errors():
    """A query twice, one that is not there, a set too rich for the yardstick."""
    world, queries, planner = small_set(1, plain=True)
    outcome = deploy_in_order(planner, queries)
    with pytest.raises(NetworkError, match="deployed already"):
        deploy_in_order(planner, queries[:1], outcome.deployment)
    with pytest.raises(NetworkError, match="'ghost' is not deployed"):
        withdraw_query(outcome.deployment, "ghost")
    tight = type(world)(change_capacity(world.network, "n0", 5.0), world.catalog)
    with pytest.raises(NetworkError, match="without capacities"):
        optimum_of_set(tight, queries)
