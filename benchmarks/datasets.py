"""The streams that workloads read: packets of two hours in 20 files, up to 5 seconds of disorder.

Three streams have zipf keys and differ in the number of (srcIP, destIP) pairs. `packets_50k_long` is the
second of them five times longer at the same rate. `packets_quiet` is one file of it followed by files without a row, so that
every batch but the first is empty. All are seeded: the same rows come out everywhere.

Joins read packets dealt to two or three streams in turn (`tap1`, `tap2`, …), file by file, so that all of
them cover the same time. There are 12,500 pairs of four connections, 50,000 flows, all equally active but
for scans: with zipf keys a join would give a hundred results for each row, here it gives about one. Times
are whole milliseconds, since a row on the edge of a band must be there for everybody, Flink too.

Files are hard-linked into a directory per run (`linked`), so that a run can take the first few of them and
no contender can leave anything behind in the data.

Flink reads CSV, as PyPI's package has no Parquet reader. Its file source deals files to its readers in no
order, which would make most rows late and lose them; so it gets one file for each reader, with the rows
dealt alternately: both are in arrival order, and progress together. Times are whole milliseconds in a
BIGINT, the cheapest thing Flink can parse; windows begin at whole minutes, so nothing is lost by it.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from headrace.generate import generate_packets

OUT = Path("out/bench")
ROWS = 10_000_000
FILES = 20
SLACK = "5 seconds"
SLACK_US = 5_000_000
READERS = 2
QUIET_BATCHES = 60
COLUMNS = ("ts", "srcIP", "destIP", "srcPort", "destPort", "protocol", "len", "flags")


@dataclass(frozen=True)
class Dataset:
    """A stream of `groups` pairs, `times` times two hours long. Quiet: rows in the first file only. With
    `taps`, dealt to that many streams.
    """

    name: str
    groups: int
    times: int = 1
    quiet: bool = False
    skew: float = 1.0
    taps: int = 0

    def path(self, rows: int, out: Path = OUT) -> Path:
        return out / "data" / f"{self.name}-{rows}"

    def streams(self, rows: int, first: int | None = None, out: Path = OUT) -> dict[str, list[Path]]:
        """The (first) files of each stream, by its name."""
        files = self.files(rows, out)
        if not self.taps:
            return {"packets": files[:first]}
        return {name: found[:first] for name, found in _deal(files, self.taps).items()}

    def files(self, rows: int, out: Path = OUT) -> list[Path]:
        """The Parquet files in arrival order; made first where they are not there yet."""
        path = self.path(rows, out)
        expected = 1 + QUIET_BATCHES if self.quiet else FILES * self.times
        if not _complete(path) or len(list(path.glob("packets-*.parquet"))) != expected:
            self._generate(path, rows)
        return sorted(path.glob("packets-*.parquet"))

    def _generate(self, path: Path, rows: int) -> None:
        files = generate_packets(
            path,
            rows=rows // FILES if self.quiet else rows * self.times,
            files=1 if self.quiet else FILES * self.times,
            groups=self.groups,
            skew=self.skew,
            duration="6 minutes" if self.quiet else f"{2 * self.times} hours",
            disorder="band",
            delay=SLACK,
            force=True,
        )
        if self.quiet:
            schema = pq.read_schema(files[0])
            for i in range(1, QUIET_BATCHES + 1):
                empty = path / f"packets-{i:05d}.parquet"
                pq.write_table(schema.empty_table(), empty)
                os.utime(empty, (stamp := files[0].stat().st_mtime + i, stamp))


DATASETS = {
    d.name: d
    for d in (
        Dataset("packets_200k", 200_000),
        Dataset("packets_50k", 50_000),
        Dataset("packets_1k", 1_000),
        Dataset("packets_50k_long", 50_000, times=5),
        Dataset("packets_quiet", 50_000, quiet=True),
        Dataset("packets_halves", 12_500, skew=0.0, taps=2),
        Dataset("packets_thirds", 12_500, skew=0.0, taps=3),
        Dataset("packets_halves_long", 12_500, times=5, skew=0.0, taps=2),
    )
}


def _deal(files: list[Path], taps: int) -> dict[str, list[Path]]:
    """The rows of each file dealt to files of the same name and time, a folder per stream; made once."""
    folder = files[0].parent
    found: dict[str, list[Path]] = {}
    for tap in range(taps):
        target = folder.with_name(f"{folder.name}-tap{tap + 1}-of-{taps}")
        if not target.exists() or target.stat().st_mtime < (folder / "_generated.json").stat().st_mtime:
            hidden = Path(f"{target}.tmp")
            for old in (hidden, target):
                shutil.rmtree(old, ignore_errors=True)
            hidden.mkdir()
            with duckdb.connect() as db:
                db.execute("SET TimeZone = 'UTC'")
                for file in files:
                    rows = (
                        "SELECT * EXCLUDE (file_row_number) REPLACE (date_trunc('milliseconds', ts) AS ts) "
                        f"FROM read_parquet('{file}', file_row_number = true) "
                        f"WHERE file_row_number % {taps} = {tap}"
                    )
                    db.execute(f"COPY ({rows}) TO '{hidden / file.name}' (FORMAT parquet)")
                    os.utime(hidden / file.name, (stamp := file.stat().st_mtime, stamp))
            hidden.rename(target)
        found[f"tap{tap + 1}"] = sorted(target.glob("packets-*.parquet"))
    return found


def linked(files: list[Path], into: Path) -> Path:
    """A new directory with just these files; their times, which order a file source, are kept."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    for file in files:
        os.link(file, into / file.name)
    return into


def csv_of(files: list[Path]) -> Path:
    """The same rows as CSV, one file a reader, beside the Parquet files; made once per number of files."""
    folder = files[0].parent
    target = folder.with_name(f"{folder.name}-csv-{len(files)}")
    if not target.exists():
        hidden = Path(f"{target}.tmp")
        shutil.rmtree(hidden, ignore_errors=True)
        hidden.mkdir()
        rest = ", ".join(COLUMNS[1:])
        with duckdb.connect() as db:
            for reader in range(READERS):
                rows = (
                    f"SELECT epoch_us(ts) // 1000, {rest} FROM read_parquet($1, file_row_number = true) "
                    f"WHERE file_row_number % {READERS} = {reader}"
                )
                target_file = f"{hidden}/reader-{reader}.csv"
                db.execute(f"COPY ({rows}) TO '{target_file}' (HEADER false)", [[str(f) for f in files]])
        hidden.rename(target)
    return target


def facts(streams: Mapping[str, Sequence[Path]]) -> dict[str, int]:
    """Rows of all streams, and their low-watermark after all of them: windows that end by then are closed
    everywhere.
    """
    asked = "SELECT count(*), max(epoch_us(ts)) FROM read_parquet($1)"
    with duckdb.connect() as db:
        found = [db.execute(asked, [[str(f) for f in files]]).fetchall()[0] for files in streams.values()]
    return {
        "rows": sum(rows for rows, _ in found),
        "low_watermark": min(largest for _, largest in found) - SLACK_US,
    }


def warm(files: list[Path]) -> None:
    """Read the files once, so that no contender pays for the disk."""
    for file in files:
        with file.open("rb") as f:
            while f.read(1 << 24):
                pass


def make(names: list[str], rows: int, csv: bool, out: Path = OUT) -> list[str]:
    """Generate what is missing; what there is and how long it took, for a reader."""
    lines = []
    for name in names:
        started = time.monotonic()
        streams = DATASETS[name].streams(rows, out=out)
        for files in streams.values():
            size = f"{sum(f.stat().st_size for f in files) / 1e6:,.0f} MB"
            lines.append(f"{files[0].parent}: {len(files)} files, {size} ({time.monotonic() - started:.0f} s)")
            started = time.monotonic()
        if csv:
            for files in streams.values():
                started = time.monotonic()
                lines.append(f"{csv_of(files)} ({time.monotonic() - started:.0f} s)")
    return lines


def _complete(path: Path) -> bool:
    try:
        return bool(json.loads((path / "_generated.json").read_text())["complete"])
    except (OSError, ValueError, KeyError):
        return False
