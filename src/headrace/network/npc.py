"""NPC, net present cost (004, section 3.4): Bottom-Up that puts a decision off when deciding now looks dear.

At level l, with V_local to be planned here at cost C and V_remote not to be found under the cluster:

    deciding now  Γ = C + Σ_{i>l} pᵢ · λ(V_remote) · dᵢ        putting it off  Ω = Σ_{i>l} pᵢ · λ(Q) · dᵢ

and the local part is planned here if Ω ≥ Γ. pᵢ is the chance that the rest is found at level i: the part of
the network that comes into sight there, of all that is out of sight at l (the sources are as likely
anywhere). λ(V_remote) is the flow of the remote view, of each of its connected parts if it has several. dᵢ is
the diameter of level i.
"""

from __future__ import annotations

from headrace.network.bottom_up import climb
from headrace.network.deployment import EMPTY, Deployment
from headrace.network.descend import Descent, plan_by_hierarchy
from headrace.network.hierarchy import Cluster, Hierarchy, measure_diameters
from headrace.network.join_query import JoinQuery
from headrace.network.network_plan import QueryPlan
from headrace.network.world import World


def npc(
    world: World,
    query: JoinQuery,
    hierarchy: Hierarchy,
    deployed: Deployment = EMPTY,
    reuse: bool = True,
    widths: tuple[float, ...] | None = None,
) -> QueryPlan:
    """`widths` are the hierarchy's diameters, when they are known already."""
    spans = measure_diameters(hierarchy, world.network, world.metric) if widths is None else widths

    def decide(descent: Descent, level: int, cluster: Cluster, local: int, cost: float) -> bool:
        now, later = estimate_costs(descent, spans, level, cluster, local, cost)
        return later >= now

    return plan_by_hierarchy("npc", world, query, deployed, hierarchy, reuse, lambda d: climb(d, decide))


def estimate_costs(
    descent: Descent, spans: tuple[float, ...], level: int, cluster: Cluster, local: int, cost: float
) -> tuple[float, float]:
    """Γ and Ω."""
    problem, hierarchy = descent.problem, descent.hierarchy
    remote = sum(problem.flow(part) for part in problem.components(problem.full & ~local))
    sight = [
        len(hierarchy.under(i, hierarchy.ancestor(cluster.coordinator, i)))
        for i in range(level, hierarchy.height + 1)
    ]
    hidden = sight[-1] - sight[0]
    if not hidden:
        return cost, 0.0
    reach = sum((sight[i] - sight[i - 1]) / hidden * spans[level + i - 1] for i in range(1, len(sight)))
    return cost + remote * reach, problem.flow(problem.full) * reach
