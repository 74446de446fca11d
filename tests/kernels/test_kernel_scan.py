"""Files cut into shares, and their columns as declared."""

from __future__ import annotations

import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import SourceError
from headrace.kernels.late_rows import ClosedBy, Judge
from headrace.kernels.scan import Scan, file_chunks, fits, split_files
from headrace.program.limits import SHIPPED
from headrace.program.messages import Split
from headrace.progress import Frontier
from headrace.windows import make_window

UTC = pa.timestamp("us", "UTC")


@given(st.lists(st.integers(0, 10**9), max_size=30), st.integers(1, 16))
def test_shares_hold_every_byte_once(sizes: list[int], tasks: int) -> None:
    """Every file is cut from its first byte to its last, without gap or overlap, and nobody waits for nothing."""
    shares = split_files([(0, f"f{i}", size) for i, size in enumerate(sizes)], tasks)
    assert len(shares) == tasks
    for i, size in enumerate(sizes):
        mine = sorted((s.start, s.end) for share in shares for s in share if s.path == f"f{i}")
        assert mine[0][0] == 0
        assert mine[-1][1] == size
        assert all(a[1] == b[0] for a, b in pairwise(mine))
    loads = [sum(s.end - s.start for s in share) for share in shares]
    assert max(loads) <= 2 * sum(sizes) / tasks + 3_000_000 + len(sizes)


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(1, 5))
def test_every_row_is_read_once(tasks: int, per_group: int) -> None:
    """Whatever the number of tasks, each row group belongs to one share of its file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.parquet"
        pq.write_table(pa.table({"t": pa.array(range(23), pa.int64())}), path, row_group_size=per_group)
        seen: Counter[int] = Counter()
        scan = scanning(pa.schema([("t", pa.int64())]))
        for share in split_files([(0, str(path), path.stat().st_size)], tasks):
            for chunk in file_chunks((scan,), share, SHIPPED.file_rows):
                seen.update(chunk._read(chunk.parts, ["t"]).column("t").to_pylist())
        assert seen == Counter(range(23))


def scanning(schema: pa.Schema, folder: str = "") -> Scan:
    return Scan("s", "t AS _t", "t", tuple(schema.names), schema.serialize().to_pybytes(), folder)


def read(path: Path, schema: pa.Schema, folder: str = "") -> list[dict[str, object]]:
    chunks = file_chunks((scanning(schema, folder),), [Split(0, str(path), 0, path.stat().st_size)], SHIPPED.file_rows)
    return [row for c in chunks for row in c._read(c.parts, schema.names).to_pylist()]


def test_columns_by_name_whatever_the_case(tmp_path: Path) -> None:
    """Other columns are left, absent ones are NULL, narrow ones are widened."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"other": [1.5], "KEY": pa.array([7], pa.int16())}), path)
    assert read(path, pa.schema([("key", pa.int64()), ("gone", pa.string())])) == [{"key": 7, "gone": None}]


def test_columns_in_the_names_of_folders(tmp_path: Path) -> None:
    """As Hive lays files out: the folder's value counts, its default is NULL, only folders below the path count."""
    for place in ("day=2024-01-01/zone=a%20b", "day=__HIVE_DEFAULT_PARTITION__/zone=c"):
        (tmp_path / "n=5" / place).mkdir(parents=True)
        pq.write_table(pa.table({"n": [1], "zone": ["in the file"]}), tmp_path / "n=5" / place / "a.parquet")
    schema = pa.schema([("n", pa.int64()), ("zone", pa.string()), ("day", pa.date32())])
    root = tmp_path / "n=5"
    rows = [read(p, schema, str(root))[0] for p in sorted(root.rglob("*.parquet"))]
    assert [r["zone"] for r in rows] == ["a b", "c"]
    assert [str(r["day"]) for r in rows] == ["2024-01-01", "None"]
    assert [r["n"] for r in rows] == [1, 1]


@pytest.mark.parametrize(
    ("there", "declared", "works"),
    [
        (pa.int8(), pa.int32(), True),
        (pa.int32(), pa.int64(), True),
        (pa.int64(), pa.int32(), False),
        (pa.int32(), pa.float64(), True),
        (pa.int64(), pa.float64(), False),
        (pa.float32(), pa.float64(), True),
        (pa.float64(), pa.float32(), False),
        (pa.uint32(), pa.int64(), True),
        (pa.uint16(), pa.int32(), True),
        (pa.uint32(), pa.int32(), False),
        (pa.uint64(), pa.int64(), True),
        (pa.uint64(), pa.int32(), False),
        (pa.uint64(), pa.decimal128(20, 0), True),
        (pa.uint64(), pa.decimal128(20, 1), False),
        (pa.uint16(), pa.int16(), False),
        (pa.uint8(), pa.int8(), False),
        (pa.int32(), pa.int8(), True),
        (pa.string(), pa.int32(), False),
        (pa.large_string(), pa.string(), True),
        (pa.binary(), pa.string(), True),
        (pa.dictionary(pa.int32(), pa.string()), pa.string(), True),
        (pa.null(), pa.int32(), True),
        (pa.timestamp("ms", "UTC"), UTC, True),
        (pa.timestamp("us"), UTC, True),
        (pa.timestamp("ns", "UTC"), UTC, True),
        (UTC, pa.timestamp("us"), True),
        (pa.binary(4), pa.binary(), True),
        (pa.decimal128(5, 2), pa.decimal128(8, 2), True),
        (pa.decimal128(5, 2), pa.decimal128(6, 3), True),
        (pa.decimal128(8, 2), pa.decimal128(8, 3), False),
        (pa.date32(), UTC, False),
    ],
)
def test_what_a_column_may_be_read_as(there: pa.DataType, declared: pa.DataType, works: bool) -> None:
    """A type is widened, never narrowed; what does not fit is named."""
    assert fits(there, declared) is works


def test_columns_as_pandas_writes_them(tmp_path: Path) -> None:
    """Nanoseconds become the microsecond they fall in, before 1970 too; categories are texts; unsigned integers stay."""
    path = tmp_path / "a.parquet"
    frame = pd.DataFrame(
        {
            "t": pd.to_datetime([-1, 1_700_000_000_000_000_999]),
            "z": pd.to_datetime([1_999, None], utc=True).tz_convert("Europe/Berlin"),
            "k": pd.Categorical(["a", None]),
            "small": np.array([1, 255], "uint8"),
            "big": np.array([1, 2**63 - 1], "uint64"),
        },
        index=[7, 8],
    )
    frame.to_parquet(path)
    assert pq.read_schema(path).field("t").type == pa.timestamp("ns")
    types = [pa.timestamp("us"), UTC, pa.string(), pa.int16(), pa.int64()]
    names = ["t", "z", "k", "small", "big"]
    schema = pa.schema(list(zip(names, types, strict=True)))
    scan = Scan("s", "t AS _t", "t", tuple(names), schema.serialize().to_pybytes())
    (chunk,) = file_chunks((scan,), [Split(0, str(path), 0, path.stat().st_size)], SHIPPED.file_rows)
    table = chunk._read(chunk.parts, names)
    assert table.column("t").cast(pa.int64()).to_pylist() == [-1, 1_700_000_000_000_000]
    assert table.column("z").cast(pa.int64()).to_pylist() == [1, None]
    assert table.select(names[2:]).to_pydict() == {"k": ["a", None], "small": [1, 255], "big": [1, 2**63 - 1]}


def test_an_unsigned_integer_that_is_too_large(tmp_path: Path) -> None:
    """It is named, not wrapped around."""
    path = tmp_path / "a.parquet"
    pd.DataFrame({"t": np.array([1, 2**63], "uint64")}).to_parquet(path)
    scan = Scan("s", "t AS _t", "t", ("t",), pa.schema([("t", pa.int64())]).serialize().to_pybytes())
    (chunk,) = file_chunks((scan,), [Split(0, str(path), 0, path.stat().st_size)], SHIPPED.file_rows)
    with pytest.raises(SourceError, match=rf"{path}: column \[t\] is uint64 and has values too large for int64"):
        chunk._read(chunk.parts, ["t"])


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    """The file and the column, and what to do."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"v": ["x"]}), path)
    with pytest.raises(SourceError, match=r"a\.parquet: column \[v\] is string, but declared as int32"):
        read(path, pa.schema([("v", pa.int32())]))
    pq.write_table(pa.table({"v": [1], "V": [2]}), path)
    with pytest.raises(SourceError, match="has the column v 2 times"):
        read(path, pa.schema([("v", pa.int64())]))
    old = pa.table({"v": [0], "t": pa.array([0], UTC)})
    pq.write_table(old.replace_schema_metadata({"org.apache.spark.version": "2.4.5"}), path)
    assert read(path, pa.schema([("v", pa.int64())])) == [{"v": 0}]
    with pytest.raises(SourceError, match=r"an old Spark wrote it.*\n.*mergeSchema false"):
        read(path, pa.schema([("t", UTC)]))
    path.write_bytes(b"PAR1 not it PAR1")
    with pytest.raises(SourceError, match=r"cannot be read: .*a\.parquet: "):
        read(path, pa.schema([("v", pa.int64())]))


def test_a_row_group_on_the_edge_of_a_split(tmp_path: Path) -> None:
    """It belongs to the split that begins where it begins, and to no other."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"t": pa.array(range(40), pa.int64())}), path, row_group_size=10, use_dictionary=False)
    groups = pq.ParquetFile(path).metadata
    offsets = [groups.row_group(i).column(0).data_page_offset for i in range(groups.num_row_groups)]
    scan, size = scanning(pa.schema([("t", pa.int64())])), path.stat().st_size
    for number, edge in enumerate(offsets[1:], start=1):
        halves = []
        for start, end in ((0, edge), (edge, size)):
            chunks = file_chunks((scan,), [Split(0, str(path), start, end)], SHIPPED.file_rows)
            halves.append([t for c in chunks for t in c._read(c.parts, ["t"]).column("t").to_pylist()])
        assert halves == [list(range(10 * number)), list(range(10 * number, 40))]


def test_late_rows_of_files(tmp_path: Path) -> None:
    """Late rows are kept whole and still count; null and implausible ones are kept and do not."""
    path = tmp_path / "a.parquet"
    ticks = [5, None, 25, 1_000, 12, -5, 31, 29]
    table = pa.table({"t": pa.array(ticks, pa.int64()), "name": [f"row {i}" for i in range(len(ticks))]})
    pq.write_table(table, path)
    schema = table.schema
    scan = Scan("s", "t AS _t, t * 2 AS c0", "t", ("t",), schema.serialize().to_pybytes())
    (chunk,) = file_chunks((scan,), [Split(0, str(path), 0, path.stat().st_size)], SHIPPED.file_rows)
    window = make_window(10, 10)
    rule = Judge(lowest=30, limit=500, missable=(ClosedBy(window, (), Frontier(30)),))
    con = duckdb.connect()
    late = schema.append(pa.field("_reason", pa.string()))
    screened = chunk.screen(con, rule, late)
    assert screened.largest == 31
    assert screened.late is not None
    assert screened.late.schema.names == late.names
    reasons = {(r["t"], r["name"]): r["_reason"] for r in screened.late.to_pylist()}
    assert reasons == {
        (5, "row 0"): "late",
        (None, "row 1"): "null",
        (25, "row 2"): "late",
        (1_000, "row 3"): "implausible",
        (12, "row 4"): "late",
        (-5, "row 5"): "late",
        (29, "row 7"): "late",
    }
    assert sorted(con.sql("SELECT _t, c0 FROM src").fetchall()) == [(t, 2 * t) for t in (-5, 5, 12, 25, 29, 31)]
    chunk.leave(con)
    calm = Judge(lowest=0, limit=2_000, missable=(ClosedBy(window, (), Frontier(0)),))
    screened = chunk.screen(con, calm, late)
    assert screened.late is not None
    assert screened.late.column("_reason").to_pylist() == ["null", "late"]
    assert con.sql("SELECT count(*) FROM src").fetchall() == [(7,)]
