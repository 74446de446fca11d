"""The parts of a SELECT as they are written: the items of FROM, the sub-selects of WHERE, and joins by the names we give them.

What an item reads is for the caller to say: relations of the query graph (`bind.py`), or streams of a network's catalog
(`network/catalog_relations.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from headrace.logical.functions import aggregate_call
from headrace.logical.join_kind import JoinKind
from headrace.sql.join_conditions import split_conjuncts
from headrace.sql.join_names import FromItem
from headrace.sql.scope import Fail

SubSelect = tuple[
    exp.Expr, FromItem, exp.Expr | None
]  # the condition it stands in, what it reads, its own WHERE

_JOINS = {  # as sqlglot spells them -> as we do
    **dict.fromkeys(("", "inner", "cross"), JoinKind.INNER),
    **dict.fromkeys(("left", "left outer"), JoinKind.LEFT),
    **dict.fromkeys(("right", "right outer"), JoinKind.RIGHT),
    **dict.fromkeys(("full", "full outer"), JoinKind.FULL),
    **dict.fromkeys(("left semi", "semi"), JoinKind.SEMI),
    **dict.fromkeys(("left anti", "anti"), JoinKind.ANTI),
}


def gather_items(select: exp.Select, make_item: Callable[[exp.Expr], FromItem], fail: Fail) -> list[FromItem]:
    """The items of FROM, in order, with how each is joined to those before it."""
    source = select.args.get("from_") or select.args.get("from")
    if source is None:
        raise fail(None, "a query needs FROM a stream or a query")
    items = [make_item(source.this)]
    for join in select.args.get("joins") or ():
        kind = " ".join(str(join.args.get(k) or "") for k in ("method", "side", "kind")).strip().lower()
        if kind not in _JOINS:
            known = ", ".join(filter(None, _JOINS)).upper()
            raise fail(join, f"{kind.upper()} JOIN is not supported; there is: {known}")
        using = tuple(i.name for i in join.args.get("using") or ())
        item = make_item(join.this)
        items.append(replace(item, kind=_JOINS[kind], on=join.args.get("on"), using=using))
    return items


def gather_subselects(
    select: exp.Select, make_item: Callable[[exp.Expr], FromItem], fail: Fail
) -> list[SubSelect]:
    """Sub-selects among the conditions of WHERE."""
    found = []
    where = select.args["where"].this if select.args.get("where") else None
    for condition in split_conjuncts(where):
        test = condition.this if isinstance(condition, exp.Not) else condition
        if isinstance(test, exp.Paren):
            test = test.this
        if isinstance(test, exp.In) and test.args.get("query") is not None:
            if isinstance(condition, exp.Not):
                raise fail(
                    test, "NOT IN is never true beside a NULL: write NOT EXISTS (SELECT … WHERE a = b)"
                )
            inner = test.args["query"].this
        elif isinstance(test, exp.Exists):
            inner = test.this.this if isinstance(test.this, exp.Subquery) else test.this
        else:
            continue
        if not isinstance(inner, exp.Select) or any(
            inner.args.get(k) for k in ("joins", "group", "having", "distinct")
        ):
            raise fail(
                test, "a sub-select in WHERE reads one stream or query, with a WHERE; make more of it a query"
            )
        if any(aggregate_call(node) is not None for node in inner.find_all(exp.Expr)):
            raise fail(test, "an aggregate in a sub-select of WHERE is not supported: make it a query, and read that")
        (item,) = gather_items(inner, make_item, fail)
        if item.node.args.get("stream_window") is not None:
            raise fail(
                test, "a window in a sub-select of WHERE says nothing: write how near in time as a condition"
            )
        if isinstance(condition, exp.Not):
            condition.set("this", test)
        found.append((condition, replace(item, in_where=True), inner.args["where"].this if inner.args.get("where") else None))
    return found
