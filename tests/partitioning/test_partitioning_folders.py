"""Streams that come partitioned in folders (PARTITIONED BY): no exchange, and the results of a stream that does not."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import CheckpointError, SourceError
from headrace.kernels.scan import Scan, name_folder
from headrace.optimizer import optimize
from headrace.physical.duck_typer import DuckTyper
from headrace.physical.lower_scan import lower_scan
from headrace.report.model import BatchReport
from headrace.state.folder_numbers import spread_number
from headrace.testing import LocalRun

Row = tuple[int, int | None, int, int]

STREAMS = """
CREATE STREAM tcp (t BIGINT, src INT, dest INT, len INT) PROGRESSING ON t SLACK 8 {tcp} FROM 'memory';
CREATE STREAM dns (t BIGINT, host INT, n INT) PROGRESSING ON t SLACK 8 {dns} FROM 'memory';
"""
PLAIN = STREAMS.format(tcp="", dns="")
SPLIT = STREAMS.format(tcp="PARTITIONED BY (src)", dns="PARTITIONED BY (host)")
QUERIES = """
CREATE QUERY flows AS SELECT src, dest, count(*) AS cnt, sum(len) AS s FROM tcp [RANGE 20 SLIDE 10] GROUP BY src, dest;
CREATE QUERY heavy AS SELECT src, max(cnt) AS most FROM flows GROUP BY src;
CREATE QUERY nets AS SELECT src & 6 AS net, sum(cnt) AS n FROM flows GROUP BY src & 6;
CREATE QUERY later AS SELECT src, sum(cnt) AS n FROM flows [RANGE 40] GROUP BY src;
CREATE QUERY pairs AS SELECT a.src, a.most, b.most AS before FROM heavy AS a JOIN heavy AS b
  ON a.src = b.src AND a.window_end = b.window_end + 10;
CREATE QUERY lasting AS SELECT src, most FROM heavy WHERE most > 1;
CREATE QUERY longest AS SELECT src & 7 AS low, src, max(most) AS most FROM lasting [RANGE 30 SLIDE 10] GROUP BY src & 7, src;
CREATE QUERY known AS SELECT a.t, a.src, a.len, h.most FROM tcp AS a JOIN heavy AS h ON a.src = h.src AND h.window_end BETWEEN a.t - 15 AND a.t;
CREATE QUERY ports AS SELECT dest, count(*) AS n, avg(len) AS a FROM tcp [RANGE 10] GROUP BY dest;
CREATE QUERY total AS SELECT count(*) AS n FROM tcp [RANGE 10];
CREATE QUERY asked AS SELECT a.t, a.src, a.len, b.n FROM tcp AS a JOIN dns AS b ON a.src = b.host AND b.t BETWEEN a.t - 5 AND a.t;
CREATE QUERY lonely AS SELECT a.t, a.src, a.dest, b.n FROM tcp AS a LEFT JOIN dns AS b ON a.src = b.host AND b.t BETWEEN a.t - 5 AND a.t;
CREATE QUERY seen AS SELECT DISTINCT t, src FROM tcp;
CREATE QUERY large AS SELECT t, src, len FROM tcp WHERE len > 7;
CREATE QUERY sums AS SELECT src, sum(n) AS n FROM asked [RANGE 20] GROUP BY src;
"""
FOLDERS = ["a", "b", "c", "d", "", "e"]


def folder_of(value: int | None) -> str:
    return FOLDERS[hash(value) % len(FOLDERS)] if value is not None else "nothing"


def make_batches(seed: int, count: int) -> list[dict[str, list[Any]]]:
    """Rows out of order, some of them late, with values that come up in the middle and lulls."""
    rng = random.Random(seed)
    out, now = [], 0
    for batch in range(count):
        now += rng.choice([0, 5, 15, 40])
        known = 3 + batch * 2
        tcp: list[Any] = []
        for _ in range(rng.choice([0, 1, 30, 60])):
            t = now + rng.randrange(12) - (25 if rng.random() < 0.05 else 0)
            tcp.append((t, rng.choice([None, *range(known)]), rng.randrange(4), rng.randrange(10)))
        dns = [(now + rng.randrange(12), rng.randrange(known), rng.randrange(9)) for _ in range(rng.choice([0, 5, 20]))]
        out.append({"tcp": tcp, "dns": dns})
    return out


def by_folder(rows: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(folder_of(row[1]), []).append(row)
    return found


def collect(run: LocalRun) -> dict[str, Counter[Any]]:
    found = {name: Counter(run.rows(name)) for name in run.graph.queries}
    return found | {f"late {s}": Counter(run.late(s)) for s in run.graph.streams}


def run_plain(batches: list[dict[str, list[Any]]], queries: str = QUERIES) -> dict[str, Counter[Any]]:
    run = LocalRun(PLAIN + queries, slots=3, tasks=2)
    for batch in batches:
        run.push(**batch)
    run.flush()
    found = collect(run)
    run.close()
    return found


def run_split(seed: int, batches: list[dict[str, list[Any]]], path: str) -> dict[str, Counter[Any]]:
    """With restarts, other numbers of slots, routes of all kinds, folders without rows."""
    rng = random.Random(seed)
    run = LocalRun(SPLIT + QUERIES, slots=3, tasks=2, path=path)
    for batch in batches:
        if rng.random() < 0.3:
            run.close()
            run = LocalRun(SPLIT + QUERIES, path=path, tasks=rng.randint(1, 3))
        if rng.random() < 0.3:
            run.rescale(rng.randint(1, 6))
        if rng.random() < 0.5:
            run.driver.balancer.choose_route = lambda _, slots: tuple(rng.randrange(slots) for _ in range(128))  # type: ignore[method-assign]
        run.push(**{name: {"empty": [], **by_folder(rows)} for name, rows in batch.items()})
    run.flush()
    found = collect(run)
    run.close()
    return found


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 2))])
def test_results_are_those_of_a_stream_that_is_not_partitioned(seed: int, tmp_path: Path) -> None:
    """Aggregations and joins of all kinds, late rows, new folders, moves, restarts."""
    batches = make_batches(seed, 8)
    expected = run_plain(batches)
    assert sum(map(len, expected.values())) > 200
    assert run_split(seed, batches, str(tmp_path / "c")) == expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 130))
def test_results_are_the_same_at_length(seed: int, tmp_path: Path) -> None:
    batches = make_batches(seed, 14)
    assert run_split(seed, batches, str(tmp_path / "c")) == run_plain(batches)


def test_what_the_folders_serve_is_not_exchanged() -> None:
    """Tables kept by folder get no bytes through an exchange, and all their rows."""
    run = LocalRun(SPLIT + QUERIES, slots=3, tasks=2)
    kept = {t.label for t in run.plan.tables.values() if t.id in run.plan.by_folder}
    stored = {"flows by src", "rows of heavy by `src`", "lasting by src & 7, src"}  # over results
    assert kept == {"tcp by src, dest", "rows of tcp by `src`", "rows of dns by `host`", "rows of tcp by `t`, `src`"} | stored
    assert not {e.table for e in run.plan.exchanges} & run.plan.by_folder
    batch = make_batches(3, 3)[-1]
    batch["tcp"] = [(5, 1, 1, 1), (6, 2, 1, 9)]
    run.push(**batch)
    report = BatchReport.from_json(run.manifest.report)
    assert {report.table_bytes[label] for label in kept} == {0}
    assert report.tables["tcp by src, dest"] == 2
    assert report.table_bytes["tcp by dest"] > 0
    run.close()


def test_another_clause_is_refused(tmp_path: Path) -> None:
    """State is by folder or by hash for life."""
    path = str(tmp_path / "c")
    run = LocalRun(SPLIT + QUERIES, path=path)
    run.push(tcp=[(1, 1, 1, 1)])
    run.close()
    with pytest.raises(CheckpointError, match=r"tcp was PARTITIONED BY \(src\) and is not PARTITIONED BY anything"):
        LocalRun(PLAIN + QUERIES, path=path)


def test_folders_keep_their_numbers(tmp_path: Path) -> None:
    """A folder's mini-partition never changes; new ones get the next, over all slots."""
    path = str(tmp_path / "c")
    run = LocalRun(SPLIT + QUERIES, path=path)
    assert run.driver.number_folders(["x", "a"]) == {"a": 0, "x": 64}
    run.push(tcp=[])
    run.close()
    run = LocalRun(SPLIT + QUERIES, path=path)
    assert run.driver.number_folders(["0", "x"]) == {"a": 0, "x": 64, "0": 32}
    run.close()


@pytest.mark.parametrize("together", [True, False])
def test_a_value_in_two_folders_is_refused(together: bool) -> None:
    """In one batch or in two; nothing of the batch is committed."""
    run = LocalRun(SPLIT + QUERIES, slots=3)
    run.push(tcp={"a": [(1, 1, 1, 1), (2, 2, 1, 1)], "b": [(1, 3, 1, 1)]})
    version = run.manifest.version
    wrong = {"a": [(3, 5, 1, 1)], "b": [(3, 5, 1, 1)]} if together else {"a": [(3, 7, 1, 1)], "b": [(3, 2, 1, 1)]}
    with pytest.raises(SourceError, match="are in the folders '(a|b)' and '(a|b)'"):
        run.push(tcp=wrong)
    assert run.manifest.version == version
    run.close()


def test_streams_that_are_joined_have_the_same_folders() -> None:
    """Each is partitioned as it says, but not alike."""
    run = LocalRun(SPLIT + QUERIES, slots=3)
    with pytest.raises(SourceError, match="by the same name in every stream"):
        run.push(tcp={"a": [(1, 1, 1, 1)]}, dns={"b": [(1, 1, 1)]})
    run.close()


def test_streams_that_never_meet_may_differ() -> None:
    only = "CREATE QUERY a AS SELECT src, count(*) AS n FROM tcp [RANGE 10] GROUP BY src; "
    only += "CREATE QUERY b AS SELECT host, count(*) AS n FROM dns [RANGE 10] GROUP BY host;"
    run = LocalRun(SPLIT + only, slots=3)
    run.push(tcp={"a": [(1, 1, 1, 1)]}, dns={"b": [(1, 1, 1)]})
    assert len(run.plan.by_folder) == 2
    run.close()


def test_samples_are_of_the_same_values_everywhere() -> None:
    """Of many values, two slots that have the same tell of the same ones."""
    run = LocalRun(SPLIT + QUERIES, slots=2)
    rows = [(1, value, 1, 1) for value in range(2000)]
    with pytest.raises(SourceError, match="PARTITIONED BY"):
        run.push(tcp={"a": rows, "b": rows[1000:]})
    run.close()


FILES = """
CREATE STREAM tcp (ts TIMESTAMP, src INT, dest INT, len INT) PROGRESSING ON ts ORDERED PARTITIONED BY (src)
  FROM 'parquet' OPTIONS (path 'data');
CREATE QUERY flows AS SELECT src, dest, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY src, dest;
"""
SIZES = "CREATE QUERY sizes AS SELECT len, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY len;"


def test_explain_says_so() -> None:
    """At every table, in every format; and what it is not used for."""
    session = hr.Session().sql(FILES)
    text = session.explain()
    assert "one pass over the input, no exchange," in text
    assert "each folder by one slot: partitioned by src" in text
    assert "    no exchange: partitioned by src in the source\n" in text
    (table,) = json.loads(session.explain("json"))["tables"]
    assert table["no_exchange"] == "no exchange: partitioned by src in the source"
    assert "no exchange: partitioned by src in the source" in session.explain("dot")
    assert "1 exchange," in hr.Session().sql(FILES + SIZES).explain()
    odd = session.sql("CREATE QUERY odd AS SELECT upper(hex(src)) AS h, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY upper(hex(src));")
    assert "that it is partitioned by src is not used" in odd.explain()


@pytest.mark.parametrize(
    ("files", "flat"),
    [
        ([], False),
        (["a.parquet"], True),
        (["a.parquet", "b.parquet", "_SUCCESS", ".hidden/c.parquet"], True),
        (["src=1/a.parquet"], False),
        (["a.parquet", "part-1/b.parquet"], False),
    ],
)
def test_explain_sees_that_files_lie_flat(tmp_path: Path, files: list[str], flat: bool) -> None:
    """With all files in one folder one slot would read them all: rows go through the exchange, and EXPLAIN
    says why.
    """
    (tmp_path / "data").mkdir()
    for name in files:
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).touch()
    text = hr.Session().sql(FILES, base=tmp_path).explain()
    why = "that it is partitioned by src is not used, since its files all lie in one folder\n"
    assert (why in text) == flat
    assert ("no exchange: partitioned by src in the source" in text) != flat
    assert ("1 exchange," in text) == flat


def test_files_that_turn_out_to_lie_flat_are_noted() -> None:
    """A run that began before the first file reads by folder: that all files came in one is said, once."""
    for folder, expected in (("", [1, 0]), ("a", [0, 0])):
        run = LocalRun(SPLIT + QUERIES, slots=3)
        reports = [BatchReport.from_json(run.push(tcp={folder: [(t, 1, 1, 1)]}).report) for t in (1, 2)]
        assert [sum("one slot reads them all" in note for note in r.notes) for r in reports] == expected
        run.close()


def test_source_tasks_read_only_what_they_need() -> None:
    """Progress, and the columns of tables that the exchange brings rows to; slots read the others."""
    for queries, told, own in ((FILES, ("ts",), ("ts", "src", "dest")), (FILES + SIZES, ("ts", "len"), ("ts", "src", "dest"))):
        graph = hr.Session().sql(queries).graph
        typer = DuckTyper(graph, {})
        plan = optimize(graph, typer)
        scans = [lower_scan(plan, graph.streams["tcp"], typer.result_schema("tcp"), "/data", by) for by in (False, True)]
        assert [(s.columns, s.by) for s in scans] == [(told, None), (own, ("src",))]


@pytest.mark.parametrize(
    ("by", "path", "name"),
    [
        (("src",), "src=7/f", "=7"),
        (("src",), "day=1/src=7/f", "=7"),
        (("a", "b"), "b=x%2Fy/a=1/f", "=1/x%2Fy"),
        (("a", "b"), "a=1/c=2/f", "a=1"),
        (("src",), "part-3/deep/f", "part-3"),
        (("src",), "f", ""),
        (("",), "src=7/f", "src=7"),
        (("src",), "src=__HIVE_DEFAULT_PARTITION__/f", "=__HIVE_DEFAULT_PARTITION__"),
    ],
)
def test_what_a_partition_is_called(by: tuple[str, ...], path: str, name: str) -> None:
    """By its values where folders say them, else by the first folder."""
    assert name_folder(Scan("s", "", "", (), b"", "/data/", by, "/data/"), f"/data/{path}") == name


@pytest.mark.parametrize("pids", [1, 5, 8, 100, 128])
def test_numbers_are_spread(pids: int) -> None:
    """Each mini-partition once in a row, and few of them over all slots."""
    order = [spread_number(n, pids) for n in range(2 * pids)]
    assert sorted(order[:pids]) == list(range(pids)) and order[pids:] == order[:pids]
    if pids >= 8:
        assert len({pid * 4 // pids for pid in order[:4]}) == 4
