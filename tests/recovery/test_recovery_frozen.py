"""A checkpoint of this format, as it was written when the format was new: what reads it later reads what users have."""

from __future__ import annotations

import sys
import tarfile
from pathlib import Path

from headrace.state import FORMAT

FROZEN = Path(__file__).parent / "frozen"
sys.path.append(str(FROZEN))
from make import ADDED, BATCHES, SCRIPT, start  # noqa: E402


def test_the_frozen_checkpoint_goes_on(tmp_path: Path) -> None:
    """It is continued, with the query that was added to it live, to the results of a run that was never stopped."""
    with tarfile.open(FROZEN / f"format-{FORMAT}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    again = start(str(tmp_path / "checkpoint"), f"{SCRIPT}{ADDED};")
    assert again.manifest.version == 2
    assert again.driver.epoch.path == again.manifest.epoch, "the same set has the same epoch"
    whole = start(str(tmp_path / "whole"))
    whole.push(**BATCHES[0])
    whole.change(ADDED)
    whole.push(**BATCHES[1])
    for run in (again, whole):
        run.push(**BATCHES[2])
        run.flush()
    for query in again.driver.epoch.queries:
        assert again.rows(query) == whole.rows(query) != []
