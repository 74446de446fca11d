"""Spark's functions in DuckDB SQL: a table of signatures and templates.

A signature says what arguments are cast to and what comes out; a template is DuckDB SQL over {0}, {1}, …
Only what gives Spark's answers is in the table. Some functions need to look at their arguments (rounding,
date formats): these are Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from headrace.dialect import spark_types as t
from headrace.dialect.duck_cast import cast, duck_type, epoch_seconds, wrap_integer
from headrace.dialect.duck_expression import Translator, Typed, refuse_expression, refuse_types
from headrace.dialect.duck_letters import lower_sql, title_sql, upper_sql
from headrace.dialect.duck_operators import to_number
from headrace.dialect.duck_order import is_nested
from headrace.dialect.duck_zones import from_utc, to_utc
from headrace.dialect.sql_quotes import quote_text

Rule = tuple[str, str]  # signature, template
_POSITIVE = "CASE WHEN {0} > 0 OR isnan({0}) THEN %s END"
_LOG_BASE = "CASE WHEN ({0} > 0 OR isnan({0})) AND ({1} > 0 OR isnan({1})) THEN ln({1}) / ln({0}) END"
# ln(1 + x) and exp(x) - 1 lose the digits of a small x; the factor gives them back (Kahan).
_LOG1P = (
    "CASE WHEN {0} > -1 OR isnan({0}) THEN CASE WHEN 1 + {0} = 1 OR NOT isfinite({0}) THEN {0} "
    "ELSE ln(1 + {0}) * {0} / ((1 + {0}) - 1) END END"
)
_EXPM1 = (
    "CASE WHEN exp({0}) = 1 THEN {0} WHEN exp({0}) - 1 = -1 OR NOT isfinite(exp({0})) THEN exp({0}) - 1 "
    "ELSE (exp({0}) - 1) * {0} / ln(exp({0})) END"
)
_HYPOT = (  # scaled by the larger one, so that squares neither overflow nor vanish
    "CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL WHEN isinf({0}) OR isinf({1}) THEN 'inf'::DOUBLE "
    "WHEN isnan({0}) OR isnan({1}) THEN 'nan'::DOUBLE "
    "WHEN {0} = 0 AND {1} = 0 THEN 0::DOUBLE WHEN abs({0}) >= abs({1}) THEN abs({0}) * sqrt(1 + ({1} / {0}) * ({1} / {0})) "
    "ELSE abs({1}) * sqrt(1 + ({0} / {1}) * ({0} / {1})) END"
)
_POW = (  # of Java: C has 1 for 1 to the power of anything
    "CASE WHEN {0} IS NULL THEN NULL WHEN isnan({1}) OR (abs({0}) = 1 AND isinf({1})) THEN 'nan'::DOUBLE ELSE pow({0}, {1}) END"
)
_AT_LEAST_0 = "CASE WHEN {%d} < 0 THEN 0 ELSE {%d} END"

_TABLE: dict[type[exp.Expr] | str, Rule | list[Rule]] = {
    # numbers
    exp.Sign: ("double -> double", "CASE WHEN isnan({0}) THEN {0} ELSE sign({0})::DOUBLE END"),
    exp.Sqrt: ("double -> double", "CASE WHEN {0} < 0 THEN 'nan'::DOUBLE ELSE sqrt({0}) END"),
    exp.Cbrt: ("double -> double", "cbrt({0})"),
    exp.Exp: ("double -> double", "exp({0})"),
    exp.Ln: ("double -> double", _POSITIVE % "ln({0})"),
    exp.Log: ("double double -> double", _LOG_BASE),
    "log1p": ("double -> double", _LOG1P),
    "expm1": ("double -> double", _EXPM1),
    exp.Pow: ("double double -> double", _POW),
    exp.Sin: ("double -> double", "sin({0})"),
    exp.Cos: ("double -> double", "cos({0})"),
    exp.Tan: ("double -> double", "tan({0})"),
    exp.Atan: ("double -> double", "atan({0})"),
    exp.Atan2: ("double double -> double", "atan2({0} + 0.0::DOUBLE, {1} + 0.0::DOUBLE)"),
    exp.Degrees: ("double -> double", "degrees({0})"),
    exp.Radians: ("double -> double", "radians({0})"),
    exp.Pi: ("-> double", "pi()"),
    "e": ("-> double", "exp(1.0::DOUBLE)"),
    "hypot": ("double double -> double", _HYPOT),
    exp.IsNan: ("double -> boolean", "coalesce(isnan({0}), false)"),
    exp.Nanvl: ("double double -> double", "CASE WHEN isnan({0}) THEN {1} ELSE {0} END"),
    exp.Rint: ("double -> double", "round_even({0}, 0)"),
    exp.BitwiseCount: ("bigint -> int", "bit_count({0})::INTEGER"),
    "isnull": ("any -> boolean", "({0} IS NULL)"),
    "isnotnull": ("any -> boolean", "({0} IS NOT NULL)"),
    # text
    exp.Length: ("string -> int", "length({0})::INTEGER"),
    "octet_length": ("string -> int", "strlen({0})::INTEGER"),
    exp.BitLength: ("string -> int", "(8 * strlen({0}))::INTEGER"),
    "btrim": [("string -> string", "trim({0}, ' ')"), ("string string -> string", "trim({0}, {1})")],
    exp.Left: ("string int -> string", f"left({{0}}, {_AT_LEAST_0 % (1, 1)})"),
    exp.Right: (
        "string int -> string",
        "CASE WHEN {1} > 0 THEN right({0}, {1}) WHEN {1} <= 0 AND {0} IS NOT NULL THEN '' END",
    ),
    exp.Repeat: ("string int -> string", f"repeat({{0}}, {_AT_LEAST_0 % (1, 1)})"),
    # DuckDB's reverse keeps a letter and its accents together, Spark's does not
    exp.Reverse: ("string -> string", "array_to_string(list_reverse(regexp_extract_all({0}, '(?s).')), '')"),
    exp.Replace: [
        ("string string string -> string", "CASE WHEN {1} = '' AND {2} IS NOT NULL THEN {0} ELSE replace({0}, {1}, {2}) END"),
        ("string string -> string", "CASE WHEN {1} = '' THEN {0} ELSE replace({0}, {1}, '') END"),
    ],
    exp.Translate: ("string string string -> string", "translate({0}, {1}, {2})"),
    exp.SplitPart: (
        "string string int -> string",
        "CASE WHEN {1} = '' AND {2} IS NOT NULL THEN CASE WHEN {2} IN (1, -1) THEN {0} ELSE left({0}, 0) END "
        "WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN split_part({0}, {1}, {2}) END",
    ),
    exp.StartsWith: ("string string -> boolean", "starts_with({0}, {1})"),
    exp.EndsWith: ("string string -> boolean", "ends_with({0}, {1})"),
    exp.Contains: ("string string -> boolean", "contains({0}, {1})"),
    exp.Ascii: ("string -> int", "CASE WHEN {0} = '' THEN 0 ELSE ascii({0}) END::INTEGER"),
    exp.Space: ("int -> string", f"repeat(' ', {_AT_LEAST_0 % (0, 0)})"),
    exp.MD5: ("string -> string", "md5({0})"),
    exp.RegexpLike: ("string string -> boolean", "regexp_matches({0}, {1})"),
    # dates and times
    exp.Year: ("date -> int", "year({0})::INTEGER"),
    exp.Quarter: ("date -> int", "quarter({0})::INTEGER"),
    exp.Month: ("date -> int", "month({0})::INTEGER"),
    exp.Day: ("date -> int", "day({0})::INTEGER"),
    exp.DayOfMonth: ("date -> int", "day({0})::INTEGER"),
    exp.DayOfWeek: ("date -> int", "(dayofweek({0}) + 1)::INTEGER"),
    "weekday": ("date -> int", "(isodow({0}) - 1)::INTEGER"),
    exp.DayOfYear: ("date -> int", "dayofyear({0})::INTEGER"),
    exp.WeekOfYear: ("date -> int", "weekofyear({0})::INTEGER"),
    exp.Hour: ("timestamp -> int", "hour({0})::INTEGER"),
    exp.Minute: ("timestamp -> int", "minute({0})::INTEGER"),
    exp.Second: ("timestamp -> int", "second({0})::INTEGER"),
    exp.Dayname: ("date -> string", "left(dayname({0}), 3)"),
    exp.Monthname: ("date -> string", "left(monthname({0}), 3)"),
    exp.LastDay: ("date -> date", "last_day({0})"),
    exp.AddMonths: ("date int -> date", "({0} + to_months({1}))::DATE"),
    exp.UnixSeconds: ("timestamp -> bigint", epoch_seconds("{0}")),
    exp.UnixMillis: ("timestamp -> bigint", "((epoch_us({0}) - (epoch_us({0}) % 1000 + 1000) % 1000) // 1000)"),
    exp.UnixMicros: ("timestamp -> bigint", "epoch_us({0})"),
    "unix_date": ("date -> int", "date_diff('day', DATE '1970-01-01', {0})::INTEGER"),
    exp.UnixDate: ("date -> int", "date_diff('day', DATE '1970-01-01', {0})::INTEGER"),
    exp.DateFromUnixDate: ("int -> date", "(DATE '1970-01-01' + {0})"),
    "timestamp_millis": ("bigint -> timestamp", "make_timestamptz({0} * 1000)"),
    "timestamp_micros": ("bigint -> timestamp", "make_timestamptz({0})"),
    "make_date": ("int int int -> date", "TRY(make_date({0}, {1}, {2}))"),
    # Headrace's own
    "make_timestamptz": ("bigint -> timestamp", "make_timestamptz({0})"),
}
_KEYS: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Repeat: ("this", "times"),
    exp.Replace: ("this", "expression", "replacement"),
    exp.Translate: ("this", "from_", "to"),
    exp.SplitPart: ("this", "delimiter", "part_index"),
}
_FLAGS = ("null_if_pos_overflow", "safe", "coalesce", "charset")


def call(translate: Translator, node: exp.Expr) -> Typed:
    """A function call, by the table or by a rule of its own. What DuckDB cannot compute for a row is NULL there, and
    does not stop the set.
    """
    value = _call(translate, node)
    name = node.name.lower() if isinstance(node, exp.Anonymous) else type(node)
    if name in _PATTERNS and isinstance(node.args["expression"], exp.Literal):
        return value  # a pattern DuckDB does not know is refused when it is tried
    return value if name in _NEVER_FAIL else Typed(f"TRY({value.sql})", value.type)


def _call(translate: Translator, node: exp.Expr) -> Typed:
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        if name in _SPECIAL:
            return _SPECIAL[name](translate, node)
        if (simple := _CASTS.get(name)) is not None and len(node.expressions) == 1:
            value = translate(node.expressions[0])
            return Typed(cast(value.sql, value.type, simple), simple)
        return _by_table(translate, node, name, node.expressions)
    if type(node) in _SPECIAL:
        return _SPECIAL[type(node)](translate, node)
    keys = _KEYS.get(type(node), ("this", "expression"))
    if any(v not in (None, False, []) and k not in (*keys, *_FLAGS) for k, v in node.args.items()):
        raise refuse_expression(node)  # an option nobody has compared
    arguments = [node.args[k] for k in keys if node.args.get(k) is not None]
    return _by_table(translate, node, type(node), arguments)


def _by_table(
    translate: Translator, node: exp.Expr, key: type[exp.Expr] | str, arguments: list[exp.Expr]
) -> Typed:
    rules = _TABLE.get(key, [])
    for signature, template in rules if isinstance(rules, list) else [rules]:
        taken, _, result = signature.rpartition("->")
        types = taken.split()
        if len(types) == len(arguments):
            values = [
                translate(a).sql if x == "any" else translate.as_(a, x)
                for a, x in zip(arguments, types, strict=True)
            ]
            return Typed(f"({_filled(template, values)})", result.strip())
    raise refuse_expression(node)


def _filled(template: str, values: list[str]) -> str:
    return re.sub(r"\{(\d)\}", lambda m: f"({values[int(m[1])]})", template)


# -- functions that look at their arguments --------------------
def _positive(translate: Translator, node: exp.Expr) -> Typed:
    return to_number(translate(node.expressions[0]), node)


def _abs(translate: Translator, node: exp.Expr) -> Typed:
    value = translate(node.this)
    if value.type in t.INTEGERS:
        return Typed(wrap_integer(f"abs({value.sql}::HUGEINT)", value.type), value.type)
    value = to_number(value, node)
    return Typed(f"abs({value.sql})", value.type)


def _round(translate: Translator, node: exp.Expr) -> Typed:
    value = translate(node.this)
    digits = _whole(node.args.get("decimals"), node)
    if value.type in t.INTEGERS:
        if digits >= 0:
            return value
        unit = 10**-digits
        half = f"(sign({value.sql}) * {unit // 2})::HUGEINT"
        return Typed(wrap_integer(f"({value.sql}::HUGEINT + {half}) // {unit} * {unit}", value.type), value.type)
    if t.is_decimal(value.type):
        result = t.find_rounded_type(value.type, digits)
        return Typed(f"TRY_CAST(round({value.sql}, {digits}) AS {duck_type(result)})", result)
    if value.type not in ("float", "double"):
        value = Typed(cast(value.sql, value.type, "double"), "double")
    return Typed(_round_double(value.sql, digits, value.type), value.type)


def _round_double(sql: str, digits: int, type_: str) -> str:
    """Halves of the number as it is printed go up, as BigDecimal has it: round(1.005, 2) is 1.01."""
    scale = max(0, min(digits, 15))
    exact = f"round(TRY_CAST(CAST({sql} AS VARCHAR) AS DECIMAL(38,{min(scale + 8, 18)})), {digits})"
    finite = f"coalesce(CAST({exact} AS {duck_type(type_)}), round({sql}, {digits}))"
    return f"CASE WHEN isfinite({sql}) THEN {finite} ELSE {sql} END"


def _ceil_floor(translate: Translator, node: exp.Expr) -> Typed:
    word = "ceil" if isinstance(node, exp.Ceil) else "floor"
    if node.args.get("decimals") is not None:
        raise refuse_expression(node)
    value = translate(node.this)
    if t.is_decimal(value.type):
        precision, scale = t.decimal_of(value.type) or (38, 0)
        result = t.decimal(min(38, precision - scale + 1), 0) if scale else value.type
        return Typed(f"CAST({word}({value.sql}) AS {duck_type(result)})", result)
    if value.type in t.INTEGERS:
        return Typed(cast(value.sql, value.type, "bigint"), "bigint")
    return Typed(cast(f"{word}({cast(value.sql, value.type, 'double')})", "double", "bigint"), "bigint")


def _extreme(translate: Translator, node: exp.Expr) -> Typed:
    values, common = translate.alike([node.this, *node.expressions], strings=False)
    if is_nested(common):
        raise refuse_expression(node)
    return Typed(f"{'greatest' if isinstance(node, exp.Greatest) else 'least'}({', '.join(values)})", common)


def _coalesce(translate: Translator, node: exp.Expr) -> Typed:
    values, common = translate.alike([node.this, *node.expressions])
    return Typed(f"coalesce({', '.join(values)})", common)


def _nullif(translate: Translator, node: exp.Expr) -> Typed:
    value = translate(node.this)
    return Typed(
        f"CASE WHEN {translate.compare(node.this, '=', node.expression)} THEN NULL ELSE {value.sql} END",
        value.type,
    )


def _nvl2(translate: Translator, node: exp.Expr) -> Typed:
    (yes, no), common = translate.alike([node.args["true"], node.args["false"]])
    return Typed(f"CASE WHEN {translate(node.this).sql} IS NOT NULL THEN {yes} ELSE {no} END", common)


def _pmod(translate: Translator, node: exp.Expr) -> Typed:
    a, b = node.expressions
    rest = translate(exp.Mod(this=a.copy(), expression=b.copy()))
    if t.is_decimal(rest.type):
        divisor, wide = translate(b), f"DECIMAL(38,{t.scale(rest.type)})"
        again = f"({rest.sql}::{wide} + CAST({divisor.sql} AS {wide})) % CAST({divisor.sql} AS {wide})"
        return Typed(
            f"TRY_CAST(TRY(CASE WHEN {rest.sql} < 0 THEN {again} ELSE {rest.sql} END) AS {duck_type(rest.type)})", rest.type
        )
    by = cast(translate(b).sql, translate(b).type, rest.type)
    again = f"({rest.sql} + {by})"
    if rest.type in t.INTEGERS:
        again = wrap_integer(f"{rest.sql}::HUGEINT + {by}", rest.type)
    return Typed(f"CASE WHEN {rest.sql} < 0 THEN {again} % {by} ELSE {rest.sql} END", rest.type)


def _shift_unsigned(translate: Translator, node: exp.Expr) -> Typed:
    value = translate(node.expressions[0])
    type_ = "bigint" if value.type == "bigint" else "int"
    value = Typed(cast(value.sql, value.type, type_), type_)
    mask, by = (
        (1 << t.bits(type_)) - 1,
        f"({translate.as_(node.expressions[1], 'int')} & {t.bits(type_) - 1})",
    )
    return Typed(wrap_integer(f"({value.sql}::HUGEINT & {mask}::HUGEINT) >> {by}::HUGEINT", type_), type_)


def _concat(translate: Translator, node: exp.Expr) -> Typed:
    return Typed(f"({' || '.join(translate.as_(e, 'string') for e in node.expressions)})", "string")


def _pipes(translate: Translator, node: exp.Expr) -> Typed:
    return Typed(
        f"({translate.as_(node.this, 'string')} || {translate.as_(node.expression, 'string')})", "string"
    )


def _concat_ws(translate: Translator, node: exp.Expr) -> Typed:
    listed = ", ".join(translate.as_(e, "string") for e in node.expressions)
    return Typed(f"concat_ws({listed})", "string")


def _letters(form: Callable[[str], str]) -> Callable[[Translator, exp.Expr], Typed]:
    """upper, lower and initcap."""

    def rule(translate: Translator, node: exp.Expr) -> Typed:
        text = translate.as_(node.this, "string")
        return Typed(f"list_transform([{text}], lambda hr_s: {form('hr_s')})[1]", "string")

    return rule


def _trim(translate: Translator, node: exp.Expr) -> Typed:
    word = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or "").upper(), "trim")
    what = translate.as_(node.expression, "string") if node.args.get("expression") is not None else "' '"
    return Typed(f"{word}({translate.as_(node.this, 'string')}, {what})", "string")


def _substring(translate: Translator, node: exp.Expr) -> Typed:
    """Position 0 is position 1; a negative one counts from the end, also if that is before the text."""
    text, start = translate.as_(node.this, "string"), translate.as_(node.args["start"], "int")
    first = (
        f"CASE WHEN {start} > 0 THEN {start} WHEN {start} = 0 THEN 1 ELSE length({text}) + {start} + 1 END"
    )
    length = translate.as_(node.args["length"], "int") if node.args.get("length") is not None else "2147483647"
    until = f"({first})::BIGINT + {length}"
    cut = f"substr({text}, greatest({first}, 1), greatest({until} - greatest({first}, 1), 0))"
    return Typed(f"CASE WHEN {start} IS NOT NULL AND {length} IS NOT NULL THEN {cut} END", "string")


def _pad(translate: Translator, node: exp.Expr) -> Typed:
    fill = node.args.get("fill_pattern")
    text, given = translate.as_(node.this, "string"), translate.as_(node.expression, "int")
    length = f"CASE WHEN {given} < 0 THEN 0 ELSE {given} END"
    with_ = translate.as_(fill, "string") if fill is not None else "' '"
    if fill is not None and (not isinstance(fill, exp.Literal) or not str(fill.this)):
        raise refuse_expression(node)
    return Typed(f"{'lpad' if node.args.get('is_left') else 'rpad'}({text}, {length}, {with_})", "string")


def _position(translate: Translator, node: exp.Expr) -> Typed:
    text, what = translate.as_(node.this, "string"), translate.as_(node.args["substr"], "string")
    if node.args.get("position") is None:
        return Typed(f"instr({text}, {what})::INTEGER", "int")
    start = translate.as_(node.args["position"], "int")
    found = f"instr(substr({text}, {start}), {what})"
    index = (
        f"CASE WHEN {start} < 1 THEN 0 WHEN {what} = '' THEN 1 "
        f"WHEN {found} = 0 THEN 0 ELSE {found} + {start}::BIGINT - 1 END"
    )
    known = f"CASE WHEN {text} IS NOT NULL AND {what} IS NOT NULL THEN ({index})::INTEGER END"
    return Typed(f"CASE WHEN {start} IS NULL THEN 0 ELSE {known} END", "int")


def _regexp_replace(translate: Translator, node: exp.Expr) -> Typed:
    """Groups are $1 to Java and \\1 to DuckDB."""
    new = node.args.get("replacement")
    given = {k for k, v in node.args.items() if v not in (None, False)}
    if given - {"this", "expression", "replacement"} or not isinstance(new, exp.Literal) or "\\" in new.name:
        raise refuse_expression(node)
    text, pattern = translate.as_(node.this, "string"), translate.as_(node.expression, "string")
    into = quote_text(re.sub(r"\$(\d)", r"\\\1", new.name))
    return Typed(f"regexp_replace({text}, {pattern}, {into}, 'g')", "string")


def _regexp_extract(translate: Translator, node: exp.Expr) -> Typed:
    if any(v and k not in ("this", "expression", "group", *_FLAGS) for k, v in node.args.items()):
        raise refuse_expression(node)
    text, pattern = translate.as_(node.this, "string"), translate.as_(node.expression, "string")
    group = _whole(node.args["group"], node) if node.args.get("group") is not None else 1
    if group < 0:
        raise refuse_expression(node)
    return Typed(f"regexp_extract({text}, {pattern}, {group})", "string")


def _split(translate: Translator, node: exp.Expr) -> Typed:
    if node.args.get("limit") is not None:
        raise refuse_expression(node)
    text, pattern = translate.as_(node.this, "string"), translate.as_(node.expression, "string")
    parts = f"regexp_split_to_array({text}, {pattern})"
    return Typed(f"CASE WHEN {pattern} IS NOT NULL THEN {parts} END", "array<string>")


def _substring_index(translate: Translator, node: exp.Expr) -> Typed:
    text, mark = translate.as_(node.this, "string"), translate.as_(node.args["delimiter"], "string")
    count = _whole(node.args["count"], node)
    parts = f"string_split({text}, {mark})"
    cut = f"{parts}[1:{count}]" if count > 0 else f"{parts}[greatest(len({parts}) - {-count} + 1, 1):]"
    found = f"array_to_string({cut}, {mark})" if count else f"left({text}, 0)"
    return Typed(f"CASE WHEN {mark} IS NOT NULL THEN {found} END", "string")


def _chr(translate: Translator, node: exp.Expr) -> Typed:
    if len(node.expressions) != 1:
        raise refuse_expression(node)
    code = f"({translate.as_(node.expressions[0], 'bigint')})"
    return Typed(f"CASE WHEN {code} < 0 THEN '' ELSE chr(({code} % 256)::INTEGER) END", "string")


def _hex(translate: Translator, node: exp.Expr) -> Typed:
    value = translate(node.this)
    if value.type in t.NUMBERS or t.is_decimal(value.type):
        return Typed(f"to_hex({cast(value.sql, value.type, 'bigint')})", "string")
    return Typed(f"hex({cast(value.sql, value.type, 'string')})", "string")


def _extract(translate: Translator, node: exp.Expr) -> Typed:
    """extract(part FROM x) and date_part('part', x)."""
    if isinstance(node, exp.Anonymous):
        part, value = node.expressions[0].name.upper(), node.expressions[1]
    else:
        part, value = node.this.name.upper(), node.expression
    if part in ("SECOND", "SECONDS", "S"):
        moment = translate.as_(value, "timestamp")
        return Typed(
            f"CAST((epoch_us({moment}) % 60000000 + 60000000) % 60000000 / 1000000.0 AS DECIMAL(8,6))",
            "decimal(8,6)",
        )
    kind = _PARTS.get(part)
    if kind is None:
        raise refuse_expression(node)
    return _by_table(translate, node, kind, [value])


_PARTS: dict[str, type[exp.Expr] | str] = {
    **dict.fromkeys(("YEAR", "Y", "YEARS"), exp.Year),
    **dict.fromkeys(("QUARTER", "QTR"), exp.Quarter),
    **dict.fromkeys(("MONTH", "MON", "MONTHS"), exp.Month),
    **dict.fromkeys(("WEEK", "W", "WEEKS"), exp.WeekOfYear),
    **dict.fromkeys(("DAY", "D", "DAYS"), exp.Day),
    **dict.fromkeys(("DAYOFWEEK", "DOW"), exp.DayOfWeek),
    **dict.fromkeys(("DOY",), exp.DayOfYear),
    **dict.fromkeys(("HOUR", "H", "HOURS"), exp.Hour),
    **dict.fromkeys(("MINUTE", "M", "MINUTES"), exp.Minute),
}
_UNITS = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "year"),
    **dict.fromkeys(("MONTH", "MM", "MON"), "month"),
    **dict.fromkeys(("DAY", "DD"), "day"),
    **{u.upper(): u for u in ("quarter", "week", "hour", "minute", "second", "millisecond", "microsecond")},
}


def _unit(node: exp.Expr, key: str = "unit") -> str:
    found = node.args.get(key)
    unit = _UNITS.get(found.name.upper() if found is not None else "DAY")
    if unit is None:
        raise refuse_expression(node)
    return unit


def _date_trunc(translate: Translator, node: exp.Expr) -> Typed:
    if isinstance(node, exp.DateTrunc):  # Spark's trunc(date, unit)
        if _unit(node) not in ("year", "quarter", "month", "week"):
            return Typed("NULL::DATE", "date")
        return Typed(f"CAST(date_trunc('{_unit(node)}', {translate.as_(node.this, 'date')}) AS DATE)", "date")
    return Typed(f"date_trunc('{_unit(node)}', {translate.as_(node.this, 'timestamp')})", "timestamp")


def _to_date(translate: Translator, node: exp.Expr) -> Typed:
    if node.args.get("format") is not None and translate(node.this).type not in ("date", "timestamp"):
        moment = f"try_strptime({translate.as_(node.this, 'string')}, {_format(node)})"
        return Typed(f"CAST({moment} AS DATE)", "date")
    return Typed(translate.as_(node.this, "date"), "date")


def _to_timestamp(translate: Translator, node: exp.Expr) -> Typed:
    if translate(node.this).type in ("date", "timestamp"):  # is one already, whatever the format
        return Typed(translate.as_(node.this, "timestamp"), "timestamp")
    moment = f"try_strptime({translate.as_(node.this, 'string')}, {_format(node)})"
    return Typed(f"CAST({moment} AS TIMESTAMPTZ)", "timestamp")


def _format(node: exp.Expr) -> str:
    """A date format in DuckDB's letters, if every letter of it has the same meaning there."""
    found = node.args.get("format")
    if not isinstance(found, exp.Literal):
        raise refuse_expression(node)
    if "''" in str(found.this) or str(found.this).count("'") % 2 or not found.this:  # a quote, or none, to Spark
        raise refuse_expression(node)
    out = ""
    for i, part in enumerate(str(found.this).split("'")):
        if i % 2:  # between quotes; the parser may have taken letters there for a format
            if "%" in part:
                raise refuse_expression(node)
            out += part
            continue
        part = part.replace("strict", "").replace("SSSSSS", "%f").replace("SSS", "%g")
        if re.search(r"[A-Za-z%]", re.sub(r"%[YymdHIMSjAaBbpfg]", "", part)):
            raise refuse_expression(node)
        out += part
    return quote_text(out)


def _date_format(translate: Translator, node: exp.Expr) -> Typed:
    inner = node.this.this if isinstance(node.this, exp.TimeStrToTime) else node.this
    return Typed(f"strftime({translate.as_(inner, 'timestamp')}, {_format(node)})", "string")


def _from_unixtime(translate: Translator, node: exp.Expr) -> Typed:
    ticks = wrap_integer(f"{translate.as_(node.this, 'bigint')}::HUGEINT * 1000000", "bigint")
    moment = f"make_timestamptz({ticks})"
    return Typed(f"strftime({moment}, {_format(node)})", "string")


def _unix_timestamp(translate: Translator, node: exp.Expr) -> Typed:
    value = translate(node.this)
    if value.type not in ("date", "timestamp"):
        raise refuse_expression(node)
    return Typed(f"(epoch_us({cast(value.sql, value.type, 'timestamp')}) // 1000000)", "bigint")  # towards 1970


def _date_add(translate: Translator, node: exp.Expr) -> Typed:
    days = translate.as_(node.expression, "int")
    return Typed(f"({translate.as_(node.this, 'date')} + {days})", "date")


def _timestamp_add(translate: Translator, node: exp.Expr) -> Typed:
    many = translate.as_(node.expression, "int")
    unit = _unit(node)
    if unit == "quarter":
        unit, many = "month", f"3 * {many}"
    return Typed(f"({translate.as_(node.this, 'timestamp')} + to_{unit}s({many}))", "timestamp")


def _date_diff(translate: Translator, node: exp.Expr) -> Typed:
    a, b = translate.as_(node.this, "date"), translate.as_(node.expression, "date")
    if node.args.get("unit") is None:
        return Typed(f"({a} - {b})::INTEGER", "int")
    return _timestamp_diff(translate, node)


def _timestamp_diff(translate: Translator, node: exp.Expr) -> Typed:
    a, b = (
        translate.as_(n.this if isinstance(n, exp.TsOrDsToDate) else n, "timestamp")
        for n in (node.this, node.expression)
    )
    unit = _unit(node)
    if unit in ("month", "quarter", "year"):  # they disagree on whether a month is full on its last day
        raise refuse_expression(node)
    # by the clocks of the session's time zone, as Spark counts
    return Typed(f"date_sub('{unit}', CAST({b} AS TIMESTAMP), CAST({a} AS TIMESTAMP))", "bigint")


def _zone(translate: Translator, node: exp.Expr) -> Typed:
    """from_utc_timestamp and to_utc_timestamp: the clock of another place, and back."""
    value = node.this.this if isinstance(node.this, exp.Cast) else node.this
    moment, zone = translate.as_(value, "timestamp"), translate.as_(node.args["zone"], "string")
    if isinstance(node, exp.AtTimeZone):
        return Typed(from_utc(moment, zone), "timestamp")
    return Typed(to_utc(moment, zone), "timestamp")


def _bucket(translate: Translator, node: exp.Expr) -> Typed:
    return Typed(f"(_ws // {_whole(node.expressions[0], node)})", "bigint")


def _named_struct(translate: Translator, node: exp.Expr) -> Typed:
    pairs = list(zip(node.expressions[::2], node.expressions[1::2], strict=True))
    fields = [exp.PropertyEQ(this=exp.to_identifier(k.name), expression=v.copy()) for k, v in pairs]
    return translate(exp.Struct(expressions=fields))


def _timestamp_seconds(translate: Translator, node: exp.Expr) -> Typed:
    """Parts of a second count; what no time can hold is NULL."""
    value = to_number(translate(node.expressions[0]), node)
    if value.type in t.INTEGERS:
        ticks = f"{value.sql}::BIGINT * 1000000"
    elif t.is_decimal(value.type):
        ticks = f"CAST({value.sql} AS DECIMAL(38,6)) * 1000000"
    else:
        ticks = f"trunc({value.sql}::DOUBLE * 1000000)"
    return Typed(f"TRY(make_timestamptz(CAST({ticks} AS BIGINT)))", "timestamp")


def _size(translate: Translator, node: exp.Expr) -> Typed:
    """size and cardinality have -1 for NULL, array_size NULL."""
    value = translate(node.expressions[0] if isinstance(node, exp.Anonymous) else node.this)
    if not value.type.startswith("array<"):
        raise refuse_types(node, [value.type])
    if node.name.lower() == "array_size" and isinstance(node, exp.Anonymous):
        return Typed(f"len({value.sql})::INTEGER", "int")
    return Typed(f"coalesce(len({value.sql}), -1)::INTEGER", "int")


def _contains(translate: Translator, node: exp.Expr) -> Typed:
    value, sought = translate(node.this), translate(node.expression)
    common = t.wider(value.type[6:-1], sought.type, strings=False) if value.type.startswith("array<") else None
    if common is None:
        raise refuse_types(node, [value.type, sought.type])
    value = Typed(cast(value.sql, value.type, f"array<{common}>"), f"array<{common}>")
    item = cast(sought.sql, sought.type, common)
    none = f"list_contains([hr_e IS NULL FOR hr_e IN {value.sql}], true)"
    found = f"list_contains({value.sql}, {item})"
    return Typed(
        f"CASE WHEN {item} IS NULL THEN NULL WHEN {found} THEN true WHEN {none} THEN NULL ELSE {found} END",
        "boolean",
    )


def _whole(node: exp.Expr | None, of: exp.Expr) -> int:
    """A number written out."""
    if node is None:
        return 0
    inner = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(inner, exp.Literal) or inner.is_string or not str(inner.this).isdigit():
        raise refuse_expression(of)
    return -int(inner.this) if isinstance(node, exp.Neg) else int(inner.this)


_CASTS = {
    "tinyint": "tinyint",
    "smallint": "smallint",
    "int": "int",
    "bigint": "bigint",
    "float": "float",
    "double": "double",
    "decimal": "decimal(10,0)",
    "string": "string",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}
_SPECIAL: dict[type[exp.Expr] | str, Callable[[Translator, exp.Expr], Typed]] = {
    exp.Abs: _abs,
    "positive": _positive,
    exp.Round: _round,
    exp.Ceil: _ceil_floor,
    exp.Floor: _ceil_floor,
    exp.Greatest: _extreme,
    exp.Least: _extreme,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.Nvl2: _nvl2,
    "pmod": _pmod,
    "shiftrightunsigned": _shift_unsigned,
    exp.Concat: _concat,
    exp.DPipe: _pipes,
    exp.ConcatWs: _concat_ws,
    exp.Initcap: _letters(title_sql),
    exp.Lower: _letters(lower_sql),
    exp.Upper: _letters(upper_sql),
    exp.Trim: _trim,
    exp.Substring: _substring,
    exp.Pad: _pad,
    exp.StrPosition: _position,
    exp.RegexpReplace: _regexp_replace,
    exp.RegexpExtract: _regexp_extract,
    exp.RegexpSplit: _split,
    exp.SubstringIndex: _substring_index,
    exp.Chr: _chr,
    exp.Hex: _hex,
    exp.Extract: _extract,
    "date_part": _extract,
    exp.TimestampTrunc: _date_trunc,
    exp.DateTrunc: _date_trunc,
    exp.TsOrDsToDate: _to_date,
    exp.StrToTime: _to_timestamp,
    exp.TimeToStr: _date_format,
    exp.UnixToStr: _from_unixtime,
    exp.StrToUnix: _unix_timestamp,
    exp.TsOrDsAdd: _date_add,
    exp.TimestampAdd: _timestamp_add,
    exp.DateDiff: _date_diff,
    exp.TimestampDiff: _timestamp_diff,
    exp.AtTimeZone: _zone,
    exp.FromTimeZone: _zone,
    "timestamp_seconds": _timestamp_seconds,
    "_bucket": _bucket,
    "named_struct": _named_struct,
    exp.ArraySize: _size,
    "cardinality": _size,
    "array_size": _size,
    exp.ArrayContains: _contains,
}
# Functions that have an answer for every value; all others are tried.
_PATTERNS = (exp.RegexpLike, exp.RegexpExtract, exp.RegexpReplace, exp.RegexpSplit)
_NEVER_FAIL: set[type[exp.Expr] | str] = {
    *(exp.Coalesce, exp.Nullif, exp.Nvl2, exp.Greatest, exp.Least, exp.Length, exp.StartsWith, exp.EndsWith, exp.Contains),
    *("isnull", "isnotnull", "_bucket", "make_timestamptz"),
}
