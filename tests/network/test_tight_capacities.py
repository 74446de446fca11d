"""When capacities are so tight that the search for the optimum ends without proof: the best plan and the bound."""

from __future__ import annotations

import math
import random
from contextlib import suppress
from dataclasses import replace

import pytest

from headrace.errors import NetworkError
from headrace.network import exact as searching
from headrace.network.deployment import EMPTY
from headrace.network.exact import exact
from headrace.network.explain_deployment import plan_set, render_data, render_text
from headrace.network.network_plan import deploy_plan
from headrace.network.planners import PreparedWorld
from headrace.network.world import World

from .worlds import random_query, random_world


@pytest.fixture(autouse=True)
def short_search(monkeypatch):
    """A limit that is met in a moment; single tests make it shorter still."""
    monkeypatch.setattr(searching, "MOST_BRANCHES", 150)


def tight(seed: int):
    """A world whose nodes hold a join or two, and a query of four or five streams."""
    rng = random.Random(seed)
    world = random_world(rng, 8, 5, plain=True)
    nodes = tuple(replace(n, capacity=rng.choice([math.inf, 250, 120, 90])) for n in world.network.nodes)
    world = World(replace(world.network, nodes=nodes), world.catalog)
    return world, random_query(rng, world, "Q", rng.choice([4, 5]), plain=True)


def proved(seed: int):
    world, query = tight(seed)
    with suppress(NetworkError):
        return world, query, exact(world, query)
    return None


def test_without_proof_the_best_plan_found_comes_with_its_bound(monkeypatch):
    """Within the capacities, no better than the optimum, and the bound is no higher than the optimum."""
    cases = [c for c in map(proved, range(30)) if c is not None and c[2].bound == c[2].cost]
    assert len(cases) > 8
    monkeypatch.setattr(searching, "MOST_BRANCHES", 1)
    unproved = 0
    for world, query, best in cases:
        plan = exact(world, query)
        assert plan.bound <= best.cost * (1 + 1e-9)
        assert plan.cost >= best.cost * (1 - 1e-9)
        assert plan.cost <= best.cost * 3
        unproved += plan.bound < plan.cost * (1 - 1e-9)
        after = deploy_plan(EMPTY, plan)
        assert world.cost(after) == pytest.approx(plan.cost)
        for load, node in zip(world.loads(after), world.network.nodes, strict=True):
            assert load <= node.capacity * (1 + 1e-9)
    assert unproved >= 3


def test_what_cannot_be_placed_is_still_an_error(monkeypatch):
    """No plan at all: said with or without proof."""
    refused = [s for s in range(30) if proved(s) is None]
    assert refused
    for most in (1, 150):
        monkeypatch.setattr(searching, "MOST_BRANCHES", most)
        for seed in refused[:5]:
            world, query = tight(seed)
            with pytest.raises(NetworkError, match=r"cannot be placed|no plan within the capacities"):
                exact(world, query)


def test_a_report_does_not_call_an_unproved_plan_optimal(monkeypatch):
    """It says how far from the optimum it can be at most, in words and for programs."""
    monkeypatch.setattr(searching, "MOST_BRANCHES", 1)
    for seed in range(60):
        world, query = tight(seed)
        planner = PreparedWorld(world).planner("exact")
        try:
            report = plan_set(world, planner, planner, [query])
        except NetworkError:
            continue
        if report.planned[0].plan.bound < report.planned[0].plan.cost * (1 - 1e-6):
            break
    else:
        raise AssertionError("no seed ends without proof")
    line = render_text(report).splitlines()[0]
    assert "at most" in line and "above the optimum" in line
    assert render_data(report)["queries"][0]["optimum_at_least"] == report.planned[0].plan.bound
