"""The coarsening lattice: its laws, and its claims checked on data that DuckDB evaluates."""

from __future__ import annotations

from itertools import product

import duckdb
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from headrace.dialect.duck import translate
from headrace.partitioning.coarsening import (
    BitMask,
    Coarsening,
    Constant,
    DelimitedPrefix,
    FloorDivision,
    Identity,
    TimeTruncation,
    TruncatedDivision,
    find_remaining_step,
    is_coarser,
    make_floor_division,
    make_mask,
    make_modulus,
    make_remainder,
    make_text_prefix,
    make_truncated_division,
    make_truncation,
    meet,
)
from headrace.partitioning.partitioning_key import write_coarsening

W = 8
BYTES = range(-128, 128)

divisors = st.integers(1, 40)
integers = st.one_of(
    st.just(Identity()),
    divisors.map(lambda n: make_truncated_division(n, W)),
    divisors.map(lambda n: make_floor_division(n, W)),
    divisors.map(lambda n: make_remainder(n, W)),
    divisors.map(lambda n: make_modulus(n, W)),
    st.integers(-128, 127).map(lambda m: make_mask(m, W)),
    st.just(Constant()),
)
texts = st.one_of(
    st.just(Identity()),
    st.integers(0, 4).map(make_text_prefix),
    st.builds(DelimitedPrefix, st.sampled_from(".-"), st.integers(1, 3)),
    st.just(Constant()),
)
UNITS = ["MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"]
times = st.one_of(st.just(Identity()), st.sampled_from(UNITS).map(make_truncation), st.just(Constant()))
triples = st.one_of(*(st.tuples(f, f, f) for f in (integers, texts, times)))

CON = duckdb.connect()
CON.sql("SET TimeZone = 'America/New_York'")
WORDS = ["", ".", "..", "a", "a.b", "a.b.c", "a-b.c", "ab", "abc", "abcd", "abd", "ä.ö", "10.1.2.3", "10.1.9.3"]
MOMENTS = [
    f"{day} {time}"
    for day in ("2024-01-01", "2023-12-31", "2024-03-10", "2024-11-03", "2024-11-04", "2024-04-01", "1969-12-31")
    for time in ("00:00:00", "00:00:00.000001", "00:59:59.999", "01:00:00", "05:30:15.5", "06:30:15", "23:59:59")
]
DATA = {
    "tinyint": ("TINYINT", [str(v) for v in BYTES]),
    "string": ("VARCHAR", [f"'{w}'" for w in WORDS]),
    "timestamp": ("TIMESTAMPTZ", [f"'{m}+00'" for m in MOMENTS]),
}


def evaluate(coarsening: Coarsening, type_: str) -> list[object]:
    """The value of a coarsening on all data of a type, NULL among it, as Headrace evaluates it in tasks."""
    duck, values = DATA[type_]
    sql = translate(write_coarsening(exp.column("x"), coarsening), {"x": type_}).sql
    rows = ", ".join(f"({v})" for v in [*values, "NULL"])
    return [r[0] for r in CON.sql(f"SELECT {sql} FROM (SELECT CAST(x AS {duck}) AS x FROM (VALUES {rows}) v(x))").fetchall()]


def kernel(values: list[object]) -> list[int]:
    """Which values are equal, as the number of the first equal one."""
    first: dict[object, int] = {}
    return [first.setdefault(v, i) for i, v in enumerate(values)]


def refines(fine: list[int], coarse: list[int]) -> bool:
    return len(set(zip(fine, coarse, strict=True))) == len(set(fine))


def type_of(*members: Coarsening) -> str:
    for member in members:
        if isinstance(member, TimeTruncation):
            return "timestamp"
        if type(member).__name__ in ("TextPrefix", "DelimitedPrefix"):
            return "string"
    return "tinyint"


@given(triples)
@settings(max_examples=400, deadline=None)
def test_the_meet_is_a_meet(members: tuple[Coarsening, Coarsening, Coarsening]) -> None:
    """Idempotent, commutative and associative, with the identity as unit and the constant as zero."""
    a, b, c = members
    assert meet(a, a, W) == a
    assert meet(a, b, W) == meet(b, a, W)
    assert meet(meet(a, b, W), c, W) == meet(a, meet(b, c, W), W)
    assert meet(a, Identity(), W) == a
    assert meet(a, Constant(), W) == Constant()
    assert is_coarser(meet(a, b, W), a, W)


@given(triples)
@settings(max_examples=150, deadline=None)
def test_rows_equal_under_the_finer_are_equal_under_the_coarser(members: tuple[Coarsening, ...]) -> None:
    """On data with negative numbers, the smallest number and NULL, a meet is a coarsening of both."""
    a, b, _ = members
    type_ = type_of(a, b)
    both = kernel(evaluate(meet(a, b, W), type_)) if not isinstance(meet(a, b, W), Constant) else None
    for member in (a, b):
        if both is not None:
            assert refines(kernel(evaluate(member, type_)), both)


@given(triples)
@settings(max_examples=100, deadline=None)
def test_a_step_leads_from_the_finer_to_the_coarser(members: tuple[Coarsening, ...]) -> None:
    """What `find_remaining_step` gives, done to the finer values, gives the coarser values themselves."""
    a, b, _ = members
    coarse = meet(a, b, W)
    step = find_remaining_step(a, coarse, W)
    if isinstance(coarse, Constant) or step is None:
        return
    type_ = type_of(a, b)
    duck, values = DATA[type_]
    fine_sql = write_coarsening(exp.column("x"), a)
    inner = exp.paren(fine_sql) if not isinstance(fine_sql, exp.Column) else fine_sql
    two = translate(write_coarsening(inner, step), {"x": type_}).sql
    one = translate(write_coarsening(exp.column("x"), coarse), {"x": type_}).sql
    rows = ", ".join(f"({v})" for v in [*values, "NULL"])
    found = CON.sql(
        f"SELECT count(*) FILTER (({two}) IS DISTINCT FROM ({one})) FROM (SELECT CAST(x AS {duck}) AS x FROM (VALUES {rows}) v(x))"
    ).fetchall()
    assert found == [(0,)]


def model(member: Coarsening, x: int) -> object:
    """What a member of the lattice of integers is, by definition."""
    n = getattr(member, "divisor", 0)
    match type(member).__name__:
        case "Identity":
            return x
        case "TruncatedDivision":
            return abs(x) // n * (1 if x >= 0 else -1)
        case "FloorDivision":
            return x // n
        case "Remainder":
            return abs(x) % n * (1 if x >= 0 else -1)
        case "Modulus":
            return x % n
        case "BitMask":
            return x & member.mask  # type: ignore[union-attr]
    return 0


FAMILY = list(
    dict.fromkeys(
        [
            Identity(),
            *(
                make(n, W)
                for make in (make_truncated_division, make_floor_division, make_remainder, make_modulus)
                for n in range(1, 31)
            ),
            *(make_mask(m, W) for m in range(-128, 128, 5)),
            *(make_mask(m, W) for m in (-2, -4, -8, -16, 1, 3, 7, 15, -128)),
        ]
    )
)
KERNELS = {member: kernel([model(member, x) for x in BYTES]) for member in FAMILY}


def test_no_two_members_are_one_function() -> None:
    """Canonical members differ in what they make equal: powers of two are masks, sign and width are seen."""
    seen: dict[tuple[int, ...], Coarsening] = {}
    for member in FAMILY:
        if not isinstance(member, Constant):
            assert seen.setdefault(tuple(KERNELS[member]), member) == member


def test_the_meet_is_the_finest_of_the_family() -> None:
    """Of all members that are coarser than two others on all bytes, the meet is the finest (but see the docstring on
    remainders by powers of two and masks)."""
    coarser = {a: {b for b in FAMILY if refines(KERNELS[a], KERNELS[b])} for a in FAMILY}
    left_out = {r for r in FAMILY if type(r).__name__ == "Remainder" and r.divisor & (r.divisor - 1) == 0}  # type: ignore[union-attr]
    for a, b in product(FAMILY[::3], FAMILY[::2]):
        found = meet(a, b, W)
        if found not in coarser:
            coarser[found] = {c for c in FAMILY if refines(kernel([model(found, x) for x in BYTES]), KERNELS[c])}
        assert coarser[a] & coarser[b] - left_out <= coarser[found], (a, b, found)


def test_division_towards_zero_still_coarsens() -> None:
    """x DIV 180 is a coarsening of x DIV 60 for negative numbers too, and the papers' example holds."""
    assert meet(TruncatedDivision(60), TruncatedDivision(90)) == TruncatedDivision(180)
    for x in range(-1000, 1000):
        assert model(TruncatedDivision(3), model(TruncatedDivision(60), x)) == model(TruncatedDivision(180), x)  # type: ignore[arg-type]


def test_floor_and_truncation_have_nothing_in_common() -> None:
    """floor(x / 60) cuts at 0 and -60, x DIV 60 at -59: only the constant coarsens both."""
    assert meet(make_floor_division(60, 32), TruncatedDivision(60), 32) == Constant()


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [("MINUTE", "HOUR", "HOUR"), ("DAY", "WEEK", "WEEK"), ("MONTH", "YEAR", "YEAR"), ("WEEK", "MONTH", None)],
)
def test_truncations_of_time(a: str, b: str, expected: str | None) -> None:
    """Weeks straddle months, everything else nests."""
    assert meet(TimeTruncation(a), TimeTruncation(b)) == (TimeTruncation(expected) if expected else Constant())


def test_sqlglot_reads_what_is_written() -> None:
    """The canonical text of a coarsening means the same when it is read again."""
    for member in FAMILY:
        text = write_coarsening(exp.column("x"), member).sql(dialect="spark")
        assert sqlglot.parse_one(text, dialect="spark").sql(dialect="spark") == text


def test_divisors_at_the_edge_of_the_type() -> None:
    """The smallest integer is the only one that a division by its own size keeps apart; beyond that none is."""
    assert make_truncated_division(2**31, 32) == TruncatedDivision(2**31)
    assert make_truncated_division(2**31 + 1, 32) == Constant()
    assert make_floor_division(2**31 - 1, 32) == FloorDivision(2**31 - 1)
    for beyond in (2**31 + 1, 2**32 - 1, 2**33, 2**40 + 3):  # only the sign is left
        assert make_floor_division(beyond, 32) == make_mask(-(2**31), 32) == BitMask(-(2**31))
    assert make_remainder(2**31 + 1, 32) == Identity()


def test_the_step_between_floors_is_a_floor() -> None:
    """floor(x / 180) is floor(floor(x / 60) / 3); between powers of two it is a mask."""
    assert find_remaining_step(make_floor_division(60, 32), make_floor_division(180, 32), 32) == make_floor_division(3, 32)
    assert find_remaining_step(make_floor_division(60, 32), make_floor_division(90, 32), 32) is None
