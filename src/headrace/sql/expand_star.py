"""`*` and `b.*` as a list of columns, with EXCEPT (…), REPLACE (… AS …) and RENAME (… AS …) obeyed.

EXCEPT leaves columns out, REPLACE gives a column another value in its place, RENAME another name. All three are about the
columns that the star stands for, by their own names; where several inputs have one of a name, the input is named too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from headrace.errors import SqlError
from headrace.sql.error_places import suggest

Fail = Callable[[exp.Expr | None, str], SqlError]


@dataclass(frozen=True)
class StarColumn:
    """A column that a star stands for: what it is called, its value, and the input it is of."""

    name: str
    value: exp.Expr
    input: str = ""

    def matches(self, path: Sequence[str]) -> bool:
        *inputs, name = (part.lower() for part in path)
        return name == self.name.lower() and inputs in ([], [self.input.lower()])


def read_star(node: exp.Expr) -> tuple[exp.Star, str] | None:
    """The star of a SELECT item, and the input it names; None if it is something else."""
    if isinstance(node, exp.Star):
        return node, ""
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        return node.this, node.table
    return None


def expand_star(
    star: exp.Star, columns: Sequence[StarColumn], resolve: Callable[[exp.Expr], exp.Expr], fail: Fail
) -> list[tuple[str, exp.Expr]]:
    """The columns as outputs; `resolve` binds what REPLACE gives."""
    left: list[StarColumn | None] = list(columns)

    def find(clause: str, node: exp.Expr) -> int:
        path = [part.name for part in node.parts] if isinstance(node, exp.Column) else [node.name]
        found = [i for i, c in enumerate(columns) if c.matches(path)]
        if not found:
            near = suggest(path[-1], [c.name for c in columns])
            raise fail(node, f"{clause}: * stands for no column {'.'.join(path)!r}.{near}")
        if len(found) > 1:
            places = " or ".join(f"{columns[i].input}.{columns[i].name}" for i in found)
            raise fail(node, f"{clause}: {path[-1]!r} is a column of several inputs: write {places}")
        if left[found[0]] != columns[found[0]]:
            raise fail(node, f"{clause}: {path[-1]!r} is there twice behind one *")
        return found[0]

    for node in star.args.get("except_") or ():
        left[find("EXCEPT", node)] = None
    for node in star.args.get("replace") or ():
        at = find("REPLACE", node.args["alias"])
        left[at] = replace(columns[at], value=resolve(node.this))
    for node in star.args.get("rename") or ():
        at = find("RENAME", node.this)
        left[at] = replace(columns[at], name=node.alias)
    outputs = [(c.name, c.value) for c in left if c is not None]
    if columns and not outputs:
        raise fail(star.args["except_"][0], "EXCEPT leaves no column of *")
    return outputs


__all__ = ["StarColumn", "expand_star", "read_star"]
