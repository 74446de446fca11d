"""The studies of docs/evidence/out-of-order.md: they run, and the in-order operators in them give what Headrace gives."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # benchmarks is a program of the repository, not installed

from benchmarks.out_of_order.arrivals import SECOND, START, Arrivals, make_arrivals
from benchmarks.out_of_order.band_study import compare_bands
from benchmarks.out_of_order.in_order_plans import OrderedMerge
from benchmarks.out_of_order.skew_study import compare_joins, compare_unions
from benchmarks.out_of_order.slack_study import SlackCase, judge_case, make_rows, run_product
from benchmarks.out_of_order.slack_windows import BatchedRows, close_by_bounds


def test_order_preserving_joins_count_the_same_pairs() -> None:
    """All three joins and the product count the pairs of Q7-2 that plain SQL counts; ours holds the fewest rows."""
    data = compare_bands(bands=(3,), rate=40, seconds=66, groups=10, repeats=1, batch=6)
    packets = make_arrivals(80, 66, 10)
    m1, m2 = packets.every(2).rows, packets.every(2, 1).opposite().rows
    counted = duckdb.sql(
        "SELECT count(*) FROM m1 JOIN m2 ON m1.srcIP = m2.destIP AND m1.destIP = m2.srcIP AND m1.srcPort = m2.destPort "
        "AND m1.destPort = m2.srcPort AND m2.ts < m1.ts + 3000000 AND m1.ts <= m2.ts + 3000000 "
        f"WHERE m1.ts < {START + 60 * SECOND}"
    ).fetchall()[0]
    assert m1.num_rows == m2.num_rows == 40 * 66
    assert counted[0] > 0
    assert [r["join"] for r in data["rows"]] == ["OA-Join", "OPOB-Join", "OPIB-Join", "product"]
    assert [r["pairs"] for r in data["rows"]] == [{"0": counted[0]}] * 4
    held = {r["join"]: r["held_rows"] for r in data["rows"]}
    assert held["OA-Join"] < held["OPIB-Join"] < held["OPOB-Join"]
    assert {r["wait"] for r in data["rows"] if "wait" in r} == {0}


def test_in_order_unions_give_the_same_counts_and_hold_the_skew() -> None:
    """Both plans give equal counts; the in-order one holds what the inputs are apart, ours does not."""
    data = compare_unions(skews=(0, 20), delays=(8,), rate=40, groups=5, seconds=64, batch=8)
    plans = {(r["query"], r["skew"], r["plan"]): r for r in data["rows"]}
    for query, skew in (("Q8-2", 0), ("Q8-2", 20), ("Q8-5", 8)):
        ours, theirs = plans[query, skew, "OOP"], plans[query, skew, "IOP"]
        assert ours["results"] == theirs["results"]
        assert ours["results"][0] > 0
    apart = plans["Q8-2", 20, "IOP"]["held_rows"] - plans["Q8-2", 0, "IOP"]["held_rows"]
    assert apart == pytest.approx(20 * 40, rel=0.1)
    assert plans["Q8-2", 20, "OOP"]["held_rows"] < 20 * 40


def test_in_order_joins_give_the_same_pairs() -> None:
    """All plans of both joins give the same pairs, and a join window by window holds a late input's delay on top."""
    data = compare_joins(skews=(10,), delays=(8,), rate=10, groups=10, seconds=64, batches=(10, 8))
    for query in ("Q8-3", "Q8-4"):
        found = {tuple(r["results"]) for r in data["rows"] if r["query"] == query}
        assert len(found) == 1 and found.pop()[0] > 0
    held = {r["plan"]: r["held_rows"] for r in data["rows"] if r["query"] == "Q8-4"}
    assert held["OOP, rows needed"] < held["IOP"]


def test_a_merge_gives_rows_in_order_and_keeps_what_is_ahead() -> None:
    """Rows pass when every input has come as far; equal times wait, since one more may come."""

    def rows(*times: int) -> pa.Table:
        return pa.table({"_t": pa.array(times, pa.int64())})

    merge = OrderedMerge(2)
    assert merge.absorb([rows(1, 4, 9), rows()])["_t"].to_pylist() == []
    assert merge.held()[0] == 3
    assert merge.absorb([rows(), rows(2, 4)])["_t"].to_pylist() == [1, 2]
    assert merge.absorb([rows(10), rows(9)])["_t"].to_pylist() == [4, 4]
    assert merge.held()[0] == 3


def test_slack_drops_from_all_windows_or_from_closed_ones_only() -> None:
    """A late row leaves all its windows under consistent slack, and only closed ones under generous slack."""
    rows = BatchedRows(np.array([1, 12, 8, 25]), np.array([1, 1, 1, 1]), np.array([0, 1, 2, 3]))
    starts, bounds = np.array([-10, 0]), rows.find_bounds(0)
    generous = close_by_bounds(rows, bounds, "generous", starts, 20)
    consistent = close_by_bounds(rows, bounds, "consistent", starts, 20)
    assert [(w.rows, w.batch) for w in generous.values()] == [(1, 1), (3, 3)]
    assert [(w.rows, w.batch) for w in consistent.values()] == [(1, 1), (2, 3)]
    assert rows.find_marks()[:3].tolist() == [8, 8, 25]
    whole = close_by_bounds(rows, rows.find_marks(), "all rows", starts, 20)
    assert [(w.rows, w.batch) for w in whole.values()] == [(2, 2), (3, 2)]


def make_case(arrivals: Arrivals) -> SlackCase:
    return SlackCase("band", "avg", arrivals, SECOND, 6 * SECOND, 2 * SECOND, (0, 1000, 4000))


def test_the_products_slack_is_generous_and_its_punctuation_exact() -> None:
    """SLACK gives what generous slack gives, window by window and batch by batch; punctuation gives every window whole."""
    case = make_case(make_arrivals(20, 16, 10, disorder="band", delay=4 * SECOND))
    rows = make_rows(case)
    product = run_product(case, rows, rows.find_marks())
    starts = np.array(sorted(product["slack_0"]), np.int64)
    wrong = 0
    for slack in case.slacks:
        bounds = rows.find_bounds(slack * 1000)
        expected = close_by_bounds(rows, bounds, "generous", starts, case.width)
        assert product[f"slack_{slack}"] == expected
        wrong += expected != close_by_bounds(rows, bounds, "all rows", starts, case.width)
    assert wrong == 2  # all but the slack that covers the disorder
    told = {(r["policy"], r["slack"]): r for r in judge_case(case, rows, product)}
    exact = told["punctuation", None]
    assert (exact["error"], exact["wrong"], exact["latency"]) == (0, 0, 0)
    assert told["consistent", 0]["error"] > 0
    assert told["consistent", 4000]["wrong"] == 0 < told["consistent", 4000]["latency"]


def test_the_page_shows_the_kept_results(tmp_path: Path) -> None:
    """Drawing again changes nothing in docs/evidence/out-of-order.md, and gives every figure the page shows."""
    pytest.importorskip("matplotlib")
    from benchmarks.out_of_order.draw_studies import PAGE, draw_studies

    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    draw_studies(page, tmp_path / "figures")
    assert page.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
    shown = set(re.findall(r"figures/(out-of-order-[a-z-]+\.svg)", page.read_text(encoding="utf-8")))
    assert shown == {f.name for f in (tmp_path / "figures").iterdir()}
