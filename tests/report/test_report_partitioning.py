"""The partitioning of the streams on the page: what each query needs, what was weighed, the plan before and after."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from test_report_page import check

import headrace as hr
from headrace.cli import main
from headrace.report.page import render_page, render_plan_page
from headrace.report.partitioning_drawing import draw_graph, draw_layout, draw_partitioning_section

STREAM = "CREATE STREAM tcp (ts TIMESTAMP, srcIP INT, destIP INT, port INT) PROGRESSING ON ts SLACK 5 SECONDS{} FROM 'memory';"
FLOWS = """
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS cnt FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY heavy AS SELECT srcIP, max(cnt) AS max_cnt FROM flows GROUP BY srcIP;
"""
PORTS = "CREATE QUERY ports AS SELECT port, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY port;"


def explain(text: str, clause: str = "") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(hr.Session().sql(STREAM.format(clause) + text).explain(format="json"))
    return found


def count_boxes(svg: str, style: str) -> int:
    return svg.count(f'class="node {style}"')


def test_each_node_has_its_set_and_what_it_receives() -> None:
    """All that is served looks so; the set of each query is in its box."""
    svg = draw_graph(explain(FLOWS)["partitioning"]["nodes"])
    assert [count_boxes(svg, s) for s in ("stream", "query", "unserved")] == [1, 2, 0]
    assert "set: {destIP, srcIP}" in svg and "set: {srcIP}" in svg
    assert re.search(r"receives [\d.]+ MB of results", svg)
    assert svg.count('marker-end="url(#tip)"') == 2  # tcp to flows to heavy


def test_a_filter_of_a_stream_is_no_stream() -> None:
    """Queries that filter first stand on the stream too, and so does a query that only filters."""
    text = FLOWS + "CREATE QUERY large AS SELECT srcIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] WHERE port > 9 GROUP BY srcIP;\n"
    svg = draw_graph(explain(text + "CREATE QUERY some AS SELECT ts, port FROM tcp WHERE port > 8;")["partitioning"]["nodes"])
    assert [count_boxes(svg, s) for s in ("stream", "query", "unserved")] == [1, 4, 0]
    assert svg.count('marker-end="url(#tip)"') == 4


def test_what_is_not_served_is_dashed() -> None:
    """A query that shares nothing with the rest is drawn apart, with its input as the price."""
    data = explain(FLOWS + PORTS, " PARTITIONABLE BY (srcIP, destIP)")["partitioning"]
    svg = draw_graph(data["nodes"])
    assert [count_boxes(svg, s) for s in ("query", "unserved")] == [2, 1]
    assert "of input" in svg
    assert "can be partitioned by srcIP, destIP" in draw_partitioning_section(data)


def test_candidates_are_listed_and_the_chosen_one_is_marked() -> None:
    """One row for each, the cheapest first; exactly one is chosen."""
    data = explain(FLOWS)["partitioning"]
    section = draw_partitioning_section(data)
    assert section.count("✓") == 1
    rows = re.findall(r"<tr[^>]*><td>([^<]*)</td>", section)
    assert rows == ["tcp by {srcIP} ✓", "tcp by {destIP, srcIP}", "round robin"]


def test_round_robin_can_be_chosen() -> None:
    """Where no set serves anything, that is the choice, and is marked as such."""
    data = explain("CREATE QUERY total AS SELECT count(*) AS n FROM tcp [RANGE 1 MINUTE];")["partitioning"]
    section = draw_partitioning_section(data)
    assert "round robin ✓" in section and "evenly, by nothing" in section
    assert "set: none" in section


def test_the_plan_before_and_after() -> None:
    """Before, what source tasks send meets in one slot; after, every slot works, and nothing is done once."""
    data = explain(FLOWS)["partitioning"]
    before, after = draw_layout(data["before"]), draw_layout(data["after"])
    assert [count_boxes(before, s) for s in ("stream", "query", "shared")] == [1, 1, 3]  # the exchange, flows, heavy
    assert [count_boxes(after, s) for s in ("stream", "query", "shared")] == [1, 4, 0]
    assert "to one mini-partition" in before and "by srcIP" in after
    section = draw_partitioning_section(data)
    assert section.index(before) < section.index(after)


def test_sets_that_bring_nothing_together_have_no_section() -> None:
    """A filter needs no partitioning, so nothing is said of it."""
    data = explain("CREATE QUERY some AS SELECT * FROM tcp WHERE port = 22;")["partitioning"]
    assert draw_partitioning_section(data) == ""


def test_strange_names_do_no_harm() -> None:
    """Names and expressions come from strangers: the page stays balanced, and shows them as they are."""
    name = "<script>alert(1)</script>&"
    plan = json.loads(json.dumps(explain(FLOWS)).replace("heavy", name).replace("destIP", "<b>"))
    page = check(render_plan_page("t<i>tle", plan))
    assert name in page.text and "<b>" in page.text
    assert "script" not in page.tags
    run = check(render_page("title", plan["graph"], [], {}, None, plan["partitioning"]))
    assert "Partitioning of the streams" in run.text


def test_explain_as_a_page(tmp_path: Path) -> None:
    """`headrace explain --format html` gives a whole page, without Spark."""
    file = tmp_path / "queries.sql"
    file.write_text(STREAM.format("").replace("'memory'", f"'parquet' OPTIONS (path '{tmp_path}')") + FLOWS)
    done = CliRunner().invoke(main, ["explain", str(file), "--format", "html"])
    assert done.exit_code == 0, done.output
    page = check(done.output)
    assert "tcp by srcIP" in page.text and "Queries" in page.text
