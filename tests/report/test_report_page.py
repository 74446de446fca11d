"""The HTML page: complete, self-contained, and safe whatever the names and values are."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import reports

from headrace.report import BatchReport, QueryReport, StreamReport, chart, graph
from headrace.report.page import highlight, render_page
from headrace.report.results import result_chart

PLAN = {
    "nodes": [
        {"id": "tcp", "label": "tcp", "kind": "stream", "detail": "slack 5 s"},
        {"id": "p", "label": "panes", "kind": "panes", "detail": {"by": "srcIP"}},
        {"id": "flows", "label": "flows", "kind": "query", "detail": ""},
    ],
    "edges": [["tcp", "p"], ["p", "flows"], ["p", "nowhere"]],
}
VOID = {"meta", "br"}


class Checker(HTMLParser):
    """Sees that tags are balanced, and collects tags, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def check(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    assert not checker.open
    assert "script" not in checker.tags
    assert not any(name.startswith("on") or name in ("src", "href") for name, _ in checker.attributes)
    return checker


def flows(windows: int, groups: int) -> dict[str, Any]:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    return {
        "sql": "SELECT a, count(*) AS cnt FROM tcp [RANGE 1 MINUTE] GROUP BY a",
        "columns": ["window_start", "window_end", "a", "cnt"],
        "rows": [
            (start + timedelta(minutes=w), start + timedelta(minutes=w + 1), g, 100 * g + w)
            for w in range(windows)
            for g in range(groups)
        ],
    }


def test_the_page_has_everything() -> None:
    """Plan, charts of the run, query text, a chart and the last rows of the results are on the page."""
    checker = check(render_page("netmon", PLAN, reports(20), {"flows": flows(12, 3)}))
    words = (
        "Throughput",
        "Batch time",
        "Lag",
        "State size",
        "Results",
        "Late",
        "panes",
        "the last 20 of 36",
        "00:12",
    )
    for word in words:
        assert word in checker.text, word


@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_any_number_of_batches(count: int) -> None:
    """A run that did nothing has a page too, and one of many batches does not grow without bound."""
    page = render_page("x", {}, reports(count), {})
    check(page)
    assert len(page) < 400_000


hostile = st.text(max_size=12) | st.sampled_from(
    ["<script>alert(1)</script>", '"><b onclick=x>', "</style>", "&amp;"]
)
values = (
    st.none() | hostile | st.integers() | st.floats() | st.binary(max_size=4) | st.decimals() | st.datetimes()
)


@settings(max_examples=60)
@given(hostile, hostile, hostile, st.lists(st.tuples(values, values, values), max_size=4))
def test_strangers_texts_stay_texts(title: str, name: str, sql: str, rows: list[tuple[Any, ...]]) -> None:
    """No title, name, SQL or value adds a tag, an attribute or a script."""
    plan = {"nodes": [{"id": name, "label": name, "kind": name, "detail": sql}], "edges": [[name, name]]}
    report = BatchReport(
        0, 1, 1.0, 0.0, {name: StreamReport(1, 2, 1)}, {name: QueryReport(1)}, phases={name: 0.5}
    )
    page = render_page(
        title, plan, [report], {name: {"sql": sql, "columns": [name, "window_end", "x"], "rows": rows}}
    )
    tags = check(page).tags
    assert "b" not in check(render_page(title, {}, [], {})).tags
    assert tags <= check(render_page("t", PLAN, reports(3), {"f": flows(3, 2)})).tags | {"i", "q", "b"}


def test_nothing_is_loaded_from_anywhere() -> None:
    """The page names no address at all and forbids itself to load anything."""
    page = render_page("x", PLAN, reports(3), {"flows": flows(3, 2)})
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", page)
    assert "default-src 'none'" in page


def test_highlight_only_adds_marks() -> None:
    """Taking the marks out again gives the escaped text."""
    sql = "SELECT a -- from <here>\nFROM t WHERE b = 'it''s <from>' AND c < 3"
    checker = Checker()
    checker.feed(highlight(sql))
    assert checker.text == sql
    assert "<i>-- from &lt;here&gt;</i>" in highlight(sql)


def test_result_chart_tells_groups_from_measures() -> None:
    """Grouping columns are the shortest prefix that tells rows apart; what they decide is no measure."""
    columns = ["window_end", "a", "b", "name", "cnt"]
    rows = [(w, g, g * 7, "x", g + w) for w in range(3) for g in range(9)]
    found = result_chart(columns, rows)
    assert found is not None
    assert found.title == "cnt"
    assert [series.name for series in found.series] == ["8", "7", "6", "5", "4"]
    assert "5 largest of 9" in found.note


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (["a"], [(1,), (2,)]),
        (["window_end", "cnt"], [(1, 5)]),
        (["window_end", "name"], [(1, "a"), (2, "b")]),
        (["window_end", "cnt"], [(1, 5), (1, 5)]),
    ],
)
def test_no_chart_where_none_makes_sense(columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    """No windows, one window, no number, or rows that nothing tells apart: a table is enough."""
    assert result_chart(columns, rows) is None


def test_result_chart_takes_any_kind_of_number() -> None:
    """Decimals and nulls are drawn, nulls as gaps."""
    found = result_chart(["window_end", "v"], [(1, Decimal("1.5")), (2, None), (3, Decimal(2))])
    assert found is not None
    assert list(found.series[0].values) == [1.5, None, 2.0]


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12))
def test_scales_cover_their_values(a: float, b: float) -> None:
    """An axis has a handful of ticks and contains every value."""
    low, high = min(a, b), max(a, b)
    ticks = chart.scale(low, high)
    assert 2 <= len(ticks) <= 8
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack


@given(st.integers(0, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30))
def test_any_graph_is_drawn(count: int, pairs: list[tuple[int, int]]) -> None:
    """Each node is drawn once, whatever the edges; even a cycle, which a plan cannot have, does no harm."""
    nodes = [{"id": str(i), "label": f"n{i}", "kind": "query", "detail": "d"} for i in range(count)]
    drawing = graph.draw({"nodes": nodes, "edges": [[str(a), str(b)] for a, b in pairs]})
    assert drawing.count("<g ") == count
