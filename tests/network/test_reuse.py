"""What a deployed join can serve beyond its own query: larger windows, fewer predicates, other aliases."""

from __future__ import annotations

import random

import pytest
from benchmarks.network.baselines.exhaustive import exhaustive

from headrace.network import reusable_streams
from headrace.network.deployment import EMPTY, FeedOrigin, settle_views, withdraw_query
from headrace.network.deployment_json import deployment_from_data, deployment_to_data
from headrace.network.exact import exact
from headrace.network.join_query import JoinQuery, normalize_query, parse_predicate
from headrace.network.join_view import TIME, ViewInput, combine_views, rename_view
from headrace.network.network_generators import transit_stub
from headrace.network.network_plan import deploy_plan, list_reused
from headrace.network.planners import PreparedWorld
from headrace.network.query_sets import deploy_in_order, improve_set
from headrace.network.reusable_streams import _settle_twice_used
from headrace.network.stream_catalog import BaseStream, Catalog, ColumnStatistics
from headrace.network.stream_filters import NONE, Atom, Condition, StreamFilter
from headrace.network.subsets import Entry
from headrace.network.topology import Link, Network, NetworkNode
from headrace.network.workload import enterprise
from headrace.network.world import World

LINE = tuple(Link(f"n{i}", f"n{i + 1}", 2.0) for i in range(4))


def line_world() -> World:
    columns = (*(ColumnStatistics(c, 4, distinct=50) for c in "kmf"), ColumnStatistics("v", 40))
    streams = tuple(BaseStream(n, at, 20.0, 60, columns) for n, at in (("S", "n0"), ("T", "n1")))
    return World(Network(tuple(NetworkNode(f"n{i}") for i in range(5)), LINE), Catalog(streams))


def ask(
    name: str,
    windows: tuple[float, float],
    on: str = "k",
    sink: str = "n4",
    left: str = "S",
    right: str = "T",
):
    """S ⋈ T on some columns, `v` of both."""
    inputs = tuple(ViewInput(n, NONE, w, frozenset("v")) for n, w in zip((left, right), windows, strict=True))
    predicates = tuple(parse_predicate(f"{left}.{c}", f"{right}.{c}") for c in on)
    return JoinQuery(name, sink, inputs, predicates, 60.0)


def second(world: World, first: JoinQuery, then: JoinQuery):
    """Two queries one after the other; the second's plan, checked against its deployment and enumeration."""
    deployed = deploy_plan(EMPTY, exact(world, first))
    plan = exact(world, then, deployed)
    after = deploy_plan(deployed, plan)
    assert world.cost(after) - world.cost(deployed) == pytest.approx(plan.cost, abs=1e-6)
    assert plan.cost == pytest.approx(exhaustive(world, then, deployed).cost)
    assert settle_views(after) == after
    assert deployment_from_data(deployment_to_data(after)) == after
    return plan, after


def test_a_join_with_a_larger_window_serves_a_smaller_one():
    """The rows' times travel, so that the smaller window can be applied after the join."""
    plan, after = second(line_world(), ask("Q1", (300.0, 300.0)), ask("Q2", (60.0, 300.0)))
    (leaf,) = list_reused(plan.tree)
    carried = after.offered_view(leaf.origin)
    assert [i.window for i in carried.inputs] == [300.0, 300.0]
    assert TIME in carried.inputs[0].columns
    assert TIME not in carried.inputs[1].columns
    assert after.delivery["Q2"].feed.view.inputs[0].window == 60.0
    assert after.selections() == 1


def test_a_smaller_window_is_enlarged_where_that_pays():
    """And goes back to what it was when the second query leaves."""
    world = line_world()
    first = ask("Q1", (250.0, 300.0))
    plan, after = second(world, first, ask("Q2", (300.0, 300.0)))
    assert list_reused(plan.tree)
    assert max(i.window for o in after.operators for i in o.view.inputs) == 300.0
    alone = deploy_plan(EMPTY, exact(world, first))
    assert world.cost(withdraw_query(after, "Q2")) == pytest.approx(world.cost(alone))


def test_a_join_with_fewer_predicates_serves_one_with_more():
    """The columns of the further predicate travel, and it is tested after the join."""
    plan, after = second(line_world(), ask("Q1", (60.0, 60.0), "k"), ask("Q2", (60.0, 60.0), "km"))
    assert list_reused(plan.tree)
    carried = after.offered_view(list_reused(plan.tree)[0].origin)
    assert [str(p) for p in carried.predicates] == ["S.k = T.k"]
    assert all("m" in i.columns for i in carried.inputs)
    assert len(after.delivery["Q2"].feed.view.predicates) == 2


def test_relaxing_makes_no_cross_product():
    """Joins that share no predicate are not merged into one without any."""
    plan, _ = second(line_world(), ask("Q1", (60.0, 60.0), "k"), ask("Q2", (60.0, 60.0), "m"))
    assert not list_reused(plan.tree)


def test_another_slide_is_another_stream():
    """Results computed every minute do not serve a query that asks every five."""
    from dataclasses import replace

    plan, _ = second(line_world(), ask("Q1", (60.0, 60.0)), replace(ask("Q2", (60.0, 60.0)), slide=300.0))
    assert not list_reused(plan.tree)


def self_join(name: str, first: str, other: str) -> JoinQuery:
    """S with itself: `first` is filtered to f = 1, `other` is not."""
    kept = StreamFilter((Condition("f", frozenset("f"), frozenset((Atom(0.02, "1"),))),))
    inputs = (ViewInput(first, kept, 60.0, frozenset("v")), ViewInput(other, NONE, 60.0, frozenset("v")))
    return JoinQuery(name, "n4", inputs, (parse_predicate(f"{first}.k", f"{other}.k"),), 60.0)


def test_a_self_join_is_known_under_another_alias():
    """S#2 and S, or S and S#2: which use is called which is a matter of spelling."""
    world = line_world()
    plan, after = second(world, self_join("Q1", "S", "S#2"), self_join("Q2", "S#2", "S"))
    (leaf,) = list_reused(plan.tree)
    assert dict(leaf.aliases) == {"S": "S#2", "S#2": "S"}
    assert plan.cost == 0.0
    assert after.delivery["Q1"].feed.view == normalize_query(world.catalog, self_join("Q1", "S", "S#2"))
    assert withdraw_query(withdraw_query(after, "Q1"), "Q2") == EMPTY


def test_renaming_there_and_back():
    """A view under other names and back is the same view."""
    view = normalize_query(line_world().catalog, self_join("Q", "S", "S#2"))
    swapped = rename_view(view, (("S", "S#2"), ("S#2", "S")))
    assert swapped != view
    assert rename_view(swapped, (("S", "S#2"), ("S#2", "S"))) == view


@pytest.mark.parametrize("seed", range(60))
def test_mixed_windows_predicates_and_aliases_against_enumeration(seed):
    """Random sets: each plan is the optimum, costs what it adds, and everything goes when all have left."""
    rng = random.Random(seed)
    world, deployed, names = line_world(), EMPTY, []
    for number in range(4):
        left, right = rng.choice([("S", "T"), ("S", "T"), ("S", "S#2"), ("S#2", "S")])
        windows = (rng.choice([60.0, 120.0, 300.0]), rng.choice([60.0, 120.0, 300.0]))
        on, sink = rng.choice(["k", "m", "km"]), rng.choice(world.network.names)
        query = ask(f"Q{number}", windows, on, sink, left, right)
        plan = exact(world, query, deployed)
        assert plan.cost == pytest.approx(exhaustive(world, query, deployed).cost)
        assert plan.cost <= exact(world, query, reuse=False).cost + 1e-6
        after = deploy_plan(deployed, plan)
        assert world.cost(after) - world.cost(deployed) == pytest.approx(plan.cost, abs=1e-6)
        for origin in after.consumers:
            for user in after.consumers[origin]:
                for feed in getattr(user, "feeds", None) or (user.feed,):
                    if feed.origin == origin and origin.kind != "stream":
                        assert combine_views((after.offered_view(origin), feed.taken)) == after.offered_view(
                            origin
                        )
        deployed, names = after, [*names, query.name]
    for name in rng.sample(names, len(names)):
        deployed = withdraw_query(deployed, name)
    assert deployed == EMPTY


@pytest.mark.parametrize("value", ["1", "2"])
def test_one_stream_for_two_sets_of_one_query(value):
    """S ⋈ T twice in one query: what is deployed may serve both, and the plan costs what it adds."""
    world = line_world()
    kept = StreamFilter((Condition("f", frozenset("f"), frozenset((Atom(0.02, "1"),))),))
    first = JoinQuery(
        "Q1",
        "n4",
        (ViewInput("S", kept, 60.0, frozenset("v")), ViewInput("T", NONE, 60.0, frozenset("v"))),
        (parse_predicate("S.k", "T.k"),),
        60.0,
    )
    asked = StreamFilter((Condition("f", frozenset("f"), frozenset((Atom(0.02, value),))),))
    names = ("S", "T", "S#2", "T#2")
    inputs = tuple(ViewInput(n, asked if n[0] == "S" else NONE, 60.0, frozenset("v")) for n in names)
    on = (("S.k", "T.k"), ("S#2.k", "T#2.k"), ("S.m", "S#2.m"))
    query = JoinQuery("Q2", "n4", inputs, tuple(parse_predicate(a, b) for a, b in on), 60.0)
    deployed = deploy_plan(EMPTY, exact(world, first))
    plan = exact(world, query, deployed)
    after = deploy_plan(deployed, plan)
    assert world.cost(after) - world.cost(deployed) == pytest.approx(plan.cost, abs=1e-6)
    assert (value == "2") or list_reused(plan.tree)


def test_two_relaxations_of_one_stream_are_not_added_up():
    """One stream serves two sets as it is, or one of them at a price; of two ways to name inputs the cheaper."""
    one, other = FeedOrigin("operator", "Q.1"), FeedOrigin("operator", "Q.2")

    def kept(*offers: tuple[FeedOrigin, int, float]) -> list[tuple[str, int, float]]:
        entries = [Entry(mask, 0, cost, origin) for origin, mask, cost in offers]
        return sorted((e.origin.name, e.mask, e.cost) for e in _settle_twice_used(entries))

    assert kept((one, 3, 0.0), (one, 12, 0.0)) == [("Q.1", 3, 0.0), ("Q.1", 12, 0.0)]
    assert kept((one, 3, 5.0), (one, 12, 2.0)) == [("Q.1", 12, 2.0)]
    assert kept((one, 3, 0.0), (one, 12, 2.0)) == [("Q.1", 3, 0.0)]
    assert kept((one, 3, 4.0), (one, 3, 1.0)) == [("Q.1", 3, 1.0)]
    assert kept((one, 3, 5.0), (other, 12, 2.0)) == [("Q.1", 3, 5.0), ("Q.2", 12, 2.0)]


def test_sets_with_different_windows_can_be_improved():
    """Views loosened for several windows are offered like any other."""
    world = line_world()
    windows = ((60.0, 300.0), (300.0, 60.0), (120.0, 120.0))
    queries = [ask(f"Q{i}", w, sink=f"n{i + 2}") for i, w in enumerate(windows)]
    planner = PreparedWorld(world).planner("exact")
    first = deploy_in_order(planner, queries)
    assert improve_set(world, planner, queries, first).cost <= first.cost + 1e-6


def test_what_cannot_pay_is_not_priced_but_nothing_is_lost(monkeypatch):
    """The optimum is the same when every derived stream is priced to the end, however dear."""
    world, queries = enterprise(transit_stub(1), 1, 75)
    begin = reusable_streams._Pricing.__init__

    def price_all(self, *given):
        begin(self, *given)
        self.limited = False

    deployed = EMPTY
    for number, query in enumerate(queries):
        plan = exact(world, query, deployed)
        if number > 25:
            with monkeypatch.context() as patch:
                patch.setattr(reusable_streams._Pricing, "__init__", price_all)
                assert plan.cost == pytest.approx(exact(world, query, deployed).cost), query.name
        deployed = deploy_plan(deployed, plan)
