"""Plan join order, placement and reuse together, across sites (document 004).

    topology, catalog, query, view      what is there and what is asked
    metric, estimate, world             what it costs
    subsets, search                     the dynamic programme every planner shares
    exact, exhaustive, top_down, …      one algorithm a file; planners.py lists them
    hierarchy, membership, advertise    clusters, who joins and leaves, who knows what
    deployment, plan                    the result, as data
    sets, seeding, milp, change         many queries, and what happens later
    formats, codec, from_sql, cli       in and out

No engine is imported here: a deployment is data, and running its parts on their sites is somebody else's
work.
"""

from headrace.network.catalog import Catalog, Column, Observation, Selectivity, Stream
from headrace.network.change import Change, adapt, leave
from headrace.network.codec import deployment_from_data, deployment_to_data
from headrace.network.deployment import EMPTY, Deployment, withdraw
from headrace.network.explain import plan_set
from headrace.network.formats import load_queries, load_world
from headrace.network.generate import real, transit_stub
from headrace.network.milp import optimum_of_set
from headrace.network.plan import Plan, deploy
from headrace.network.planners import PLANNERS, Prepared
from headrace.network.query import Query
from headrace.network.sets import improve, incremental
from headrace.network.topology import COST_MODELS, CostModel, Link, Network, Node
from headrace.network.world import World

__all__ = [
    "COST_MODELS",
    "EMPTY",
    "PLANNERS",
    "Catalog",
    "Change",
    "Column",
    "CostModel",
    "Deployment",
    "Link",
    "Network",
    "Node",
    "Observation",
    "Plan",
    "Prepared",
    "Query",
    "Selectivity",
    "Stream",
    "World",
    "adapt",
    "deploy",
    "deployment_from_data",
    "deployment_to_data",
    "improve",
    "incremental",
    "leave",
    "load_queries",
    "load_world",
    "optimum_of_set",
    "plan_set",
    "real",
    "transit_stub",
    "withdraw",
]
