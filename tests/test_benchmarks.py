"""The benchmark program: its data, its queries in four dialects, its checks, and what it concludes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1]))  # benchmarks is a program of the repository, not installed

from benchmarks import __main__ as program
from benchmarks import check, datasets, flink_env, kept, memory, tune, verdicts
from benchmarks.contenders import on_duckdb
from benchmarks.measure import SCHEMA, Options, statements
from benchmarks.report import page
from benchmarks.workloads import CONTENDERS, FLOOR, HEADRACE, LARGE, RACES, RIVALS, ROCKSDB, WORKLOADS

from headrace.sql import parse_script
from headrace.state.result_parquet import read_results
from headrace.testing import LocalRun

SCRIPTS = sorted({w.sql for w in WORKLOADS.values()})
BY_SQL = {w.sql: w for w in WORKLOADS.values()}
STREAM = f"CREATE STREAM {{}} ({SCHEMA}) PROGRESSING ON ts SLACK 5 SECONDS FROM 'memory';"
RARE = ("heavy_flows", "syn_floods", "handshakes", "other_targets")  # of few rows there may be none


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_dialect_defines_the_same_queries(script: str) -> None:
    """A workload has the same query names, in the same order, for each contender."""
    named = [list(statements(BY_SQL[script].text(c))) for c in CONTENDERS]
    assert all(names == named[0] for names in named)
    assert [s.name for s in parse_script(BY_SQL[script].text(HEADRACE))] == named[0]


@pytest.mark.parametrize("script", SCRIPTS)
def test_headrace_and_the_floor_compute_the_same(script: str, tmp_path: Path) -> None:
    """On a small stream, Headrace's SQL and the floor's give equal checksums for every query."""
    taps = datasets.DATASETS[BY_SQL[script].dataset].taps
    small = datasets.Dataset("few_flows", 4, skew=0.0, taps=taps) if taps else datasets.DATASETS["packets_50k"]
    streams = small.streams(3_000, out=tmp_path)
    queries = statements(BY_SQL[script].text(FLOOR))
    listed = {stream: [str(f) for f in files] for stream, files in streams.items()}
    spec = {"cores": 1, "files": listed, "work": str(tmp_path / "floor"), "queries": queries}
    floor = on_duckdb.run(spec)["results"]
    run = LocalRun("".join(map(STREAM.format, streams)) + BY_SQL[script].text(HEADRACE), slots=1, tasks=1)
    for some in (slice(7), slice(7, None)):
        tables = {s: pa.concat_tables(pq.read_table(f) for f in files[some]) for s, files in streams.items()}
        run.push(**{s: [tuple(row.values()) for row in table.to_pylist()] for s, table in tables.items()})
    run.flush()
    bound = datasets.facts(streams)["low_watermark"] - BY_SQL[script].reach
    for query in queries:
        paths = [str(tmp_path / f"{query}-{i}.parquet") for i, _ in enumerate(run.log.results(query))]
        for path, part in zip(paths, run.log.results(query), strict=True):
            pq.write_table(read_results(run.store, part), path)
        ours = check.checksums({"format": "parquet", "paths": paths}, bound)
        assert ours == check.checksums(floor[query], bound), query
        assert query in RARE or ours["closed"]["rows"] > 0, query
        assert query in RARE or taps or ours["all"]["rows"] > ours["closed"]["rows"], query


def test_checksums_see_values_not_types_order_or_format(tmp_path: Path) -> None:
    """The same rows hash alike as INT or BIGINT, times or microseconds, Parquet or CSV, in any order."""
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        rows = "FROM (VALUES (1, 2.5), (2, 3.0), (3, 0.1)) AS v(i, f)"
        start = "make_timestamptz(i * 60000000::BIGINT) AS window_end"
        db.execute(f"COPY (SELECT {start}, i AS k, f::DOUBLE AS f {rows}) TO '{tmp_path}/a.parquet'")
        flat = "f::DOUBLE AS f, i::BIGINT AS k, i * 60000000::BIGINT AS window_end"
        db.execute(f"COPY (SELECT {flat} {rows} ORDER BY i DESC) TO '{tmp_path}/b.parquet'")
        db.execute(f"COPY (SELECT {start}, i AS k, f {rows}) TO '{tmp_path}/c.csv' (HEADER false)")
    csv = {"format": "csv", "paths": [f"{tmp_path}/c.csv"], "columns": ["window_end", "k", "f"]}
    found = [
        check.checksums({"format": "parquet", "paths": [f"{tmp_path}/{n}.parquet"]}, 120_000_000)
        for n in "ab"
    ]
    found.append(check.checksums(csv, 120_000_000))
    assert found[0] == found[1] == found[2]
    assert (found[0]["closed"]["rows"], found[0]["all"]["rows"]) == (2, 3)
    assert check.differences({"q": found[0]}, {"q": found[1]}, "all") == []
    changed = {"q": {"all": {"rows": 3, "hash": "other"}}}
    assert check.differences({"q": found[0]}, changed, "all") == ["q: 3 rows, expected 3"]


def test_csv_deals_rows_to_readers_in_arrival_order(tmp_path: Path) -> None:
    """Flink's files hold all rows; each alone is within the slack, with times cut to milliseconds."""
    files = datasets.DATASETS["packets_1k"].files(2_000, tmp_path)
    folder = datasets.csv_of(files)
    assert datasets.csv_of(files) == folder
    total = 0
    for part in sorted(folder.iterdir()):
        times = [int(line.partition(",")[0]) for line in part.read_text().splitlines()]
        seen = [max(times[: i + 1]) for i in range(len(times))]
        assert max(m - t for m, t in zip(seen, times, strict=True)) <= 5_000
        total += len(times)
    assert total == 2_000
    first = pq.read_table(files[0]).column("ts").cast(pa.int64())[0].as_py()
    assert (folder / "reader-0.csv").read_text().startswith(f"{first // 1000},")


def test_streams_are_made_once_and_linked_in_order(tmp_path: Path) -> None:
    """The quiet stream has rows in its first file only; linked files keep the times that order them."""
    quiet = datasets.DATASETS["packets_quiet"].files(20_000, tmp_path)
    rows = [pq.read_metadata(f).num_rows for f in quiet]
    assert rows == [1_000] + [0] * datasets.QUIET_BATCHES
    before = quiet[0].stat().st_mtime_ns
    assert datasets.DATASETS["packets_quiet"].files(20_000, tmp_path)[0].stat().st_mtime_ns == before
    linked = sorted(datasets.linked(quiet[:5], tmp_path / "input").iterdir())
    times = [f.stat().st_mtime_ns for f in linked]
    assert len(times) == 5
    assert times == sorted(set(times))


def test_packets_are_dealt_to_taps_file_by_file(tmp_path: Path) -> None:
    """Every row is at one tap, files keep their names and times, and times are whole milliseconds."""
    dataset = datasets.Dataset("dealt", 50, taps=3)
    streams = dataset.streams(2_000, first=4, out=tmp_path)
    assert list(streams) == ["tap1", "tap2", "tap3"]
    whole = dataset.files(2_000, tmp_path)[:4]
    for i, file in enumerate(whole):
        parts = [files[i] for files in streams.values()]
        assert {p.name for p in parts} == {file.name}
        assert {round(p.stat().st_mtime) for p in parts} == {round(file.stat().st_mtime)}
        dealt = [row["len"] for p in parts for row in pq.read_table(p).to_pylist()]
        assert sorted(dealt) == sorted(pq.read_table(file).column("len").to_pylist())
        assert len({pq.read_metadata(p).num_rows for p in parts}) <= 2
    times = pq.read_table(streams["tap1"][0]).column("ts").cast(pa.int64()).to_pylist()
    assert all(t % 1000 == 0 for t in times)
    facts = datasets.facts(streams)
    assert facts["rows"] == 400
    last = [max(pq.read_table(f)["ts"].cast(pa.int64()).to_pylist()) for *_, f in streams.values()]
    assert facts["low_watermark"] == min(last) - datasets.SLACK_US
    stamp = streams["tap1"][0].stat().st_ino
    assert dataset.streams(2_000, out=tmp_path)["tap1"][0].stat().st_ino == stamp


def test_results_of_a_join_are_as_old_as_their_time(tmp_path: Path) -> None:
    """Without a window, a result is closed if its ts is not after the low-watermark."""
    pq.write_table(pa.table({"ts": pa.array([1, 5, 6], pa.timestamp("us", "UTC"))}), tmp_path / "a.parquet")
    found = check.checksums({"format": "parquet", "paths": [f"{tmp_path}/a.parquet"]}, 5)
    assert (found["closed"]["rows"], found["all"]["rows"]) == (2, 3)


def test_memory_counts_children() -> None:
    """The tree under a process has it and what it started, and their memory is not zero."""
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1, flush=True); input()'])"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    try:
        found = memory.tree(child.pid)
        assert child.pid in found
        assert len(found) == 2
        assert all(memory.resident_mb(pid) > 1 for pid in found)
        with memory.Peak(child.pid, every=0.01) as peak:  # not our own: other tests' Spark may be below us
            while not peak.mb["total"]:
                pass
        assert peak.mb["python"] == peak.mb["total"] > 10
    finally:
        child.communicate(b"\n")
    assert memory.tree(child.pid) == {}


def test_processor_time_is_counted_between_moments() -> None:
    """A process that computes uses about the seconds it computes for; one that waits uses none."""
    code = "import time; t = time.process_time()\nwhile time.process_time() < t + 0.5: pass\nprint(1, flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    begun = time.monotonic()
    try:
        with memory.Peak(child.pid, every=0.01) as peak:
            child.stdout.readline()
            computed = time.monotonic()
            time.sleep(0.3)
        assert 0.4 < peak.cpu_until(computed + 0.1) - peak.cpu_until(begun) < 0.8
        assert peak.cpu_until(computed + 0.3) - peak.cpu_until(computed + 0.1) < 0.1
        assert peak.cpu_until(begun - 1) <= peak.cpu_until(computed)
    finally:
        child.communicate(b"\n")


def test_settings_of_the_rivals() -> None:
    """Two of Spark with RocksDB, three for joins, one of the others, none of Headrace and the floor."""
    assert [len(tune.list_choices(c)) for c in CONTENDERS] == [0, 0, 0, 2, 1, 1, 0]
    assert [len(tune.list_choices(c, joins=True)) for c in CONTENDERS] == [0, 0, 0, 3, 1, 1, 0]


def test_settings_are_kept_where_they_are_better() -> None:
    """One after another is changed, from the best so far."""
    costs = {(2, True): 3.0, (4, True): 2.0, (8, True): 5.0, (4, False): 2.5}
    choices = {"partitions": (2, 4, 8), "changelog": (True, False)}
    assert tune.climb(choices, lambda s: costs[s["partitions"], s["changelog"]]) == {"partitions": 4, "changelog": True}


def record(workload: str, contender: str, seconds: float, **more: Any) -> dict[str, Any]:
    sums = {"rows": 5, "hash": "a"}
    return {
        "workload": workload,
        "contender": contender,
        "settings": {"partitions": 2} if contender in RIVALS else {},
        "rows": 10_000_000,
        "files_per_batch": 2,
        "at": "2024-05-01T10:00:00Z",
        "load_before": 0.1,
        "memory_mb": {"total": 300, "java": 200, "python": 100},
        **dict.fromkeys(("startup_seconds", "seconds", "warmup_seconds", "batch_seconds"), seconds),
        "flush_seconds": 0.0,
        "whole": 2 * seconds,
        "whole_flushed": 3 * seconds if contender in (HEADRACE, LARGE) else 2 * seconds,
        "steady": seconds,
        "cpu": seconds,
        "cpu_whole": 4 * seconds,
        "drift": 1.0,
        "check": {"flows": {"closed": sums, "all": sums}},
        **more,
    }


def test_ratios_are_judged_on_their_basis() -> None:
    """Steady state against Spark, whole runs for twenty queries and Flink; the unmeasured stays open."""
    records = [
        record("tumbling_200k", c, s)
        for c, s in ((HEADRACE, 2.0), (LARGE, 1.0), (ROCKSDB, 10.0), ("flink", 3.0))
    ]
    records += [record("twenty_queries", c, s) for c, s in ((HEADRACE, 1.0), (ROCKSDB, 15.0))]
    summary = kept.summary(records, "test")
    found = {(r.workload.name, r.rival): (r.value, r.passed) for r in verdicts.ratios(summary)}
    assert found["tumbling_200k", ROCKSDB] == (5.0, True)
    assert found["tumbling_200k", "flink"] == (2.0, False)
    assert found["tumbling_200k", "spark-default"] == (None, None)
    assert found["twenty_queries", ROCKSDB] == (15.0, False)
    light, many = WORKLOADS["tumbling_200k"], WORKLOADS["twenty_queries"]
    cpu = verdicts.cpu_ratio(summary, light, ROCKSDB), verdicts.cpu_ratio(summary, many, ROCKSDB)
    assert [(r.headrace, r.other) for r in cpu] == [(2.0, 10.0), (4.0, 60.0)]
    assert verdicts.cpu_ratio(summary, light, "flink").headrace == 4.0


def test_medians_spread_failures_and_differences() -> None:
    """A summary has medians of the runs that ended; failures and other results are named."""
    other = {"flows": {which: {"rows": 6, "hash": "b"} for which in ("closed", "all")}}
    records = [record("long", HEADRACE, s) for s in (1.0, 3.0, 2.0)]
    records += [record("long", FLOOR, 1.0, check=other)]
    records += [{"workload": "quiet", "contender": HEADRACE, "at": "2024-05-01T11:00:00Z", "error": "broke"}]
    summary = kept.summary(records, "test")
    line = summary["workloads"]["long"][HEADRACE]
    assert (line["steady"], line["runs"], line["spread"]) == (2.0, 3, 1.0)
    assert verdicts.wrong(summary) == ["long headrace: flows: 5 rows, expected 6", "quiet headrace: broke"]


def test_what_a_million_rows_more_take() -> None:
    """An engine without batches is measured on two lengths: the difference has no warm-up in it; the longer one is the run."""
    short, long = ({"rows": n, "whole": w, "cpu_whole": 2 * w} for n, w in ((5_000_000, 4.0), (10_000_000, 3.0)))
    runs = [record("band_join", "flink", 1.0, steady=None, cpu=None, **more) for more in (short, long)]
    line = kept.summary([*runs, record("band_join", LARGE, 0.5)], "test")["workloads"]["band_join"]
    assert (line["flink"]["steady"], line["flink"]["cpu"], line["flink"]["whole"]) == (2.0, 4.0, 3.0)
    ratio = verdicts.steady_ratio({"workloads": {"band_join": line}}, WORKLOADS["band_join"], "flink")
    assert (ratio.value, ratio.passed) == (4.0, False)


def test_sets_of_workloads_are_measured_one_by_one() -> None:
    """A new set takes the place of its workloads in older ones, which keep their dates and the rest."""
    old = kept.summary([record(w, HEADRACE, 1.0) for w in ("long", "quiet", "band_join")], "first")
    new = kept.summary([record("band_join", HEADRACE, 3.0)], "second")
    merged = kept.merge(old, new)
    found = [(s["command"], s["workloads"]) for s in merged["sets"]]
    assert found == [("first", ["long", "quiet"]), ("second", ["band_join"])]
    assert merged["workloads"]["band_join"][HEADRACE]["steady"] == 3.0
    assert merged["workloads"]["long"] == old["workloads"]["long"]
    assert [s["command"] for s in kept.merge(new, new)["sets"]] == ["second"]


def test_page_shows_every_workload_and_verdict() -> None:
    """The page is made for any summary, complete or not, and says what passed."""
    summary = kept.summary([record(w.name, c, 1.0) for w in WORKLOADS.values() for c in w.contenders], "test")
    text = page(summary)
    assert all(w.title in text for w in RACES)
    assert "1.00x (≥ 4x) **✗**" in text
    assert "Results equal the floor's" in text
    assert "not measured" in page(kept.summary([record("quiet", HEADRACE, 0.1)], "test"))


def test_committed_page_is_that_of_the_committed_summary() -> None:
    """docs/benchmarks.md is never edited by hand."""
    written = Path(__file__).parents[1] / program.PAGE
    if not (kept.COMMITTED.exists() and written.exists()):
        pytest.skip("nothing measured yet")
    assert written.read_text() == page(json.loads(kept.COMMITTED.read_text()))


def test_runs_are_kept_and_resumed_and_flink_may_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is there is not repeated, a failed one is; without Flink the others run, with a message."""
    asked: list[tuple[str, str]] = []

    def fake(workload: Any, contender: str, options: Options) -> dict[str, Any]:
        asked.append((workload.name, contender))
        return record(workload.name, contender, 1.0) | ({"error": "broke"} if contender == ROCKSDB else {})

    def missing() -> None:
        raise flink_env.FlinkMissing("Flink is left out: no network")

    monkeypatch.setattr(program, "measure", fake)
    monkeypatch.setattr(datasets, "OUT", tmp_path)
    monkeypatch.setattr(flink_env, "ensure", missing)
    command = ["run", "-w", "tumbling_200k", "--repeat", "2", "--label", "x"]
    first = CliRunner().invoke(program.main, command)
    assert first.exit_code == 0, first.output
    assert "no network" in first.stderr
    assert "FAILED: broke" in first.stdout
    assert len(asked) == 2 * 6
    assert ("tumbling_200k", "flink") not in asked
    asked.clear()
    CliRunner().invoke(program.main, command)
    assert asked == [("tumbling_200k", ROCKSDB)] * 2
    shown = CliRunner().invoke(program.main, ["compare", "--label", "x", "--strict"])
    assert shown.exit_code == 1
    assert "tumbling_200k spark-rocksdb: broke" in shown.output.replace("\n", " ")


def test_lines_through_samples() -> None:
    """A soak's slopes: the first fifth is left out, values that are missing too; growth is in parts of the mean."""
    from benchmarks.soak import fit_lines

    samples = [
        {"minutes": float(m), "batches": float(m), "MB": 1000.0 if m < 12 else 100.0 + m, "flat": 7.0 if m % 2 else float("nan")}
        for m in range(60)
    ]
    lines = {str(line["name"]): line for line in fit_lines(samples)}
    assert lines["MB"]["per_hour"] == pytest.approx(60.0)
    assert lines["MB"]["over_run"] == pytest.approx(47 / 135.5)
    assert lines["flat"]["per_hour"] == pytest.approx(0.0, abs=1e-9)
    assert lines["flat"]["mean"] == 7.0
    assert list(lines) == ["MB", "flat"]
