"""Kill -9 at random points, many times: the results are those of an undisturbed run, no row lost, none doubled."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from recovery_kit import MOMENTS, descendants, finish, kill_at, start, until_files

from headrace.report.export import CommittedFiles
from headrace.state import ManifestLog, Store
from headrace.state.result_parquet import read_results
from headrace.testing import LocalRun
from spark_kit import drained, events, multiset, stream_sql, write, write_batches

QUERIES = """
CREATE QUERY q AS SELECT k, count(*) AS n, sum(v) AS sv, sum(price) AS sp FROM s [RANGE 1 MINUTE] GROUP BY k;
CREATE QUERY slid AS SELECT k, ok, count(*) AS n, count(DISTINCT day) AS days
  FROM s [RANGE 3 MINUTES SLIDE 1 MINUTE] GROUP BY k, ok;
CREATE QUERY over_ AS SELECT sum(n) AS n, count(*) AS ks FROM q;
CREATE QUERY raw AS SELECT ts, k, v FROM s WHERE v > 0;
"""
NAMES = ("q", "slid", "over_", "raw")


def committed(checkpoint: Path) -> dict[str, Counter[Any]]:
    """All committed results, read through the manifests, and the late rows."""
    log = ManifestLog(Store.open(checkpoint))
    found = {}
    for name, paths in [*((n, log.results(n)) for n in NAMES), ("late", log.late("s"))]:
        tables = [read_results(log.store, f) for f in paths]
        assert [t.num_rows for t in tables] == [f.rows for f in paths]
        found[name] = multiset(pa.concat_tables(tables)) if tables else Counter()
    return found


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight batches with more disorder than slack, so that some rows are late."""
    folder = tmp_path_factory.mktemp("kill") / "s"
    write_batches(folder, events(800, seconds=1200, disorder=150), 8)
    return folder


def killed(tmp_path: Path, script: str, expected: dict[str, Counter[Any]], kills: int, seed: int) -> None:
    """Kill a run `kills` times, then let it finish."""
    rng = random.Random(seed)
    checkpoint = tmp_path / "ck"
    moments = [m for m in MOMENTS for _ in range(-(-kills // len(MOMENTS)))]
    rng.shuffle(moments)
    for number, moment in enumerate(moments[:kills]):
        process = start("recovery_driver.py", script, "local[2]", checkpoint, 2)
        if not kill_at(process, checkpoint, moment, rng, alone=number % 2 == 1):
            assert process.wait() == 0
        now = committed(checkpoint)
        for name, rows in now.items():
            assert not rows - expected[name], (
                f"after the kill at {moment!r}, {name} has rows it must not have"
            )
    assert finish(start("recovery_driver.py", script, "local[2]", checkpoint, 2))
    assert committed(checkpoint) == expected


@pytest.mark.slow
def test_a_driver_killed_a_few_times(spark: Any, source: Path, tmp_path: Path) -> None:
    """Three kills, as soon as files of three kinds appear."""
    script = stream_sql("s", source) + QUERIES
    drained(spark, tmp_path / "fine", script, flush=True)
    expected = committed(tmp_path / "fine")
    assert sum(expected["late"].values()) > 0
    killed(tmp_path, script, expected, kills=3, seed=3)


@pytest.mark.slow
def test_a_driver_killed_while_slots_read_folders(spark: Any, tmp_path: Path) -> None:
    """Slots read the folders they own and write state by folder; folders are numbered before the batch that has them."""
    rows, step = events(800, seconds=1200, disorder=150), 100
    for number in range(8):
        parts: dict[str, list[Any]] = {}
        for row in rows[number * step : (number + 1) * step]:
            parts.setdefault(f"part-{row['k']}", []).append(row)
        for name, mine in parts.items():
            write(tmp_path / "s" / name, mine, number)
    options = {"maxFilesPerTrigger": 4, "recursiveFileLookup": "true"}
    script = stream_sql("s", tmp_path / "s", "SLACK 30 SECONDS PARTITIONED BY (k)", **options) + QUERIES
    fine = drained(spark, tmp_path / "fine", script, flush=True)
    assert fine.driver.plan.by_folder
    expected = committed(tmp_path / "fine")
    plain = drained(spark, tmp_path / "plain", stream_sql("s", tmp_path / "s", **options) + QUERIES, flush=True)
    assert plain.driver.plan.by_folder == frozenset()
    assert committed(tmp_path / "plain") == expected
    killed(tmp_path, script, expected, kills=3, seed=5)


@pytest.mark.slow
def test_a_driver_killed_many_times(spark: Any, source: Path, tmp_path: Path) -> None:
    """Twenty-one kills, at every kind of moment, of the driver alone or with all it has started."""
    script = stream_sql("s", source) + QUERIES
    drained(spark, tmp_path / "fine", script, flush=True)
    killed(
        tmp_path,
        script,
        committed(tmp_path / "fine"),
        kills=21,
        seed=int(os.environ.get("HEADRACE_SEED", "1")),
    )


MEMORY = """
CREATE STREAM s (ts TIMESTAMP, k STRING, v INT) PROGRESSING ON ts SLACK 20 SECONDS FROM 'memory';
CREATE QUERY q AS SELECT k, count(*) AS n, sum(v) AS sv FROM s [RANGE 2 MINUTES SLIDE 1 MINUTE] GROUP BY k;
CREATE QUERY over_ AS SELECT sum(n) AS n FROM q;
CREATE QUERY raw AS SELECT ts, v FROM s WHERE v > 40;
CREATE QUERY slid AS SELECT max(v) AS v FROM s [RANGE ALL SLIDE 2 MINUTES ORIGIN '2024-03-09 22:00:00'];
"""


@pytest.fixture(scope="module")
def in_memory(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Counter[Any]]]:
    """A folder of forty batches, and what an undisturbed run makes of them."""
    folder = tmp_path_factory.mktemp("memory") / "batches"
    folder.mkdir()
    rows = [[int(r["ts"].timestamp() * 1e6), r["k"], r["v"]] for r in events(2000, seconds=3000, disorder=90)]
    fine = LocalRun(MEMORY, path=str(folder.parent / "fine"))
    for number in range(40):
        (folder / f"{number:03d}.json").write_text(json.dumps(rows[number * 50 : number * 50 + 50]))
        fine.push(s=rows[number * 50 : number * 50 + 50])
    fine.flush()
    return folder, committed(folder.parent / "fine")


def test_the_kernels_killed_many_times(tmp_path: Path, in_memory: tuple[Path, dict[str, Counter[Any]]]) -> None:
    """The same kernels, segments and manifests without Spark, killed fifteen times: cheap, so many points are met."""
    rng = random.Random(5)
    folder, expected = in_memory
    kills = 0
    for number in range(15):
        process = start("recovery_local_driver.py", MEMORY, tmp_path / "ck", folder)
        moment = ("manifests", "results", "segments")[number % 3]
        kills += kill_at(process, tmp_path / "ck", moment, rng, alone=True)
        process.wait()
    assert kills > 5
    assert finish(start("recovery_local_driver.py", MEMORY, tmp_path / "ck", folder))
    assert committed(tmp_path / "ck") == expected


FIRST = """
CREATE STREAM s (t BIGINT, a INT, b INT) PROGRESSING ON t SLACK 0 FROM 'memory';
CREATE QUERY one AS SELECT a, count(*) AS n FROM s [RANGE 10] GROUP BY a;
"""
ADDED = """
CREATE QUERY few AS SELECT a, b, count(*) AS n FROM s [RANGE 20] GROUP BY a, b;
CREATE QUERY by_a AS SELECT a, max(n) AS n FROM few GROUP BY a;
CREATE QUERY by_b AS SELECT b, max(n) AS n FROM few GROUP BY b;
"""


@pytest.mark.slow
def test_tables_placed_by_what_was_measured_survive_kills(tmp_path: Path) -> None:
    """All rows have one value of a, which was measured, so new tables are by b; every start after a kill takes what the first
    one chose, although by then there is nothing new that it would choose for.
    """
    folder = tmp_path / "batches"
    folder.mkdir()
    batches = [[(10 * number + i % 10, 0, i % 7) for i in range(30)] for number in range(8)]
    for number, rows in enumerate(batches):
        (folder / f"{number:03d}.json").write_text(json.dumps(rows))
    for name in ("fine", "ck"):
        begun = LocalRun(FIRST, slots=2, path=str(tmp_path / name))
        for rows in batches[:3]:
            begun.push(s=rows)
        begun.close()
    rng, kills, placed = random.Random(11), 0, []
    for moment in ("segments", "manifests"):
        process = start("recovery_local_driver.py", FIRST + ADDED, tmp_path / "ck", folder)
        kills += kill_at(process, tmp_path / "ck", moment, rng, alone=True)
        process.wait()
        newest = max((tmp_path / "ck" / "epochs").iterdir(), key=lambda path: path.stat().st_mtime_ns)
        placed.append(json.loads(newest.read_text())["placements"]["few"])
    assert kills
    assert placed[0] == placed[1]
    assert placed[0]["keys"] == [1] and placed[0]["numbers"] == "measured in 3 batches by the clock"
    found = []
    for name in ("fine", "ck"):
        run = LocalRun(FIRST + ADDED, slots=2, path=str(tmp_path / name))
        while run.manifest.batch_id + 1 < len(batches):
            run.push(s=batches[run.manifest.batch_id + 1])
        if not run.manifest.flush:
            run.flush()
        found.append([run.rows(query) for query in ("one", "few", "by_a", "by_b")])
        run.close()
    assert found[0] == found[1]
    assert all(found[0])


def test_compaction_killed_many_times(tmp_path: Path, in_memory: tuple[Path, dict[str, Counter[Any]]]) -> None:
    """Compacted after every second batch and killed when pages or merged files appear, or at any time; a reader follows
    all the while, and nobody misses or doubles a row.
    """
    rng = random.Random(int(os.environ.get("HEADRACE_SEED", "7")))
    folder, expected = in_memory
    log = ManifestLog(Store.open(tmp_path / "ck"))
    followers = {name: CommittedFiles(log, name) for name in NAMES}
    heard: dict[str, list[pa.RecordBatch]] = {name: [] for name in NAMES}
    kills = 0
    for number in range(12):
        process = start("recovery_local_driver.py", MEMORY, tmp_path / "ck", folder, "-1")
        moment = ("history", "history", "results", "manifests")[number % 4]
        kills += kill_at(process, tmp_path / "ck", moment, rng, alone=True)
        process.wait()
        if number % 3 == 0:
            for name in NAMES:
                heard[name] += followers[name].batches()
    assert kills > 6
    assert finish(start("recovery_local_driver.py", MEMORY, tmp_path / "ck", folder, "-1"))
    assert committed(tmp_path / "ck") == expected
    assert len(log.store.list("history")) <= 8
    assert log.faults() == []
    for name in NAMES:
        heard[name] += followers[name].batches()
        assert multiset(pa.Table.from_batches(heard[name])) == expected[name]


def test_a_reader_beside_a_compacting_run(tmp_path: Path, in_memory: tuple[Path, dict[str, Counter[Any]]]) -> None:
    """While a run compacts and deletes at once, readers that list, open and follow at any moment see every row once."""
    folder, expected = in_memory
    process = start("recovery_local_driver.py", MEMORY, tmp_path / "ck", folder, "-1")
    follower = CommittedFiles(ManifestLog(Store.open(tmp_path / "ck")), "q")
    heard: list[pa.RecordBatch] = []
    reads = 0
    while process.poll() is None:
        heard += follower.batches()
        whole = list(CommittedFiles(ManifestLog(Store.open(tmp_path / "ck")), "q").batches())
        assert sum(b.num_rows for b in whole) >= sum(b.num_rows for b in heard)
        if whole:
            assert not multiset(pa.Table.from_batches(whole)) - expected["q"]
            reads += 1
        time.sleep(0.05)
    assert finish(process)
    assert reads > 5
    heard += follower.batches()
    assert multiset(pa.Table.from_batches(heard)) == expected["q"]


# -- workers and executors -----------------------------------------------------------------------------------------
def workers(driver: int) -> list[int]:
    """Python workers: children of Python daemons, ours or Spark's."""
    kinds = ("-m headrace.runtime.daemon", "-m pyspark.daemon")
    return [
        pid for kind in kinds for daemon in descendants(driver, kind) for pid in descendants(daemon, kind)
    ]


def lost_while_running(tmp_path: Path, script: str, master: str, victims: Any, losses: int) -> int:
    """Run to the end, killing a victim whenever a result or a segment of another batch appears; how many were killed."""
    checkpoint = tmp_path / "ck"
    process = start("recovery_driver.py", script, master, checkpoint, 2)
    killed_, last = 0, 0
    end = time.monotonic() + 600
    while process.poll() is None and time.monotonic() < end:
        seen = max(
            (int(p.name[:12]) for d in ("results", "segments") for p in (checkpoint / d).rglob("0*-*")),
            default=0,
        )
        if killed_ < losses and seen > last:
            for pid in victims(process.pid)[:1]:
                os.kill(pid, signal.SIGKILL)
                killed_, last = killed_ + 1, seen
        time.sleep(0.002)
    assert finish(process), "the run must survive"
    return killed_


def test_lost_workers(spark: Any, source: Path, tmp_path: Path) -> None:
    """Python workers killed in the middle of batches: their tasks are done again, and the results are exact."""
    script = stream_sql("s", source) + QUERIES
    drained(spark, tmp_path / "fine", script, flush=True)
    assert lost_while_running(tmp_path, script, "local[2]", workers, losses=4) >= 2
    assert committed(tmp_path / "ck") == committed(tmp_path / "fine")


@pytest.mark.slow
def test_a_lost_jvm(spark: Any, source: Path, tmp_path: Path) -> None:
    """Without its JVM a run ends with a message instead of waiting for ever, and the next one goes on."""
    script = stream_sql("s", source) + QUERIES
    drained(spark, tmp_path / "fine", script, flush=True)
    process = start("recovery_driver.py", script, "local[2]", tmp_path / "ck", 2)
    until_files(tmp_path / "ck" / "manifests")
    for pid in descendants(process.pid, "org.apache.spark"):
        os.kill(pid, signal.SIGKILL)
    assert process.stdout is not None
    said = process.stdout.read().decode()
    assert process.wait(60) == 2
    assert "HeadraceError: batch" in said
    assert "Spark has ended" in said
    assert finish(start("recovery_driver.py", script, "local[2]", tmp_path / "ck", 2))
    assert committed(tmp_path / "ck") == committed(tmp_path / "fine")


@pytest.mark.slow
def test_lost_executors(spark: Any, source: Path, tmp_path: Path) -> None:
    """Executors of a local cluster killed in the middle of batches: lost tasks run elsewhere, and the results are exact."""
    script = stream_sql("s", source) + QUERIES
    drained(spark, tmp_path / "fine", script, flush=True)

    def executors(driver: int) -> list[int]:
        return [p for p in descendants(driver, "CoarseGrainedExecutorBackend") if workers(p)]

    assert lost_while_running(tmp_path, script, "local-cluster[2,1,1024]", executors, losses=2) >= 1
    assert committed(tmp_path / "ck") == committed(tmp_path / "fine")
