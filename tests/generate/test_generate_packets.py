"""Generated packets: what the options promise."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
import pytest

from headrace.errors import OptionError
from headrace.generate import SYN_FIN, XMAS, generate_packets
from headrace.generate.packets import SCHEMA

SECOND = 1_000_000
START = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * SECOND


def read(paths: list[Path]) -> pa.Table:
    return pa.concat_tables([pq.read_table(p) for p in paths])


def times(table: pa.Table) -> np.ndarray:
    return table["ts"].cast(pa.int64()).to_numpy()


def lateness(table: pa.Table) -> np.ndarray:
    ts = times(table)
    return np.maximum.accumulate(ts) - ts


def test_the_schema_is_the_documented_one(tmp_path: Path) -> None:
    """Timestamps have microseconds and a zone; everything else is a 32-bit integer, row groups are
    bounded.
    """
    paths = generate_packets(tmp_path / "p", rows=300_000, files=1)
    file = pq.ParquetFile(paths[0])
    assert file.schema_arrow == SCHEMA
    assert max(file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)) <= 128 * 1024


def test_the_same_seed_gives_the_same_rows(tmp_path: Path) -> None:
    """Whatever the number of files; another seed gives other rows."""
    options = {"rows": 5_000, "groups": 100, "disorder": "band", "lulls": 1}
    once = read(generate_packets(tmp_path / "a", files=1, seed=7, **options))
    again = read(generate_packets(tmp_path / "b", files=7, seed=7, **options))
    other = read(generate_packets(tmp_path / "c", files=1, seed=8, **options))
    assert once.equals(again)
    assert not once.equals(other)


def test_slabs_join_without_a_seam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are made in pieces of bounded size; time runs on evenly from one to the next."""
    monkeypatch.setattr("headrace.generate.packets.SLAB", 1_000)
    ts = times(read(generate_packets(tmp_path / "p", rows=10_500, files=3, duration="1 hour")))
    assert (np.diff(ts) >= 0).all()
    per_quarter = np.bincount((ts - START) // (900 * SECOND), minlength=4)
    assert per_quarter.tolist() == pytest.approx([2625] * 4, rel=0.05)


def test_order_none_means_ordered_and_inside_the_duration(tmp_path: Path) -> None:
    """Without disorder, times ascend from the start and stay within the duration."""
    ts = times(read(generate_packets(tmp_path / "p", rows=20_000, duration="10 minutes")))
    assert (np.diff(ts) >= 0).all()
    assert ts[0] >= START
    assert ts[-1] < START + 600 * SECOND


def test_band_disorder_keeps_its_bound(tmp_path: Path) -> None:
    """No row is more than the delay behind the largest time seen, and the band is used; nothing precedes the
    start.
    """
    table = read(generate_packets(tmp_path / "p", rows=50_000, disorder="band", delay="30 seconds"))
    assert lateness(table).max() <= 30 * SECOND
    assert lateness(table).max() > 29 * SECOND
    assert times(table).min() >= START


def test_block_sorted_disorder_shuffles_blocks_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block of n rows lies wholly before the next, with its rows in a random order."""
    monkeypatch.setattr("headrace.generate.packets.SLAB", 1_000)
    ts = times(
        read(generate_packets(tmp_path / "p", rows=7_100, disorder="block-sorted", block=300, files=4))
    )
    blocks = [ts[i : i + 300] for i in range(0, len(ts), 300)]
    assert all(a.max() <= b.min() for a, b in pairwise(blocks))
    assert all((np.diff(b) < 0).any() for b in blocks)


@pytest.mark.parametrize("disorder", ["none", "band"])
def test_lulls_are_quiet(tmp_path: Path, disorder: str) -> None:
    """As many gaps as asked for, each at least as long as asked for, also under band disorder."""
    table = read(
        generate_packets(
            tmp_path / "p",
            rows=50_000,
            duration="1 hour",
            lulls=3,
            lull="5 minutes",
            disorder=disorder,
            delay="20 seconds",
        )
    )
    ts = np.sort(times(table))
    assert (np.diff(ts) >= 300 * SECOND).sum() == 3
    assert ts[-1] < START + 3600 * SECOND
    if disorder == "band":
        assert lateness(table).max() <= 20 * SECOND


def test_groups_and_sources_are_counted(tmp_path: Path) -> None:
    """With enough rows every pair and every source appears, and no other; sources share subnets."""
    table = read(generate_packets(tmp_path / "p", rows=60_000, groups=800, sources=50, skew=0))
    assert table.group_by(["srcIP", "destIP"]).aggregate([]).num_rows == 800
    assert len(pc.unique(table["srcIP"])) == 50
    assert len(pc.unique(pc.bit_wise_and(table["srcIP"], pa.scalar(-256, pa.int32())))) == 1
    assert pc.max(table["destIP"]).as_py() < 0


def test_skew_follows_zipf(tmp_path: Path) -> None:
    """With exponent 1 the busiest pair has twice the rows of the next; with 0 all are alike."""

    def counts(skew: float) -> np.ndarray:
        table = read(generate_packets(tmp_path / str(skew), rows=100_000, groups=50, skew=skew, suspicious=0))
        found = table.group_by(["srcIP", "destIP"]).aggregate([([], "count_all")])["count_all"].to_numpy()
        return np.sort(found)[::-1]

    zipf, even = counts(1.0), counts(0)
    assert zipf[0] / zipf[1] == pytest.approx(2, rel=0.1)
    assert zipf[0] / zipf[9] == pytest.approx(10, rel=0.15)
    assert even[0] / even[-1] < 1.3


def test_scans_stand_out_by_the_or_of_their_flags(tmp_path: Path) -> None:
    """Some flows of a minute OR to 41, and only scans do; ordinary traffic never sets URG and mostly ACKs."""
    table = read(generate_packets(tmp_path / "p", rows=200_000, duration="10 minutes", suspicious=0.01))
    flags, port = table["flags"].to_numpy(), table["srcPort"].to_numpy()
    scans = port >= 61_000
    assert scans.mean() == pytest.approx(0.01, rel=0.1)
    assert not (flags[~scans] & 32).any()
    minute = times(table) // (60 * SECOND)
    ors: dict[tuple[int, ...], int] = {}
    flow = [table[c].to_numpy()[scans] for c in ("srcIP", "destIP", "srcPort", "destPort")]
    for *key, f in zip(minute[scans], *flow, flags[scans], strict=True):
        ors[tuple(key)] = ors.get(tuple(key), 0) | f
    found = list(ors.values())
    assert found.count(XMAS) > 10
    assert found.count(XMAS) + found.count(SYN_FIN) == len(found)
    assert set(table["protocol"].to_numpy()[scans]) == {6}


def test_names_and_times_of_files_are_arrival_order(tmp_path: Path) -> None:
    """Sorting by name or by modification time gives the files back as they arrived, none in the future."""
    paths = generate_packets(tmp_path / "p", rows=1_000, files=12)
    assert paths == sorted(paths)
    stamps = [p.stat().st_mtime for p in paths]
    assert all(b - a >= 0.9 for a, b in pairwise(stamps))
    assert stamps[-1] <= datetime.now().timestamp()
    assert [p.name for p in sorted((tmp_path / "p").iterdir()) if not p.name.startswith("_")] == [
        p.name for p in paths
    ]


@pytest.mark.parametrize("format", ["csv", "json"])
def test_text_formats_hold_the_same_rows(tmp_path: Path, format: str) -> None:
    """CSV (with a header) and JSON lines give the rows of the Parquet files, times in ISO 8601 with Z."""
    expected = read(generate_packets(tmp_path / "p", rows=2_000, files=2))
    paths = generate_packets(tmp_path / "t", rows=2_000, files=2, format=format)
    reader = pyarrow.csv.read_csv if format == "csv" else pyarrow.json.read_json
    assert paths[0].read_text().splitlines()[1].count("2024-01-01T00:0") == 1
    got = pa.concat_tables([reader(p) for p in paths])
    assert got.cast(SCHEMA).equals(expected)


def test_more_files_than_rows_is_one_row_a_file(tmp_path: Path) -> None:
    """A tiny stream does not make empty files."""
    assert [pq.read_table(p).num_rows for p in generate_packets(tmp_path / "p", rows=3, files=20)] == [
        1,
        1,
        1,
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 0}, "rows must be positive, got 0"),
        ({"files": 0}, "files must be positive"),
        ({"groups": 0}, "groups must be positive"),
        ({"skew": -1}, "skew must not be negative"),
        ({"disorder": "random"}, "disorder must be one of none, band, block-sorted, got 'random'"),
        ({"format": "orc"}, "format must be one of parquet, csv, json, got 'orc'"),
        ({"suspicious": 2}, "from 0 to 1, got 2"),
        ({"lulls": 30}, "leave nothing of a duration of 7200 s"),
        ({"groups": 5, "sources": 6}, "sources must not exceed groups"),
        ({"duration": "1 month"}, "no fixed length"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(
    tmp_path: Path, options: dict, message: str
) -> None:
    """The message names the option and the value; the directory is not even made."""
    with pytest.raises(OptionError, match=message):
        generate_packets(tmp_path / "p", **{"rows": 10, **options})
    assert not (tmp_path / "p").exists()


def test_replies_go_the_other_way(tmp_path: Path) -> None:
    """With `replies` the SYN|ACK packets have source and destination exchanged, addresses and ports; nothing else differs."""
    options = {"rows": 5_000, "groups": 50, "files": 1}
    plain = read(generate_packets(tmp_path / "a", **options))
    tapped = read(generate_packets(tmp_path / "b", replies=True, **options))
    answers = pc.equal(plain["flags"], 18)
    assert 0 < pc.sum(answers).as_py() < 5_000
    turned = {"srcIP": "destIP", "destIP": "srcIP", "srcPort": "destPort", "destPort": "srcPort"}
    for name in SCHEMA.names:
        assert tapped[name].equals(pc.if_else(answers, plain[turned.get(name, name)], plain[name]))
