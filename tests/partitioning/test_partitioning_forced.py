"""What can be forced to compare plans: what state is partitioned by, and whether source tasks aggregate before they send."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import CheckpointError, OptionError
from headrace.report.model import BatchReport
from headrace.testing import LocalRun

STREAM = "CREATE STREAM tcp (t BIGINT, src INT, dest INT, len INT) PROGRESSING ON t SLACK 0 FROM 'memory';"
FLOWS = """
CREATE QUERY flows AS SELECT src, dest, count(*) AS cnt FROM tcp [RANGE 10] GROUP BY src, dest;
CREATE QUERY heavy AS SELECT src, max(cnt) AS most FROM flows GROUP BY src;
CREATE QUERY pairs AS SELECT a.src, a.most, b.most AS before FROM heavy AS a JOIN heavy AS b
  ON a.src = b.src AND a.window_end = b.window_end + 10;
"""
KINDS = """
CREATE QUERY kinds AS SELECT src, count(*) AS n, count(len) AS m, sum(len) AS s, avg(len) AS a, min(len) AS lo, max(len) AS hi,
  count(DISTINCT len) AS d, bit_or(len) AS o, sum(len) FILTER (WHERE len > 3) AS f FROM tcp [RANGE 10 SLIDE 4] GROUP BY src;
CREATE QUERY total AS SELECT count(*) AS n, sum(len) AS s FROM tcp [RANGE 10] WHERE len <> 5;
"""


def make_rows(count: int) -> list[tuple[int, int, int, int | None]]:
    rng = random.Random(count)
    return [(t // 5, rng.randrange(5), rng.randrange(4), rng.choice([None, *range(9)])) for t in range(count)]


def run_all(text: str, preaggregate: bool = True, **options: Any) -> tuple[dict[str, list[tuple[Any, ...]]], list[BatchReport], LocalRun]:
    run = LocalRun(STREAM + text, slots=3, tasks=3, preaggregate=preaggregate, **options)
    rows, reports = make_rows(300), []
    for start in range(0, len(rows), 100):
        run.push(tcp=rows[start : start + 100])
        reports.append(BatchReport.from_json(run.manifest.report))
    run.flush()
    found = {name: run.rows(name) for name in run.graph.queries}
    run.close()
    return found, reports, run


def test_a_set_that_serves_part_of_a_chain_costs_a_second_exchange() -> None:
    """By itself the set is partitioned by src alone; by (src, dest) heavy needs an exchange. Results are the same."""
    best, _, plain = run_all(FLOWS)
    forced, reports, partial = run_all(FLOWS, partition_by="src, dest")
    assert plain.plan.levels == 1 < partial.plan.levels == 2
    assert [e.by for e in partial.plan.exchanges if e.level == 0] == [("src", "dest")]
    assert best == forced
    assert best["pairs"]
    assert sum(r.table_bytes["flows by src"] for r in reports) > 0


def test_a_set_that_serves_nothing_changes_nothing() -> None:
    """What is not served is partitioned as its readers group, as if nothing had been said."""
    best, _, plain = run_all(FLOWS)
    forced, _, other = run_all(FLOWS, partition_by="len")
    assert plain.plan.exchanges == other.plan.exchanges
    assert best == forced


def test_by_nothing_all_is_in_one_place(tmp_path: Path) -> None:
    """The partition-agnostic plan is one that runs: source tasks send partial aggregates, and one mini-partition does the rest."""
    best, _, _ = run_all(FLOWS)
    forced, reports, run = run_all(FLOWS, partition_by="", path=str(tmp_path / "checkpoint"))
    assert best == forced
    assert run.plan.levels == 1
    assert {t.partition for t in run.plan.tables.values()} == {()}
    assert all(sum(one.received_bytes > 0 for one in report.slot_loads) <= 1 for report in reports)
    with pytest.raises(CheckpointError, match="partitioned by nothing, not by 'src'"):
        LocalRun(STREAM + FLOWS, slots=3, path=str(tmp_path / "checkpoint"), partition_by="src")


def test_coarser_keys_are_taken_as_said() -> None:
    """Functions of the keys serve too."""
    best, _, _ = run_all(FLOWS)
    forced, _, run = run_all(FLOWS, partition_by="src & 6")
    assert [e.by for e in run.plan.exchanges] == [("src & 6",)]
    assert best == forced


def test_state_is_never_partitioned_anew(tmp_path: Path) -> None:
    """A checkpoint keeps what it was begun with; another wish is refused, none goes on with it."""
    script, path = STREAM + FLOWS, str(tmp_path / "checkpoint")
    run = LocalRun(script, slots=2, path=path, partition_by="src, dest")
    run.push(tcp=make_rows(100))
    run.close()
    with pytest.raises(CheckpointError, match="partitioned by src, dest, not by 'src'"):
        LocalRun(script, slots=2, path=path, partition_by="src")
    again = LocalRun(script, slots=2, path=path)
    assert again.plan.levels == 2
    again.close()


def test_a_key_that_is_not_there_is_refused() -> None:
    with pytest.raises(OptionError, match="no stream has all of the columns nowhere"):
        LocalRun(STREAM + FLOWS, partition_by="nowhere")


def test_rows_instead_of_groups_give_the_same_results() -> None:
    """Without pre-aggregation every row is sent, and every kind of aggregate comes out the same."""
    grouped, few, _ = run_all(KINDS + FLOWS)
    plain, many, _ = run_all(KINDS + FLOWS, preaggregate=False)
    assert grouped == plain
    assert grouped["kinds"] and grouped["total"]
    rows = {label: sum(r.tables[label] for r in many) for label in ("tcp by src", "tcp by src, dest")}
    assert rows == {"tcp by src": 300, "tcp by src, dest": 300}
    for label in rows:
        assert sum(r.tables[label] for r in few) < 300
        assert sum(r.table_bytes[label] for r in few) < sum(r.table_bytes[label] for r in many)


def test_slots_tell_what_they_received_and_worked() -> None:
    """Bytes by slot add up to bytes by table, and are those of the rows that came through the exchange."""
    _, reports, _ = run_all(FLOWS)
    for report in reports:
        assert sum(one.received_bytes for one in report.slot_loads) == sum(report.table_bytes.values()) > 0
        assert all(one.cpu > 0 for one in report.slot_loads)
    assert {r.table_bytes["rows of heavy by `src`"] for r in reports} == {0}  # they are there already
