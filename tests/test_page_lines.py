"""Lines of the documentation are at most 110 characters: what is longer is not read, and a change of it is not seen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST = 110
FENCE = re.compile(r"```.*?```", re.DOTALL)
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])


@pytest.mark.parametrize("page", [pytest.param(p, id=str(p.relative_to(ROOT))) for p in PAGES])
def test_lines_are_short(page: Path) -> None:
    """Prose, that is: tables, pictures, headings, links and code have the length they have."""
    lines = FENCE.sub("", page.read_text(encoding="utf-8")).splitlines()
    prose = [line for line in lines if not line.lstrip().startswith(("|", "!", "#", "<!--")) and " " in line]
    assert [line for line in prose if len(line) > MOST] == []
