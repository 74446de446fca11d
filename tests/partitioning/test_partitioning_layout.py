"""Document 000 §5 as plans have it: what the rules of the section say, of plans that run.

The agnostic plan has everything behind one exchange in one slot; the other is what a set gets, or what is forced.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from headrace.optimizer import Plan, Settings, optimize
from headrace.optimizer.lay_out_plan import (
    PlanNode,
    export_layout,
    lay_out_plan,
    plan_agnostic,
    render_layout,
)
from headrace.physical.duck_typer import DuckTyper
from headrace.session import Session

STREAMS = """
CREATE STREAM t (ts TIMESTAMP, x INT, y INT, v INT) PROGRESSING ON ts SLACK 5 SECONDS FROM 'rate';
CREATE STREAM u (ts TIMESTAMP, x INT, w INT) PROGRESSING ON ts ORDERED FROM 'rate';
"""
FLOWS = "CREATE QUERY flows AS SELECT x, y, count(*) AS n FROM t [RANGE 1 MINUTE] WHERE v > 0 GROUP BY x, y;"
HEAVY = "CREATE QUERY heavy AS SELECT x, max(n) AS m FROM flows GROUP BY x HAVING max(n) > 1;"
PAIRS = """CREATE QUERY pairs AS SELECT a.window_end AS at, a.x, a.m, b.m AS before FROM heavy AS a JOIN heavy AS b
  ON a.x = b.x AND a.window_end = b.window_end + INTERVAL 1 MINUTE;"""


def plan_both(text: str, by: str | None = None, streams: str = STREAMS) -> tuple[Plan, Plan]:
    """The partition-agnostic plan, and the other one."""
    graph = Session().sql(streams + text).graph
    typer = DuckTyper(graph, {})
    plan = optimize(graph, typer, Settings(partition_by=by))
    return plan_agnostic(plan, typer), plan


def render(plan: Plan) -> list[str]:
    return render_layout(lay_out_plan(plan))


def find(nodes: Sequence[PlanNode], kind: str) -> list[PlanNode]:
    return [n for n in nodes if n.kind == kind]


def test_the_agnostic_plan_brings_everything_to_one_place() -> None:
    """Figure 3: what source tasks have aggregated meets in one slot, where all else is done."""
    agnostic, _ = plan_both(FLOWS + HEAVY)
    assert render(agnostic) == [
        "stream t: in source tasks",
        "selection flows$1: in source tasks, over stream t",
        "sub flows: in source tasks, over selection flows$1",
        "exchange 1 of flows: to one mini-partition, over sub flows",
        "super flows: in one slot, over exchange 1 of flows",
        "aggregation heavy: in one slot, over super flows",
    ]


def test_compatible_queries_run_on_every_partition() -> None:
    """Figure 4: with a partitioning compatible with all there is one exchange, and nothing is done in one slot."""
    agnostic, plan = plan_both(FLOWS + HEAVY + PAIRS)
    assert render(plan)[3:] == [
        "exchange 1 of flows: by x, over sub flows",
        "super flows: in every slot, over exchange 1 of flows",
        "aggregation heavy: in every slot, over super flows",
        "join pairs$1: in every slot, over aggregation heavy",
        "selection pairs: in every slot, over join pairs$1",
    ]
    assert [line.split(":")[0] for line in render(agnostic)] == [line.split(":")[0] for line in render(plan)]
    assert {n.place for n in lay_out_plan(agnostic) if n.level >= 0} == {"one slot"}


def test_an_incompatible_aggregation_is_split() -> None:
    """Figure 5: sub-aggregates where its input is, a super-aggregate behind the exchange, and what reads it stays there."""
    _, plan = plan_both(FLOWS + HEAVY + PAIRS, "x, y")
    assert render(plan)[3:8] == [
        "exchange 1 of flows: by x, y, over sub flows",
        "super flows: in every slot, over exchange 1 of flows",
        "sub heavy: in every slot, over super flows",
        "exchange 2 of heavy: by x, over sub heavy",
        "super heavy: in every slot, over exchange 2 of heavy",
    ]
    assert [(n.label, n.level) for n in find(lay_out_plan(plan), "join")] == [("pairs$1", 1)]


def test_an_aggregation_without_keys_is_split_too() -> None:
    """Its partial rows meet in one mini-partition, whatever else is partitioned by."""
    _, plan = plan_both(FLOWS + "CREATE QUERY total AS SELECT sum(n) AS n FROM flows;", "x")
    assert render(plan)[-3:] == [
        "sub total: in every slot, over super flows",
        "exchange 2 of total: to one mini-partition, over sub total",
        "super total: in one slot, over exchange 2 of total",
    ]


@pytest.mark.parametrize("by", [None, "x, y", ""])
def test_selections_and_projections_are_at_the_sources(by: str | None) -> None:
    """§5.4: WHERE and what is computed of rows are below the exchange; over results they are where these are."""
    text = "CREATE QUERY some AS SELECT ts, x + 1 AS x FROM t WHERE v > 3;"
    text += "CREATE QUERY large AS SELECT x, n FROM flows WHERE n > 5;"
    _, plan = plan_both(FLOWS + text, by)
    nodes = {n.label: n for n in find(lay_out_plan(plan), "selection")}
    assert {name: n.place for name, n in nodes.items()} == {
        "some": "source tasks",
        "flows$1": "source tasks",
        "large": "every slot" if by != "" else "one slot",
    }
    assert nodes["large"].level == 0 and nodes["large"].inputs == ("flows",)
    (table,) = plan.tables.values()
    assert all(feed.where is not None for feed in plan.feeds[table.id])


def test_one_exchange_serves_all_that_share_a_table() -> None:
    """§5.2's only parent: rows that several queries read cross once, and each query goes its own way from there."""
    _, plan = plan_both(FLOWS + FLOWS.replace("flows", "sums").replace("count(*)", "sum(v)"))
    nodes = lay_out_plan(plan)
    (exchange,) = find(nodes, "exchange")
    assert exchange.label == "flows, sums"
    assert [(n.label, n.inputs) for n in find(nodes, "super")] == [("flows", (exchange.id,)), ("sums", (exchange.id,))]
    assert len(find(nodes, "sub")) == 1


@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
def test_joins_are_partition_wise(kind: str) -> None:
    """Figure 7: rows of both inputs meet in every slot, outer joins too: each slot pads its rows without a partner."""
    agnostic, plan = plan_both(f"CREATE QUERY j AS SELECT t.x, t.y, u.w FROM t {kind} u ON t.x = u.x AND t.ts = u.ts;")
    first, second = "ut" if kind == "RIGHT JOIN" else "tu"  # a right join is a left one, the other way round
    assert render(plan)[2:5] == [
        f"exchange 1 of {first}: by `x`, over stream {first}",
        f"exchange 1 of {second}: by `x`, over stream {second}",
        f"join j$1: in every slot, over exchange 1 of {first}, exchange 1 of {second}",
    ]
    assert plan.levels == 1
    assert f"join j$1: in one slot, over exchange 1 of {first}, exchange 1 of {second}" in render(agnostic)


def test_an_incompatible_join_sends_rows() -> None:
    """Rows that may match meet: those of results are not aggregated before they are sent."""
    text = FLOWS + "CREATE QUERY more AS SELECT y, max(n) AS m FROM flows GROUP BY y;"
    text += """CREATE QUERY p AS SELECT a.window_end AS at, a.y, b.n FROM more AS a JOIN flows AS b
      ON a.y = b.y AND a.window_end = b.window_end;"""
    _, plan = plan_both(text, "x")
    lines = render(plan)
    assert "exchange 2 of flows: by `y`, over super flows" in lines
    assert "join p$1: in every slot, over super more, exchange 2 of flows" in lines


def test_a_union_is_where_its_rows_are() -> None:
    """Rows that are in several places already are united in each, and what aggregates them sends partial rows from each."""
    text = "CREATE QUERY near AS SELECT t.ts, t.x, t.y FROM t JOIN u ON t.x = u.x AND t.ts = u.ts;"
    text += "CREATE QUERY both AS SELECT ts, x, y FROM near UNION ALL SELECT ts, x, y FROM t WHERE v > 7;"
    text += "CREATE QUERY counts AS SELECT y, count(*) AS n FROM both [RANGE 1 MINUTE] GROUP BY y;"
    _, plan = plan_both(text)
    nodes = lay_out_plan(plan)
    assert sorted(n.place for n in find(nodes, "union")) == ["every slot", "source tasks"]
    assert sorted(n.level for n in find(nodes, "sub")) == [-1, 0]
    (counts,) = find(nodes, "super")
    assert counts.level == 1
    assert counts.inputs == tuple(n.id for n in find(nodes, "exchange") if n.label == "counts")


def test_folders_need_no_exchange(tmp_path: Path) -> None:
    """A stream that comes partitioned is read by the slots themselves; in the agnostic plan it is not."""
    path = tmp_path / "data"
    streams = f"""CREATE STREAM t (ts TIMESTAMP, x INT, y INT, v INT) PROGRESSING ON ts ORDERED PARTITIONED BY (x)
      FROM 'parquet' OPTIONS (path '{path}');"""
    agnostic, plan = plan_both(FLOWS + HEAVY, streams=streams)
    assert render(plan)[2:] == [
        "folders flows: in every slot, over selection flows$1",
        "aggregation flows: in every slot, over folders flows",
        "aggregation heavy: in every slot, over aggregation flows",
    ]
    assert "exchange 1 of flows: to one mini-partition, over sub flows" in render(agnostic)


def test_removed_queries_are_not_shown() -> None:
    """A query that only holds on to state that it shared works no more."""
    graph = Session().sql(STREAMS + FLOWS + HEAVY).graph
    plan = optimize(graph, DuckTyper(graph, {}), Settings(retired=frozenset({"heavy"})))
    assert not any("heavy" in line for line in render(plan))


def test_plans_as_data() -> None:
    """Every node and edge is in the JSON."""
    _, plan = plan_both(FLOWS)
    data = export_layout(lay_out_plan(plan))
    exchange = next(n for n in data["nodes"] if n["kind"] == "exchange")
    assert exchange == {
        "id": "exchange t0",
        "kind": "exchange",
        "label": "flows",
        "level": 0,
        "place": "every slot",
        "detail": "by x, y",
    }
    assert ["exchange t0", "flows"] in data["edges"] and len(data["edges"]) == len(data["nodes"]) - 1
    assert json.loads(json.dumps(data)) == data
