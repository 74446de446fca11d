"""The partial columns of a node: each kept once, whichever aggregates and queries want it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.physical.aggregates import Decomposed, fill


class Partials:
    """Columns p0, p1, …: how each is computed from the rows of every branch (`subs`), and merged (`merges`)."""

    def __init__(self, branches: int = 1) -> None:
        self.subs: list[list[str]] = [[] for _ in range(branches)]
        self.merges: list[str] = []

    def column(self, filled: Sequence[str], merge: str) -> int:
        """The column with exactly these sub expressions (one per branch), added if new."""
        for i in range(len(self.merges)):
            if [s[i] for s in self.subs] == list(filled):
                return i
        for column, sub in zip(self.subs, filled, strict=True):
            column.append(sub)
        self.merges.append(merge.replace("{p}", f"p{len(self.merges)}"))
        return len(self.merges) - 1


def fill_template(template: str, arguments: Sequence[str], tick: str = "", where: str | None = None) -> str:
    """A template of `aggregates` over these arguments."""
    return fill(template, {"t": tick, "w": where or "true", **{str(i): a for i, a in enumerate(arguments)}})


def fill_finals(parts: Decomposed, columns: Sequence[int]) -> Decomposed:
    """The answer over the partial columns it was given."""
    return replace(parts, final=fill_template(parts.final, [f"p{c}" for c in columns]))
