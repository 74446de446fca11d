"""Rescaling a run on Spark every few seconds, with kills: a short version of `python -m benchmarks.balance rescale`."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.balance.rescale_soak import QUERIES, soak_rescales


@pytest.mark.slow
def test_rescaled_and_killed_runs_give_the_rows_of_an_undisturbed_one(tmp_path: Path) -> None:
    """Half a minute with a kill and a few changes of slots: all four queries have the same rows, each as often."""
    found = soak_rescales(tmp_path, minutes=0.8, change=3.0, kill=12.0)
    assert set(found["results"]) == set(QUERIES)
    for result in found["results"].values():
        assert result["rows"] > 0 and result["missing"] == result["surplus"] == 0
    assert found["kills"] >= 1 and found["slot_changes"] >= 2
