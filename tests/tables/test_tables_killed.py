"""Runs over tables and versions that are killed (SIGKILL) again and again, and give what an undisturbed run gives."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from itertools import groupby
from pathlib import Path

import pytest
from table_driver import BATCHES, ROWS, run_batches

DRIVER = Path(__file__).with_name("table_driver.py")


def run_until_killed(checkpoint: Path, readings: Path, limit: int, seconds: float) -> bool:
    """A process over the checkpoint, killed after so long a time behind its start; whether it was done before."""
    process = subprocess.Popen([sys.executable, str(DRIVER), checkpoint, readings, str(limit)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"started\n"
        time.sleep(seconds)
    finally:
        process.kill()
        said = process.stdout.read()
        process.wait()
    return said.endswith(b"done\n")


@pytest.mark.parametrize("limit", [1 << 20, pytest.param(0, marks=pytest.mark.slow)])
def test_rows_are_answered_once_and_a_batch_by_one_version(tmp_path: Path, limit: int) -> None:
    """Whenever a run is killed, no row is lost or doubled, and all rows of a batch meet the same version of the
    table, whether every slot holds it or it is divided."""
    checkpoint, readings = tmp_path / "checkpoint", tmp_path / "readings"
    rng = random.Random(7)
    for _ in range(4):
        if run_until_killed(checkpoint, readings, limit, rng.random() * 0.6):
            break
    run = run_batches(str(checkpoint), readings, limit)
    found = sorted(run.rows("q"))
    assert [id_ for id_, _ in found] == list(range(BATCHES * ROWS))
    versions = [{version for _, version in batch} for _, batch in groupby(found, lambda row: row[0] // ROWS)]
    assert all(len(each) == 1 for each in versions)
    assert len(set.union(*versions)) == BATCHES
    undisturbed = run_batches(str(tmp_path / "other"), tmp_path / "others", limit)
    for query in ("n", "v"):
        assert run.rows(query) == undisturbed.rows(query) != []
    assert set(run.manifest.tables["t"].paths) <= set(run.store.list("tables"))  # beside files of attempts that died, of the same version
    run.close()
    undisturbed.close()
