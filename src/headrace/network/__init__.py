"""Plan join order, placement and reuse together, across sites (document 004).

    topology, stream_catalog, join_query, join_view     what is there and what is asked
    distance_metric, rate_estimate, world               what it costs
    subsets, plan_search                                the dynamic programme every planner shares
    exact, top_down, npc, bottom_up, …                  one algorithm a file; planners.py lists them
    hierarchy, membership, advertise                    clusters, who joins and leaves, who knows what
    deployment, network_plan                            the result, as data
    query_sets, seeding, milp, deployment_change        many queries, and what happens later
    network_files, deployment_json, from_sql            in
    explain_deployment, network_picture, …              and out; network_command is the command line

No engine is imported here: a deployment is data, and running its parts on their sites is somebody else's
work.
"""

from headrace.network.deployment import EMPTY, Deployment, withdraw_query
from headrace.network.deployment_change import DeploymentChange, adapt_deployment, remove_query
from headrace.network.deployment_json import deployment_from_data, deployment_to_data
from headrace.network.explain_deployment import plan_set
from headrace.network.join_query import JoinQuery
from headrace.network.milp import optimum_of_set
from headrace.network.network_files import load_queries, load_world
from headrace.network.network_generators import load_topology, transit_stub
from headrace.network.network_plan import QueryPlan, deploy_plan
from headrace.network.planners import PLANNERS, PreparedWorld
from headrace.network.query_sets import deploy_in_order, improve_set
from headrace.network.stream_catalog import (
    BaseStream,
    Catalog,
    ColumnStatistics,
    Selectivity,
)
from headrace.network.topology import COST_MODELS, CostModel, Link, Network, NetworkNode
from headrace.network.world import World

__all__ = [
    "COST_MODELS",
    "EMPTY",
    "PLANNERS",
    "BaseStream",
    "Catalog",
    "ColumnStatistics",
    "CostModel",
    "Deployment",
    "DeploymentChange",
    "JoinQuery",
    "Link",
    "Network",
    "NetworkNode",
    "PreparedWorld",
    "QueryPlan",
    "Selectivity",
    "World",
    "adapt_deployment",
    "deploy_in_order",
    "deploy_plan",
    "deployment_from_data",
    "deployment_to_data",
    "improve_set",
    "load_queries",
    "load_topology",
    "load_world",
    "optimum_of_set",
    "plan_set",
    "remove_query",
    "transit_stub",
    "withdraw_query",
]
