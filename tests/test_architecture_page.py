"""docs/architecture.md names files and folders; each of them is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = [str(path.relative_to(ROOT)) for top in ("src", "tests", "benchmarks", "docs", "examples", "scripts") for path in (ROOT / top).rglob("*")]


def test_every_file_that_the_page_names_is_there() -> None:
    """A file that is renamed or removed is renamed or removed on the page."""
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"[\w/]+\.py\b", page)) | {name.rstrip("/") for name in re.findall(r"`([\w/]+/)`", page)}
    missing = [name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in FILES)]
    assert len(named) > 20
    assert not missing
