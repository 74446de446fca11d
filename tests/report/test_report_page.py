"""The HTML page: complete, self-contained, and safe whatever the names and values are."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from report_samples import T0, reports

from headrace.report import BatchReport, QueryReport, StreamReport, chart, plan_drawing
from headrace.report.page import before_flush, highlight, render_page
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
        "Behind the newest row",
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


def test_a_chart_of_ends_that_are_not_all_times() -> None:
    """Ends beside times that are far from any time are numbers on the axis."""
    rows = [("a", datetime(2024, 1, 1), 1), ("a", -4.2e16, 2), ("a", datetime(2024, 1, 2), 3)]
    drawn = result_chart(["k", "window_end", "n"], rows)
    assert drawn is not None
    assert all(drawn.x_format(x) for x in drawn.x)


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


@example(0.0, 5e-324)
@example(0.0, 0.0)
@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12))
def test_scales_cover_their_values(a: float, b: float) -> None:
    """An axis has a handful of ticks and contains every value."""
    low, high = min(a, b), max(a, b)
    ticks = chart.scale(low, high)
    assert 2 <= len(ticks) <= 8
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack


def test_a_scale_of_all_numbers() -> None:
    """The widest there is has finite ticks, and numbers that are none make a scale too."""
    assert all(abs(tick) < 1e309 for tick in chart.scale(-1.7e308, 1.7e308))
    assert chart.scale(float("nan"), 1.0)


@given(st.integers(0, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30))
def test_any_graph_is_drawn(count: int, pairs: list[tuple[int, int]]) -> None:
    """Each node is drawn once, whatever the edges; even a cycle, which a plan cannot have, does no harm."""
    nodes = [{"id": str(i), "label": f"n{i}", "kind": "query", "detail": "d"} for i in range(count)]
    drawing = plan_drawing.draw({"nodes": nodes, "edges": [[str(a), str(b)] for a, b in pairs]})
    assert drawing.count("<g ") == count


def flushed(count: int) -> list[BatchReport]:
    """A run whose last batch closes all windows, far beyond the last row."""
    top = T0 + 10 * 60_000_000
    before = {"s": StreamReport(10, top, top - 5_000_000)}
    batches = [BatchReport(i, 10, 1.0, float(i), before, {"q": QueryReport(5)}) for i in range(count)]
    last = {"s": StreamReport(0, top, top + 3_600_000_000)}
    return [*batches, BatchReport(count, 0, 0.1, float(count), last, {"q": QueryReport(9)})]


def test_windows_cut_short_by_a_flush_are_not_drawn() -> None:
    """They would look like a sudden fall; the table has them, the chart does not, and a note says so."""
    page = render_page("x", {}, flushed(3), {"q": flows(14, 2)})
    text = check(page).text
    chart_of_results = page[page.index("Queries and results") : page.index("<table>")]
    assert "left out" in text
    assert "00:09" in chart_of_results
    assert "00:11" not in chart_of_results
    assert "00:14" in page[page.index("<table>") :]


def test_only_windows_cut_short() -> None:
    """There is no chart then, and the page says why."""
    late = flows(14, 2) | {"rows": flows(14, 2)["rows"][-4:]}
    assert "closed early by the flush" in check(render_page("x", {}, flushed(1), {"q": late})).text


def test_a_run_without_a_flush_leaves_nothing_out() -> None:
    """The last batch of any other run is a batch like the others."""
    assert before_flush(flushed(3)[:-1]) == {}
    assert before_flush([]) == {}
    assert before_flush(flushed(3)) == {"us": (T0 + 10 * 60_000_000 - 5_000_000) / 1e6}


def test_a_flush_is_no_drop_of_throughput() -> None:
    """Rows per second of a batch that read nothing, and the lag when progress is over, are gaps."""
    page = render_page("x", {}, flushed(4), {})
    throughput = page[page.index("Throughput") : page.index("Batch time")]
    assert throughput.count("<circle") == 4


@pytest.mark.parametrize("count", [1, 2])
def test_few_batches_are_bars(count: int) -> None:
    """One or two points are no line."""
    page = render_page("x", {}, reports(count), {})
    run = page[page.index("How it ran") : page.index("Queries and results")]
    assert 'class="line' not in run
    assert run.count('class="bar') >= 5


def test_tiles_have_room_for_their_numbers() -> None:
    """A large number is short, with the exact one on hover; a long text is smaller."""
    run = [BatchReport(0, 987_654_321, 213.0, 0.0, {"s": StreamReport(1, 2, 1, late=12_345_678)}, {})]
    page = render_page("x", {}, run, {})
    tiles = page[page.index('<dl class="tiles">') : page.index("</dl>")]
    assert all(len(value) <= 8 for value in re.findall(r"<dd>([^<]*)</dd>", tiles))
    assert '<dd class="long">3 min 33 s</dd>' in tiles
    assert 'title="987,654,321"' in tiles


def test_the_plan_speaks_of_queries_only() -> None:
    """Parts of a query have names of their own inside; the drawing has the query's."""
    assert "q$1" not in plan_drawing.draw(
        {"nodes": [{"id": "q$1", "label": "q$1 by k", "kind": "panes", "detail": ""}], "edges": []}
    )
