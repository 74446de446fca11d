"""The spellings of a window, all to one `WindowSpec` (DESIGN §4.4).

* bracket: `FROM tcp [RANGE 10 MINUTES SLIDE 1 MINUTE ORIGIN … ALIGN END]`, `RANGE ALL` for landmark
  windows;
* Spark: `GROUP BY window(ts, '10 minutes', '1 minute', '15 seconds')`, with `window.start` and
  `window.end`;
* GSQL: `GROUP BY time/60 AS tb` (document 000 §3.1): tumbling windows whose number is a column of the
  result. On a timestamp the number is in seconds, as `time` is in Gigascope. `GROUP BY time` is a window of one tick.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlglot import exp

from headrace.errors import HeadraceError, SqlError
from headrace.sql.statements import BracketWindow
from headrace.windows import LONGEST, Sliding, WindowSpec, make_window, spell_longest, ticks

Fail = Callable[[str], SqlError]
_SECOND = 1_000_000


@dataclass(frozen=True)
class GroupWindow:
    """A window found in GROUP BY, and how the SELECT list may speak of it."""

    spec: WindowSpec
    attribute: str
    node: exp.Expr
    name: str | None
    function: bool  # Spark's window(); else GSQL
    divisor: int = 0  # ticks per GSQL bucket; 0 where it is the time itself

    def part(self, node: exp.Expr) -> exp.Expr | None:
        """What `node` means if it speaks of the window: a window column, a struct of both, or the bucket
        number.
        """
        if not self.function and not self.divisor:  # GROUP BY time
            named = isinstance(node, exp.Column) and node.name.lower() in (self.attribute.lower(), (self.name or "").lower())
            return exp.column("window_start") if named else None
        if not self.function:
            by_name = self.name and isinstance(node, exp.Column) and node.name.lower() == self.name.lower()
            if by_name or node == self.node:
                return exp.Anonymous(this="_bucket", expressions=[exp.Literal.number(self.divisor)])
            return None
        name = ("window" if self.name is None else self.name).lower()
        whole = node == self.node or (
            isinstance(node, exp.Column) and not node.table and node.name.lower() == name
        )
        if whole:
            return exp.Anonymous(
                this="named_struct",
                expressions=[
                    exp.Literal.string("start"),
                    exp.column("window_start"),
                    exp.Literal.string("end"),
                    exp.column("window_end"),
                ],
            )
        of = None
        if isinstance(node, exp.Column) and node.table.lower() == name:
            of = node.name.lower()
        elif isinstance(node, exp.Dot) and node.this == self.node:
            of = node.expression.name.lower()
        return exp.column(f"window_{of}") if of in ("start", "end") else None


def bracket_window(clause: BracketWindow, unit: str, fail: Fail) -> WindowSpec:
    """A bracket window in ticks. Without SLIDE it tumbles."""
    try:
        if clause.range is None and clause.slide is None:
            raise fail("RANGE ALL needs a SLIDE: how often the running result is reported")
        range_ = None if clause.range is None else _length("RANGE", clause.range, unit, fail)
        slide = _length("SLIDE", clause.slide, unit, fail) if clause.slide is not None else range_
        assert slide is not None
        reset = _length("RESET", clause.reset, unit, fail) if clause.reset else None
        if reset is not None and range_ is not None:
            raise fail(
                f"RESET goes with RANGE ALL, but RANGE is {clause.range}; write RANGE ALL, or leave RESET out"
            )
        if reset is not None and reset % slide:
            raise fail(
                "RESET must be a multiple of SLIDE so that the last window ends at the reset, "
                f"but {clause.reset} is not a multiple of {clause.slide}"
            )
        origin = _origin(clause.origin, unit, fail) if clause.origin else 0
        return make_window(range_, slide, origin, "end" if clause.align == "end" else "start", reset)
    except SqlError:
        raise
    except HeadraceError as e:
        raise fail(str(e)) from e


def group_window(
    node: exp.Expr, name: str | None, unit: str, times: Collection[str], fail: Fail
) -> GroupWindow | None:
    """The window a GROUP BY expression stands for, or None if it is an ordinary expression."""
    if isinstance(node, exp.Anonymous) and node.name.lower() == "window":
        arguments = node.expressions
        if not 2 <= len(arguments) <= 4 or not isinstance(arguments[0], exp.Column):
            raise fail("expected window(column, 'length'[, 'slide'[, 'start']])")
        words = []
        for argument in arguments[1:]:
            if not isinstance(argument, exp.Literal):
                raise fail("the lengths in window(…) are written out, like '10 minutes'")
            words.append(str(argument.this))
        try:
            range_ = _length("the length of a window", words[0], unit, fail)
            slide = _length("the slide of a window", words[1], unit, fail) if len(words) > 1 else range_
            origin = _ticks(words[2], unit) if len(words) > 2 else 0
            spec = make_window(range_, slide, origin)
        except SqlError:
            raise
        except HeadraceError as e:
            raise fail(str(e)) from e
        return GroupWindow(spec, arguments[0].name, node, name, True)
    if isinstance(node, exp.Anonymous) and node.name.lower() == "session_window":
        raise fail("session windows are not supported; write a RANGE, like [RANGE 10 MINUTES], and GROUP BY the key")
    inner = node.this if isinstance(node, (exp.Cast, exp.Floor, exp.Paren)) else node
    if (
        isinstance(inner, (exp.Div, exp.IntDiv))
        and isinstance(inner.this, exp.Column)
        and isinstance(inner.expression, exp.Literal)
        and inner.this.name.lower() in {t.lower() for t in times}
        and str(inner.expression.this).isdigit()
    ):
        length = int(inner.expression.this) * (_SECOND if unit == "us" else 1)
        if length <= 0:
            raise fail("the length of a window must be positive")
        return GroupWindow(Sliding(length, range=length), inner.this.name, node, name, False, length)
    return None


def tick_window(attribute: str, node: exp.Expr, name: str | None) -> GroupWindow:
    """`GROUP BY time`: rows of the same time, which is complete when progress has passed it."""
    return GroupWindow(Sliding(1, range=1), attribute, node, name, False)


def spell_start(time: exp.Column, window: Sliding, unit: str) -> exp.Expr:
    """The start of the tumbling window that a time is in, as an expression."""
    tick: exp.Expr = exp.UnixMicros(this=time) if unit == "us" else time
    shifted = tick if not window.origin else exp.Sub(this=tick, expression=exp.Literal.number(window.origin))
    past = exp.Anonymous(this="pmod", expressions=[shifted.copy(), exp.Literal.number(window.range)])
    start = exp.Sub(this=tick.copy(), expression=past)
    return exp.Anonymous(this="timestamp_micros", expressions=[start]) if unit == "us" else start


def _length(what: str, text: str, unit: str, fail: Fail) -> int:
    """A length in ticks; an error shows it as it is written."""
    found = _ticks(text, unit)
    if found <= 0:
        raise fail(f"{what} must be positive, got {text}")
    if found > LONGEST:
        raise fail(f"{what} is too long, got {text}, at most {spell_longest(unit)} are possible")
    return found


def _ticks(text: str, unit: str) -> int:
    return ticks(int(text) if text.strip().lstrip("-").isdigit() else text, unit)  # type: ignore[arg-type]


def _origin(text: str, unit: str, fail: Fail) -> int:
    if unit == "int":
        return _ticks(text, unit)
    try:
        moment = datetime.fromisoformat(text.strip("'\""))
    except ValueError:
        try:
            return _ticks(text, unit)
        except HeadraceError:
            raise fail(f"ORIGIN takes a time like '2024-01-01 00:00:00' or a length, got {text!r}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    delta = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * _SECOND + delta.microseconds


def read_attribute(written: str | None, times: Collection[str]) -> str | None:
    """The progressing column that a window names, with or without the name of its input."""
    if written is None or written.lower() in {t.lower() for t in times}:
        return written
    last = written.rpartition(".")[2]
    return last if "." in written and not any("." in t for t in times) else written
