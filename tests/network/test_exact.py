"""The exact planner against plain enumeration, and its costs against the deployments they stand for."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from benchmarks.network.baselines.exhaustive import exhaustive

from headrace.network.deployment import EMPTY, settle_views
from headrace.network.distance_metric import DistanceMetric
from headrace.network.exact import exact
from headrace.network.network_plan import deploy_plan, list_reused
from headrace.network.topology import CostModel
from headrace.network.world import World

from .worlds import random_query, random_world


@pytest.mark.parametrize("seed", range(200))
def test_exact_equals_exhaustive_without_and_with_reuse(seed):
    """Three queries arrive: each plan costs what enumeration finds, and adds to the deployment what it
    says.
    """
    rng = random.Random(seed)
    plain = seed % 3 == 0
    costs = CostModel(processing=rng.choice([0.0, 5.0]), unit=rng.choice(["bytes", "tuples"]))
    world = random_world(rng, rng.randint(2, 4), 4, plain, costs)
    deployed = EMPTY
    for number in range(3):
        query = random_query(rng, world, f"Q{number}", rng.choice([2, 3, 3, 4]), plain)
        alone = exact(world, query, reuse=False)
        assert alone.cost == pytest.approx(exhaustive(world, query, reuse=False).cost)
        shared = exact(world, query, deployed)
        reference = exhaustive(world, query, deployed)
        assert shared.cost == pytest.approx(reference.cost)
        assert shared.cost <= alone.cost * (1 + 1e-9) + 1e-9
        assert shared.examined >= reference.examined
        after = deploy_plan(deployed, shared)
        assert world.cost(after) - world.cost(deployed) == pytest.approx(shared.cost, abs=1e-6)
        assert settle_views(after) == after
        deployed = after


def test_random_queries_do_reuse():
    """The property above is not empty: over its seeds, derived streams are taken, and relaxed for a price."""
    taken = relaxed = 0
    for seed in range(40):
        rng = random.Random(seed)
        world = random_world(rng, 4, 3)
        deployed = EMPTY
        for number in range(4):
            plan = exact(world, random_query(rng, world, f"Q{number}", rng.choice([2, 3])), deployed)
            for leaf in list_reused(plan.tree):
                taken += 1
                relaxed += deployed.offered_view(leaf.origin) != deploy_plan(deployed, plan).offered_view(
                    leaf.origin
                )
            deployed = deploy_plan(deployed, plan)
    assert taken > 20
    assert relaxed > 5


@pytest.mark.parametrize("seed", range(40))
def test_exact_equals_exhaustive_under_capacities(seed):
    """Nodes that hold one join but not two: the optimum within the capacities, or the same refusal."""
    from headrace.errors import NetworkError

    rng = random.Random(1000 + seed)
    world = random_world(rng, 3, 4, plain=True)
    nodes = tuple(replace(n, capacity=rng.choice([math.inf, 150, 80, 40, 0])) for n in world.network.nodes)
    world = World(replace(world.network, nodes=nodes), world.catalog)
    deployed = EMPTY
    for number in range(3):
        query = random_query(rng, world, f"Q{number}", rng.choice([2, 3, 4]), plain=True)
        try:
            reference = exhaustive(world, query, deployed)
        except NetworkError:
            with pytest.raises(NetworkError, match="capacit"):
                exact(world, query, deployed)
            continue
        plan = exact(world, query, deployed)
        assert plan.cost == pytest.approx(reference.cost)
        deployed = deploy_plan(deployed, plan)
        for i, node in enumerate(world.network.nodes):
            assert world.loads(deployed)[i] <= node.capacity + 1e-6


@pytest.mark.parametrize("seed", range(20))
def test_matrix_and_dijkstra_give_the_same_plan_cost(seed):
    """Small networks use a matrix, large ones a Dijkstra run per set; the numbers are the same."""
    rng = random.Random(seed)
    world = random_world(rng, 12, 5)
    sparse = World(world.network, world.catalog)
    sparse.__dict__["metric"] = DistanceMetric(world.network, world.costs, dense=False)
    one, other = EMPTY, EMPTY
    for number in range(4):
        query = random_query(rng, world, f"Q{number}", rng.randint(2, 5))
        plan, same = exact(world, query, one), exact(sparse, query, other)
        assert plan.cost == pytest.approx(same.cost)
        one, other = deploy_plan(one, plan), deploy_plan(other, same)
