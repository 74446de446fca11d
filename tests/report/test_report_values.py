"""Values that Spark keeps and Python does not have."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from headrace.report import text
from headrace.report.export import encoder
from headrace.report.python_values import list_rows, list_values

NOT_UTF8 = pa.array([b"a\xff", b"b", None]).view(pa.string())
FAR = int(np.datetime64("12000-02-03T00:00:01", "us").astype("int64"))
TIMES = pa.array([FAR, 1, None], pa.timestamp("us", "UTC"))
MOMENT = datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC)


def test_times_python_does_not_have_are_texts() -> None:
    """The others of the column stay times; a year of more than four digits has a sign, one before 0 too."""
    assert list_values(TIMES) == ["+12000-02-03T00:00:01.000000Z", MOMENT, None]
    early = int(np.datetime64("-0043-03-15T12:00:00", "us").astype("int64"))
    assert list_values(pa.array([early], pa.timestamp("us"))) == ["-0043-03-15T12:00:00.000000"]
    assert list_values(pa.array([4_000_000, 0], pa.date32()))[0] == "+12921-08-18"


def test_bytes_that_are_no_letters() -> None:
    """A STRING of a Parquet file may hold anything; it is shown, with the replacement character for what is no letter."""
    assert list_values(NOT_UTF8) == ["a\ufffd", "b", None]


def test_inside_lists_structs_and_maps() -> None:
    """The same at any depth."""
    structs = pa.StructArray.from_arrays([TIMES, NOT_UTF8], ["at", "name"])
    lists = pa.ListArray.from_arrays([0, 2, 3], NOT_UTF8)
    maps = pa.MapArray.from_arrays([0, 1, 3], pa.array(["x", "y", "z"]), TIMES)
    far = "+12000-02-03T00:00:01.000000Z"
    assert list_values(structs)[0] == {"at": far, "name": "a\ufffd"}
    assert list_values(lists) == [["a\ufffd", "b"], [None]]
    assert list_values(maps) == [[("x", far)], [("y", MOMENT), ("z", None)]]


@pytest.mark.parametrize("format_", ["table", "csv", "json"])
def test_every_format_writes_them(format_: str) -> None:
    """One odd value does not keep the other rows from being read."""
    batch = pa.RecordBatch.from_arrays([TIMES, NOT_UTF8], ["at", "name"])
    written = encoder(format_)(batch).decode()
    assert "+12000-02-03" in written and "a\ufffd" in written and "1970-01-01" in written
    if format_ == "json":
        assert [json.loads(line)["name"] for line in written.splitlines()] == ["a\ufffd", "b", None]
    assert list_rows(batch)[1] == {"at": MOMENT, "name": "b"}


def test_ticks_of_early_years() -> None:
    """A year has four digits."""
    assert text.ticks(-62_135_596_800_000_000, "us") == "0001-01-01 00:00:00"
