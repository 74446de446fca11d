"""Further cases of peers: joins of windowed queries, versions, best rows, batches as their origins deliver them.

Beside the answer a case may have texts as somebody first writes them, in the words of its origin. Each is right as it stands, or
refused in words; never answered wrongly. A case is run here, or listed in `LEFT_OUT` with the reason.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from test_conformance import FOLDER, TYPES, _value, check

from headrace.errors import HeadraceError
from headrace.testing import LocalRun

FILE = FOLDER / "more_cases.json"
CASES: dict[str, dict[str, Any]] = {c["name"]: c for c in json.loads(FILE.read_text())} if FILE.exists() else {}
pytestmark = pytest.mark.skipif(not CASES, reason=f"no cases in {FOLDER}")

DISTINCT_STR = "SELECT name, count(DISTINCT str) AS uv FROM {} [RANGE 5 SECONDS] GROUP BY name"
RATE = "SELECT o.id AS id, o.currency AS currency, o.amount AS amount, o.ts AS ts, r.rate AS rate, r.ts AS rate_ts FROM orders o"
SUMS = "count(*) AS cnt, sum(dec) AS sum_dec, max(dbl) AS max_dbl, min(flt) AS min_flt, count(DISTINCT str) AS dist_str"
LAST = ", ".join(f"last({c}) AS {n}" for c, n in [("ts", "at"), *((c, c) for c in ("i", "dbl", "flt", "dec", "str"))])
WITHIN_HOUR = "b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR AND b.ts <= a.expires"
QUERIES: dict[str, list[str]] = {  # the last is the case's
    "flink_window_semi_join_of_counts": [
        DISTINCT_STR.format("T1"),
        DISTINCT_STR.format("T2"),
        "SELECT name, window_start AS since, window_end AS until, uv FROM q1 WHERE EXISTS (SELECT 1 FROM q2 WHERE q2.name = q1.name)",
    ],
    "flink_window_full_join_of_counts": [
        DISTINCT_STR.format("T1"),
        DISTINCT_STR.format("T2"),
        "SELECT a.name AS name, a.window_start AS since, a.window_end AS until, b.name AS name2, b.window_start AS since2, "
        "b.window_end AS until2, a.uv AS uv1, b.uv AS uv2 FROM q1 a FULL JOIN q2 b ON a.name = b.name",
    ],
    "flink_temporal_join_last_row_versions": [f"{RATE} JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency"],
    "flink_temporal_left_join_with_condition": [
        f"{RATE} LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency AND o.currency LIKE 'US%'"
    ],
    "flink_window_top1": [
        "SELECT name, count(*) AS cnt, sum(dec) AS sum_b FROM T1 [RANGE 5 SECONDS] GROUP BY name",
        "SELECT max_by(name, sum_b) AS name, max_by(cnt, sum_b) AS cnt, max(sum_b) AS sum_b FROM q1",
    ],
    "flink_window_dedup_keep_last": [f"SELECT name, {LAST} FROM T1 [RANGE 5 SECONDS] GROUP BY name"],
    "flink_cumulate_12h_1day_offset8h": [
        f"SELECT name, {SUMS} FROM T1 [RANGE ALL SLIDE 12 HOURS RESET 1 DAY ORIGIN 8 HOURS] GROUP BY name"
    ],
    "flink_tumble_5s_grouping_sets": [
        f"SELECT 0 AS g, name, {SUMS} FROM T1 [RANGE 5 SECONDS] GROUP BY name "
        f"UNION ALL SELECT 1 AS g, CAST(NULL AS STRING) AS name, {SUMS} FROM T1 [RANGE 5 SECONDS]"
    ],
    "spark_windowed_left_outer_join": [
        "SELECT L.key AS key, window_end AS until, L.v AS lv, R.v AS rv "
        "FROM L [RANGE TUMBLING 10 SECONDS] LEFT JOIN R [RANGE TUMBLING 10 SECONDS] ON L.key = R.key"
    ],
    "spark_full_outer_join_range_condition": [
        "SELECT L.key AS lk, R.key AS rk, L.ts AS lts, R.ts AS rts FROM L FULL JOIN R "
        "ON L.key = R.key AND abs(L.ts - R.ts) <= INTERVAL 5 SECONDS"
    ],
    "spark_dedup_with_watermark": ["SELECT DISTINCT ts FROM S"],
    "spark_three_aggregates_in_a_row": [
        "SELECT count(*) AS n FROM S [RANGE 5 SECONDS]",
        "SELECT count(*) AS n, sum(n) AS total FROM q1 [RANGE 10 SECONDS]",
        "SELECT count(*) AS n, sum(total) AS total FROM q2 [RANGE 20 SECONDS]",
    ],
    "spark_left_outer_join_then_window": [
        "SELECT count(*) AS cnt [RANGE 10 MINUTES, WA A.ts] FROM A LEFT JOIN B ON A.id = B.id AND abs(A.ts - B.ts) <= INTERVAL 1 HOUR"
    ],
    "rw_window_top1_emit_on_close": ["SELECT min(foo) AS foo FROM t [RANGE 1 HOUR]"],
    "nexmark_q9_rw_sample": [
        "SELECT a.id AS id, max_by(b.bidder, struct(b.price, - unix_micros(b.ts))) AS bidder, max(b.price) AS price, "
        "max_by(b.ts, struct(b.price, - unix_micros(b.ts))) AS bid_ts [RANGE 1 HOUR, WA a.ts] "
        f"FROM auction a, bid b WHERE a.id = b.auction AND {WITHIN_HOUR} GROUP BY a.id"
    ],
    "nexmark_q101_rw_sample": [
        "SELECT auction, max(price) AS best FROM bid [RANGE 1 HOUR] GROUP BY auction",
        "SELECT id, item_name, count(*) AS n FROM auction [RANGE 1 HOUR] GROUP BY id, item_name",
        "SELECT a.id AS id, a.item_name AS item_name, b.best AS best FROM q2 a LEFT JOIN q1 b ON a.id = b.auction",
    ],
    "nexmark_q18_rw_sample": [
        "SELECT auction, bidder, min_by(price, struct(- unix_micros(ts), price)) AS price, max(ts) AS at "
        "FROM bid [RANGE 1 HOUR] GROUP BY auction, bidder"
    ],
    "ksql_left_join_grace_late_rows": [
        "SELECT t.id AS id, t.x AS x, tt.x AS f FROM t LEFT JOIN tt WITHIN 1 MINUTE ON t.id = tt.id"
    ],
    "feldera_auction_bids_lateness_1min": [
        f"SELECT a.id AS id, b.price AS price, b.ts AS bid_ts FROM auction a JOIN bid b ON a.id = b.auction AND {WITHIN_HOUR}"
    ],
    "duckdb_asof_left_join_no_key_null_times": [
        "SELECT ts, 1 AS one FROM probe",
        "SELECT ts, value, 1 AS one FROM events",
        "SELECT p.ts AS ts, e.value AS value FROM q1 p LEFT JOIN q2 FOR SYSTEM_TIME AS OF p.ts AS e ON p.one = e.one",
    ],
    "spark_percentile_with_frequency": [
        "SELECT course, percentile(year, 0.3) AS p, percentile(year, 0.3, 2) AS p_twice FROM S [RANGE 100] GROUP BY course"
    ],
    "spark_pivot_sum_of_courses": [
        "SELECT course, sum(earnings) FILTER (WHERE year = 2012) AS y2012, sum(earnings) FILTER (WHERE year = 2013) AS y2013 "
        "FROM S [RANGE 100] GROUP BY course"
    ],
    "rw_distinct_on": ["SELECT k + min(v) AS s FROM t1 [RANGE 100] GROUP BY k"],
}
LEFT_OUT = {
    "flink_idle_input_lets_watermark_advance": "needs a clock; tests/progress has idle inputs",
    "spark_session_10s_append": "sessions are refused",
    "arroyo_global_session_20s": "sessions are refused",
    "arroyo_cars_three_windowed_counts_left_joined": "three windowed queries that are left-joined; tests/joins has them",
}


def test_every_case_is_run_or_listed() -> None:
    """A case that is neither run nor left out for a stated reason is a hole in this file."""
    assert set(CASES) == {*QUERIES, *LEFT_OUT}


@pytest.mark.parametrize("name", QUERIES)
def test_case(name: str) -> None:
    """Batches as the origin delivers them, or row by row, then a flush if the answer has what only that closes."""
    case = CASES[name]
    names = [*(f"q{i}" for i in range(1, len(QUERIES[name]))), "q"]
    script = [*map(declare, case["streams"], case["streams"].values())]
    script += [f"CREATE QUERY {n} AS {text};" for n, text in zip(names, QUERIES[name], strict=True)]
    run, at = LocalRun("\n".join(script), slots=2, tasks=1), dict.fromkeys(case["streams"], 0)
    for delivery in case.get("deliveries") or one_by_one(case):
        run.push(**{n: rows_of(case["streams"][n], at[n], at[n] + size) for n, size in delivery.items()})
        at = {n: place + delivery.get(n, 0) for n, place in at.items()}
    if "expected_by_batch" not in case or "expected_after_flush" in case:
        run.flush()
    check(run, "q", case, case.get("expected_after_flush") or case["expected"])


def one_by_one(case: dict[str, Any]) -> list[dict[str, int]]:
    """Each row is a batch, so that progress is known after each: an origin may say that rows behind it are late."""
    sizes = {n: len(s["rows"]) for n, s in case["streams"].items()}
    return [{n: 1 for n, size in sizes.items() if i < size} for i in range(max(sizes.values()))]


WRITTEN = [pytest.param(c, t, id=f"{c['name']}: {t['title']}") for c in CASES.values() for t in c.get("as_first_written", ())]


@pytest.mark.parametrize(("case", "text"), WRITTEN)
def test_as_first_written(case: dict[str, Any], text: dict[str, Any]) -> None:
    """What somebody who knows another system writes first is right, or refused."""
    try:
        run = LocalRun("\n".join(text["sql"]), slots=2)
    except HeadraceError:
        return
    run.push(**{n: rows_of(s, 0, len(s["rows"])) for n, s in case["streams"].items()})
    run.flush()
    check(run, "q", case, case["expected"])


def declare(name: str, stream: dict[str, Any]) -> str:
    """CREATE STREAM; one without a time makes progress on the number of its rows."""
    time = stream["time_column"]
    columns = [f"`{c}` {TYPES.get(t, t)}" for c, t in stream["schema"].items()]
    delay = stream.get("watermark_delay_seconds")
    known = f"SLACK {delay} SECONDS" if delay else "ORDERED"
    listed = ", ".join(columns if time else ["seq BIGINT", *columns])
    return f"CREATE STREAM {name} ({listed}) PROGRESSING ON {time or 'seq'} {known} FROM 'memory';"


def rows_of(stream: dict[str, Any], start: int, end: int) -> list[tuple[Any, ...]]:
    types = list(stream["schema"].values())
    rows = [tuple(_value(v, t) for v, t in zip(row, types, strict=True)) for row in stream["rows"][start:end]]
    return rows if stream["time_column"] else [(start + i, *row) for i, row in enumerate(rows)]


