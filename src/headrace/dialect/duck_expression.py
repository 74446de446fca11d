"""What the rules of translation share: SQL with its type, the translator as they see it, and how they refuse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from sqlglot import exp

from headrace.errors import PlanError


class Typed(NamedTuple):
    """DuckDB SQL and the type Spark gives it."""

    sql: str
    type: str


class Translator(Protocol):
    """Translates operands for a rule."""

    chains: dict[str, tuple[str, str]]  # SQL -> what kind of chain it is, and its open form

    def __call__(self, node: exp.Expr) -> Typed: ...

    def as_(self, node: exp.Expr, type_: str) -> str:
        """The node, made a value of the type."""

    def alike(self, nodes: Sequence[exp.Expr], strings: bool = True) -> tuple[list[str], str]:
        """The nodes in the one type that holds them all."""

    def compare(self, left: exp.Expr, operator: str, right: exp.Expr) -> str: ...


def spark_sql(node: exp.Expr) -> str:
    return node.sql(dialect="spark", identify=True)


def refuse_expression(node: exp.Expr) -> PlanError:
    name = node.name if isinstance(node, exp.Anonymous) else node.sql(dialect="spark").split("(")[0]
    return PlanError(
        f"{name} is not available on results of windows (in {spark_sql(node)}). Compute it in a query over "
        "the stream, before the window, or when you read the results"
    )


def refuse_types(node: exp.Expr, types: Sequence[str]) -> PlanError:
    return PlanError(
        f"{spark_sql(node)}: no common type for {' and '.join(dict.fromkeys(types))}; add a cast"
    )
