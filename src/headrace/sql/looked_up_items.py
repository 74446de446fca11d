"""Items of FROM that are not joined row by row, but looked up by what the streams give. A new kind is a line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from headrace.logical.join_kind import JoinKind
from headrace.sql.bind_context import BindContext
from headrace.sql.bind_lookup import is_table, look_up_table
from headrace.sql.bind_temporal import check_not_first, is_versioned, look_up_version
from headrace.sql.join_names import FromItem, Joined, JoinNames
from headrace.sql.scope import Fail

Bind = Callable[[BindContext, JoinNames, Joined, FromItem, JoinKind, Sequence[exp.Expr], set[str]], Joined]


def _accept(item: FromItem, fail: Fail) -> None:
    """An item that may be written first."""


@dataclass(frozen=True)
class LookedUp:
    """`is_one` tells an item of the kind, `bind` makes the relation, `check_first` refuses it where it begins FROM."""

    clause: str
    is_one: Callable[[FromItem], bool]
    bind: Bind
    check_first: Callable[[FromItem, Fail], None] = _accept


LOOKED_UP = (
    LookedUp("FOR SYSTEM_TIME AS OF", is_versioned, look_up_version, check_not_first),
    LookedUp("table", is_table, look_up_table),
)


def find_looked_up(item: FromItem) -> LookedUp | None:
    return next((kind for kind in LOOKED_UP if kind.is_one(item)), None)


def is_looked_up(item: FromItem) -> bool:
    """Whether an item is looked up by what the streams give."""
    return find_looked_up(item) is not None
