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
from headrace.dialect.duck_cast import cast, duck_type, wrap_integer
from headrace.dialect.duck_expression import Translator, Typed, refuse_expression, refuse_types
from headrace.dialect.duck_letters import lower_sql, title_sql, upper_sql
from headrace.dialect.duck_order import is_nested
from headrace.dialect.sql_quotes import quote_text

Rule = tuple[str, str]  # signature, template
_POSITIVE = "CASE WHEN {0} > 0 OR isnan({0}) THEN %s END"
_LOG_BASE = "CASE WHEN ({0} > 0 OR isnan({0})) AND ({1} > 0 OR isnan({1})) THEN ln({1}) / ln({0}) END"

_TABLE: dict[type[exp.Expr] | str, Rule | list[Rule]] = {
    # numbers
    exp.Sign: ("double -> double", "CASE WHEN isnan({0}) THEN {0} ELSE sign({0})::DOUBLE END"),
    exp.Sqrt: ("double -> double", "CASE WHEN {0} < 0 THEN 'nan'::DOUBLE ELSE sqrt({0}) END"),
    exp.Cbrt: ("double -> double", "cbrt({0})"),
    exp.Exp: ("double -> double", "exp({0})"),
    exp.Ln: ("double -> double", _POSITIVE % "ln({0})"),
    exp.Log: ("double double -> double", _LOG_BASE),
    "log1p": ("double -> double", "CASE WHEN {0} > -1 OR isnan({0}) THEN ln(1 + {0}) END"),
    "expm1": ("double -> double", "(exp({0}) - 1)"),
    exp.Pow: ("double double -> double", "pow({0}, {1})"),
    exp.Sin: ("double -> double", "sin({0})"),
    exp.Cos: ("double -> double", "cos({0})"),
    exp.Tan: ("double -> double", "tan({0})"),
    exp.Atan: ("double -> double", "atan({0})"),
    exp.Atan2: ("double double -> double", "atan2({0}, {1})"),
    exp.Degrees: ("double -> double", "degrees({0})"),
    exp.Radians: ("double -> double", "radians({0})"),
    exp.Pi: ("-> double", "pi()"),
    "e": ("-> double", "exp(1.0::DOUBLE)"),
    "hypot": ("double double -> double", "sqrt({0} * {0} + {1} * {1})"),
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
    exp.Left: ("string int -> string", "left({0}, greatest({1}, 0))"),
    exp.Right: (
        "string int -> string",
        "CASE WHEN {1} > 0 THEN right({0}, {1}) WHEN {1} <= 0 AND {0} IS NOT NULL THEN '' END",
    ),
    exp.Repeat: ("string int -> string", "repeat({0}, greatest({1}, 0))"),
    exp.Reverse: ("string -> string", "reverse({0})"),
    exp.Replace: [
        ("string string string -> string", "CASE WHEN {1} = '' THEN {0} ELSE replace({0}, {1}, {2}) END"),
        ("string string -> string", "CASE WHEN {1} = '' THEN {0} ELSE replace({0}, {1}, '') END"),
    ],
    exp.Translate: ("string string string -> string", "translate({0}, {1}, {2})"),
    exp.SplitPart: ("string string int -> string", "split_part({0}, {1}, {2})"),
    exp.StartsWith: ("string string -> boolean", "starts_with({0}, {1})"),
    exp.EndsWith: ("string string -> boolean", "ends_with({0}, {1})"),
    exp.Contains: ("string string -> boolean", "contains({0}, {1})"),
    exp.Ascii: ("string -> int", "CASE WHEN {0} = '' THEN 0 ELSE ascii({0}) END::INTEGER"),
    exp.Space: ("int -> string", "repeat(' ', greatest({0}, 0))"),
    exp.MD5: ("string -> string", "md5({0})"),
    exp.RegexpLike: ("string string -> boolean", "regexp_matches({0}, {1})"),
    exp.RegexpExtract: [
        ("string string int -> string", "regexp_extract({0}, {1}, {2})"),
        ("string string -> string", "regexp_extract({0}, {1}, 1)"),
    ],
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
    exp.UnixSeconds: ("timestamp -> bigint", "floor(epoch_us({0}) / 1000000.0)::BIGINT"),
    exp.UnixMillis: ("timestamp -> bigint", "floor(epoch_us({0}) / 1000.0)::BIGINT"),
    exp.UnixMicros: ("timestamp -> bigint", "epoch_us({0})"),
    "unix_date": ("date -> int", "date_diff('day', DATE '1970-01-01', {0})::INTEGER"),
    exp.UnixDate: ("date -> int", "date_diff('day', DATE '1970-01-01', {0})::INTEGER"),
    exp.DateFromUnixDate: ("int -> date", "(DATE '1970-01-01' + {0})"),
    "timestamp_seconds": ("bigint -> timestamp", "make_timestamptz({0} * 1000000)"),
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
    exp.RegexpExtract: ("this", "expression", "group"),
}
_FLAGS = ("null_if_pos_overflow", "safe", "coalesce", "charset")


def call(translate: Translator, node: exp.Expr) -> Typed:
    """A function call, by the table or by a rule of its own."""
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
def _same_type(template: str) -> Callable[[Translator, exp.Expr], Typed]:
    def rule(translate: Translator, node: exp.Expr) -> Typed:
        value = translate(node.expressions[0] if isinstance(node, exp.Anonymous) else node.this)
        return Typed(_filled(template, [value.sql]), value.type)

    return rule


def _abs(translate: Translator, node: exp.Expr) -> Typed:
    value = translate(node.this)
    if value.type in t.INTEGERS:
        return Typed(wrap_integer(f"abs({value.sql}::HUGEINT)", value.type), value.type)
    if value.type == "string":
        value = Typed(cast(value.sql, "string", "double"), "double")
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
        result = t.decimal(min(38, precision - scale + 1), 0)
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
    divisor = cast(translate(b).sql, translate(b).type, rest.type)
    return Typed(
        f"CASE WHEN {rest.sql} < 0 THEN ({rest.sql} + {divisor}) % {divisor} ELSE {rest.sql} END", rest.type
    )


def _shift_unsigned(translate: Translator, node: exp.Expr) -> Typed:
    value = translate(node.expressions[0])
    type_ = "bigint" if value.type == "bigint" else "int"
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
    if node.args.get("length") is None:
        return Typed(f"substr({text}, greatest({first}, 1))", "string")
    length = translate.as_(node.args["length"], "int")
    until = f"({first})::BIGINT + {length}"
    return Typed(
        f"substr({text}, greatest({first}, 1), greatest({until} - greatest({first}, 1), 0))", "string"
    )


def _pad(translate: Translator, node: exp.Expr) -> Typed:
    fill = node.args.get("fill_pattern")
    text, length = translate.as_(node.this, "string"), f"greatest({translate.as_(node.expression, 'int')}, 0)"
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
    index = f"CASE WHEN {start} < 1 OR {found} = 0 THEN 0 ELSE {found} + {start} - 1 END"
    return Typed(f"CASE WHEN {text} IS NOT NULL AND {what} IS NOT NULL THEN ({index})::INTEGER END", "int")


def _regexp_replace(translate: Translator, node: exp.Expr) -> Typed:
    """Groups are $1 to Java and \\1 to DuckDB."""
    new = node.args.get("replacement")
    given = {k for k, v in node.args.items() if v not in (None, False)}
    if given - {"this", "expression", "replacement"} or not isinstance(new, exp.Literal) or "\\" in new.name:
        raise refuse_expression(node)
    text, pattern = translate.as_(node.this, "string"), translate.as_(node.expression, "string")
    into = quote_text(re.sub(r"\$(\d)", r"\\\1", new.name))
    return Typed(f"regexp_replace({text}, {pattern}, {into}, 'g')", "string")


def _split(translate: Translator, node: exp.Expr) -> Typed:
    if node.args.get("limit") is not None:
        raise refuse_expression(node)
    text, pattern = translate.as_(node.this, "string"), translate.as_(node.expression, "string")
    return Typed(f"regexp_split_to_array({text}, {pattern})", "array<string>")


def _substring_index(translate: Translator, node: exp.Expr) -> Typed:
    text, mark = translate.as_(node.this, "string"), translate.as_(node.args["delimiter"], "string")
    count = _whole(node.args["count"], node)
    parts = f"string_split({text}, {mark})"
    cut = f"{parts}[1:{count}]" if count > 0 else f"{parts}[greatest(len({parts}) - {-count} + 1, 1):]"
    return Typed(f"array_to_string({cut}, {mark})" if count else f"left({text}, 0)", "string")


def _chr(translate: Translator, node: exp.Expr) -> Typed:
    if len(node.expressions) != 1:
        raise refuse_expression(node)
    code = f"({translate.as_(node.expressions[0], 'bigint')})"
    return Typed(f"CASE WHEN {code} < 0 THEN '' ELSE chr(({code} % 256)::INTEGER) END", "string")


def _hex(translate: Translator, node: exp.Expr) -> Typed:
    value = translate(node.this)
    if value.type in t.INTEGERS:
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
        return Typed(f"CAST(date_trunc('{_unit(node)}', {translate.as_(node.this, 'date')}) AS DATE)", "date")
    return Typed(f"date_trunc('{_unit(node)}', {translate.as_(node.this, 'timestamp')})", "timestamp")


def _to_date(translate: Translator, node: exp.Expr) -> Typed:
    if node.args.get("format") is not None:
        moment = f"try_strptime({translate.as_(node.this, 'string')}, {_format(node)})"
        return Typed(f"CAST({moment} AS DATE)", "date")
    return Typed(translate.as_(node.this, "date"), "date")


def _to_timestamp(translate: Translator, node: exp.Expr) -> Typed:
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
    moment = f"make_timestamptz({translate.as_(node.this, 'bigint')} * 1000000)"
    return Typed(f"strftime({moment}, {_format(node)})", "string")


def _unix_timestamp(translate: Translator, node: exp.Expr) -> Typed:
    value = translate(node.this)
    if value.type not in ("date", "timestamp"):
        raise refuse_expression(node)
    return Typed(cast(cast(value.sql, value.type, "timestamp"), "timestamp", "bigint"), "bigint")


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
        return Typed(f"make_timestamptz(epoch_us(timezone({zone}, {moment})))", "timestamp")
    return Typed(f"timezone({zone}, make_timestamp(epoch_us({moment})))", "timestamp")


def _bucket(translate: Translator, node: exp.Expr) -> Typed:
    return Typed(f"(_ws // {_whole(node.expressions[0], node)})", "bigint")


def _named_struct(translate: Translator, node: exp.Expr) -> Typed:
    pairs = list(zip(node.expressions[::2], node.expressions[1::2], strict=True))
    fields = [exp.PropertyEQ(this=exp.to_identifier(k.name), expression=v.copy()) for k, v in pairs]
    return translate(exp.Struct(expressions=fields))


def _size(translate: Translator, node: exp.Expr) -> Typed:
    value = translate(node.this)
    if not value.type.startswith("array<"):
        raise refuse_types(node, [value.type])
    return Typed(f"coalesce(len({value.sql}), -1)::INTEGER", "int")


def _contains(translate: Translator, node: exp.Expr) -> Typed:
    value = translate(node.this)
    item = translate.as_(node.expression, value.type[6:-1])
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
    "positive": _same_type("{0}"),
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
    "_bucket": _bucket,
    "named_struct": _named_struct,
    exp.ArraySize: _size,
    exp.ArrayContains: _contains,
}
