"""Cases with known answers: windows, late rows, unions, chains, from the tests of Flink, RisingWave, Spark
and Arroyo.

The cases are data outside this repository (`$HEADRACE_CONFORMANCE`, or `../shared/conformance` next to the
repository); without them these tests are skipped. Every case is either run here or listed in `LEFT_OUT` with
the reason. Origins whose watermark moves with every row are fed row by row, in batches of one.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headrace.logical.user_aggregate import UserAggregate
from headrace.progress import meld
from headrace.testing import LocalRun

BESIDE = Path(__file__).parents[3] / "shared" / "conformance"
FOLDER = Path(os.environ.get("HEADRACE_CONFORMANCE") or BESIDE)
FILE = FOLDER / "cases.json"
CASES: dict[str, dict[str, Any]] = (
    {c["name"]: c for c in json.loads(FILE.read_text())} if FILE.exists() else {}
)
pytestmark = pytest.mark.skipif(not CASES, reason=f"no cases in {FOLDER}")

MS = 1000  # ticks
JOIN = "joins two or more streams"
OVER = "a result per row (OVER), not per window"
LEFT_OUT = {
    "flink_rowcount_tumble_2rows_global": "a window of rows, not of time",
    "flink_over_rows_2preceding_by_key_out_of_order": OVER,
    "flink_over_range_1s_preceding_by_key_out_of_order": OVER,
    "flink_over_rows_2preceding_global_late_row": OVER,
    "flink_interval_join_inner_minus5_plus6_nullkeys": JOIN,
    "flink_interval_join_strict_bounds_extra_predicates": JOIN,
    "flink_interval_join_then_tumble4s_count": JOIN,
    "flink_window_join_tumble5s_inner": JOIN,
    "flink_window_join_hop10s_5s_inner": JOIN,
    "flink_three_way_inner_join": JOIN,
    "rw_window_join_tumble5min_full_outer": JOIN,
    "spark_interval_join_two_watermarks_late_rows": JOIN,
    "nexmark_q4_rw_sample": JOIN,
    "nexmark_q8_rw_sample": JOIN,
    "nexmark_q102_having_rw_sample": JOIN,
}
BY_NAME = (
    "SELECT name, count(*) AS cnt, sum(dec) AS sum_dec, max(dbl) AS max_dbl, min(flt) AS min_flt, "
    "count(DISTINCT str) AS dist_str FROM T1 [{window}] GROUP BY name"
)
# case -> (query, window); fed row by row, flushed at the end
ROW_BY_ROW = {
    "flink_tumble_5s_by_name_late_row": (BY_NAME, "RANGE 5 SECONDS"),
    "flink_hop_10s_5s_by_name_late_row": (BY_NAME, "RANGE 10 SECONDS SLIDE 5 SECONDS"),
    "flink_cumulate_step5s_max15s_by_name_late_row": (BY_NAME, "RANGE ALL SLIDE 5 SECONDS RESET 15 SECONDS"),
    "flink_slide_range5_slide2_global_count": (
        "SELECT count(i) AS cnt FROM S [{window}]",
        "RANGE 5 SECONDS SLIDE 2 SECONDS",
    ),
    "flink_slide_range3_slide10_gaps": (
        "SELECT str, count(i) AS cnt FROM S [{window}] GROUP BY str",
        "RANGE 3 SECONDS SLIDE 10 SECONDS",
    ),
    "flink_hop_range5_slide4_out_of_order_distinct": (
        "SELECT str, count(*) AS cnt, count(i) AS cnt_i, count(DISTINCT flt) AS dist_flt "
        "FROM S [{window}] GROUP BY str",
        "RANGE 5 SECONDS SLIDE 4 SECONDS",
    ),
    "flink_tumble_5_allowed_lateness_10": (
        "SELECT str, count(DISTINCT ts) AS dist_ts, count(i) AS cnt, int(avg(i)) AS avg_i, min(i) AS min_i, "
        "max(i) AS max_i, sum(i) AS sum_i FROM S [{window}] GROUP BY str",
        "RANGE 5 SECONDS",
    ),
    "rw_hop_30min_15min_sum_by_uid": (
        "SELECT uid, sum(v) AS sum_v FROM t1 [{window}] GROUP BY uid",
        "RANGE 30 MINUTES SLIDE 15 MINUTES",
    ),
}
ENDS = "window_ends_aligned_to_slide_[e-range,e)"
INSTEAD = {  # results are published once here, so the origin's corrections never come
    "flink_tumble_5_allowed_lateness_10": "zero_allowed_lateness"
}
TYPES = {"timestamp_ms": "TIMESTAMP", "long": "BIGINT"}


def run_of(
    case: dict[str, Any], *queries: tuple[str, str], slack: int | None = None, **options: Any
) -> LocalRun:
    """The case's streams, with its bound on disorder, and the given queries."""
    script = []
    for name, stream in case["streams"].items():
        columns = ", ".join(f"{c} {TYPES.get(t, t)}" for c, t in stream["schema"].items())
        delay = stream.get("watermark_delay_seconds") if slack is None else slack
        known = "ORDERED" if not delay else f"SLACK {delay} SECONDS"
        script.append(
            f"CREATE STREAM {name} ({columns}) PROGRESSING ON {stream['time_column']} {known} FROM 'none';"
        )
    script += [f"CREATE QUERY {name} AS {text};" for name, text in queries]
    return LocalRun("\n".join(script), **options)


def rows_of(case: dict[str, Any], stream: str) -> list[tuple[Any, ...]]:
    """The rows of a stream in arrival order, times in microseconds."""
    given = case["streams"][stream]
    rows = given["rows"]
    if rows is None:
        rows = [json.loads(line) for line in (FOLDER / given["rows_file"]).read_text().splitlines()]
    types = list(given["schema"].values())
    return [tuple(_value(v, t) for v, t in zip(row, types, strict=True)) for row in rows]


def _value(value: Any, type_: str) -> Any:
    if value is None:
        return None
    return (
        value * MS
        if type_ == "timestamp_ms"
        else Decimal(str(value))
        if type_.startswith("decimal")
        else value
    )


def check(run: LocalRun, query: str, case: dict[str, Any], expected: Sequence[Sequence[Any]]) -> None:
    """Results so far, as a multiset of the case's columns."""
    columns = list(run.graph.relations[query].columns)
    schema = case["expected_schema"]
    found = [[row[columns.index(c)] for c in schema] for row in run.rows(query)]
    wanted = [
        [v * MS if t == "timestamp_ms" else v for v, t in zip(row, schema.values(), strict=True)]
        for row in expected
    ]
    assert len(found) == len(wanted)
    for row in wanted:
        match = next((f for f in found if all(map(_near, f, row))), None)
        assert match is not None, f"{row} is missing from {sorted(found, key=str)}"
        found.remove(match)


def _near(a: Any, b: Any) -> bool:
    if a is None or b is None or isinstance(a, str):
        return a == b
    return math.isclose(float(a), float(b), abs_tol=1e-6)


def test_every_case_is_run_or_listed() -> None:
    """A case that is neither run nor left out for a stated reason is a hole in this file."""
    assert set(CASES) == set(LEFT_OUT) | set(ROW_BY_ROW) | set(SPECIAL)
    assert not set(LEFT_OUT) & (set(ROW_BY_ROW) | set(SPECIAL))


@pytest.mark.parametrize("name", ROW_BY_ROW)
def test_row_by_row(name: str) -> None:
    """Each row is a batch, so that progress is known after each, and the end of input is a flush."""
    case = CASES[name]
    query, window = ROW_BY_ROW[name]
    run = run_of(case, ("q", query.format(window=window)), slots=2, tasks=1)
    (stream,) = case["streams"]
    for row in rows_of(case, stream):
        run.push(**{stream: [row]})
    run.flush()
    check(run, "q", case, case["alternatives"][INSTEAD[name]] if name in INSTEAD else case["expected"])


@pytest.mark.parametrize("name", [n for n in ROW_BY_ROW if ENDS in CASES.get(n, {}).get("alternatives", {})])
def test_ends_aligned(name: str) -> None:
    """ALIGN END is the other convention the cases give answers for."""
    case = CASES[name]
    query, window = ROW_BY_ROW[name]
    run = run_of(case, ("q", query.format(window=f"{window} ALIGN END")), slots=2)
    (stream,) = case["streams"]
    run.push(**{stream: rows_of(case, stream)})
    run.flush()
    check(run, "q", case, case["alternatives"][ENDS])


def test_emit_on_close() -> None:
    """What is visible after a prefix, and after a flush."""
    case = CASES["rw_tumble_1h_max_emit_on_close"]
    run = run_of(case, ("q", "SELECT max(foo) AS max_foo FROM t [RANGE 1 HOUR]"))
    rows, at = rows_of(case, "t"), 0
    for size, after in zip(case["streams"]["t"]["batches"], case["expected_after_prefix"], strict=True):
        run.push(t=rows[at : at + size])
        at += size
        assert at == after["rows_seen"]
        check(run, "q", case, after["expected"])
    run.flush()
    check(run, "q", case, case["alternatives"]["flushed_at_end_of_input"])


def test_append_by_batch() -> None:
    """Results appear in the batch whose low-watermark closes them; a row too late is in the late table."""
    case = CASES["spark_append_watermark10_tumble5"]
    run = run_of(case, ("q", "SELECT count(*) AS cnt FROM S [RANGE 5 SECONDS]"))
    rows, at, seen = rows_of(case, "S"), 0, []
    for size, more in zip(case["streams"]["S"]["batches"], case["expected_by_batch"], strict=True):
        run.push(S=rows[at : at + size])
        at += size
        seen += more
        check(run, "q", case, seen)
    assert [r[0] for r in run.late("S")] == [10_000_000]
    run.flush()
    check(run, "q", case, case["alternatives"]["flushed_at_end_of_input"])


def test_sliding_without_watermark() -> None:
    """Rows far out of order, no bound on it: one batch and a flush."""
    case = CASES["spark_sliding_range10_slide3_count"]
    for align, expected in (("", case["expected"]), (" ALIGN END", case["alternatives"][ENDS])):
        run = run_of(
            case, ("q", f"SELECT count(*) AS cnt FROM S [RANGE 10 SECONDS SLIDE 3 SECONDS{align}]"), slack=60
        )
        run.push(S=rows_of(case, "S"))
        run.flush()
        check(run, "q", case, expected)


@pytest.mark.parametrize("order", ["A first", "B first", "row by row"])
def test_union_of_unsynchronised_streams(order: str) -> None:
    """One stream is 46 minutes ahead of the other; none of the other's rows is late."""
    case = CASES["rw_union_unsynchronised_then_hop_sum"]
    both = "SELECT * FROM A UNION ALL SELECT * FROM B"
    window = "RANGE 30 MINUTES SLIDE 15 MINUTES"
    run = run_of(case, ("q", f"SELECT sum(v) AS sum_v FROM ({both}) [{window}] AS u"))
    a, b = rows_of(case, "A"), rows_of(case, "B")
    if order == "row by row":
        for left, right in zip(a, b, strict=True):
            run.push(A=[left], B=[right])
    else:
        for push in ({"A": a}, {"B": b}) if order == "A first" else ({"B": b}, {"A": a}):
            run.push(**push)
    run.flush()
    check(run, "q", case, case["expected"])
    assert run.late("A") == run.late("B") == []


def test_progress_of_a_union() -> None:
    """The low-watermark of a union is the minimum of its streams', and never goes back."""
    case = CASES["spark_union_global_watermark_min_policy"]
    both = "SELECT count(*) AS n FROM (SELECT * FROM A UNION ALL SELECT * FROM B) [RANGE 1 SECOND] AS u"
    run = run_of(case, ("q", both))
    seen = []
    for step in case["steps"]:
        run.push(**{s: [(v * 1_000_000,) for v in step[s]] for s in ("A", "B")})
        low = meld([run.manifest.streams[s].frontier for s in ("A", "B")]).bound
        seen.append([0 if low is None else low // 1_000_000])
        closed = max((row[-1] for row in run.rows("q")), default=None)
        assert closed is None or closed <= seen[-1][0] * 1_000_000
    assert seen == case["expected"]


def test_busiest_auctions() -> None:
    """Nexmark q5: all auctions with the most bids of a window, by a user-defined aggregate of lists."""
    case = CASES["nexmark_q5_rw_sample"]

    def most(packed: list[int]) -> list[int]:
        return sorted(p for p in packed if p // 10_000 == max(packed) // 10_000)

    top = UserAggregate(
        "busiest",
        most,
        lambda states: most([p for s in states for p in s]),
        lambda s: s,
        "BIGINT",
        "BIGINT[]",
        "BIGINT[]",
    )
    run = run_of(
        case,
        (
            "counts",
            "SELECT auction, count(*) AS num FROM bid [RANGE 10 SECONDS SLIDE 2 SECONDS] GROUP BY auction",
        ),
        ("best", "SELECT busiest(num * 10000 + auction) AS found, max(num) AS num FROM counts"),
        user={"busiest": top},
        slots=3,
    )
    rows = rows_of(case, "bid")
    for i in range(0, len(rows), 7):
        run.push(bid=rows[i : i + 7])
    run.flush()
    found = sorted((s // MS, e // MS, p % 10_000, n) for packed, n, s, e in run.rows("best") for p in packed)
    assert found == sorted(map(tuple, case["expected"]))


def test_top_driver() -> None:
    """Arroyo's cars: rows out of order, a slide that does not divide the range, the best of each window."""
    case = CASES["arroyo_cars_hop_60min_40min_top_driver"]
    for align, expected in (("", case["expected"]), (" ALIGN END", case["alternatives"][ENDS])):
        window = f"RANGE 60 MINUTES SLIDE 40 MINUTES{align}"
        run = run_of(
            case,
            ("counts", f"SELECT driver_id, count(*) AS cnt FROM cars [{window}] GROUP BY driver_id"),
            ("top", "SELECT max_by(driver_id, cnt) AS driver_id, max(cnt) AS cnt FROM counts"),
            slack=23,
            slots=3,
        )
        rows = rows_of(case, "cars")
        for i in range(0, len(rows), 1500):
            run.push(cars=rows[i : i + 1500])
        run.flush()
        check(run, "top", case, expected)
        assert run.late("cars") == []


def test_landmark_at_every_row() -> None:
    """A result per row since the beginning is the landmark's at the slide point after the row."""
    case = CASES["flink_over_unbounded_range_landmark_by_key"]
    listed = "sum(b) AS sum_b, count(b) AS count_b, avg(b) AS avg_b, max(b) AS max_b, min(b) AS min_b"
    window = "RANGE ALL SLIDE 1 MILLISECOND ORIGIN '1970-01-01 03:53:20'"
    run = run_of(case, ("q", f"SELECT a, {listed} FROM S [{window}] GROUP BY a"), slack=1)
    rows = rows_of(case, "S")
    run.push(S=rows[:7])
    run.push(S=rows[7:])
    run.flush()
    running = {(r[0], r[-1]): r[1:6] for r in run.rows("q")}
    found = [(a, b, c, *running[a, ts + MS]) for ts, a, b, c in rows]
    # the origin truncates averages of integers; Spark's are exact
    expected = [tuple(r) for r in case["alternatives"]["exact_avg"]]
    assert sorted(map(str, [tuple(map(_plain, r)) for r in found])) == sorted(
        map(str, [tuple(map(_plain, r)) for r in expected])
    )


def _plain(value: Any) -> Any:
    return value if isinstance(value, str) else float(value)


SPECIAL = {
    "rw_tumble_1h_max_emit_on_close": test_emit_on_close,
    "spark_append_watermark10_tumble5": test_append_by_batch,
    "spark_sliding_range10_slide3_count": test_sliding_without_watermark,
    "rw_union_unsynchronised_then_hop_sum": test_union_of_unsynchronised_streams,
    "spark_union_global_watermark_min_policy": test_progress_of_a_union,
    "nexmark_q5_rw_sample": test_busiest_auctions,
    "arroyo_cars_hop_60min_40min_top_driver": test_top_driver,
    "flink_over_unbounded_range_landmark_by_key": test_landmark_at_every_row,
}
