"""Pointing into the user's text.

Every error about SQL shows the line it is in with the offending words underlined and, for a name nobody
knows, the nearest name that exists.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from sqlglot import exp

from headrace.errors import SqlError

_WIDEST = 200


def underline(text: str, start: int, end: int) -> str:
    """The line of `text` that holds `start`, with `[start, end]` underlined."""
    start = max(0, min(start, len(text)))
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    line_end -= text[line_start:line_end].endswith("\r")
    number = text.count("\n", 0, start) + 1
    prefix = f"  line {number}: "
    if line_end - line_start > _WIDEST:  # of a very long line, what is around the place
        line_start = max(line_start, start - _WIDEST // 2)
        line_end = min(line_end, line_start + _WIDEST)
    width = max(1, min(end + 1, line_end) - start)
    return f"{prefix}{text[line_start:line_end]}\n{' ' * (len(prefix) + start - line_start)}{'^' * width}"


def error(text: str, start: int | None, end: int | None, message: str) -> SqlError:
    """A `SqlError` that shows where in `text` it is; without a place, the message alone."""
    if start is None or end is None:
        return SqlError(message)
    return SqlError(f"{message}\n{underline(text, start, end)}")


def point_at(script: str, node: exp.Expr | None, message: str) -> SqlError:
    """A `SqlError` that shows where an expression is written; without a place, the expression."""
    named = (exp.Identifier, exp.Column, exp.Anonymous, exp.Func)
    places = [
        (part.meta["start"], part.meta["end"])
        for part in (node.find_all(*named) if node is not None else ())
        if "start" in part.meta
    ]
    if not places:
        return SqlError(message + (f"\n  in: {node.sql(dialect='spark')}" if node is not None else ""))
    return error(script, min(p[0] for p in places), max(p[1] for p in places), message)


def suggest(name: str, known: Iterable[str]) -> str:
    """' Did you mean …?' for the nearest known name, or the list of what there is."""
    known = sorted(set(known))
    lowered = {k.lower(): k for k in known}
    near = difflib.get_close_matches(name.lower(), list(lowered), n=1, cutoff=0.5)
    if near:
        return f" Did you mean {lowered[near[0]]!r}?"
    return f" There is: {', '.join(known[:20])}." if known else ""
