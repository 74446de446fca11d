"""`headrace network`: plan a set of queries on a network, compare the algorithms."""

from __future__ import annotations

import json
from pathlib import Path

import click

from headrace.errors import NetworkError, SqlError
from headrace.network import explain_deployment as explaining
from headrace.network.compare_algorithms import (
    HIERARCHICAL,
    AlgorithmRun,
    compare_algorithms,
    render_table,
)
from headrace.network.comparison_figures import draw_bars, draw_cumulative
from headrace.network.deployment import EMPTY, Deployment
from headrace.network.deployment_json import deployment_from_data
from headrace.network.join_query import JoinQuery
from headrace.network.network_files import load_queries, load_world, parse_sinks, read_mapping, read_text
from headrace.network.network_generators import find_network
from headrace.network.network_picture import draw_network
from headrace.network.planners import DEFAULT_MAX_CS, PLANNERS, PreparedWorld
from headrace.network.topology import COST_MODELS
from headrace.network.workload import enterprise, synthetic
from headrace.network.world import World
from headrace.refused import Refused, read_local


@click.group()
def network() -> None:
    """Decide which joins run where, across sites."""


def _queries(path: str, world: World, network_path: str) -> list[JoinQuery]:
    if Path(path).suffix == ".sql":
        from headrace.network.from_sql import queries_from_sql

        try:
            return queries_from_sql(read_text(path), world.catalog, parse_sinks(read_mapping(network_path)))
        except (NetworkError, SqlError) as problem:
            raise NetworkError(str(problem) if path in str(problem) else f"{path}: {problem}") from None
    return load_queries(path, world.catalog)


@network.command()
@click.argument("network_file", metavar="NETWORK", type=click.Path(dir_okay=False))
@click.argument("queries_file", metavar="QUERIES", type=click.Path(dir_okay=False))
@click.option("--algorithm", type=click.Choice(list(PLANNERS)), default="exact", show_default=True)
@click.option(
    "--max-cs",
    type=click.IntRange(2),
    default=DEFAULT_MAX_CS,
    show_default=True,
    help="Largest cluster of the hierarchy.",
)
@click.option("--costs", type=click.Choice(list(COST_MODELS)), default="usage", show_default=True)
@click.option("--no-reuse", is_flag=True, help="Plan every query as if it were alone.")
@click.option(
    "--improve",
    "rounds",
    type=click.IntRange(0),
    default=0,
    help="Rounds of improvement after the last query.",
)
@click.option("--deployed", type=click.Path(dir_okay=False), help="JSON of an earlier plan to plan beside.")
@click.option("--explain", is_flag=True, help="Rates, filters, search effort and the cost per link.")
@click.option("--format", "form", type=click.Choice(["text", "json", "dot", "svg"]), default="text")
@click.option("--out", type=click.Path(dir_okay=False), callback=read_local, help="Write to a file instead of the screen.")
def plan(
    network_file: str,
    queries_file: str,
    algorithm: str,
    max_cs: int,
    costs: str,
    no_reuse: bool,
    rounds: int,
    deployed: str | None,
    explain: bool,
    form: str,
    out: str | None,
) -> None:
    """Plan QUERIES (YAML, JSON or SQL) on NETWORK (YAML or JSON), in the order they are listed."""
    try:
        world = load_world(network_file, COST_MODELS[costs])
        queries = _queries(queries_file, world, network_file)
        prepared = PreparedWorld(world, max_cs, reuse=not no_reuse)
        start = _deployed(deployed, world)
        report = explaining.plan_set(
            world, prepared.planner(algorithm), prepared.planner("exact"), queries, start
        )
        if rounds:
            report = explaining.improve_report(report, prepared.planner(algorithm), queries, rounds)
        written = {
            "text": lambda: explaining.render_text(report, explain),
            "json": lambda: json.dumps(explaining.render_data(report), indent=2, ensure_ascii=False),
            "dot": lambda: explaining.render_dot(report),
            "svg": lambda: draw_network(world, report.deployment),
        }[form]()
    except NetworkError as problem:
        raise Refused(str(problem)) from None
    if out is None:
        click.echo(written)
    else:
        try:
            Path(out).write_text(written + "\n", encoding="utf-8")
        except OSError as problem:
            raise Refused(f"cannot write {out}: {problem.strerror or problem}") from None


def _deployed(path: str | None, world: World) -> Deployment:
    if path is None:
        return EMPTY
    found = read_mapping(path, "`operators`, `deliveries`")
    data = found.get("deployment", found)
    try:
        deployed = deployment_from_data(data)
    except NetworkError as problem:
        raise NetworkError(f"{path}: {problem}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration) as problem:
        raise NetworkError(
            f"{path} is not a deployment as `plan --format json` writes it ({problem!r})"
        ) from None
    for feed, to in deployed.feeds():
        for node in (feed.node, to):
            if node not in world.network.index:
                raise NetworkError(
                    f"{path}: it uses node {node!r}, which network {world.network.name!r} does not have"
                )
        for one in feed.view.inputs:
            world.catalog.stream(one.stream)
    return deployed


@network.command(name="compare")
@click.option("--network", "network_name", default="transit-stub", show_default=True,
              help="transit-stub, transit-stub:4x4x8, a topohub name, or a network file.")  # fmt: skip
@click.option(
    "--workload", default="synthetic", show_default=True, help="synthetic, enterprise, or a queries file."
)
@click.option(
    "--queries", "count", type=click.IntRange(1), help="How many queries (100 synthetic, 300 enterprise)."
)
@click.option(
    "--algorithm", "algorithms", multiple=True, type=click.Choice(list(PLANNERS)), help="Default: all."
)
@click.option(
    "--max-cs", "sizes", multiple=True, type=click.IntRange(2), help="Several: one comparison for each."
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--no-reuse", is_flag=True)
@click.option("--out", type=click.Path(file_okay=False), callback=read_local, help="Draw the figures into this folder.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def compare_command(
    network_name: str,
    workload: str,
    count: int | None,
    algorithms: tuple[str, ...],
    sizes: tuple[int, ...],
    seed: int,
    no_reuse: bool,
    out: str | None,
    form: str,
) -> None:
    """Run all algorithms on a workload and draw the document's figures."""
    try:
        world, queries = _workload(network_name, workload, count, seed)
        found = []
        for max_cs in sizes or (DEFAULT_MAX_CS,):
            runs = compare_algorithms(world, queries, algorithms or PLANNERS, max_cs, seed, not no_reuse)
            found.append((max_cs, runs))
        if out is not None:
            for max_cs, runs in found:
                folder, title = Path(out), f"{workload} on {world.network.name}, max_cs {max_cs}"
                draw_cumulative(folder / f"cost-{max_cs}.svg", title, runs)
                draw_cumulative(folder / f"plans-{max_cs}.svg", title, runs, "plans", log=True)
                parts = {"joins": [r.joins for r in runs], "filters": [r.selections for r in runs]}
                draw_bars(
                    folder / f"operators-{max_cs}.svg", title, "operators", [r.algorithm for r in runs], parts
                )
            if len(found) > 1:
                _by_size(
                    Path(out), f"{workload} on {world.network.name}", [r for _, runs in found for r in runs]
                )
    except NetworkError as problem:
        raise Refused(str(problem)) from None
    except OSError as problem:
        raise Refused(f"cannot write into {out}: {problem.strerror or problem}") from None
    if form == "json":
        click.echo(
            json.dumps([{"max_cs": m, "runs": [r.to_data() for r in runs]} for m, runs in found], indent=1)
        )
        return
    for max_cs, runs in found:
        click.echo(
            f"{world.network.name}, {len(queries)} {workload} queries, max_cs {max_cs}\n\n{render_table(runs)}\n"
        )


def _by_size(folder: Path, title: str, runs: list[AlgorithmRun]) -> None:
    """Figs. 6 to 9: one algorithm, a line per max_cs."""
    for algorithm in HIERARCHICAL:
        same = [r for r in runs if r.algorithm == algorithm]
        if same:
            draw_cumulative(folder / f"{algorithm}-cost.svg", f"{algorithm}, {title}", same)
            draw_cumulative(
                folder / f"{algorithm}-plans.svg", f"{algorithm}, {title}", same, "plans", log=True
            )


def _workload(
    network_name: str, workload: str, count: int | None, seed: int
) -> tuple[World, list[JoinQuery]]:
    if Path(network_name).suffix in (".yaml", ".yml", ".json"):
        world = load_world(network_name)
        if workload not in ("synthetic", "enterprise"):
            return world, _queries(workload, world, network_name)
        chosen = world.network
    else:
        chosen = find_network(network_name, seed)
    if workload == "synthetic":
        return synthetic(chosen, seed, count or 100)
    if workload == "enterprise":
        return enterprise(chosen, seed, count or 300)
    raise NetworkError(
        f"workload {workload!r}: expected synthetic, enterprise, or a queries file with a network file"
    )
