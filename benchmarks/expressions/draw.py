"""Random typed expressions: templates whose values are columns, corners and other expressions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from sqlglot import exp, parse_one

from benchmarks.expressions.corners import COLUMNS
from benchmarks.expressions.templates import Template
from headrace.dialect import spark_types as t

_LITERALS = {
    "boolean": ["true", "false", "NULL"],
    "int": ["0", "1", "-1", "2", "7", "100", "2147483647", "NULL", "1Y", "3S", "64"],
    "bigint": ["1L", "0L", "-9223372036854775807L", "9223372036854775807L", "1700000000L"],
    "double": ["0.5D", "-1.5D", "1e10", "1e-10", "double('NaN')", "double('Infinity')", "-0.0D", "1e300"],
    "decimal": ["1.5", "0.001", "-2.25", "12345678901234567890.5", "0.5", "100.00"],
    "string": ["'a'", "''", "'Hello'", "'1'", "'.'", "'x'", "'l'", "NULL", "'2024-02-29'", "'%l%'", "','", "'é'"],
    "date": ["DATE'2024-02-29'", "DATE'1969-12-31'", "DATE'9999-12-31'", "CAST(NULL AS DATE)"],
    "timestamp": ["TIMESTAMP'2024-02-29 13:45:06.789'", "TIMESTAMP'1969-12-31 23:59:59.999999'"],
    "array": ["array(1, NULL, 3)", "array('a', 'b')", "array()", "CAST(NULL AS ARRAY<INT>)"],
}
# Functions that make as much text as they are asked for: two billion letters end Java.
_GROWING = {"repeat", "space", "lpad", "rpad", "sequence", "array_repeat", "randstr", "format_string", "printf", "shiftleft"}
_SMALL = ["tin", "num", "0", "1", "-1", "5", "NULL"]
_KINDS = [*_LITERALS, "float", "struct"]


def kind_of(type_: str) -> str:
    if type_ in ("tinyint", "smallint"):
        return "int"
    return "decimal" if t.is_decimal(type_) else type_.partition("<")[0]


_BY_KIND: dict[str, list[str]] = {k: [c for c, x in COLUMNS.items() if kind_of(x) == k] for k in _KINDS}
_NEAR = {  # what else a function that takes one kind is often given
    "int": ("int", "int", "int", "bigint", "double", "decimal", "string", "float"),
    "bigint": ("bigint", "int", "double"),
    "decimal": ("decimal", "double", "int", "float", "bigint", "string"),
    "double": ("double", "decimal", "int", "float", "bigint", "string"),
    "float": ("float", "double"),
    "string": ("string", "string", "string", "string", "int", "double", "date", "decimal", "boolean", "timestamp"),
    "date": ("date", "date", "timestamp", "string"),
    "timestamp": ("timestamp", "timestamp", "date", "string"),
}


class Drawer:
    """Draws expressions from templates; `typed` are those whose result is known, by kind."""

    def __init__(self, rng: random.Random, templates: Sequence[Template], type_of: Callable[[exp.Expr], str | None]) -> None:
        self.rng = rng
        self.known: list[Template] = []
        self.others: list[Template] = []
        self.giving: dict[str, list[Template]] = {}
        for template in templates:
            type_ = type_of(template.tree)
            (self.others if type_ is None else self.known).append(template)
            if type_ is not None:
                self.giving.setdefault(kind_of(type_), []).append(template)
        self.by_function: dict[str, list[Template]] = {}
        for template in self.known:
            self.by_function.setdefault(template.function, []).append(template)

    def draw(self, depth: int) -> tuple[str, str]:
        """(function, SQL): functions that are translated come up nine times in ten, each as often."""
        if self.others and self.rng.random() < 0.1:
            template = self.rng.choice(self.others)
        else:
            template = self.rng.choice(self.by_function[self.rng.choice(sorted(self.by_function))])
        return template.function, self.fill(template, depth).sql(dialect="spark")

    def fill(self, template: Template, depth: int) -> exp.Expr:
        """The template with some of its values replaced."""
        tree = template.tree.copy()
        small = template.function in _GROWING
        changed = tree.transform(lambda n: self._value(n, depth, small) if _replaceable(n) else n, copy=False)
        assert isinstance(changed, exp.Expr)
        return changed

    def _value(self, node: exp.Expr, depth: int, small: bool) -> exp.Expr:
        if self.rng.random() < 0.3:
            return node
        kind = _kind_of_value(node)
        if small:
            return parse_one(self.rng.choice(_SMALL if kind == "int" else _BY_KIND[kind] or _SMALL), dialect="spark")
        if self.rng.random() < 0.04:
            return exp.Null()
        near = _NEAR.get(kind, (kind,))
        kind = self.rng.choice(_KINDS) if self.rng.random() < 0.03 else self.rng.choice(near)
        return self.expression(kind, depth - 1)

    def expression(self, kind: str, depth: int) -> exp.Expr:
        if depth > 0 and self.rng.random() < 0.45 and (found := self.giving.get(kind)):
            return exp.Paren(this=self.fill(self.rng.choice(found), depth))
        choices = _BY_KIND.get(kind, []) * 2 + self.rng.sample(_LITERALS.get(kind, []), min(2, len(_LITERALS.get(kind, []))))
        return parse_one(self.rng.choice(choices), dialect="spark")


def _replaceable(node: exp.Expr) -> bool:
    parent = node.parent
    if isinstance(parent, (exp.Interval, exp.DataTypeParam, exp.Cast, exp.Extract)) and not (
        isinstance(parent, exp.Cast) and parent.this is node and not _is_moment(parent)
    ):
        return False
    if isinstance(node, exp.Cast) and _is_moment(node):
        return True
    return isinstance(node, (exp.Literal, exp.Boolean)) and not isinstance(parent, exp.Neg) and not _is_moment(parent)


def _is_moment(node: exp.Expr | None) -> bool:
    """DATE'…' and TIMESTAMP'…', which are parsed as casts of texts."""
    return (
        isinstance(node, exp.Cast)
        and node.to.is_type("date", "timestamp", "timestamptz", "timestampltz")
        and isinstance(node.this, exp.Literal)
    )


def _kind_of_value(node: exp.Expr) -> str:
    if isinstance(node, exp.Cast):
        return "date" if node.to.is_type("date") else "timestamp"
    if isinstance(node, exp.Boolean):
        return "boolean"
    if node.args.get("is_string"):
        return "string"
    text = str(node.this)
    return "double" if "e" in text.lower() else "decimal" if "." in text else "int"
