"""All algorithms on one workload, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

from headrace.network.join_query import JoinQuery
from headrace.network.planners import DEFAULT_MAX_CS, PLANNERS, PreparedWorld, WorldPlanner
from headrace.network.query_sets import deploy_in_order
from headrace.network.world import World

HIERARCHICAL = ("top-down", "npc", "bottom-up")


@dataclass(frozen=True)
class AlgorithmRun:
    """One algorithm over a workload; `costs` and `examined` are cumulative, one number per query."""

    algorithm: str
    max_cs: int
    height: int
    costs: tuple[float, ...]
    examined: tuple[int, ...]
    joins: int
    selections: int
    seconds: float

    @property
    def cost(self) -> float:
        return self.costs[-1]

    def to_data(self) -> dict[str, Any]:
        return asdict(self)


def run_algorithm(
    world: World,
    queries: Sequence[JoinQuery],
    algorithm: str,
    max_cs: int = DEFAULT_MAX_CS,
    seed: int = 0,
    reuse: bool = True,
    planners: Mapping[str, WorldPlanner] = PLANNERS,
) -> AlgorithmRun:
    """Deploy a workload in arrival order with one algorithm."""
    prepared = PreparedWorld(world, max_cs, seed, reuse, planners)
    outcome = deploy_in_order(prepared.planner(algorithm), queries)
    return AlgorithmRun(
        algorithm,
        max_cs,
        prepared.hierarchy.height if algorithm in HIERARCHICAL else 1,
        outcome.costs,
        tuple(accumulate(p.examined for p in outcome.plans)),
        len(outcome.deployment.operators),
        outcome.deployment.selections(),
        sum(p.seconds for p in outcome.plans),
    )


def compare_algorithms(
    world: World,
    queries: Sequence[JoinQuery],
    algorithms: Iterable[str] = tuple(PLANNERS),
    max_cs: int = DEFAULT_MAX_CS,
    seed: int = 0,
    reuse: bool = True,
) -> list[AlgorithmRun]:
    return [run_algorithm(world, queries, algorithm, max_cs, seed, reuse) for algorithm in algorithms]


def render_table(runs: Sequence[AlgorithmRun]) -> str:
    """A Markdown table, costs relative to the exact planner's where it is among the runs."""
    reference = next((r for r in runs if r.algorithm == "exact"), None)
    lines = [
        "| algorithm | cost | against exact | plans examined | joins | filters | ms per query |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for r in runs:
        ratio = "" if reference is None or not reference.cost else f"{r.cost / reference.cost:.3f}"
        pace = 1000 * r.seconds / max(1, len(r.costs))
        lines.append(
            f"| {r.algorithm} | {r.cost:.4g} | {ratio} | {r.examined[-1]:.2e} | {r.joins} |"
            f" {r.selections} | {pace:.1f} |"
        )
    return "\n".join(lines)
