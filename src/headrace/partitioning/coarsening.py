"""The coarsening lattice of one attribute (document 000 §3.3, §4.1).

A coarsening is a function of one attribute, seen through what it makes equal: rows equal under the finer one are equal
under the coarser one. NULL is a value like any other (GROUP BY treats it so), and every member but `Constant` keeps
it apart. `meet` is the paper's "least common denominator": the finest member that is coarser than both.

    Identity                                   finer than everything
    TruncatedDivision n    x DIV n             towards zero: 0 stands for all of (-n, n), and
                                               trunc(trunc(x/a)/b) = trunc(x/ab), so DIV 180 does coarsen DIV 60
    FloorDivision n        floor(x / n)        another family: it cuts at 0 and at -n, DIV at -n+1
    BitMask m              x & m               shifts and powers of two are masks: x >> k cuts where x & ~(2^k-1) does
    Remainder n            x % n               takes the sign of x, so 2 % 3 and -1 % 3 differ
    Modulus n              pmod(x, n)          does not: coarser than Remainder n
    TextPrefix n           substring(x, 1, n)
    DelimitedPrefix d, n   substring_index(x, d, n), like an IP network written as text
    TimeTruncation u       date_trunc(u, x), in the session's time zone; weeks straddle months
    Constant               coarser than everything, and useless as a partitioning key

Integers have `width` bits in two's complement, so a function that no value of that type can tell from another one *is*
that one: `make_…` give the canonical member, and equality of members is equality of functions (up to relabelling).
Within the family the meet is the finest, with one exception: x % 2^k can be computed from a mask that keeps the sign
bit and the k lowest bits, which is not used, since then two masks could have two finest coarsenings in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, lcm

UNITS = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
_DAY, _WEEK = UNITS.index("DAY"), UNITS.index("WEEK")


@dataclass(frozen=True)
class Identity:
    """The attribute as it is."""


@dataclass(frozen=True)
class Constant:
    """One value for all."""


@dataclass(frozen=True)
class TruncatedDivision:
    divisor: int


@dataclass(frozen=True)
class FloorDivision:
    divisor: int  # no power of two: those are masks


@dataclass(frozen=True)
class BitMask:
    mask: int  # signed, of the attribute's width; neither 0 nor -1


@dataclass(frozen=True)
class Remainder:
    divisor: int


@dataclass(frozen=True)
class Modulus:
    divisor: int  # no power of two: those are masks


@dataclass(frozen=True)
class TextPrefix:
    length: int


@dataclass(frozen=True)
class DelimitedPrefix:
    delimiter: str
    count: int


@dataclass(frozen=True)
class TimeTruncation:
    unit: str


Coarsening = (
    Identity
    | Constant
    | TruncatedDivision
    | FloorDivision
    | BitMask
    | Remainder
    | Modulus
    | TextPrefix
    | DelimitedPrefix
    | TimeTruncation
)


# -- canonical members --------------------
def make_mask(bits: int, width: int) -> Coarsening:
    """x & bits; `bits` of any length: beyond the width, all of them ask for the sign."""
    low = bits & ((1 << (width - 1)) - 1)
    mask = low - (1 << (width - 1)) if bits >> (width - 1) else low
    if mask == -1:
        return Identity()
    return BitMask(mask) if mask else Constant()


def make_truncated_division(divisor: int, width: int) -> Coarsening:
    if divisor == 1:
        return Identity()
    return TruncatedDivision(divisor) if divisor <= 1 << (width - 1) else Constant()


def make_floor_division(divisor: int, width: int) -> Coarsening:
    divisor = min(divisor, 1 << (width - 1))  # beyond that, only the sign is left
    return make_mask(-divisor, width) if _is_power_of_two(divisor) else FloorDivision(divisor)


def make_remainder(divisor: int, width: int) -> Coarsening:
    if divisor > 1 << (width - 1):
        return Identity()
    return Remainder(divisor) if divisor > 1 else Constant()


def make_modulus(divisor: int, width: int) -> Coarsening:
    if divisor >= 1 << width:
        return Identity()
    return make_mask(divisor - 1, width) if _is_power_of_two(divisor) else Modulus(divisor)


def make_text_prefix(length: int) -> Coarsening:
    return TextPrefix(length) if length > 0 else Constant()


def make_truncation(unit: str, of_dates: bool = False) -> Coarsening:
    """date_trunc of a timestamp, or of a date, which has no time of day to lose."""
    finest = _DAY if of_dates else 0
    return TimeTruncation(unit) if UNITS.index(unit) > finest else Identity()


# -- the lattice --------------------
def meet(a: Coarsening, b: Coarsening, width: int = 64) -> Coarsening:
    """The finest member that is coarser than both. `width` is that of an integer attribute."""
    for one, other in ((a, b), (b, a)):
        if one == other or isinstance(one, Identity):
            return other
        if (found := _meet_ordered(one, other, width)) is not None:
            return found
    return Constant()


def is_coarser(coarse: Coarsening, fine: Coarsening, width: int = 64) -> bool:
    """Whether rows equal under `fine` are always equal under `coarse`."""
    return meet(coarse, fine, width) == coarse


def find_remaining_step(fine: Coarsening, coarse: Coarsening, width: int = 64) -> Coarsening | None:
    """What is to be done to the values of `fine` to get those of `coarse`; None if that cannot be."""
    if fine == coarse:
        return Identity()
    if not is_coarser(coarse, fine, width):
        return None
    if isinstance(fine, TruncatedDivision) and isinstance(coarse, TruncatedDivision):
        return TruncatedDivision(coarse.divisor // fine.divisor)
    if isinstance(fine, FloorDivision):
        if isinstance(coarse, FloorDivision):
            return make_floor_division(coarse.divisor // fine.divisor, width)
        return None if isinstance(coarse, BitMask) else coarse  # the sign of a quotient: not worth a rule
    return coarse


def _meet_ordered(a: Coarsening, b: Coarsening, width: int) -> Coarsening | None:
    """The meet of two different members for one order of them, None where this order has no rule."""
    match a, b:
        case TruncatedDivision(m), TruncatedDivision(n):
            return make_truncated_division(lcm(m, n), width)
        case FloorDivision(m), FloorDivision(n):
            return make_floor_division(lcm(m, n), width)
        case BitMask(m), BitMask(n):
            return make_mask(m & n, width)
        case BitMask(m), FloorDivision(n) if m < 0:
            return make_floor_division(lcm(n, 1 << _count_low_holes(m)), width)
        case BitMask(m), (Remainder(n) | Modulus(n)):
            return make_mask(m & ((n & -n) - 1), width)  # the bits that adding n leaves alone
        case Remainder(m), Remainder(n):
            return make_remainder(gcd(m, n), width)
        case (Remainder(m) | Modulus(m)), Modulus(n):
            return make_modulus(gcd(m, n), width)
        case TextPrefix(m), TextPrefix(n):
            return TextPrefix(min(m, n))
        case DelimitedPrefix(d, m), DelimitedPrefix(e, n) if d == e:
            return DelimitedPrefix(d, min(m, n))
        case TimeTruncation(u), TimeTruncation(v):
            coarser = max(u, v, key=UNITS.index)
            finer = min(UNITS.index(u), UNITS.index(v))
            return None if finer == _WEEK else TimeTruncation(coarser)
    return None


def _count_low_holes(mask: int) -> int:
    """From which bit on a mask keeps all bits, sign included."""
    return (~mask).bit_length()


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
