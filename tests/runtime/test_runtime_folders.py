"""Files in folders by key, read by the slots that own the folders: nothing but messages goes through Spark's shuffle."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.errors import CheckpointError, SourceError
from headrace.runtime.loop import Run
from spark_kit import drained, multiset, session, tables

SCHEMA = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("src", pa.int32()), ("dest", pa.int32()), ("len", pa.int32())])
START = datetime(2026, 1, 1, tzinfo=UTC)
QUERIES = """
CREATE QUERY flows AS SELECT src, dest, count(*) AS cnt, sum(len) AS s FROM tcp [RANGE 2 MINUTES SLIDE 1 MINUTE] GROUP BY src, dest;
CREATE QUERY heavy AS SELECT src, max(cnt) AS most FROM flows GROUP BY src;
"""
PAIRS = """
CREATE QUERY pairs AS SELECT a.ts, a.src, b.len FROM tcp AS a JOIN tcp AS b ON a.src = b.src AND a.len = b.len
  AND b.ts BETWEEN a.ts - INTERVAL 5 SECONDS AND a.ts;
CREATE QUERY ports AS SELECT dest, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY dest;
CREATE QUERY large AS SELECT ts, src, len FROM tcp WHERE len > 95;
"""


def write_folders(path: Path, rows: int, files: int = 4, seed: int = 1, hive: bool = False, values: int = 40) -> Path:
    """Rows out of order, some of them late, a value of src in one of six folders; each file is of another time."""
    rng = random.Random(seed)
    found: dict[tuple[str, int], list[tuple[Any, ...]]] = {}
    for number in range(files):
        for _ in range(rows // files):
            ts = START + timedelta(seconds=number * 100 + rng.uniform(-40, 100))
            src = rng.randrange(values)
            folder = f"{'src=' if hive else 'part-'}{src % 6}"
            found.setdefault((folder, number), []).append((ts, src % 6 if hive else src, rng.randrange(50), rng.randrange(100)))
    for (folder, number), some in found.items():
        (path / folder).mkdir(parents=True, exist_ok=True)
        columns = dict(zip(SCHEMA.names, map(list, zip(*some, strict=True)), strict=True))
        table = pa.table({n: pa.array(v, SCHEMA.field(n).type) for n, v in columns.items()})
        pq.write_table(table.drop_columns(["src"]) if hive else table, path / folder / f"f{number}.parquet")
    return path


def stream(path: Path, clause: str = "PARTITIONED BY (src)", files: int = 6, hive: bool = False) -> str:
    return (
        f"CREATE STREAM tcp (ts TIMESTAMP, src INT, dest INT, len INT) PROGRESSING ON ts SLACK 20 SECONDS {clause} "
        f"FROM 'parquet' OPTIONS (path '{path}', maxFilesPerTrigger {files}, recursiveFileLookup {str(not hive).lower()});\n"
    )


def count_shuffled(spark: Any) -> int:
    """Bytes that all stages so far have written to the shuffle."""
    store = spark.sparkContext._jsc.sc().statusStore()
    gateway = spark.sparkContext._gateway
    quantiles = gateway.new_array(gateway.jvm.double, 0)
    stages = store.stageList(None, False, False, quantiles, None)
    return sum(stages.apply(i).shuffleWriteBytes() for i in range(stages.size()))


def run_both(spark: Any, tmp_path: Path, path: Path, queries: str, hive: bool = False) -> tuple[Run, int, Run, int]:
    """A run by folder and one through the exchange, with the bytes each has shuffled; their results are equal."""
    done = []
    for name, clause in (("folders", "PARTITIONED BY (src)"), ("exchange", "")):
        before = count_shuffled(spark)
        run = drained(spark, tmp_path / name, stream(path, clause, hive=hive) + queries, flush=True, slots=3)
        done.append((run, count_shuffled(spark) - before))
    (ours, few), (theirs, many) = done
    assert tables(ours) == tables(theirs) and all(tables(ours).values())
    assert multiset(ours.late("tcp").arrow()) == multiset(theirs.late("tcp").arrow())
    assert [r.rows for r in ours.reports] == [r.rows for r in theirs.reports]
    return ours, few, theirs, many


def test_only_messages_are_shuffled(spark: Any, tmp_path: Path) -> None:
    """Ten times the rows, and the shuffle carries no more: progress and reports. Without the clause it carries the groups."""
    bytes_of = []
    for rows in (2_000, 20_000):
        path = write_folders(tmp_path / f"data{rows}", rows, values=2_000)
        ours, few, theirs, many = run_both(spark, tmp_path / str(rows), path, QUERIES)
        assert sum(sum(r.table_bytes.values()) for r in ours.reports) == 0 < sum(sum(r.table_bytes.values()) for r in theirs.reports)
        bytes_of.append((few, many))
    (few, _), (still, many) = bytes_of
    assert still < 1.5 * few
    assert many > 5 * still


def test_folders_named_by_value_with_joins_and_other_tables(spark: Any, tmp_path: Path) -> None:
    """Hive's folders, a self-join, an aggregation that needs the exchange, and rows that pass."""
    path = write_folders(tmp_path / "data", 1_200, hive=True)
    ours, _, _, _ = run_both(spark, tmp_path, path, QUERIES + PAIRS, hive=True)
    assert {ours.driver.plan.tables[t].label for t in ours.driver.plan.by_folder} == {"tcp by src, dest", "rows of tcp by `src`, `len`"}
    assert sorted(ours.manifest.folders) == [f"={n}" for n in range(6)]
    assert sum(r.table_bytes["tcp by dest"] for r in ours.reports) > 0


@pytest.mark.slow
def test_new_folders_and_other_slots(spark: Any, tmp_path: Path) -> None:
    """A second start, with more slots, goes on with the numbers of the first; a value in two folders ends a run."""
    path = tmp_path / "data"
    scripts = {clause: stream(path, clause, files=100) + QUERIES + PAIRS for clause in ("PARTITIONED BY (src)", "")}
    write_folders(path, 800, files=1)
    for clause, script in scripts.items():
        session(spark, tmp_path / f"c{len(clause)}", script, slots=2).start(available_now=True).wait()
    for number in range(2):
        extra = write_folders(tmp_path / f"extra{number}", 400, files=1, seed=number, values=30)
        for file in sorted(extra.glob("*/*")):
            file.rename(path / file.parent.name / f"again{number}.parquet")
    new = pa.table({"ts": [START + timedelta(seconds=90)], "src": [777], "dest": [1], "len": [1]}, schema=SCHEMA)
    (path / "part-new").mkdir()
    pq.write_table(new, path / "part-new" / "f.parquet")
    run, plain = (drained(spark, tmp_path / f"c{len(c)}", script, slots=5, flush=True) for c, script in scripts.items())
    assert tables(run) == tables(plain)
    assert multiset(run.late("tcp").arrow()) == multiset(plain.late("tcp").arrow())
    assert sum(run.manifest.streams["tcp"].rows for run in (run, plain)) == 2 * 1601
    assert run.manifest.folders[-1] == "part-new" and len(run.manifest.folders) == 7
    (path / "part-wrong").mkdir()
    pq.write_table(new.set_column(0, "ts", pa.array([START + timedelta(days=1)], SCHEMA.field(0).type)), path / "part-wrong" / "f.parquet")
    with pytest.raises(SourceError, match="'part-new' and 'part-wrong'"):
        drained(spark, tmp_path / "other", scripts["PARTITIONED BY (src)"])


def test_state_by_folder_needs_tasks_that_read(spark: Any, tmp_path: Path) -> None:
    """A query that only Spark can compute cannot be added; alone, with the clause, it goes through the exchange."""
    path = write_folders(tmp_path / "data", 200)
    odd = "CREATE QUERY odd AS SELECT upper(hex(src)) AS h, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY upper(hex(src));"
    drained(spark, tmp_path / "c", stream(path) + QUERIES)
    with pytest.raises(CheckpointError, match="keeps state by the folders of tcp"):
        drained(spark, tmp_path / "c", stream(path) + QUERIES + odd)
    run = drained(spark, tmp_path / "d", stream(path) + QUERIES + odd)
    assert not run.driver.plan.by_folder


def find_busy(run: Run, label: str) -> set[int]:
    """The mini-partitions that have state of a table."""
    nodes = {n.name for n in run.driver.program.nodes if n.label == label}
    return {pid for meta in run.manifest.segments for pid in meta.pids if meta.node in nodes}


def test_files_in_one_folder_go_through_the_exchange(spark: Any, tmp_path: Path) -> None:
    """The clause is true, but one slot would read everything; the results are those of a set without it."""
    for file in write_folders(tmp_path / "folders", 1_200).glob("*/*"):
        (tmp_path / "flat").mkdir(exist_ok=True)
        file.rename(tmp_path / "flat" / f"{file.parent.name}-{file.name}")
    runs = [
        drained(spark, tmp_path / name, stream(tmp_path / "flat", clause) + QUERIES, slots=3)
        for name, clause in (("said", "PARTITIONED BY (src)"), ("unsaid", ""))
    ]
    assert not runs[0].driver.plan.by_folder
    assert tables(runs[0]) == tables(runs[1]) and all(tables(runs[0]).values())
    (label,) = (t.label for t in runs[0].driver.plan.tables.values() if t.level == 0)
    assert len(find_busy(runs[0], label)) > 10

