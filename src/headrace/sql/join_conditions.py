"""Conditions of a join, sorted by what they say: how near in time, which keys are equal, and the rest.

Time is recognised in whatever words bound it: comparisons and BETWEEN of progressing columns with INTERVALs added or
subtracted, differences and `abs` of differences, equal `window(…)` or `date_trunc(…)`. A condition that becomes a bound
exactly is gone from the rest; one that only implies a bound (days depend on the time zone, an OR allows one band or another)
stays there too.

Columns are those of the join, `input.column`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from headrace.errors import HeadraceError
from headrace.logical.read_length import EXACT_UNITS, SECOND, read_length
from headrace.logical.time_bounds import CommonWindow, Gap
from headrace.windows import ticks

_LONGEST = {
    "hour": 3600 * SECOND,
    "day": 25 * 3600 * SECOND,
    "week": 170 * 3600 * SECOND,
    "month": 750 * 3600 * SECOND,
}
_OPPOSITE: dict[type, type[exp.Binary]] = {exp.LT: exp.GTE, exp.LTE: exp.GT, exp.GT: exp.LTE, exp.GTE: exp.LT}


@dataclass(frozen=True)
class TimeColumn:
    """A column that moves with the progressing value t of an input: (t + offset) / scale."""

    input: int
    offset: int = 0
    scale: int = 1


@dataclass
class Conditions:
    """What the conditions of a join say."""

    gaps: list[Gap] = field(default_factory=list)
    windows: list[CommonWindow] = field(default_factory=list)
    equal: list[tuple[tuple[int, exp.Expr], tuple[int, exp.Expr]]] = field(default_factory=list)
    single: list[tuple[int, exp.Expr]] = field(default_factory=list)  # of one input alone
    rest: list[exp.Expr] = field(default_factory=list)


def split_conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    """The conditions that must all hold, in order; what both sides of an OR demand is one of them."""
    if node is None:
        return []
    if isinstance(node, exp.Paren):
        return split_conjuncts(node.this)
    if isinstance(node, exp.And):
        return [*split_conjuncts(node.this), *split_conjuncts(node.expression)]
    if isinstance(node, exp.Between):
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
        return [low, exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())]
    if isinstance(node, exp.Or):
        left, right = split_conjuncts(node.this), split_conjuncts(node.expression)
        return [*(part for part in left if part in right), node]
    if isinstance(node, exp.Not) and (inside := _negate(node.this)) is not None:
        return split_conjuncts(inside)
    return [node]


def _negate(node: exp.Expr) -> exp.Expr | None:
    """NOT of it with the NOT further in, where conditions may come of that: it is NULL where it was."""
    if isinstance(node, exp.Paren):
        return _negate(node.this)
    if isinstance(node, exp.Not):
        return exp.paren(node.this.copy())
    if isinstance(node, exp.Or):
        return exp.and_(*(exp.Not(this=exp.paren(side.copy())) for side in (node.this, node.expression)), wrap=False)
    other = _OPPOSITE.get(type(node))
    return None if other is None else other(this=node.this.copy(), expression=node.expression.copy())


class ConditionSorter:
    """Sorts conditions over inputs, whose columns `input_of` tells."""

    def __init__(self, input_of: Callable[[str], int], times: Mapping[str, TimeColumn], unit: str) -> None:
        self.input_of, self.times, self.unit = input_of, times, unit
        self.found = Conditions()

    def take(self, conjuncts: Iterable[exp.Expr]) -> Conditions:
        for node in conjuncts:
            self._sort(node)
        return self.found

    def inputs(self, node: exp.Expr) -> set[int]:
        return {self.input_of(c.name) for c in node.find_all(exp.Column)}

    def _sort(self, node: exp.Expr) -> None:
        inputs = self.inputs(node)
        if len(inputs) == 1:
            self.found.single.append((next(iter(inputs)), node))
        elif len(inputs) < 2 or not (self._is_time(node) or self._is_equality(node)):
            self.found.rest.append(node)

    def _is_equality(self, node: exp.Expr) -> bool:
        if not isinstance(node, exp.EQ):
            return False
        left, right = self.inputs(node.this), self.inputs(node.expression)
        if len(left) != 1 or len(right) != 1:
            return False
        self.found.equal.append(((left.pop(), node.this), (right.pop(), node.expression)))
        return True

    # -- time --------------------
    def _is_time(self, node: exp.Expr) -> bool:
        if isinstance(node, exp.Or):
            self.found.gaps += self._alternatives(node)
            return False
        if (
            isinstance(node, exp.EQ)
            and (known := self._common_window(node.this, node.expression)) is not None
        ):
            return known
        flipped = {exp.GT: exp.LT, exp.GTE: exp.LTE}
        if isinstance(node, (exp.GT, exp.GTE)):
            return self._is_time(flipped[type(node)](this=node.expression, expression=node.this))
        if not isinstance(node, (exp.LT, exp.LTE, exp.EQ)):
            return False
        strict = isinstance(node, exp.LT)
        if not isinstance(node, exp.EQ) and isinstance(node.this, exp.Abs):  # |a - b| <= d
            both = [node.this.this, exp.Neg(this=exp.paren(node.this.this.copy()))]
            terms = [self._difference(left, node.expression) for left in both]
        else:
            terms = [self._difference(node.this, node.expression)]
            if isinstance(node, exp.EQ):  # each is at most the other
                terms.append(self._difference(node.expression, node.this))
        if any(t is None for t in terms):
            return False
        self.found.gaps += [
            Gap(before, after, ticks - strict) for before, after, ticks in filter(None, terms)
        ]
        return True

    def _alternatives(self, node: exp.Or) -> list[Gap]:
        """What holds whichever side of an OR does: the wider of their bounds, where both have one."""
        sides: list[dict[tuple[int, int], int]] = []
        for side in (node.this, node.expression):
            found = ConditionSorter(self.input_of, self.times, self.unit).take(split_conjuncts(side))
            both = [(w, pair) for w in found.windows for pair in ((w.one, w.other), (w.other, w.one))]
            sides.append({})
            for gap in [*found.gaps, *(Gap(*pair, w.width - 1) for w, pair in both)]:
                pair = gap.before, gap.after
                sides[-1][pair] = min(gap.ticks, sides[-1].get(pair, gap.ticks))
        one, two = sides
        wider = [Gap(*pair, max(one[pair], two[pair])) for pair in sorted(one.keys() & two.keys())]
        return [gap for gap in wider if gap not in self.found.gaps]

    def _difference(self, left: exp.Expr, right: exp.Expr) -> tuple[int, int, int] | None:
        """`left <= right` as t_after - t_before <= ticks."""
        one, two = self._linear(left), self._linear(right)
        if one is None or two is None:
            return None
        if one.positive.keys() & two.negative.keys() or one.negative.keys() & two.positive.keys():
            return None  # twice the same time
        positive = {**one.positive, **two.negative}
        negative = {**one.negative, **two.positive}
        if len(positive) != 1 or len(negative) != 1:
            return None
        ((after, more),), ((before, less),) = positive.items(), negative.items()
        constant = (two.constant - one.constant) * max(more[1], 1)
        if after == before or more[1] != less[1]:
            return None
        if self.unit == "us" and constant and (one.counts or two.counts) != (more[1] > 1):
            return None  # numbers count windows, intervals are times
        return before, after, constant - more[0] + less[0]

    def _linear(self, node: exp.Expr) -> _Linear | None:
        if isinstance(node, exp.Paren):
            return self._linear(node.this)
        if isinstance(node, exp.Column):
            time = self.times.get(node.name)
            return None if time is None else _Linear({time.input: (time.offset, time.scale)}, {}, 0)
        if isinstance(node, exp.Neg):
            inner = self._linear(node.this)
            return None if inner is None else _Linear(inner.negative, inner.positive, -inner.constant, inner.counts)
        if isinstance(node, (exp.Add, exp.Sub)):
            one, two = self._linear(node.this), self._linear(node.expression)
            if one is None or two is None:
                return None
            if isinstance(node, exp.Sub):
                two = _Linear(two.negative, two.positive, -two.constant, two.counts)
            if one.positive.keys() & two.positive.keys() or one.negative.keys() & two.negative.keys():
                return None
            return _Linear(
                {**one.positive, **two.positive},
                {**one.negative, **two.negative},
                one.constant + two.constant,
                one.counts or two.counts,
            )
        length = read_length(node, self.unit)
        counts = node.find(exp.Interval) is None
        return None if length is None else _Linear({}, {}, length, counts)

    def _common_window(self, left: exp.Expr, right: exp.Expr) -> bool | None:
        """Whether this equality says "the same window", and nothing else; None: it says nothing of windows."""
        one, two = self._bucket(left), self._bucket(right)
        if one is None or two is None or one[0].input == two[0].input or one[1:] != two[1:]:
            return None
        first, second = one[0].input, two[0].input
        width, offset, exact = one[1:]
        if exact and one[0].offset == two[0].offset and one[0].scale == two[0].scale == 1:
            self.found.windows.append(CommonWindow(first, second, width, offset - one[0].offset))
            return True
        if one[0].scale != two[0].scale:
            return None
        for before, after, ahead in ((first, second, one), (second, first, two)):
            slip = ahead[0].offset - (two if ahead is one else one)[0].offset
            self.found.gaps.append(Gap(before, after, width * one[0].scale - 1 + abs(slip)))
        return False

    def _bucket(self, node: exp.Expr) -> tuple[TimeColumn, int, int, bool] | None:
        """A function that is the same for all times of a window: the time, width and offset, and whether that is exact."""
        if isinstance(node, exp.Paren):
            return self._bucket(node.this)
        if isinstance(node, exp.Dot) and node.expression.name.lower() in ("start", "end"):
            found = self._bucket(node.this)
            if found is None or node.expression.name.lower() == "start":
                return found
            inner, width, offset, exact = found  # the end is the start of the window a width later
            return TimeColumn(inner.input, inner.offset + width, inner.scale), width, offset, exact
        if isinstance(node, exp.Anonymous) and node.name.lower() == "window" and len(node.expressions) >= 2:
            return self._window_call(node)
        if isinstance(node, exp.TimestampTrunc) and isinstance(node.this, exp.Column):
            time, word = self.times.get(node.this.name), str(node.args["unit"].name).lower()
            if time is None or self.unit != "us":
                return None
            if word in EXACT_UNITS:
                return time, EXACT_UNITS[word], 0, True
            return (time, _LONGEST[word], 0, False) if word in _LONGEST else None
        if isinstance(node, (exp.Div, exp.IntDiv)) and isinstance(node.this, exp.Column) and self.unit == "int":
            time, length = self.times.get(node.this.name), read_length(node.expression, "int")
            if time is not None and length is not None and length > 0:
                return time, 2 * length, 0, False  # DIV goes towards zero, so two lengths around it; `/` is the time itself
        return None

    def _window_call(self, node: exp.Anonymous) -> tuple[TimeColumn, int, int, bool] | None:
        first, *words = node.expressions
        time = self.times.get(first.name) if isinstance(first, exp.Column) else None
        if time is None or len(words) > 1 or not isinstance(words[0], exp.Literal):
            return None
        try:
            return time, ticks(str(words[0].this), self.unit), 0, True  # type: ignore[arg-type]
        except HeadraceError:
            return None


@dataclass(frozen=True)
class _Linear:
    """The times that are added and subtracted, as (offset, scale) by input, and a constant."""

    positive: dict[int, tuple[int, int]]
    negative: dict[int, tuple[int, int]]
    constant: int
    counts: bool = False  # a number is among the constants
