"""`R.tr / 2 = S.ts + 1`: times of different paces, as document 000 (section 3.1) writes them.

`tr DIV 2` makes progress as `tr` does, in the steps of `ts`. So the input gets it as a column, and the condition becomes an
equality with that column, and that nothing is left over: together they are what the division of Spark says.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp


def divide_times(select: exp.Select, alias: str, times: Collection[str]) -> list[tuple[str, exp.Expr]]:
    """The columns that an input needs; conditions of the SELECT are changed to speak of them."""
    if any(e.find(exp.Star) for e in select.expressions):
        return []  # which would show the column
    clauses = [select.args.get("where"), *(join.args.get("on") for join in select.args.get("joins") or ())]
    found: dict[str, exp.Expr] = {}
    for node in [n for clause in clauses if clause is not None for n in clause.find_all(exp.EQ)]:
        for mine, other in ((node.this, node.expression), (node.expression, node.this)):
            mine = mine.unnest()
            length = mine.expression if isinstance(mine, exp.Div) else None
            if not isinstance(length, exp.Literal) or not length.name.isdigit() or int(length.name) < 2:
                continue
            column = mine.this
            time = next((t for t in times if isinstance(column, exp.Column) and t.lower() == column.name.lower()), None)
            if time is None or column.table.lower() != alias.lower() or not _is_shifted_column(other.unnest(), alias):
                continue
            name = f"{time} div {length.name}"
            whole = exp.column(exp.to_identifier(time, quoted=True))
            found[name] = exp.IntDiv(this=whole, expression=length.copy())
            equal = exp.EQ(this=exp.column(exp.to_identifier(name, quoted=True), table=column.table), expression=other.copy())
            left = exp.EQ(this=exp.Mod(this=column.copy(), expression=length.copy()), expression=exp.Literal.number(0))
            node.replace(exp.paren(exp.and_(equal, left)))
            break
    return list(found.items())


def _is_shifted_column(node: exp.Expr, alias: str) -> bool:
    """Whether it is a column of another input, more or less a whole number."""
    if isinstance(node, (exp.Add, exp.Sub)) and isinstance(node.expression, exp.Literal):
        node = node.this if node.expression.name.isdigit() else node
    return isinstance(node, exp.Column) and bool(node.table) and node.table.lower() != alias.lower()


__all__ = ["divide_times"]
