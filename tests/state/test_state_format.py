"""A checkpoint that another version of Headrace wrote is refused, and the message says what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from state_samples import manifest

from headrace.errors import CheckpointError
from headrace.state import FORMAT, ManifestLog, Store
from headrace.state.manifest import path_of
from headrace.state.record import encode
from headrace.state.sealed_lines import checksum
from headrace.testing import LocalRun

SCRIPT = """
CREATE STREAM s (t BIGINT) PROGRESSING ON t ORDERED FROM 'memory';
CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 10];
"""
ADVICE = r"was written by an older Headrace: it has format 1, this one reads format 9.*start with a new checkpoint"


def test_a_record_of_format_1(tmp_path: Path) -> None:
    """It is refused before anything is read or written."""
    run = LocalRun(SCRIPT, path=str(tmp_path))
    run.push(s=[(1,), (20,)])
    run.close()
    (path,) = (tmp_path / "epochs").iterdir()
    record = json.loads(path.read_text())
    assert record["format"] == FORMAT == 9
    path.write_text(json.dumps({**record, "format": 1}))
    before = sorted(p for p in tmp_path.rglob("*") if p.name != "lock")
    with pytest.raises(CheckpointError, match=ADVICE):
        LocalRun(SCRIPT, path=str(tmp_path))
    assert sorted(p for p in tmp_path.rglob("*") if p.name != "lock") == before


def test_a_manifest_of_format_1(tmp_path: Path) -> None:
    """Readers of results are told the same; it is not called damaged."""
    store = Store.open(str(tmp_path))
    lines = encode(manifest(1)).splitlines(keepends=True)
    lines[0] = lines[0].replace(b'"format":9', b'"format":1')
    store.write(path_of(1), b"".join(lines[:2]) + checksum(b"".join(lines[:2])))
    for act in (ManifestLog.latest, lambda log: log.results("flows")):
        with pytest.raises(CheckpointError, match=ADVICE):
            act(ManifestLog(store))
