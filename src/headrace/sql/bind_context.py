"""What binding a part of a query asks of the binder: the graph so far, a place for one more relation, errors with a place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from headrace.errors import SqlError
from headrace.logical.graph import Graph, Relation
from headrace.sql.scope import Fail

FailAt = Callable[[int, int, str], SqlError]  # an error that points from one place of the text to another


@dataclass(frozen=True)
class BindContext:
    graph: Callable[[], Graph]
    add: Callable[[Relation], Relation]
    name: Callable[[], str]  # of a relation that nobody has named
    narrow: Callable[[Relation, exp.Expr], Relation]  # a relation under a WHERE
    fail: Fail
    fail_at: FailAt
