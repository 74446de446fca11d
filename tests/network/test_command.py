"""`headrace network plan` and `compare`."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from headrace.network.deployment_json import deployment_from_data
from headrace.network.network_command import network
from headrace.network.planners import PLANNERS

EXAMPLES = Path(__file__).parents[2] / "examples" / "network"
FILES = [str(EXAMPLES / "airline.yaml"), str(EXAMPLES / "airline.sql")]


def call(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(network, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_plan_shows_tree_reuse_and_cost():
    """The tree with nodes, what is reused and for how much, how far from optimal."""
    text = call("plan", *FILES)
    assert "⋈ CHECKINS ⋈ FLIGHTS at N1" in text
    assert "reuse operator Q2.1 at N1 (CHECKINS ⋈ FLIGHTS, relaxed for 20)" in text
    assert "Q1 → Sink4   cost 3300.8   optimal" in text
    assert "total cost 4144.8: 2 queries, 2 joins" in text


def test_explain_adds_rates_effort_and_links():
    """Cost per link adds up to the total; plans examined and time are given."""
    text = call("plan", *FILES, "--explain")
    assert "tuples/s" in text
    assert "plans in the search space" in text
    table = text.partition("carries\n")[2].strip().splitlines()
    assert sum(float(line[28:].split()[1]) for line in table) == pytest.approx(4144.8, rel=1e-3)


@pytest.mark.parametrize("algorithm", sorted(PLANNERS))
def test_every_algorithm_plans_the_example(algorithm):
    """By name; what is not optimal says so."""
    text = call("plan", *FILES, "--algorithm", algorithm, "--max-cs", "4")
    assert "total cost" in text
    assert ("above the optimum" in text) or ("optimal" in text)


def test_json_is_the_deployment_and_can_be_planned_beside(tmp_path):
    """What `plan --format json` writes is a deployment to read back and to add to."""
    first = json.loads(call("plan", *FILES, "--format", "json"))
    assert deployment_from_data(first["deployment"]).queries == ("Q2", "Q1")
    assert first["queries"][1]["reuses"] == ["operator Q2.1 at N1"]
    (tmp_path / "deployed.json").write_text(json.dumps(first))
    again = call("plan", *FILES, "--deployed", tmp_path / "deployed.json", code=2)
    assert "Q2" in again
    assert "deployed already" in again


def test_dot_and_svg(tmp_path):
    """Graphviz text, and a picture that is well-formed and small."""
    assert call("plan", *FILES, "--format", "dot").startswith("digraph deployment {")
    out = tmp_path / "p.svg"
    call("plan", *FILES, "--format", "svg", "--out", out)
    root = ElementTree.parse(out).getroot()
    texts = "".join(root.itertext())
    assert "FLIGHTS" in texts
    assert "N1: ⋈" in texts
    assert out.stat().st_size < 60_000


def test_improvement_rounds():
    """`--improve` re-plans the set and never ends dearer."""
    text = call("plan", *FILES, "--improve", "3")
    total = float(text.partition("total cost ")[2].partition(":")[0])
    assert total <= 4144.8 + 1e-6


def test_errors_are_messages():
    """No traceback: the file, the place, what to do."""
    assert "cannot read" in call("plan", "none.yaml", FILES[1], code=2)
    assert "list under `queries`" in call("plan", FILES[0], FILES[0], code=2)


def test_compare_runs_all_and_draws(tmp_path):
    """A table of all algorithms; figures in a folder."""
    pytest.importorskip("matplotlib")
    text = call(
        "compare", "--network", "transit-stub:2x2x3", "--queries", "6", "--max-cs", "4", "--out", tmp_path
    )  # fmt: skip
    for name in PLANNERS:
        assert name in text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cost-4.svg", "operators-4.svg", "plans-4.svg"]
    more = ("--algorithm", "top-down", "--max-cs", "4", "--max-cs", "8", "--out", tmp_path / "sizes")
    call("compare", "--network", "transit-stub:2x2x3", "--queries", "4", *more)
    assert (tmp_path / "sizes" / "top-down-plans.svg").exists()
    data = json.loads(call("compare", "--network", FILES[0], "--workload", FILES[1], "--format", "json"))
    assert {r["algorithm"] for r in data[0]["runs"]} == set(PLANNERS)
    assert "expected synthetic" in call(
        "compare", "--workload", "odd", "--network", "transit-stub:2x1x2", code=2
    )


def test_units_are_those_of_the_cost_model():
    """Bytes or tuples per second, in the link table, in Graphviz and in the picture."""
    for costs, unit in (("usage", "bytes/s"), ("tuples", "tuples/s")):
        assert unit in call("plan", *FILES, "--costs", costs, "--explain").partition("total cost")[2]
        assert unit in call("plan", *FILES, "--costs", costs, "--format", "dot")
        assert f"width: log of {unit}" in call("plan", *FILES, "--costs", costs, "--format", "svg")


def test_a_large_picture_stays_readable():
    """132 nodes, 12 queries: per link one band a colour, and labels that do not cover each other."""
    from headrace.network.network_generators import transit_stub
    from headrace.network.network_picture import draw_network
    from headrace.network.planners import PreparedWorld
    from headrace.network.query_sets import deploy_in_order
    from headrace.network.workload import synthetic

    world, queries = synthetic(transit_stub(0), 0, 12)
    deployed = deploy_in_order(PreparedWorld(world).planner("exact"), queries).deployment
    root = ElementTree.fromstring(draw_network(world, deployed))
    texts = [t for t in root.iter("{http://www.w3.org/2000/svg}text") if ": " in (t.text or "")]
    boxes = [(float(t.get("x")), float(t.get("y")), 5.6 * len(t.text)) for t in texts if t.get("stroke")]
    assert len(boxes) > 15
    for i, (x, y, w) in enumerate(boxes):
        for x2, y2, w2 in boxes[:i]:
            assert x + w <= x2 or x2 + w2 <= x or abs(y - y2) >= 12, (texts[i].text, x, y)
    bands: dict[tuple[str, str], int] = {}
    for line in root.iter("{http://www.w3.org/2000/svg}line"):
        colour = line.get("stroke") or ""
        if colour == "#333333":
            middle = tuple(round((float(line.get(f"{c}1")) + float(line.get(f"{c}2"))) / 20) for c in "xy")
            bands[middle, colour] = bands.get((middle, colour), 0) + 1
    assert max(bands.values()) <= 3
