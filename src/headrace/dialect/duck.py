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

from sqlglot import exp

from headrace.dialect import duck_operators as operators
from headrace.dialect import spark_types as t
from headrace.dialect.duck_cast import cast, duck_type
from headrace.dialect.duck_expression import Translator, Typed, refuse_expression, refuse_types, spark_sql
from headrace.dialect.duck_functions import call
from headrace.dialect.duck_like import like
from headrace.dialect.duck_order import order_key
from headrace.dialect.duck_parse import parse_whole
from headrace.dialect.sql_quotes import quote_name, quote_text
from headrace.errors import SqlError


def duck_sql(node: exp.Expr, scope: Mapping[str, str]) -> str:
    """An expression over a slot's relations, whose columns have the Spark types of `scope`, as DuckDB SQL."""
    return translate(node, scope).sql


def translate(node: exp.Expr, scope: Mapping[str, str]) -> Typed:
    return _Translator(scope)(node)


def open_translator(scope: Mapping[str, str]) -> Translator:
    """A translator of several expressions over one scope, which does nothing twice."""
    return _Translator(scope)


class _Translator:
    """One expression at a time. What is translated once is kept, and long chains (`a + 1 + 1 …`) are translated from
    their inner end, so that no chain is too long for Python's stack.
    """

    def __init__(self, scope: Mapping[str, str]) -> None:
        self.scope = scope
        self._done: dict[int, tuple[exp.Expr, Typed]] = {}
        self.chains: dict[str, tuple[str, str]] = {}  # SQL -> what kind of chain it is, and its open form

    def __call__(self, node: exp.Expr) -> Typed:
        chain = [node]
        while id(chain[-1]) not in self._done and isinstance(chain[-1], _CHAINED):
            chain.append(chain[-1].this)
        for one in reversed(chain):
            if id(one) not in self._done:
                self._done[id(one)] = one, self._translate(one)
        return self._done[id(node)][1]

    def _translate(self, node: exp.Expr) -> Typed:
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, node)
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
            raise refuse_types(nodes[0].parent or nodes[0], [v.type for v in values])
        return [v.sql if v.type == common else cast(v.sql, v.type, common) for v in values], common

    # -- leaves --------------------
    def column(self, node: exp.Expr) -> Typed:
        name, *path = [part.name for part in node.parts] if isinstance(node, exp.Column) else [node.name]
        if name not in self.scope:
            raise SqlError(f"there is no column {spark_sql(node)}")
        value = Typed(quote_name(name), self.scope[name])
        for field in path:  # a text like `st`.`a` is read as a table and its column
            value = self._field(value, field, node)
        return value

    def literal(self, node: exp.Expr) -> Typed:
        if node.is_string or isinstance(node, exp.RawString):
            return Typed(quote_text(str(node.this)), "string")
        type_ = t.literal(str(node.this))
        return Typed(f"{node.this}::{duck_type(type_)}", type_)

    def null(self, node: exp.Expr) -> Typed:
        return Typed("NULL", "void")

    def boolean(self, node: exp.Expr) -> Typed:
        return Typed("true" if node.this else "false", "boolean")

    def paren(self, node: exp.Expr) -> Typed:
        return self(node.this)

    def dot(self, node: exp.Expr) -> Typed:
        return self._field(self(node.this), node.expression.name, node)

    def _field(self, value: Typed, name: str, node: exp.Expr) -> Typed:
        for field, type_ in t.fields(value.type):
            if field.lower() == name.lower():
                return Typed(f"({value.sql}).{quote_name(field)}", type_)
        raise SqlError(f"{spark_sql(node)}: there is no field {name!r} in {value.type}")

    # -- logic --------------------
    def connector(self, node: exp.Expr) -> Typed:
        word = "AND" if isinstance(node, exp.And) else "OR"
        left = self.as_(node.this, "boolean")
        kind, opened = self.chains.get(left, ("", left))
        parts = f"{opened if kind == word else left} {word} {self.as_(node.expression, 'boolean')}"
        self.chains[f"({parts})"] = word, parts
        return Typed(f"({parts})", "boolean")

    def not_(self, node: exp.Expr) -> Typed:
        return Typed(f"(NOT {self.as_(node.this, 'boolean')})", "boolean")

    def is_(self, node: exp.Expr) -> Typed:
        what = node.expression
        if isinstance(what, exp.Null):
            return Typed(f"({self(node.this).sql} IS NULL)", "boolean")
        if not isinstance(what, exp.Boolean):
            raise refuse_expression(node)
        # Spark compares with the word, so 2 IS TRUE is false
        same = self.compare(node.this, "IS NOT DISTINCT FROM", what)
        return Typed(same, "boolean")

    def comparison(self, node: exp.Expr) -> Typed:
        return Typed(self.compare(node.this, _COMPARISONS[type(node)], node.expression), "boolean")

    def compare(self, left: exp.Expr, operator: str, right: exp.Expr) -> str:
        a, b = self(left), self(right)
        common = t.find_comparison_type(a.type, b.type)
        if common is None:
            raise refuse_types(left.parent or left, [a.type, b.type])
        x, y = cast(a.sql, a.type, common), cast(b.sql, b.type, common)
        if "<" in operator or ">" in operator:
            x, y = order_key(x, common), order_key(y, common)
        return f"({x} {operator} {y})"

    def between(self, node: exp.Expr) -> Typed:
        low, high = (
            self.compare(node.this, ">=", node.args["low"]),
            self.compare(node.this, "<=", node.args["high"]),
        )
        return Typed(f"({low} AND {high})", "boolean")

    def in_(self, node: exp.Expr) -> Typed:
        if not node.expressions:
            raise refuse_expression(node)
        (first, *rest), _ = self.alike([node.this, *node.expressions])
        return Typed(f"({first} IN ({', '.join(rest)}))", "boolean")

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
        target = t.spelled(node.args["to"])
        if (
            node.args.get("safe")
            and target in t.INTEGERS
            and (value.type in t.NUMBERS or t.is_decimal(value.type))
        ):  # what does not fit is NULL; a plain cast wraps
            whole = value.sql if value.type in t.INTEGERS else f"trunc({value.sql})"
            return Typed(f"TRY_CAST({whole} AS {duck_type(target)})", target)
        if node.args.get("safe") and target in t.INTEGERS and value.type == "string":
            return Typed(parse_whole(value.sql, duck_type(target)), target)
        return Typed(cast(value.sql, value.type, target), target)

    # -- collections --------------------
    def bracket(self, node: exp.Expr) -> Typed:
        value = self(node.this)
        if value.type.startswith("map<") and len(node.expressions) == 1:
            key, item = t.map_types(value.type)
            return Typed(f"({value.sql})[{self.as_(node.expressions[0], key)}]", item)
        if not value.type.startswith("array<") or len(node.expressions) != 1:
            raise refuse_expression(node)
        at = self.as_(node.expressions[0], "int")
        if node.args.get("offset") != 1:  # x[-1] is NULL, element_at(x, -1) is the last
            return Typed(f"CASE WHEN {at} >= 0 THEN ({value.sql})[{at}::BIGINT + 1] END", value.type[6:-1])
        return Typed(f"({value.sql})[{at}]", value.type[6:-1])

    def array(self, node: exp.Expr) -> Typed:
        values, common = self.alike(node.expressions)
        return Typed(f"[{', '.join(values)}]", f"array<{common}>")

    def struct(self, node: exp.Expr) -> Typed:
        pairs = [(p.this.name, self(p.expression)) for p in node.expressions if isinstance(p, exp.PropertyEQ)]
        for name, _ in pairs:
            t.check_field_name(name)
        if len(pairs) != len(node.expressions):
            raise refuse_expression(node)
        listed = ", ".join(f"{quote_name(n)}: {v.sql}" for n, v in pairs)
        return Typed("{" + listed + "}", f"struct<{','.join(f'{n}:{v.type}' for n, v in pairs)}>")


_CHAINED = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.And, exp.Or, exp.DPipe, exp.Paren)
_COMPARISONS: dict[type, str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
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
    exp.Like: like,
    exp.ILike: like,
    exp.Escape: like,
    **dict.fromkeys(operators.OPERATORS, operators.binary),
    exp.Interval: operators.interval,
    exp.Neg: operators.negative,
    exp.Negative: operators.negative,
    exp.IntDiv: operators.int_div,
    **dict.fromkeys(operators.BITWISE, operators.bitwise),
    exp.BitwiseNot: operators.bitwise_not,
    exp.BitwiseLeftShift: operators.shift,
    exp.BitwiseRightShift: operators.shift,
    exp.Case: _Translator.case,
    exp.If: _Translator.if_,
    exp.Cast: _Translator.cast_,
    exp.TryCast: _Translator.cast_,
    exp.Bracket: _Translator.bracket,
    exp.Array: _Translator.array,
    exp.Struct: _Translator.struct,
}

__all__ = ["Typed", "duck_sql", "open_translator", "quote_name", "spark_sql", "translate"]
