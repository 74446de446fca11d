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
OVER = "a result per row (OVER), not per window"
LEFT_OUT = {
    "flink_rowcount_tumble_2rows_global": "a window of rows, not of time",
    "flink_over_rows_2preceding_by_key_out_of_order": OVER,
    "flink_over_range_1s_preceding_by_key_out_of_order": OVER,
    "flink_over_rows_2preceding_global_late_row": OVER,
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
        [v * MS if t == "timestamp_ms" and v is not None else v for v, t in zip(row, schema.values(), strict=True)]
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
        low = meld([run.manifest.streams[s].frontier for s in ("A", "B")])
        seen.append([low.bound // 1_000_000 if low.is_known else 0])
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


BAND = "T1.ts BETWEEN T2.ts - INTERVAL 5 SECONDS AND T2.ts + INTERVAL 6 SECONDS"
STRICT = "T1.ts > T2.ts - INTERVAL 5 SECONDS AND T1.ts < T2.ts - INTERVAL 1 SECOND"
INTERVAL_JOINS = {
    "flink_interval_join_inner_minus5_plus6_nullkeys": (
        f"SELECT T2.key AS `t2.key`, T2.id AS `t2.id`, T1.id AS `t1.id` FROM T1 JOIN T2 ON T1.key = T2.key AND {BAND}"
    ),
    "flink_interval_join_strict_bounds_extra_predicates": (
        "SELECT T2.a AS `t2.a`, T1.c AS `t1.c`, T2.c AS `t2.c` FROM T1, T2 "
        f"WHERE T1.a = T2.a AND {STRICT} AND T1.b < T2.b AND T1.b > 2"
    ),
}
ORDERS = ("one batch", "first T1", "first T2", "row by row")


def push_all(run: LocalRun, case: dict[str, Any], order: str) -> None:
    """All rows of two streams, and a flush."""
    one, two = case["streams"]
    rows = {s: rows_of(case, s) for s in (one, two)}
    if order == "row by row":
        for i in range(max(map(len, rows.values()))):
            run.push(**{s: r[i : i + 1] for s, r in rows.items()})
    else:
        parts = {"one batch": [rows], "first T1": [{one: rows[one]}, {two: rows[two]}]}
        for part in parts.get(order) or [{two: rows[two]}, {one: rows[one]}]:
            run.push(**part)
    run.flush()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", INTERVAL_JOINS)
def test_interval_join(name: str, order: str) -> None:
    """Bands closed and open at their ends, NULL keys, further predicates, whichever stream comes first."""
    case = CASES[name]
    run = run_of(case, ("q", INTERVAL_JOINS[name]), slots=2)
    push_all(run, case, order)
    check(run, "q", case, case["expected"])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("time", ["T1.ts", "T2.ts"])
def test_interval_join_then_count(time: str, order: str) -> None:
    """Pairs counted in windows on the time of the one stream, and of the other."""
    case = CASES["flink_interval_join_then_tumble4s_count"]
    band = "abs(T1.ts - T2.ts) <= INTERVAL 5 SECONDS"
    count = f"SELECT T1.key AS key, count(T2.key) AS cnt [RANGE 4 SECONDS, WA {time}] FROM T1, T2"
    run = run_of(case, ("q", f"{count} WHERE T1.key = T2.key AND {band} GROUP BY T1.key"), slots=2)
    push_all(run, case, order)
    (other,) = case["alternatives"].values()
    check(run, "q", case, case["expected"] if time == "T1.ts" else other)


PAIR = "name AS name, L.id AS l_id, L.num AS l_num, R.id AS r_id, R.num AS r_num"


@pytest.mark.parametrize("order", ORDERS)
def test_tumbling_window_join(order: str) -> None:
    """Rows of the same window; L4 and R4 are behind their stream's low-watermark, if batches are small enough to know."""
    case = CASES["flink_window_join_tumble5s_inner"]
    window = "[RANGE TUMBLING 5 SECONDS]"
    text = f"SELECT window_start, window_end, L.{PAIR} FROM L {window} JOIN R {window} ON L.name = R.name"
    run = run_of(case, ("q", text), slots=2, tasks=1)
    push_all(run, case, order)
    late = order == "row by row"
    expected = case["expected"] if late else case["alternatives"]["nothing_dropped_as_late"]
    check(run, "q", case, expected)
    assert [r[1] for s in ("L", "R") for r in run.late(s)] == (["L4", "R4"] if late else [])


@pytest.mark.parametrize("order", ORDERS)
def test_sliding_window_join(order: str) -> None:
    """A pair is there once for every window both are in. A join takes no row from behind the low-watermark, so L4 and R4 are
    in no window here, where the origin has them in the one that is still open.
    """
    case = CASES["flink_window_join_hop10s_5s_inner"]
    window = "[RANGE 10 SECONDS SLIDE 5 SECONDS]"
    text = f"SELECT window_start, window_end, L.{PAIR} FROM L {window} JOIN R {window} ON L.name = R.name"
    run = run_of(case, ("q", text), slots=2, tasks=1)
    push_all(run, case, order)
    expected = case["alternatives"]["nothing_dropped_as_late"]
    if order == "row by row":
        expected = [r for r in case["expected"] if "L4" not in r and "R4" not in r]
    check(run, "q", case, expected)


@pytest.mark.parametrize("kind", ["FULL", "LEFT", "INNER"])
def test_outer_window_join(kind: str) -> None:
    """Rows without a partner in their window are there with the window they are in."""
    case = CASES["rw_window_join_tumble5min_full_outer"]
    window = "[RANGE TUMBLING 5 MINUTES]"
    text = (
        "SELECT L.num AS l_num, L.id AS l_id, R.num AS r_num, R.id AS r_id, window_start, window_end "
        f"FROM L {window} {kind} JOIN R {window} ON L.num = R.num"
    )
    run = run_of(case, ("q", text), slack=600, slots=3)
    push_all(run, case, "row by row")
    expected = {
        "FULL": case["expected"],
        **{k[:5].rstrip("_").upper(): v for k, v in case["alternatives"].items()},
    }
    check(run, "q", case, expected["LEFT" if kind == "LEFT" else kind])


def test_three_way_join() -> None:
    """The origin's join knows no time; with rows a tick apart and a band that holds them all it is the same."""
    case = CASES["flink_three_way_inner_join"]
    script = [
        f"CREATE STREAM {n} (ts BIGINT, {', '.join(f'{c} {t}' for c, t in s['schema'].items())}) "
        "PROGRESSING ON ts ORDERED FROM 'none';"
        for n, s in case["streams"].items()
    ]
    near = "abs(u.ts - o.ts) <= 100 AND abs(u.ts - p.ts) <= 100"
    script.append(
        "CREATE QUERY q AS SELECT u.user_id AS user_id, u.name AS name, o.order_id AS order_id, p.payment_id AS payment_id "
        f"FROM Users u JOIN Orders o ON u.user_id = o.user_id JOIN Payments p ON u.user_id = p.user_id WHERE {near};"
    )
    run = LocalRun("\n".join(script), slots=2)
    rows = {n: [(i, *r) for i, r in enumerate(s["rows"])] for n, s in case["streams"].items()}
    for i in range(4):
        run.push(**{n: r[i : i + 1] for n, r in rows.items()})
    check(run, "q", case, case["expected"])


def test_two_watermarks() -> None:
    """The origin has one watermark for both streams. Here each stream has its own, so the rows of L at 30 and 31 s, 15 s behind
    what L has shown less its 20 s, are late; with slack enough nothing is.
    """
    case = CASES["spark_interval_join_two_watermarks_late_rows"]
    near = "L.ts BETWEEN R.ts - INTERVAL 10 SECONDS AND R.ts + INTERVAL 5 SECONDS"
    text = f"SELECT L.key AS key, L.ts AS l_ts, R.ts AS r_ts FROM L JOIN R ON L.key = R.key AND {near}"
    patient = run_of(case, ("q", text), slack=60)
    run, seen, at = run_of(case, ("q", text)), [], {"L": 0, "R": 0}
    for (stream, size), more in zip(case["arrival_interleaving"], case["expected_by_batch"], strict=True):
        rows = rows_of(case, stream)[at[stream] : at[stream] + size]
        at[stream] += size
        run.push(**{stream: rows})
        patient.push(**{stream: rows})
        seen += [r for r in more if r[1] not in (30_000, 31_000)]
        check(run, "q", case, seen)
    assert [r[1] // MS for r in run.late("L")] == [30_000, 31_000]
    assert [r[1] // MS for r in run.late("R")] == [46_000]
    check(patient, "q", case, case["alternatives"]["nothing_dropped_as_late"])


NEAR = "b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE"


def push_by(run: LocalRun, case: dict[str, Any], size: int) -> None:
    rows = {s: rows_of(case, s) for s in case["streams"]}
    for i in range(0, max(map(len, rows.values())), size):
        run.push(**{s: r[i : i + size] for s, r in rows.items()})
    run.flush()


def test_average_of_winning_bids() -> None:
    """Nexmark q4: the best bid while an auction was open, then the average by category."""
    case = CASES["nexmark_q4_rw_sample"]
    run = run_of(
        case,
        (
            "best",
            "SELECT a.id AS id, a.category AS category, max(b.price) AS final [RANGE 1 HOUR, WA a.ts] FROM auction a, bid b "
            f"WHERE a.id = b.auction AND {NEAR} AND b.ts <= a.expires GROUP BY a.id, a.category",
        ),
        ("q", "SELECT category, avg(final) AS avg FROM best GROUP BY category"),
        slots=3,
    )
    push_by(run, case, 7)
    check(run, "q", case, case["expected"])


def test_new_sellers() -> None:
    """Nexmark q8: who registered and who opened an auction, of the same window."""
    case = CASES["nexmark_q8_rw_sample"]
    run = run_of(
        case,
        ("people", "SELECT id, name, count(*) AS n FROM person [RANGE 10 SECONDS] GROUP BY id, name"),
        ("sellers", "SELECT seller, count(*) AS n FROM auction [RANGE 10 SECONDS] GROUP BY seller"),
        (
            "q",
            "SELECT p.id AS id, p.name AS name, p.window_start AS since FROM people p JOIN sellers s ON p.id = s.seller",
        ),
        slots=3,
    )
    push_by(run, case, 7)
    assert run.rows("q") == [(id_, name, since * MS) for id_, name, since in sorted(case["expected"])]


def test_auctions_with_many_bids() -> None:
    """Nexmark q102: counts of a join, compared with counts of everything in the same window."""
    case = CASES["nexmark_q102_having_rw_sample"]
    run = run_of(
        case,
        (
            "counts",
            "SELECT a.id AS id, a.item_name AS item_name, count(b.auction) AS n [RANGE 1 HOUR, WA a.ts] FROM auction a "
            f"JOIN bid b ON a.id = b.auction WHERE {NEAR} GROUP BY a.id, a.item_name",
        ),
        ("totals", "SELECT count(*) AS n, count(DISTINCT auction) AS d FROM bid [RANGE 1 HOUR]"),
        (
            "q",
            "SELECT c.id AS auction_id, c.item_name AS item_name, c.n AS bid_count FROM counts c, totals t WHERE c.n >= floor(t.n / t.d)",
        ),
        slots=2,
    )
    push_by(run, case, 9)
    check(run, "q", case, case["expected"])


SPECIAL = {
    **dict.fromkeys(INTERVAL_JOINS, test_interval_join),
    "flink_interval_join_then_tumble4s_count": test_interval_join_then_count,
    "flink_window_join_tumble5s_inner": test_tumbling_window_join,
    "flink_window_join_hop10s_5s_inner": test_sliding_window_join,
    "rw_window_join_tumble5min_full_outer": test_outer_window_join,
    "flink_three_way_inner_join": test_three_way_join,
    "spark_interval_join_two_watermarks_late_rows": test_two_watermarks,
    "nexmark_q4_rw_sample": test_average_of_winning_bids,
    "nexmark_q8_rw_sample": test_new_sellers,
    "nexmark_q102_having_rw_sample": test_auctions_with_many_bids,
    "rw_tumble_1h_max_emit_on_close": test_emit_on_close,
    "spark_append_watermark10_tumble5": test_append_by_batch,
    "spark_sliding_range10_slide3_count": test_sliding_without_watermark,
    "rw_union_unsynchronised_then_hop_sum": test_union_of_unsynchronised_streams,
    "spark_union_global_watermark_min_policy": test_progress_of_a_union,
    "nexmark_q5_rw_sample": test_busiest_auctions,
    "arroyo_cars_hop_60min_40min_top_driver": test_top_driver,
    "flink_over_unbounded_range_landmark_by_key": test_landmark_at_every_row,
}
