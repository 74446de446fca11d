"""Expressions inside expressions, at random: what is recognized makes the same rows equal as what was written, on data."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest
import sqlglot
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.dialect.duck import translate
from headrace.partitioning.partitioning_key import PartitioningKey
from headrace.partitioning.recognize_key import find_undo, recognize_key
from headrace.testing import LocalRun

TYPES = {"tiny": "tinyint", "small": "smallint", "x": "int", "big": "bigint"}
EDGES = "[0, 1, 2, 15, 16, 59, 60, 61, 100, 127, 128, 255, 300, 32767, 32768, 65535, 2147483647, 4294967295, 9223372036854775807]"
CON = duckdb.connect(config={"threads": "1"})
CON.sql(f"""CREATE TABLE data AS SELECT TRY_CAST(v AS TINYINT) AS tiny, TRY_CAST(v AS SMALLINT) AS small, TRY_CAST(v AS INT) AS x, v AS big
  FROM (SELECT unnest({EDGES})::BIGINT * s AS v FROM (VALUES (1), (-1)) AS signs(s) UNION SELECT range * 37 - 9000 FROM range(500)
    UNION SELECT range - 70 FROM range(140) UNION SELECT -32768 UNION SELECT -2147483648 UNION SELECT -128)""")

masks = st.sampled_from([1, 15, 240, 255, 65520, 65535, 1048560, 2147483647, 4294967040, 4294967295, -1, -16, -256, -4294967296])
divisors = st.sampled_from([1, 2, 3, 16, 60, 90, 1000, 4294967296])
shifts = st.sampled_from([1, 3, 8, 17, 31, 32, 33, 40, 63])
casts = st.sampled_from(["SMALLINT", "INT", "BIGINT", "STRING"])


def _nest(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} & {})".format, inner, masks),
        st.builds("({} DIV {})".format, inner, divisors),
        st.builds("({} % {})".format, inner, divisors),
        st.builds("pmod({}, {})".format, inner, divisors),
        st.builds("floor({} / {})".format, inner, divisors),
        st.builds("shiftright({}, {})".format, inner, shifts),
        st.builds("shiftleft({}, {})".format, inner, shifts),
        st.builds("shiftrightunsigned({}, {})".format, inner, shifts),
        st.builds("CAST({} AS {})".format, inner, casts),
        st.builds("({} + {})".format, inner, masks),
        st.builds("(-{})".format, inner),
    )


expressions = st.recursive(st.sampled_from(sorted(TYPES)), _nest, max_leaves=4)


def recognize(text: str, as_value: bool) -> PartitioningKey | None:
    return recognize_key(sqlglot.parse_one(text, dialect="spark"), TYPES, as_value)


def evaluate(text: str) -> list[object]:
    """The values on all data; None too where there is none, since it does not fit."""
    sql = translate(sqlglot.parse_one(text, dialect="spark"), TYPES).sql
    return [r[0] for r in CON.sql(f"SELECT TRY({sql}) FROM data ORDER BY big").fetchall()]


@given(expressions)
@settings(max_examples=150, deadline=None)
@example("((x & 4294967295) DIV 60)")
@example("((x & 4294967295) % 60)")
@example("shiftright(CAST(x AS BIGINT), 40)")
@example("shiftleft(CAST(x AS BIGINT), 8)")
@example("shiftright(CAST(x / 1 AS INT), 33)")
def test_a_key_tells_apart_what_its_expression_does(text: str) -> None:
    """Neither more nor less, though values have more bits than the column, or less."""
    key = recognize(text, as_value=False)
    if key is None or key.column is None:
        return
    column = evaluate(key.column)
    rows = {(a, b) for a, b, c in zip(evaluate(text), evaluate(key.text), column, strict=True) if a is not None or c is None}
    assert len(rows) == len({a for a, _ in rows}) == len({b for _, b in rows}), key.text


@given(expressions)
@settings(max_examples=150, deadline=None)
@example("(small & 65535)")
@example("(x & 4294967040)")
def test_a_key_that_has_the_value_has_it(text: str) -> None:
    """Where rows of two streams are to meet, the key is what the expression is, on negative numbers too."""
    key = recognize(text, as_value=True)
    if key is not None and key.column is not None:
        values = [(a, b) for a, b in zip(evaluate(text), evaluate(key.text), strict=True) if a is not None]
        assert [a for a, _ in values] == [b for _, b in values], key.text


@given(expressions)
@settings(max_examples=300, deadline=None)
@example("(x & 4294967040)")
@example("(small & -65536)")
@example("(shiftright(x, 8) + 7)")
@example("CAST(-shiftright(tiny, 3) AS STRING)")
@example("shiftright((x & 4294967040), 16)")
@example("pmod(x, 4294967296)")
@example("pmod(tiny, 256)")
@example("floor(x / 16)")
@example("shiftleft(x, 17)")
@example("shiftleft(tiny, 3)")
@example("shiftrightunsigned(small, 3)")
@example("(100 - big)")
@example("shiftright(shiftright(small, 31), 1)")
@example("shiftright(shiftright(x, 31), 17)")
@example("shiftright(shiftright(tiny, 31), 31)")
@example("shiftright((shiftright(x, 31) & 2), 1)")
@example("(shiftright(x, 20) & 1048608)")
@example("(shiftleft(x, 1) + 4294967040)")
@example("(shiftright(small, 31) & 240)")
@example("shiftright(CAST(x / 1 AS INT), 33)")
def test_a_key_is_computed_of_what_tells_it(text: str) -> None:
    """The undo of an expression has the key's values, on negative numbers too."""
    found = find_undo(sqlglot.parse_one(text, dialect="spark"), TYPES)
    if found is not None:
        key, undo = found
        rows = zip(evaluate(text), evaluate(undo.sql(dialect="spark")), evaluate(key.text), strict=True)
        wrong = [(a, b, c) for a, b, c in rows if a is not None and b != c]
        assert not wrong, (undo.sql(dialect="spark"), key.text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(x & 4294967295) DIV 60", "(x & 4294967295) DIV 60"),
        ("CAST(x & 4294967295 AS BIGINT) % 7", "CAST(x & 4294967295 AS BIGINT) % 7"),
        ("(x & 4294967295) >> 8", "x & -256"),
        ("CAST(x & 4294967295 AS INT)", "CAST(x & 4294967295 AS INT)"),
    ],
)
def test_a_mask_beyond_the_column_is_another_value(text: str, expected: str) -> None:
    """An address kept as an INT and read as unsigned: its networks are those of the signed number, its quotients are not."""
    key = recognize(text, as_value=False)
    assert key is not None and key.text == expected


STREAM = "CREATE STREAM s (t BIGINT, x INT) PROGRESSING ON t SLACK 0 FROM 'memory';"


@pytest.mark.parametrize("key", ["(x & 4294967295) DIV 60", "(x & 4294967295) % 60"])
def test_quotients_of_unsigned_addresses(key: str) -> None:
    """Groups of quotients over groups of addresses are whole, in whichever slots these are."""
    run = LocalRun(
        f"""{STREAM} CREATE QUERY hosts AS SELECT x, count(*) AS n FROM s [RANGE 10] GROUP BY x;
        CREATE QUERY nets AS SELECT {key} AS net, sum(n) AS n FROM hosts GROUP BY {key};""",
        slots=5,
    )
    rows = [(0, i * 7919 % 1009 - 500) for i in range(200)]
    run.push(s=rows)
    run.flush()
    unsigned = [x & 0xFFFFFFFF for _, x in rows]
    expected = Counter(u // 60 if "DIV" in key else u % 60 for u in unsigned)
    assert sorted(tuple(r[:2]) for r in run.rows("nets")) == sorted(expected.items())
    run.close()
