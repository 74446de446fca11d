"""What types tell without Spark: conditions that are no BOOLEAN, operands and arguments of a kind that Spark never takes.

Spark alone types every expression. But what its analyser refuses whatever else stands around it is known from its table
(`logical/spark_functions.py`, found by trying), so it can be refused before Spark is started, with its place. A type that is not
known here is passed over: refusing is for what is sure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from headrace.dialect.duck import open_translator
from headrace.errors import HeadraceError, SqlError
from headrace.logical.graph import Call
from headrace.logical.spark_functions import ANY_KIND, SparkFunction, kind_of_type, read_functions
from headrace.sql.error_places import point_at

_SIGNS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "=",
    exp.LT: "<",
    exp.LTE: "<",
    exp.GT: "<",
    exp.GTE: "<",
    exp.NullSafeEQ: "<=>",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.DPipe: "||",
}
_ARITHMETIC = "+-*/%"
_TRUE_OR_FALSE = (*_SIGNS, exp.And, exp.Or, exp.Not, exp.Is, exp.Between, exp.In, exp.Like, exp.ILike, exp.Exists)
_SLIPS = (HeadraceError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)  # of what cannot be translated


class UnfitTypeError(SqlError):
    """An expression has a type that its place does not take."""


class ExpressionTypes:
    """Types of expressions over columns of these types, as far as they are known without Spark."""

    def __init__(self, scope: Mapping[str, str]) -> None:
        self._translate = open_translator(scope)

    def find(self, node: exp.Expr) -> str:
        """The type; nothing, if only Spark knows it."""
        try:
            return self._translate(node).type
        except _SLIPS:
            pass
        if isinstance(node, exp.Paren):
            return self.find(node.this)
        if isinstance(node, exp.Func) and (function := _find_function(node)) is not None:
            return function.returns
        sign = _SIGNS.get(type(node), "")
        return "boolean" if isinstance(node, _TRUE_OR_FALSE) and sign not in (*_ARITHMETIC, *"&|^", "||") else ""

    def list_unknown(self, node: exp.Expr) -> list[str]:
        """The calls whose types only Spark knows."""
        calls = (n for n in node.find_all(exp.Func) if not isinstance(n, (exp.Connector, exp.Case, exp.If, exp.Cast)))
        return [_words(call) for call in calls if not self.find(call)]

    def check(self, node: exp.Expr) -> None:
        """Refuse the expression if Spark surely would."""
        for part in node.walk(bfs=False):
            self._check_operands(part)
            if isinstance(part, exp.Func):
                self._check_arguments(part)

    def check_condition(self, node: exp.Expr | None, clause: str) -> None:
        """Refuse the condition of a clause if Spark surely would."""
        if node is not None:
            self.check(node)
            self._check_condition(node, clause)

    def _check_condition(self, node: exp.Expr, clause: str, untyped_null: bool = False) -> None:
        type_ = self.find(node)
        if type_ not in ("", "boolean") and not (untyped_null and type_ == "void"):
            raise _refuse(node, f"{clause} takes a condition, true or false; {_words(node)} is {type_.upper()}")

    def _check_operands(self, node: exp.Expr) -> None:
        if isinstance(node, exp.Connector):
            for side in (node.this, node.expression):
                self._check_condition(side, type(node).__name__.upper(), untyped_null=True)
        elif isinstance(node, exp.Not):
            self._check_condition(node.this, "NOT", untyped_null=True)
        elif isinstance(node, exp.Case) and node.this is None:
            for branch in node.args["ifs"]:
                self._check_condition(branch.this, "CASE WHEN or FILTER")
        elif isinstance(node, exp.If) and not isinstance(node.parent, exp.Case):
            self._check_condition(node.this, "if")
        elif (sign := _SIGNS.get(type(node))) is not None:
            types = [self.find(node.this), self.find(node.expression)]
            if not _takes_operands(sign, "".join(map(kind_of_type, types))):
                raise _refuse(node, f"{_words(node)}: {' and '.join(t.upper() for t in types)} do not fit; add a cast")

    def _check_arguments(self, node: exp.Func) -> None:
        function = _find_function(node)
        arguments = node.expressions if isinstance(node, exp.Anonymous) else [v for v in node.args.values() if v]
        listed = [a for v in arguments for a in (v if isinstance(v, list) else [v])]
        if function is None or not 1 <= len(listed) <= len(function.takes) or function.most is None:
            return
        if not all(isinstance(a, exp.Expr) for a in listed):
            return
        types = [self.find(a.this if isinstance(a, exp.TsOrDsToDate) else a) for a in listed]
        for position, type_ in enumerate(types):
            others = {kind_of_type(t) for t in (*types[:position], *types[position + 1 :])}
            if others & {"", "a", "m", "r"}:  # it goes by these what fits
                continue
            ordered = isinstance(node, exp.Anonymous) or len(listed) == 1  # else the parser may have turned them round
            takes = function.takes[position] if ordered else "".join(function.takes)
            if not _takes_kind(takes, type_):
                raise _refuse(node, f"{_words(node)}: {function.name} takes no {type_.upper()}; add a cast")


def check_call(call: Call, types: Sequence[str]) -> None:
    """Refuse an aggregate of what Spark has none of, whatever else stands around it."""
    function = read_functions().get(call.function)
    for takes, argument, type_ in zip(function.takes if function else (), call.arguments, types, strict=False):
        if not _takes_kind(takes, type_):
            raise _refuse(argument, f"{call.text}: {call.function} takes no {type_.upper()}; add a cast")


def _takes_kind(takes: str, type_: str) -> bool:
    kind = kind_of_type(type_)
    return not kind or ANY_KIND in takes or kind in takes


def _takes_operands(sign: str, pair: str) -> bool:
    """Whether Spark takes operands of these two kinds; it does, if a kind is not known."""
    known = read_functions()[sign].takes
    return len(pair) < 2 or pair in known or ("r" in pair and sign not in _ARITHMETIC)  # structs were not tried


def _find_function(node: exp.Func) -> SparkFunction | None:
    names = [node.name] if isinstance(node, exp.Anonymous) else type(node).sql_names()
    if "script" in node.meta:  # as it is written
        names = [node.meta["script"][node.meta["start"] : node.meta["end"] + 1].strip("`")]
    return next((f for n in names if (f := read_functions().get(n.lower())) is not None and f.kind != "operator"), None)


def _words(node: exp.Expr) -> str:
    text = node.sql(dialect="spark")
    return text if len(text) <= 60 else f"{text[:57]}…"


def _refuse(node: exp.Expr, message: str) -> UnfitTypeError:
    scripts = [n.meta["script"] for n in node.walk() if "script" in n.meta]
    return UnfitTypeError(str(point_at(scripts[0], node, message) if scripts else SqlError(message)))


__all__ = ["ExpressionTypes", "UnfitTypeError", "check_call"]
