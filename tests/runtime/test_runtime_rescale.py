"""Another number of slots, and a policy that moves, in a set that runs on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import OptionError
from headrace.report import BatchReport
from headrace.state.slot_requests import request_slots
from spark_kit import events, stream_sql, tables, write_batches

QUERIES = """
CREATE QUERY q AS SELECT k, count(*) AS n, sum(v) AS sv FROM s [RANGE 2 MINUTES SLIDE 1 MINUTE] GROUP BY k;
CREATE QUERY over_ AS SELECT sum(n) AS n, count(*) AS ks FROM q;
CREATE QUERY pairs AS SELECT a.k, a.v, b.v AS w FROM s AS a JOIN s AS b
  ON a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL 5 SECONDS AND a.ts;
"""


@pytest.mark.parametrize("pretend", ["files", "rows"])
def test_a_running_set_goes_from_two_slots_to_four_to_three(spark: Any, tmp_path: Path, pretend: str) -> None:
    """By a call and by a request in the checkpoint, whoever reads the rows; no row differs from an undisturbed run's."""
    write_batches(tmp_path / "s", events(600, seconds=1200), 6)
    script = stream_sql("s", tmp_path / "s") + QUERIES
    if pretend == "rows":  # an expression that only Spark evaluates
        script = script.replace("sum(v) AS sv", "sum(CAST(soundex(k) IS NULL AS INT)) AS sv")
    quiet = (
        hr.Session(spark, checkpoint=tmp_path / "quiet", slots=2)
        .sql(script)
        .start(available_now=True, flush=True)
    )
    quiet.wait()
    runs: list[Any] = []

    def on_batch(report: BatchReport) -> None:
        if report.batch_id == 2:
            runs[0].rescale(4)
        elif report.batch_id == 4:
            request_slots(runs[0].driver.store, 3)

    session = hr.Session(spark, checkpoint=tmp_path / "moving", slots=2, balance="headrace").sql(script)
    runs.append(session.start(available_now=True, flush=True, on_batch=on_batch))
    runs[0].wait()
    assert (runs[0].scans is None) == (pretend == "rows")
    assert [r.slots for r in runs[0].reports] == [2, 2, 4, 4, 3, 3, 3]
    assert [len(r.slot_seconds) for r in runs[0].reports] == [2, 2, 4, 4, 3, 3, 3]
    assert tables(runs[0]) == tables(quiet) and all(tables(quiet).values())
    with pytest.raises(OptionError, match="the run has ended"):
        runs[0].rescale(2)
    load = runs[0].manifest.load
    assert len(set(load["by_slot"]["executor"])) == 1 and min(load["by_slot"]["peak_memory"]) > 10 << 20


def test_a_policy_that_is_none_is_refused_before_anything_starts() -> None:
    """The message lists those there are."""
    with pytest.raises(OptionError, match="there is no balance policy 'fluks'; there are static, flux-load"):
        hr.Session(balance="fluks")
