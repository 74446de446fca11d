"""Fixture files: cases as SQL text. A case is a comment that names it, the text, and after `-- =>` what is expected, as
comments.
"""

from __future__ import annotations

import re
from pathlib import Path


def read_cases(path: Path) -> list[tuple[str, str, str]]:
    """(name, text, expected) of each case in a file."""
    found = []
    for block in re.split(r"\n(?=-- # )", path.read_text()):
        if block.startswith("-- # "):
            head, _, tail = block.partition("-- =>\n")
            name, _, text = head.partition("\n")
            lines = [line.removeprefix("--").removeprefix(" ") for line in tail.rstrip().splitlines()]
            found.append((name.removeprefix("-- # "), text.strip(), "\n".join(lines)))
    return found


def write_case(path: Path, name: str, found: str) -> None:
    """Make what was found what is expected of a case."""
    expected = "\n".join(f"-- {line}".rstrip() for line in found.splitlines())
    blocks = re.split(r"\n(?=-- # )", path.read_text())
    for i, block in enumerate(blocks):
        if block.startswith(f"-- # {name}\n"):
            blocks[i] = block.partition("-- =>\n")[0].rstrip() + f"\n-- =>\n{expected}\n"
    path.write_text("\n".join(blocks))
