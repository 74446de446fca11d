"""Where generated files may go, and what may be removed."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.errors import OptionError
from headrace.generate import generate_packets
from headrace.generate.files import MANIFEST, write_stream


def make(out: Path, **options: object) -> list[Path]:
    return generate_packets(out, rows=100, **{"files": 3, **options})


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    """Without force nothing is written next to other files, and they stay."""
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(OptionError, match=r"is not empty \(mine.txt\).*--force"):
        make(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def test_force_replaces_what_was_generated_and_nothing_else(tmp_path: Path) -> None:
    """Files of the earlier run go, also those the new run does not write; foreign files stay."""
    make(tmp_path, files=5)
    (tmp_path / "mine.txt").write_text("x")
    (tmp_path / "packets-99999.parquet").write_text("also mine")
    make(tmp_path, files=2, force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        MANIFEST,
        "mine.txt",
        "packets-00000.parquet",
        "packets-00001.parquet",
        "packets-99999.parquet",
    ]


def test_force_does_not_overwrite_a_foreign_file(tmp_path: Path) -> None:
    """A file with a name we need, which we did not write, is an error even with force."""
    (tmp_path / "packets-00001.parquet").write_text("mine")
    with pytest.raises(OptionError, match="was not generated here and would be overwritten"):
        make(tmp_path, force=True)
    assert (tmp_path / "packets-00001.parquet").read_text() == "mine"


def test_a_list_that_points_elsewhere_is_not_followed(tmp_path: Path) -> None:
    """Names with a path in them are no files of ours, whatever the list says."""
    outside = tmp_path / "precious"
    outside.write_text("x")
    out = tmp_path / "out"
    out.mkdir()
    (out / MANIFEST).write_text(json.dumps({"files": ["../precious", str(outside)]}))
    make(out, force=True)
    assert outside.exists()


def test_an_interrupted_run_can_be_cleaned_up(tmp_path: Path) -> None:
    """The list is there before the files are, so force knows what a broken run left behind."""

    def broken() -> object:
        yield pa.table({"x": range(60)})
        raise KeyboardInterrupt

    options = {"stem": "s", "rows": 100, "files": 2, "format": "parquet", "options": {}}
    with pytest.raises(KeyboardInterrupt):
        write_stream(tmp_path, broken(), **options)
    assert (tmp_path / "s-00000.parquet").exists()
    assert json.loads((tmp_path / MANIFEST).read_text())["complete"] is False
    write_stream(tmp_path, [pa.table({"x": range(100)})], **{**options, "files": 1}, force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == [MANIFEST, "s-00000.parquet"]
    assert json.loads((tmp_path / MANIFEST).read_text())["complete"] is True


def test_progress_is_reported(tmp_path: Path) -> None:
    """The counts add up to the rows."""
    seen: list[int] = []
    make(tmp_path / "p", on_rows=seen.append)
    assert sum(seen) == 100
