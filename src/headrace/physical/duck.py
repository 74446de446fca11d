"""Spark expressions in DuckDB SQL, with Spark's answers.

Scalar expressions on source rows are evaluated by Spark, or by DuckDB if they are simple (`scan`). Those on
results (HAVING, the SELECT list over aggregates, filters and aggregates of queries over queries) run in the
slot, in DuckDB, and must give what Spark would give: a cast truncates, an overflow wraps, a division by zero
is NULL, decimals divide exactly. The two dialects differ in such corners far more than in syntax, so nothing
is passed on by name: an expression is translated bottom-up, every operand is cast to the type Spark would
give it (`spark_types`), and a function DuckDB would answer differently, or that nobody has compared, is
refused when the query is registered. `tests/physical` compares every rule with Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sqlglot import exp

from headrace.errors import PlanError
from headrace.logical.plan import Aggregate
from headrace.physical import spark_types as t
from headrace.physical.duck_cast import cast, duck_type, wrapped


class Typed(NamedTuple):
    """DuckDB SQL and the type Spark gives it."""

    sql: str
    type: str


def duck_sql(node: exp.Expr, scope: Mapping[str, str]) -> str:
    """An expression over a slot's relations, whose columns have the Spark types of `scope`, as DuckDB SQL."""
    return translate(node, scope).sql


def translate(node: exp.Expr, scope: Mapping[str, str]) -> Typed:
    return _Translator(scope)(node)


def spark_sql(node: exp.Expr) -> str:
    return node.sql(dialect="spark", identify=True)


def spoken(message: str, relation: Aggregate) -> str:
    """A message about k0, a0, … in the words of the query."""
    for i, call in enumerate(relation.calls):
        message = message.replace(f"`a{i}`", call.text.lower())
    for i, key in enumerate(relation.keys):
        message = message.replace(f"`k{i}`", key.sql(dialect="spark"))
    return message


class _Translator:
    def __init__(self, scope: Mapping[str, str]) -> None:
        self.scope = scope

    def __call__(self, node: exp.Expr) -> Typed:
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, node)
        from headrace.physical.duck_functions import call

        return call(self, node)

    def as_(self, node: exp.Expr, type_: str) -> str:
        """The node, made a value of the type."""
        value = self(node)
        return value.sql if value.type == type_ else cast(value.sql, value.type, type_)

    def alike(self, nodes: Sequence[exp.Expr], strings: bool = True) -> tuple[list[str], str]:
        """The nodes in the one type that holds them all."""
        values = [self(n) for n in nodes]
        common: str | None = "void"
        for value in values:
            common = t.wider(common, value.type, strings) if common is not None else None
        if common is None:
            raise unlike(nodes[0].parent or nodes[0], [v.type for v in values])
        return [v.sql if v.type == common else cast(v.sql, v.type, common) for v in values], common

    # -- leaves --------------------
    def column(self, node: exp.Expr) -> Typed:
        return Typed(f'"{node.name}"', self.scope[node.name])

    def literal(self, node: exp.Expr) -> Typed:
        if node.is_string or isinstance(node, exp.RawString):
            text = str(node.this).replace("'", "''")
            return Typed(f"'{text}'", "string")
        type_ = t.literal(str(node.this))
        return Typed(f"{node.this}::{duck_type(type_)}", type_)

    def null(self, node: exp.Expr) -> Typed:
        return Typed("NULL", "void")

    def boolean(self, node: exp.Expr) -> Typed:
        return Typed("true" if node.this else "false", "boolean")

    def paren(self, node: exp.Expr) -> Typed:
        return self(node.this)

    def dot(self, node: exp.Expr) -> Typed:
        value = self(node.this)
        name = node.expression.name
        for field, type_ in fields(value.type):
            if field.lower() == name.lower():
                return Typed(f'({value.sql})."{field}"', type_)
        raise PlanError(f"{spark_sql(node)}: there is no field {name!r} in {value.type}")

    # -- logic --------------------
    def connector(self, node: exp.Expr) -> Typed:
        word = "AND" if isinstance(node, exp.And) else "OR"
        return Typed(
            f"({self.as_(node.this, 'boolean')} {word} {self.as_(node.expression, 'boolean')})", "boolean"
        )

    def not_(self, node: exp.Expr) -> Typed:
        return Typed(f"(NOT {self.as_(node.this, 'boolean')})", "boolean")

    def is_(self, node: exp.Expr) -> Typed:
        what = node.expression
        word = (
            "NULL"
            if isinstance(what, exp.Null)
            else "true"
            if isinstance(what, exp.Boolean) and what.this
            else "false"
        )
        return Typed(f"({self(node.this).sql} IS {word})", "boolean")

    def comparison(self, node: exp.Expr) -> Typed:
        return Typed(self.compare(node.this, _COMPARISONS[type(node)], node.expression), "boolean")

    def compare(self, left: exp.Expr, operator: str, right: exp.Expr) -> str:
        a, b = self(left), self(right)
        common = t.compared(a.type, b.type)
        if common is None:
            raise unlike(left.parent or left, [a.type, b.type])
        return f"({cast(a.sql, a.type, common)} {operator} {cast(b.sql, b.type, common)})"

    def between(self, node: exp.Expr) -> Typed:
        low, high = (
            self.compare(node.this, ">=", node.args["low"]),
            self.compare(node.this, "<=", node.args["high"]),
        )
        return Typed(f"({low} AND {high})", "boolean")

    def in_(self, node: exp.Expr) -> Typed:
        if not node.expressions:
            raise refused(node)
        (first, *rest), _ = self.alike([node.this, *node.expressions])
        return Typed(f"({first} IN ({', '.join(rest)}))", "boolean")

    def like(self, node: exp.Expr) -> Typed:
        escape = "\\"
        if isinstance(node, exp.Escape):
            escape, node = node.expression.name, node.this
        word = "ILIKE" if isinstance(node, exp.ILike) else "LIKE"
        if node.args.get("negate"):
            word = f"NOT {word}"
        text, pattern = self.as_(node.this, "string"), self.as_(node.expression, "string")
        return Typed(f"({text} {word} {pattern} ESCAPE '{escape}')", "boolean")

    # -- arithmetic --------------------
    def binary(self, node: exp.Expr) -> Typed:
        operator = _OPERATORS[type(node)]
        a, b = self(node.this), self(node.expression)
        if operator in "+-" and (moved := self._moved(node, operator, a, b)) is not None:
            return moved
        left, right = (
            _literal_decimal(n, v.type, o.type) for n, v, o in ((node.this, a, b), (node.expression, b, a))
        )
        found = t.arithmetic(operator, left, right)
        if found is None:
            raise unlike(node, [a.type, b.type])
        x, y = cast(a.sql, a.type, found[0]), cast(b.sql, b.type, found[1])
        return Typed(_ARITHMETIC[operator](x, y, *found), found[2])

    def _moved(self, node: exp.Expr, operator: str, a: Typed, b: Typed) -> Typed | None:
        """Dates and times plus days or intervals."""
        if a.type == "date" and b.type in ("tinyint", "smallint", "int"):
            return Typed(f"({a.sql} {operator} {b.sql})", "date")
        if a.type == "interval" and operator == "+":
            a, b = b, a
        if b.type != "interval" or a.type not in ("date", "timestamp"):
            return None
        if a.type == "timestamp":
            return Typed(f"({a.sql} {operator} {b.sql})", "timestamp")
        whole = any(w in b.sql for w in ("DAY", "MONTH", "YEAR", "WEEK"))
        if whole and not any(w in b.sql for w in ("HOUR", "MINUTE", "SECOND")):
            return Typed(f"CAST(({a.sql} {operator} {b.sql}) AS DATE)", "date")
        raise refused(node)

    def interval(self, node: exp.Expr) -> Typed:
        if not isinstance(node.this, exp.Literal) or not isinstance(node.args.get("unit"), exp.Var):
            raise refused(node)
        return Typed(node.sql(dialect="duckdb").upper(), "interval")

    def negative(self, node: exp.Expr) -> Typed:
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            type_ = t.literal(str(node.this.this))
            type_ = (
                "bigint"
                if node.this.this == str(1 << 63)
                else "int"
                if node.this.this == str(1 << 31)
                else type_
            )
            return Typed(f"(-{node.this.this})::{duck_type(type_)}", type_)
        value = self(node.this)
        return Typed(
            wrapped(f"-({value.sql}::HUGEINT)", value.type)
            if value.type in t.INTEGERS
            else f"(-{value.sql})",
            value.type,
        )

    def int_div(self, node: exp.Expr) -> Typed:
        a, b = self(node.this), self(node.expression)
        if t.decimal_of(a.type) is None or t.decimal_of(b.type) is None:
            raise unlike(node, [a.type, b.type])
        if t.is_decimal(a.type) or t.is_decimal(b.type):
            exact = divided(a.sql, b.sql, t.scale(a.type), t.scale(b.type), 0, "//")
            return Typed(wrapped(exact, "bigint"), "bigint")
        return Typed(wrapped(f"{a.sql}::HUGEINT // nullif({b.sql}, 0)", "bigint"), "bigint")

    def bitwise(self, node: exp.Expr) -> Typed:
        a, b = self(node.this), self(node.expression)
        common = t.wider(a.type, b.type)
        if common not in t.INTEGERS:
            raise unlike(node, [a.type, b.type])
        x, y = cast(a.sql, a.type, common), cast(b.sql, b.type, common)
        return Typed(
            f"xor({x}, {y})" if isinstance(node, exp.BitwiseXor) else f"({x} {_BITWISE[type(node)]} {y})",
            common,
        )

    def bitwise_not(self, node: exp.Expr) -> Typed:
        value = self(node.this)
        if value.type not in t.INTEGERS:
            raise unlike(node, [value.type])
        return Typed(f"(~{value.sql})", value.type)

    def shift(self, node: exp.Expr) -> Typed:
        value = self(node.this)
        type_ = value.type if value.type == "bigint" else "int"
        by = f"({self.as_(node.expression, 'int')} & {t.bits(type_) - 1})"
        x = cast(value.sql, value.type, type_)
        if isinstance(node, exp.BitwiseLeftShift):
            return Typed(wrapped(f"{x}::HUGEINT * (1::HUGEINT << {by})", type_), type_)
        return Typed(f"({x} >> {by})", type_)

    # -- conditions --------------------
    def case(self, node: exp.Expr) -> Typed:
        branches = node.args["ifs"]
        default = node.args.get("default") or exp.Null()
        values, common = self.alike([*(b.args["true"] for b in branches), default])
        whens = []
        for branch, value in zip(branches, values, strict=False):
            test = (
                self.as_(branch.this, "boolean")
                if node.this is None
                else self.compare(node.this, "=", branch.this)
            )
            whens.append(f"WHEN {test} THEN {value}")
        return Typed(f"CASE {' '.join(whens)} ELSE {values[-1]} END", common)

    def if_(self, node: exp.Expr) -> Typed:
        (yes, no), common = self.alike([node.args["true"], node.args.get("false") or exp.Null()])
        return Typed(f"CASE WHEN {self.as_(node.this, 'boolean')} THEN {yes} ELSE {no} END", common)

    def cast_(self, node: exp.Expr) -> Typed:
        value = self(node.this)
        target = spark_type(node.args["to"])
        if (
            node.args.get("safe")
            and target in t.INTEGERS
            and (value.type in t.NUMBERS or t.is_decimal(value.type))
        ):  # what does not fit is NULL; a plain cast wraps
            whole = value.sql if value.type in t.INTEGERS else f"trunc({value.sql})"
            return Typed(f"TRY_CAST({whole} AS {duck_type(target)})", target)
        return Typed(cast(value.sql, value.type, target), target)

    # -- collections --------------------
    def bracket(self, node: exp.Expr) -> Typed:
        value = self(node.this)
        if not value.type.startswith("array<") or len(node.expressions) != 1:
            raise refused(node)
        at = self.as_(node.expressions[0], "int")
        index = at if node.args.get("offset") == 1 else f"{at} + 1"
        if node.args.get("offset") != 1:  # x[-1] is NULL, element_at(x, -1) is the last
            return Typed(f"CASE WHEN {at} >= 0 THEN ({value.sql})[{index}] END", value.type[6:-1])
        return Typed(f"({value.sql})[{index}]", value.type[6:-1])

    def array(self, node: exp.Expr) -> Typed:
        values, common = self.alike(node.expressions)
        return Typed(f"[{', '.join(values)}]", f"array<{common}>")

    def struct(self, node: exp.Expr) -> Typed:
        pairs = [(p.this.name, self(p.expression)) for p in node.expressions if isinstance(p, exp.PropertyEQ)]
        if len(pairs) != len(node.expressions):
            raise refused(node)
        listed = ", ".join(f"'{n}': {v.sql}" for n, v in pairs)
        return Typed("{" + listed + "}", f"struct<{','.join(f'{n}:{v.type}' for n, v in pairs)}>")


def refused(node: exp.Expr) -> PlanError:
    name = node.name if isinstance(node, exp.Anonymous) else node.sql(dialect="spark").split("(")[0]
    return PlanError(
        f"{name} is not available on results of windows (in {spark_sql(node)}). Compute it in a query over "
        "the stream, before the window, or when you read the results"
    )


def unlike(node: exp.Expr, types: Sequence[str]) -> PlanError:
    return PlanError(
        f"{spark_sql(node)}: no common type for {' and '.join(dict.fromkeys(types))}; add a cast"
    )


def _literal_decimal(node: exp.Expr, type_: str, other: str) -> str:
    """A whole number written next to a decimal counts with the digits it has."""
    inner = node.this if isinstance(node, exp.Neg) else node
    if t.is_decimal(other) and type_ in t.INTEGERS and isinstance(inner, exp.Literal):
        return t.decimal(len(str(inner.this).lstrip("0")) or 1, 0)
    return type_


def spark_type(to: exp.Expr) -> str:
    """A type as Spark's schemas spell it."""
    text = to.sql(dialect="spark").lower().replace(", ", ",")
    return {"timestamp_ltz": "timestamp", "long": "bigint", "integer": "int", "decimal": "decimal(10,0)"}.get(
        text, text
    )


def fields(type_: str) -> list[tuple[str, str]]:
    """Names and types of the fields of a struct type."""
    out, depth, start = [], 0, 7
    if not type_.startswith("struct<"):
        return []
    for i in range(7, len(type_)):
        depth += (type_[i] in "<(") - (type_[i] in ">)")
        if (type_[i] == "," and depth == 0) or i == len(type_) - 1:
            name, _, inner = type_[start:i].partition(":")
            out.append((name, inner))
            start = i + 1
    return out


# -- operators --------------------
def divided(a: str, b: str, s1: int, s2: int, scale: int, how: str = "/") -> str:
    """a / b in units of 10^-scale, exactly, halves away from zero (`//`: towards zero); NULL if b is 0."""
    up = scale - s1 + s2
    x, y = (
        f"CAST(replace(CAST({v} AS VARCHAR), '.', '') AS HUGEINT)" if s else f"CAST({v} AS HUGEINT)"
        for v, s in ((a, s1), (b, s2))
    )
    power = f"1{'0' * abs(up)}::HUGEINT"
    if how == "//":
        return (
            f"TRY(({x} * {power}) // nullif({y}, 0))" if up >= 0 else f"TRY({x} // nullif({y} * {power}, 0))"
        )
    x, y = f"abs({x})", f"nullif(abs({y}), 0)"
    if up < 0:
        x, y, power = x, f"({y} * {power})", "1"
    whole, rest, last = f"({x} // {y}) * {power}", f"({x} % {y})", power
    if up > 18:  # the digits after the point in two goes, so that remainders stay within 38 digits
        first, last = f"1{'0' * 18}::HUGEINT", f"1{'0' * (up - 18)}::HUGEINT"
        whole += f" + ({rest} * {first} // {y}) * {last}"
        rest = f"({rest} * {first} % {y})"
    quotient = f"{whole} + ({rest} * {last} * 2 + {y}) // (2 * {y})"
    return f"TRY((sign({a}) * sign({b}))::HUGEINT * ({quotient}))"


def unscaled(integer: str, type_: str) -> str:
    """A decimal from the integer of its digits."""
    scale = t.scale(type_)
    if scale == 0:
        return f"TRY_CAST({integer} AS {duck_type(type_)})"
    unit = f"'0.{'0' * (scale - 1)}1'::DECIMAL({min(38, scale + 1)},{scale})"
    return f"TRY_CAST(TRY(CAST({integer} AS DECIMAL(38,0)) * {unit}) AS {duck_type(type_)})"


def _add(a: str, b: str, left: str, right: str, result: str, operator: str = "+") -> str:
    if result in t.INTEGERS:
        return wrapped(f"{a}::HUGEINT {operator} {b}", result)
    if not t.is_decimal(result):
        return f"({a} {operator} {b})"
    duck = duck_type(result)
    if operator != "*":  # DuckDB widens by no digit what fits 64 bits
        return f"TRY_CAST(TRY(TRY_CAST({a} AS {duck}) {operator} TRY_CAST({b} AS {duck})) AS {duck})"
    exact = f"TRY_CAST(TRY({_widest(a, left)} * {b}) AS {duck})"
    return f"coalesce({exact}, TRY_CAST({a}::DOUBLE * {b}::DOUBLE AS {duck}))"


def _widest(sql: str, type_: str) -> str:
    return f"CAST({sql} AS DECIMAL(38,{t.scale(type_)}))"


def _divide(a: str, b: str, left: str, right: str, result: str) -> str:
    if not t.is_decimal(result):
        return f"({a} / nullif({b}, 0))"
    exact = unscaled(divided(a, b, t.scale(left), t.scale(right), t.scale(result)), result)
    # Where 38 digits do not hold the dividend, 15 digits of the quotient have to do.
    return f"coalesce({exact}, TRY_CAST({a}::DOUBLE / nullif({b}::DOUBLE, 0) AS {duck_type(result)}))"


def _modulo(a: str, b: str, left: str, right: str, result: str) -> str:
    if t.is_decimal(result):
        return f"TRY_CAST(TRY({a} % nullif({b}, 0)) AS {duck_type(result)})"
    if result in t.INTEGERS:
        return f"({a}::HUGEINT % nullif({b}, 0))::{duck_type(result)}"
    return f"({a} % nullif({b}, 0))"


_ARITHMETIC: dict[str, Callable[[str, str, str, str, str], str]] = {
    "+": _add,
    "-": lambda a, b, x, y, r: _add(a, b, x, y, r, "-"),
    "*": lambda a, b, x, y, r: _add(a, b, x, y, r, "*"),
    "/": _divide,
    "%": _modulo,
}
_OPERATORS: dict[type, str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_BITWISE: dict[type, str] = {exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "xor"}
_COMPARISONS: dict[type, str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
}
_RULES: dict[type, Callable[[_Translator, exp.Expr], Typed]] = {
    exp.Column: _Translator.column,
    exp.Literal: _Translator.literal,
    exp.RawString: _Translator.literal,
    exp.Null: _Translator.null,
    exp.Boolean: _Translator.boolean,
    exp.Paren: _Translator.paren,
    exp.Dot: _Translator.dot,
    exp.And: _Translator.connector,
    exp.Or: _Translator.connector,
    exp.Not: _Translator.not_,
    exp.Is: _Translator.is_,
    **dict.fromkeys(_COMPARISONS, _Translator.comparison),
    exp.Between: _Translator.between,
    exp.In: _Translator.in_,
    exp.Like: _Translator.like,
    exp.ILike: _Translator.like,
    exp.Escape: _Translator.like,
    **dict.fromkeys(_OPERATORS, _Translator.binary),
    exp.Interval: _Translator.interval,
    exp.Neg: _Translator.negative,
    exp.Negative: _Translator.negative,
    exp.IntDiv: _Translator.int_div,
    **dict.fromkeys(_BITWISE, _Translator.bitwise),
    exp.BitwiseNot: _Translator.bitwise_not,
    exp.BitwiseLeftShift: _Translator.shift,
    exp.BitwiseRightShift: _Translator.shift,
    exp.Case: _Translator.case,
    exp.If: _Translator.if_,
    exp.Cast: _Translator.cast_,
    exp.TryCast: _Translator.cast_,
    exp.Bracket: _Translator.bracket,
    exp.Array: _Translator.array,
    exp.Struct: _Translator.struct,
}
