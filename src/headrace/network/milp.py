"""The optimum for a whole set of queries, as a mixed-integer programme for HiGHS (through SciPy). For small
sets.

The yardstick for `query_sets.improve_set`. In the cost model of a deployment: an operator makes a view at a node from
two feeds, each feed pays flow × distance from its origin, a derived stream serves any number of consumers for
nothing more, and a producer carries a view at least as loose as each consumer's. The views considered are
those the queries ask for, per set of streams, and for each signature all the combinations of what different
queries ask for (so telescoping is in).

run[V, s, n]        the operator that makes V by split s runs at n                      (binary) take[c, w, p]
consumer c takes its input w from producer p (a base stream, a view V' that serves w at a node, or what
arrives at a sink)                                    (0 to 1) Σ_p take[c, w, p] = run[c]      take[c, w, (V',
m)] ≤ Σ_s run[V', s, m]

A delivery always runs. Deliveries that could feed one another are kept from going round in circles by ranks.
A delivery carries one of the views that serve it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from headrace.errors import NetworkError
from headrace.network.join_query import JoinQuery
from headrace.network.join_view import View, combine_views, is_connected, restrict_view
from headrace.network.subsets import Subsets
from headrace.network.world import World

MOST_VARIABLES = 400_000
MOST_VARIANTS = 32


@dataclass(frozen=True)
class Yardstick:
    """The optimum (or the best known and the bound, if time ran out)."""

    cost: float
    bound: float
    variables: int
    proved: bool


@dataclass
class _Programme:
    costs: list[float] = field(default_factory=list)
    binary: list[int] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    rows: list[tuple[dict[int, float], float, float]] = field(default_factory=list)

    def variable(self, cost: float, binary: bool, upper: float = 1.0) -> int:
        if len(self.costs) >= MOST_VARIABLES:
            raise NetworkError(
                f"the set needs more than {MOST_VARIABLES} variables; the mixed-integer optimum is a"
                " yardstick for"
                " small sets. Take fewer queries, streams or nodes"
            )
        self.costs.append(cost)
        self.binary.append(int(binary))
        self.upper.append(upper)
        return len(self.costs) - 1

    def row(self, terms: dict[int, float], low: float, high: float) -> None:
        self.rows.append((terms, low, high))


def optimum_of_set(world: World, queries: Sequence[JoinQuery], seconds: float = 60.0) -> Yardstick:
    """The cheapest deployment of all queries together."""
    if any(np.isfinite(n.capacity) or not n.hosts for n in world.network.nodes):
        raise NetworkError("the mixed-integer yardstick is for networks without capacities; remove them")
    model = _model(world, queries)
    n = len(model.costs)
    entries = [(i, j, v) for i, (terms, _, _) in enumerate(model.rows) for j, v in terms.items()]
    matrix = coo_array(
        ([e[2] for e in entries], ([e[0] for e in entries], [e[1] for e in entries])),
        shape=(len(model.rows), n),
    ).tocsr()
    limits = LinearConstraint(matrix, [r[1] for r in model.rows], [r[2] for r in model.rows])
    scale = max(model.costs, default=1.0) or 1.0
    answer = milp(
        np.array(model.costs) / scale,
        constraints=limits,
        integrality=np.array(model.binary),
        bounds=Bounds(0.0, np.array(model.upper)),
        options={"time_limit": seconds, "mip_rel_gap": 1e-6},
    )
    if answer.x is None:
        raise NetworkError(f"no deployment of the set was found in {seconds:g} s: {answer.message}")
    bound = answer.mip_dual_bound
    return Yardstick(
        float(answer.fun) * scale,
        float(answer.fun if bound is None else bound) * scale,
        n,
        answer.status == 0,
    )


def _model(world: World, queries: Sequence[JoinQuery]) -> _Programme:
    problems = [Subsets(world, q) for q in queries]
    variants = _variants(problems)
    places = range(len(world.network.nodes))
    distance = world.metric.matrix
    model = _Programme()
    runs: dict[tuple[View, int], list[int]] = {}  # the operators that make a view at a node, one per split
    wants: list[tuple[View, int, int]] = []  # (what, at which node, for which operator)
    for views, splits in variants:
        for view in views:
            for left, right in splits:
                halves = (restrict_view(view, left), restrict_view(view, right))
                work = world.costs.processing * sum(world.estimate.tuples(h) for h in halves)
                for n in places:
                    made = model.variable(work, binary=True)
                    runs.setdefault((view, n), []).append(made)
                    wants += [(half, n, made) for half in halves]
    sinks = _sinks(model, problems, variants)
    serving: dict[object, list[View]] = {}
    for views, _ in variants:
        for view in views:
            serving.setdefault(_key(view), []).append(view)
    for what, n, run in wants:
        _supply(
            world, model, distance, runs, sinks, serving, what, n, {run: 1.0} if run is not None else {}, None
        )
    for q, options in enumerate(sinks):
        for view, chosen, at in options:
            _supply(world, model, distance, runs, sinks, serving, view, at, {chosen: 1.0}, q)
    return model


def _sinks(
    model: _Programme,
    problems: list[Subsets],
    variants: list[tuple[list[View], list[tuple[frozenset[str], frozenset[str]]]]],
) -> list[list[tuple[View, int, int]]]:
    """Per query the views its delivery may carry, of which it carries one."""
    sinks = []
    for problem in problems:
        signature = _key(problem.view)
        same = [v for views, _ in variants for v in views if _key(v) == signature] or [problem.view]
        options = [
            (v, model.variable(0.0, binary=True), problem.sink)
            for v in same
            if combine_views((v, problem.view)) == v
        ]
        model.row({chosen: 1.0 for _, chosen, _ in options}, 1.0, 1.0)
        sinks.append(options)
    return sinks


def _supply(
    world: World,
    model: _Programme,
    distance: np.ndarray,
    runs: dict[tuple[View, int], list[int]],
    sinks: list[list[tuple[View, int, int]]],
    serving: dict[object, list[View]],
    what: View,
    n: int,
    needed: dict[int, float],
    query: int | None,
) -> None:
    """A consumer at n needs a view: from whom it may take it, and at what cost."""
    flow = world.flow(what)
    takes: dict[int, float] = {}
    if len(what.inputs) == 1:
        source = world.network.at(world.catalog.stream(what.inputs[0].stream).node)
        if np.isfinite(distance[source, n]):
            takes[model.variable(flow * float(distance[source, n]), binary=False)] = 1.0
    for view in serving.get(_key(what), ()):
        if combine_views((view, what)) != view:
            continue
        for m in range(len(distance)):
            if (view, m) in runs and np.isfinite(distance[m, n]):
                take = model.variable(flow * float(distance[m, n]), binary=False)
                takes[take] = 1.0
                model.row({take: 1.0, **dict.fromkeys(runs[view, m], -1.0)}, -np.inf, 0.0)
    for other, options in enumerate(sinks):
        for view, chosen, m in options:
            if (
                not np.isfinite(distance[m, n])
                or other == query
                or _key(view) != _key(what)
                or combine_views((view, what)) != view
            ):
                continue
            if query is not None and (m, other) > (n, query) and m == n:
                continue  # two sinks at one node: one way is enough
            take = model.variable(flow * float(distance[m, n]), binary=False)
            takes[take] = 1.0
            model.row({take: 1.0, chosen: -1.0}, -np.inf, 0.0)
            if query is not None:
                _ranked(model, sinks, query, other, take)
    model.row({**takes, **{v: -w for v, w in needed.items()}}, 0.0, 0.0)


def _ranked(
    model: _Programme, sinks: list[list[tuple[View, int, int]]], query: int, other: int, take: int
) -> None:
    """A delivery that reads another sink comes after it."""
    ranks = model.__dict__.setdefault("ranks", {})
    for q in (query, other):
        if q not in ranks:
            ranks[q] = model.variable(0.0, binary=False, upper=float(len(sinks)))
    model.binary[take] = 1
    size = float(len(sinks) + 1)
    model.row({ranks[query]: 1.0, ranks[other]: -1.0, take: -size}, 1.0 - size, np.inf)


def _key(view: View) -> object:
    """Views with one key may serve one another, relaxed; other names for one stream are not tried here."""
    return view.names, view.reuse_key


def _variants(
    problems: list[Subsets],
) -> list[tuple[list[View], list[tuple[frozenset[str], frozenset[str]]]]]:
    """Per signature of two or more inputs: the views that may be made, and the splits."""
    asked: dict[object, tuple[list[View], list[tuple[frozenset[str], frozenset[str]]]]] = {}
    for problem in problems:
        for mask, halves in problem.splits.items():
            view = problem.view_of(mask)
            views, splits = asked.setdefault(_key(view), ([], []))
            if view not in views:
                views.append(view)
            for a, b in halves:
                split = (problem.view_of(a).names, problem.view_of(b).names)
                if split not in splits:
                    splits.append(split)
    found = []
    for views, splits in asked.values():
        wider = list(views)
        for size in range(2, len(views) + 1):
            for some in combinations(views, size):
                one = combine_views(some)
                if one not in wider and is_connected(one):
                    wider.append(one)
        if len(wider) > MOST_VARIANTS:
            raise NetworkError(
                f"{views[0]} is asked for in {len(wider)} combinations of filters; the yardstick takes"
                f" up to {MOST_VARIANTS}"
            )
        found.append((wider, splits))
    return found
