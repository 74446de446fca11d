"""What a deployment looks like, in words and numbers: trees with nodes, cost per link, reuse, distance to the
optimum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from headrace.errors import NetworkError
from headrace.network.deployment import EMPTY, Deployment, ViewFeed, withdraw_query
from headrace.network.deployment_json import deployment_to_data, network_to_data
from headrace.network.join_query import JoinQuery
from headrace.network.join_view import View, rename_view
from headrace.network.network_plan import PlanJoin, PlanLeaf, PlanTree, QueryPlan, deploy_plan, list_reused
from headrace.network.planners import Planner
from headrace.network.query_sets import SetOutcome, improve_set
from headrace.network.stream_filters import Atom, StreamFilter
from headrace.network.world import World


@dataclass(frozen=True)
class LinkUsage:
    """What crosses a link, and what that costs."""

    a: str
    b: str
    flow: float
    cost: float
    carried: tuple[str, ...]


def list_link_usage(world: World, deployment: Deployment) -> list[LinkUsage]:
    """Every feed routed over its cheapest path; the dearest link first."""
    index, names = world.network.index, world.network.names
    weight: dict[tuple[int, int], float] = {}
    for link in world.network.live_links:
        pair = (min(index[link.a], index[link.b]), max(index[link.a], index[link.b]))
        weight[pair] = min(world.costs.weight(link), weight.get(pair, float("inf")))
    flows: dict[tuple[int, int], float] = {}
    carried: dict[tuple[int, int], list[str]] = {}
    for feed, to in deployment.feeds():
        path = world.metric.path(index[feed.node], index[to])
        for a, b in pairwise(path):
            pair = (min(a, b), max(a, b))
            flows[pair] = flows.get(pair, 0.0) + world.flow(feed.view)
            carried.setdefault(pair, []).append(str(feed.view))
    found = [
        LinkUsage(names[a], names[b], flow, flow * weight[a, b], tuple(carried[a, b]))
        for (a, b), flow in flows.items()
    ]
    return sorted(found, key=lambda u: (-u.cost, u.a, u.b))


@dataclass(frozen=True)
class PlannedQuery:
    """A plan with what the optimum in its place costs at least (None where nobody asked)."""

    plan: QueryPlan
    optimum: float | None
    before: Deployment
    proved: bool = True

    @property
    def gap(self) -> str:
        """How far from optimal, in words."""
        if self.optimum is None:
            return ""
        if self.plan.cost <= self.optimum * (1 + 1e-9) + 1e-9:
            return "optimal"
        most = "" if self.proved else "at most "
        if self.optimum <= 0:
            return f"{most}{self.plan.cost:.6g} above the optimum"
        return f"{most}{100 * (self.plan.cost / self.optimum - 1):.1f} % above the optimum"


@dataclass(frozen=True)
class PlanReport:
    """A planned set."""

    world: World
    planned: tuple[PlannedQuery, ...]
    deployment: Deployment

    @property
    def cost(self) -> float:
        return self.world.cost(self.deployment)


def plan_set(
    world: World,
    planner: Planner,
    reference: Planner,
    queries: Sequence[JoinQuery],
    deployed: Deployment = EMPTY,
) -> PlanReport:
    """Plan in arrival order, and beside each plan what the reference would have cost."""
    planned = []
    for query in queries:
        if query.name in deployed.queries:
            raise NetworkError(f"query {query.name!r} is deployed already; withdraw it first or rename it")
        plan = planner(query, deployed)
        best = plan if plan.bound is not None else reference(query, deployed)
        optimum = best.cost if best.bound is None else best.bound
        proved = optimum >= best.cost * (1 - 1e-9)
        planned.append(PlannedQuery(plan, optimum, deployed, proved))
        deployed = deploy_plan(deployed, plan)
    return PlanReport(world, tuple(planned), deployed)


def improve_report(
    report: PlanReport, planner: Planner, queries: Sequence[JoinQuery], rounds: int
) -> PlanReport:
    """The report after rounds of improvement, read from the deployment they end in."""
    plans = tuple(one.plan for one in report.planned)
    start = SetOutcome(report.deployment, plans, (report.cost,))
    outcome = improve_set(report.world, planner, queries, start, rounds)
    planned = []
    for plan in outcome.plans:
        tree = find_tree(outcome.deployment, plan.query)
        share = report.world.cost(outcome.deployment) - report.world.cost(
            withdraw_query(outcome.deployment, plan.query)
        )
        planned.append(PlannedQuery(replace(plan, tree=tree, cost=share), None, outcome.deployment))
    return PlanReport(report.world, tuple(planned), outcome.deployment)


def find_tree(deployment: Deployment, query: str) -> PlanTree:
    """The tree a deployed query has: its own joins written out, those of others as derived streams."""

    def walk(feed: ViewFeed) -> PlanTree:
        origin = feed.origin
        if origin.kind == "operator" and origin.name.rpartition(".")[0] == query:
            operator = deployment.operator[origin.name]
            return PlanJoin(feed.view, operator.node, walk(operator.left), walk(operator.right))
        return PlanLeaf(feed.view, feed.node, origin, feed.aliases)

    return walk(deployment.delivery[query].feed)


def render_text(report: PlanReport, explain: bool = False) -> str:
    """For people; `explain` adds rates, filters and the links."""
    world, lines = report.world, []
    for one in report.planned:
        plan = one.plan
        lines.append(f"{plan.query} → {plan.sink}   cost {plan.cost:.6g}   {one.gap}".rstrip())
        lines += [f"  {line}" for line in _tree_lines(world, plan.tree, one.before, explain)]
        if explain:
            lines.append(
                f"  {plan.algorithm}: {plan.examined:.4g} plans in the search space, {plan.states} states"
                " computed,"
                f" {1000 * plan.seconds:.1f} ms"
            )
        lines.append("")
    d = report.deployment
    shared = sum(len(list_reused(one.plan.tree)) for one in report.planned)
    lines.append(
        f"total cost {report.cost:.6g}: {len(d.queries)} queries, {len(d.operators)} joins,"
        f" {d.selections()} filters, {shared} derived streams reused"
    )
    if explain:
        lines.append("")
        lines.append(f"link                        {world.costs.unit + '/s':>10}        cost  carries")
        for u in list_link_usage(world, d):
            lines.append(f"{u.a + ' – ' + u.b:<28} {u.flow:>9.4g}   {u.cost:>9.4g}  {', '.join(u.carried)}")
    return "\n".join(lines)


def _tree_lines(
    world: World, tree: PlanTree, before: Deployment, explain: bool, lead: str = ""
) -> Iterator[str]:
    rate = ""
    if explain:
        tuples, size = world.estimate.tuples(tree.view), world.estimate.bytes(tree.view)
        rate = f"   {tuples:.4g} tuples/s, {size:.4g} bytes/s"
    if isinstance(tree, PlanJoin):
        yield f"⋈ {tree.view} at {tree.node}{rate}"
        for i, child in enumerate((tree.left, tree.right)):
            inner = list(_tree_lines(world, child, before, explain))
            yield ("├─ " if i == 0 else "└─ ") + inner[0]
            yield from (("│  " if i == 0 else "   ") + line for line in inner[1:])
    elif tree.origin.kind == "stream":
        yield f"{tree.view} at {tree.node}{rate}{_where(tree.view) if explain else ''}"
    else:
        price, _ = world.relaxation(before, tree.origin, rename_view(tree.view, tree.aliases))
        grown = f", relaxed for {price:.6g}" if price > 0 else ""
        yield f"reuse {tree.origin} at {tree.node} ({tree.view}{grown}){rate}"


def _where(view: View) -> str:
    texts = [filter_text(i.filter) for i in view.inputs if i.filter.conditions]
    return f"   where {' and '.join(texts)}" if texts else ""


def filter_text(one: StreamFilter, most: int = 4) -> str:
    parts = []
    for c in one.conditions:
        atoms = sorted(_atom_text(c.expression, a) for a in c.atoms)
        more = f" or … ({len(atoms)} in all)" if len(atoms) > most else ""
        parts.append(" or ".join(atoms[:most]) + more)
    return " and ".join(parts)


def _atom_text(expression: str, atom: Atom) -> str:
    if atom.value is not None:
        return atom.value if atom.value == expression else f"{expression} = {atom.value}"
    low = "" if atom.low == float("-inf") else f"{atom.low:g} {'<' if atom.low_open else '<='} "
    high = "" if atom.high == float("inf") else f" {'<' if atom.high_open else '<='} {atom.high:g}"
    return f"{low}{expression}{high}"


def render_data(report: PlanReport) -> dict[str, Any]:
    """The report for programs: everything the text says, and the deployment."""
    return {
        "cost": report.cost,
        "queries": [
            {
                "query": one.plan.query,
                "sink": one.plan.sink,
                "algorithm": one.plan.algorithm,
                "cost": one.plan.cost,
                "optimum_at_least": one.optimum,
                "optimum_proved": one.proved,
                "plans_examined": one.plan.examined,
                "states": one.plan.states,
                "seconds": one.plan.seconds,
                "reuses": [f"{leaf.origin} at {leaf.node}" for leaf in list_reused(one.plan.tree)],
            }
            for one in report.planned
        ],
        "links": [
            {"a": u.a, "b": u.b, "flow": u.flow, "cost": u.cost, "carries": list(u.carried)}
            for u in list_link_usage(report.world, report.deployment)
        ],
        "deployment": deployment_to_data(report.deployment),
        "network": network_to_data(report.world.network),
    }


def render_dot(report: PlanReport) -> str:
    """The data flow as Graphviz: streams, joins by node, sinks."""
    d, lines = report.deployment, ["digraph deployment {", "  rankdir=LR; node [fontname=sans-serif];"]
    streams = sorted({(f.origin.name, f.node) for f, _ in d.feeds() if f.origin.kind == "stream"})
    for name, node in streams:
        lines.append(f'  "stream {name}" [shape=cds, label="{name}\\n{node}"];')
    for o in d.operators:
        lines.append(f'  "operator {o.id}" [shape=box, style=rounded, label="⋈ {o.view}\\n{o.node}"];')
    for one in d.deliveries:
        lines.append(f'  "sink {one.query}" [shape=oval, label="{one.query}\\n{one.node}"];')

    def edge(feed: ViewFeed, to: str) -> None:
        rate = report.world.flow(feed.view)
        lines.append(
            f'  "{feed.origin.kind} {feed.origin.name}" -> "{to}" [label="{rate:.3g} {report.world.costs.unit}/s"];'
        )

    for o in d.operators:
        for feed in o.feeds:
            edge(feed, f"operator {o.id}")
    for one in d.deliveries:
        edge(one.feed, f"sink {one.query}")
    return "\n".join([*lines, "}"])
