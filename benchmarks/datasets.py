"""The streams that workloads read: packets of two hours in 20 files, zipf keys, up to 5 seconds of
disorder.

Three streams differ in the number of (srcIP, destIP) pairs. `packets_50k_long` is the second of them five
times longer at the same rate. `packets_quiet` is one file of it followed by files without a row, so that
every batch but the first is empty. All are seeded: the same rows come out everywhere.

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
    """A stream of `groups` pairs, `times` times two hours long. Quiet: rows in the first file only."""

    name: str
    groups: int
    times: int = 1
    quiet: bool = False

    def path(self, rows: int, out: Path = OUT) -> Path:
        return out / "data" / f"{self.name}-{rows}"

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
    )
}


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


def facts(files: list[Path]) -> dict[str, int]:
    """Rows, and the low-watermark after all of them: windows that end by then are closed everywhere."""
    with duckdb.connect() as db:
        rows, largest = db.execute(
            "SELECT count(*), max(epoch_us(ts)) FROM read_parquet($1)", [[str(f) for f in files]]
        ).fetchall()[0]
    return {"rows": rows, "low_watermark": largest - SLACK_US}


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
        files = DATASETS[name].files(rows, out)
        size = f"{sum(f.stat().st_size for f in files) / 1e6:,.0f} MB"
        lines.append(f"{files[0].parent}: {len(files)} files, {size} ({time.monotonic() - started:.0f} s)")
        if csv:
            started = time.monotonic()
            lines.append(f"{csv_of(files)} ({time.monotonic() - started:.0f} s)")
    return lines


def _complete(path: Path) -> bool:
    try:
        return bool(json.loads((path / "_generated.json").read_text())["complete"])
    except (OSError, ValueError, KeyError):
        return False
