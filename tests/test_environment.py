"""Every variable of the environment that Headrace reads is in `headrace --help` and in docs/operations.md."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from headrace.cli import main

ROOT = Path(__file__).parents[1]
INTERNAL = {"HEADRACE_CLASS_ARCHIVE"}  # of a process that `headrace prepare` starts


def test_all_variables_are_documented() -> None:
    """What the source names is what people are told of, no more and no less."""
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    known = {name for text in sources for name in re.findall(r'environ(?:\.get\(|\[)"(HEADRACE_\w+)"', text)} - INTERNAL
    assert known
    said = CliRunner().invoke(main, ["--help"]).output
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    assert set(re.findall(r"HEADRACE_\w+", said)) == known == set(re.findall(r"HEADRACE_\w+", page))
