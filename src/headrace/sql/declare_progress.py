"""How a program says the progress of a stream that it registers: what the clauses of CREATE STREAM say, as values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from headrace.arguments import checked
from headrace.errors import OptionError
from headrace.sql.parse_progress import parse_predicate
from headrace.sql.statements import ProgressClause


class slack:
    """Progress by slack: a row comes at most `bound` behind the largest value of `on` seen so far; '1000 rows' is after at
    most so many rows that are ahead of it.

    `per`: columns, like the partition of the source; each group of rows makes progress by itself, the stream with the last.
    `idle`: after a silence this long, progress follows the clock, and a group is not waited for.
    `horizon`: values further ahead of the clock than this (of the largest seen, for integers) are set aside.
    """

    @checked
    def __init__(
        self,
        bound: str | int,
        on: str,
        horizon: str | int | None = None,
        per: str | Sequence[str] = (),
        idle: str | None = None,
    ) -> None:
        self.on = on
        rows = re.fullmatch(r"\s*(\d+)\s+rows?\s*", bound, re.IGNORECASE) if isinstance(bound, str) else None
        self.clause = ProgressClause(
            slack=None if rows else bound,
            rows=int(rows[1]) if rows else None,
            groups=_list_columns(per),
            idle=idle,
            horizon=horizon,
        )


class ordered(slack):
    """Progress by order: rows come in the order of `on`."""

    @checked
    def __init__(
        self, on: str, horizon: str | int | None = None, per: str | Sequence[str] = (), idle: str | None = None
    ) -> None:
        super().__init__(0, on, horizon, per, idle)
        self.clause = replace(self.clause, slack=None)


class punctuated(slack):
    """Progress by punctuation: low-watermarks of `on` are told, by rows of the stream or beside it.

    `by`: a predicate that is true for rows that punctuate: no row before theirs comes after their batch. They are rows like
    others unless `data` is False. `source`: a function that returns a bound, or a list of (bound, group…); or the name of
    a table. `groups`: columns; a bound then holds for the group it is told for.
    """

    @checked
    def __init__(
        self,
        on: str,
        by: str | None = None,
        source: str | Callable[[], Any] | None = None,
        groups: str | Sequence[str] = (),
        data: bool = True,
        idle: str | None = None,
        horizon: str | int | None = None,
    ) -> None:
        if (by is None) == (source is None):
            raise OptionError("punctuated: expected either by, a predicate, or source, a function or a table")
        super().__init__(0, on, horizon, groups, idle)
        self.function = source if callable(source) else None
        self.clause = replace(
            self.clause,
            slack=None,
            by=parse_predicate(by) if by is not None else None,
            data=data,
            beside=source if isinstance(source, str) else None,
        )


def _list_columns(columns: str | Sequence[str]) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(columns)
