"""What the page shows of the inside of a run, and integers shown as addresses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from report_samples import report, reports

from headrace.errors import OptionError
from headrace.report import BatchReport, QueryReport, SlotLoad, StreamReport, plan_drawing
from headrace.report.ipv4 import format_address, parse_columns, show_addresses
from headrace.report.page import render_page
from headrace.report.run_details import count_edges, draw_slots, split_seconds
from headrace.report.watch import write_page
from headrace.testing import LocalRun


def node(id_: str, label: str, kind: str) -> dict[str, str]:
    return {"id": id_, "label": label, "kind": kind, "detail": ""}


PLAN = {
    "nodes": [
        node("s:a", "a", "stream"), node("s:b", "b", "stream"), node("n:1", "a by k", "panes"), node("n:2", "a, b", "panes"),
        node("n:3", "twice", "panes"), node("n:4", "twice", "panes"), node("q:x", "x", "query"), node("q:y", "y", "query"),
    ],
    "edges": [
        ["s:a", "n:1"], ["s:a", "n:2"], ["s:b", "n:2"], ["s:a", "n:3"], ["s:a", "n:4"], ["n:1", "q:x"], ["q:x", "q:y"],
        ["s:b", "q:y"], ["n:1", "nowhere"],
    ],
}  # fmt: skip


def of_plan(batch: int) -> BatchReport:
    streams = {"a": StreamReport(1000), "b": StreamReport(7)}
    queries = {"x": QueryReport(20), "y": QueryReport(3)}
    return replace(report(batch), streams=streams, queries=queries, tables={"a by k": 100, "a, b": 50, "twice": 9})


def test_rows_along_edges() -> None:
    """Partial rows into a table that one stream feeds, results out of it, rows of streams and queries; else nothing."""
    assert count_edges(PLAN, [of_plan(1), of_plan(2)]) == {
        ("s:a", "n:1"): "200",
        ("n:1", "q:x"): "40",
        ("q:x", "q:y"): "40",
        ("s:b", "q:y"): "14",
    }
    assert count_edges(PLAN, reports(2)) == {}
    drawing = plan_drawing.draw(PLAN, {("s:a", "n:1"): "1<2k"})
    assert drawing.count('class="count"') == 1
    assert ">1&lt;2k</text>" in drawing


def test_seconds_by_phase_add_up() -> None:
    """The job outside of the slots is reading and exchange; what is after the job is the commit."""
    one = replace(report(1), seconds=2.0, phases={"job": 1.5, "load": 0.1, "close": 0.5, "keep": 0.2})
    found = split_seconds(one)
    assert found == pytest.approx(
        {"read and exchange": 0.7, "load state": 0.1, "close windows": 0.5, "keep state": 0.2, "commit": 0.5}
    )
    assert sum(found.values()) == pytest.approx(2.0)
    assert split_seconds(report(1)) == {}
    page = render_page("t", PLAN, [one], {})
    assert all(name in page for name in found)


def test_the_load_of_slots() -> None:
    """Rows and seconds of each slot, the skew, and only of batches with as many slots as there are now."""
    old = replace(report(1), slot_loads=(SlotLoad(9999, 9.0, 1),))
    now = replace(report(2), slot_loads=(SlotLoad(300, 3.0, 2048), SlotLoad(100, 1.0, 0)))
    page = draw_slots([old, now, now])
    assert ">600</td>" in page
    assert ">200</td>" in page
    assert "width:100.0%" in page
    assert "width:33.3%" in page
    assert "worked 1.50× and was sent 1.50× the mean" in page
    assert "2.0 KiB" in page
    assert draw_slots([old]) == draw_slots([]) == ""
    assert draw_slots([replace(now, slot_loads=(SlotLoad(0, 0.0, 0),) * 2)]).count("1.00×") == 2


def test_a_report_with_slots_goes_through_json() -> None:
    """Nothing is lost, and a report of before has no slots."""
    now = replace(report(2), slot_loads=(SlotLoad(300, 3.0, 2048), SlotLoad(100, 1.0, 0)), tables={"t": 5})
    assert BatchReport.from_json(now.to_json()) == now
    before = {key: value for key, value in now.to_json().items() if key not in ("slot_loads", "tables")}
    assert BatchReport.from_json(before).slot_loads == ()


def test_the_page_of_a_run(tmp_path: Path) -> None:
    """A real run gives all of it: counts at edges, slots, late rows with their reason, addresses where asked for."""
    run = LocalRun(
        "CREATE STREAM s (ts TIMESTAMP, ip INT) PROGRESSING ON ts SLACK 0 SECONDS FROM 'memory';"
        "CREATE QUERY q AS SELECT ip, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY ip;",
        path=str(tmp_path / "ck"),
    )
    seen = []
    for rows in ([(0, 167772161), (1, -1062731775), (200_000_000, 1)], [(5, 167772162)]):
        run.push(s=rows)
        seen.append(BatchReport.from_json(run.manifest.report))
    assert sum(load.rows for load in seen[0].slot_loads) == sum(seen[0].tables.values()) == 3
    assert len(seen[0].slot_loads) == 2
    plan = '{"graph": {"nodes": [], "edges": []}}'
    write_page(tmp_path / "page.html", "t", plan, seen, {"q": "SELECT 1"}, str(tmp_path / "ck"), ("IP", "other"))
    page = (tmp_path / "page.html").read_text()
    assert "<td>10.0.0.1</td>" in page
    assert "<td>192.168.0.1</td>" in page
    assert "Late and rejected rows" in page
    assert "<td>10.0.0.2</td>" in page
    assert "<td>late</td>" in page
    assert "<h2>Slots</h2>" in page


def test_integers_as_addresses() -> None:
    """Signed or not, the four bytes are shown; nulls stay null, what does not fit stays a number, texts stay."""
    assert format_address(3232235521) == format_address(-1062731775) == "192.168.0.1"
    assert [format_address(v) for v in (0, 1, 2**32 - 1, -(2**31), 2**32, -(2**31) - 1, None)] == [
        "0.0.0.0", "0.0.0.1", "255.255.255.255", "128.0.0.0", "4294967296", "-2147483649", None
    ]  # fmt: skip
    batch = pa.RecordBatch.from_pydict({"srcIP": [1, None], "n": [1, 2], "name": ["a", "b"]})
    (shown,) = show_addresses([batch], parse_columns(" srcip, name "))
    assert shown.to_pydict() == {"srcIP": ["0.0.0.1", None], "n": [1, 2], "name": ["a", "b"]}
    with pytest.raises(OptionError, match=r"there is no column 'srcIPs'.*srcIP"):
        list(show_addresses([batch], ("srcIPs",)))
