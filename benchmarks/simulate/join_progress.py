"""How the streams of a join case make progress: the clause, and the bound it means, recomputed from all rows so far.

Nothing of `progress/` is used. A `Pace` is one policy: slack in time or rows, punctuation in the stream or beside it, for all
rows or for each group of them, and a silence after which the clock counts. Rows that punctuate are those with v = -1.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
MARK = -1
SECOND = 1_000_000


@dataclass(frozen=True)
class Seen:
    """A batch of one stream: its rows, the clock, when the run it is of began, and what was told beside the stream before it."""

    rows: list[Row]
    clock: int = 0
    since: int = 0
    told: Any = None  # a bound, or a list of (bound, group)


@dataclass(frozen=True)
class Pace:
    """A policy of progress."""

    slack: int | None = None  # ticks
    rows: int | None = None
    marks: bool = False
    data: bool = True  # whether rows that punctuate are rows too
    beside: str | None = None  # the name of what tells bounds
    by: str | None = None  # the column whose groups make progress by themselves
    idle: int | None = None

    def clause(self, unit: int) -> str:
        """What CREATE STREAM says."""
        length = lambda n: f"{n // SECOND} SECONDS" if unit == SECOND else str(n)  # noqa: E731
        idle = f" IDLE AFTER {length(self.idle)}" if self.idle is not None else ""
        if self.marks or self.beside is not None:
            word = f"PUNCTUATED FROM '{self.beside}'" if self.beside is not None else f"PUNCTUATED BY (v = {MARK})"
            return word + ("" if self.data else " NOT DATA") + (f" FOR ({self.by})" if self.by else "") + idle
        word = "ORDERED" if self.slack is None and self.rows is None else f"SLACK {self.rows} ROWS"
        if self.slack is not None:
            word = f"SLACK {length(self.slack)}"
        return word + (f" PER ({self.by})" if self.by else "") + idle

    def is_data(self, row: Row) -> bool:
        return self.data or row["v"] != MARK

    def bound(self, batches: Sequence[Seen]) -> int | None:
        """No row before this will come, by what these batches have shown."""
        last = batches[-1]
        silent = lambda heard: (  # noqa: E731
            self.idle is not None and last.clock - max([last.since, *heard]) >= self.idle
        )
        if self.by is None:
            found = self._own([b.rows for b in batches], [b.told for b in batches if b.told is not None])
        else:
            awake = [
                self.bound_of(batches, group)
                for group in self._groups(batches)
                if not silent([b.clock for b in batches if any(r[self.by] == group for r in b.rows)])
            ]
            found = None if None in awake else min(awake, default=None)
        if silent([b.clock for b in batches if b.rows]):
            assert self.idle is not None
            follows = last.clock - self.idle - (self.slack or 0)
            found = follows if found is None else max(found, follows)
        return found

    def bound_of(self, batches: Sequence[Seen], group: Any) -> int | None:
        """The bound of a group by itself."""
        own = [[r for r in b.rows if r[self.by] == group] for b in batches]
        told = [bound for b in batches for bound, g in b.told or () if g == group and bound is not None]
        return self._own(own, told)

    def promise(self, batches: Sequence[Seen], row: Row) -> int | None:
        """What punctuation has said of rows like this one."""
        if not batches or not (self.marks or self.beside is not None):
            return None
        if self.by is not None:
            return self.bound_of(batches, row[self.by])
        return self._own([b.rows for b in batches], [b.told for b in batches if b.told is not None])

    def _groups(self, batches: Sequence[Seen]) -> set[Any]:
        told = {g for b in batches for _, g in b.told or ()}
        return told | {r[self.by] for b in batches for r in b.rows}

    def _own(self, batches: Sequence[Sequence[Row]], told: Sequence[int]) -> int | None:
        """The bound by the policy, of rows that make progress together; it never goes back."""
        values = [[r["ts"] for r in rows] for rows in batches]
        if self.marks or self.beside is not None:
            return max([*told, *(r["ts"] for rows in batches for r in rows if self.marks and r["v"] == MARK)], default=None)
        if self.rows is None:
            largest = max((v for batch in values for v in batch), default=None)
            return None if largest is None else largest - (self.slack or 0)
        found: list[int] = []
        for upto in range(1, len(values) + 1):  # what was known once stays known
            for i in range(upto):
                after = sum(map(len, values[i + 1 : upto]))
                found += sorted(values[i], reverse=True)[max(0, self.rows - after) :][:1]
        return max(found, default=None)


def draw_pace(rng: random.Random, unit: int, stream: str) -> Pace:
    """Any policy; those of groups by `s` or `j`, of which there are few."""
    by = rng.choice([None, None, "s", "j"])
    idle = rng.choice([None, None, 5, 30]) if unit == SECOND else None
    idle = idle if idle is None else idle * SECOND
    kind = rng.choice(["slack", "ordered", "rows", "marks", "marks", "beside"])
    if kind == "slack":
        return Pace(slack=rng.choice([0, 2, 5]) * unit, by=by, idle=idle)
    if kind == "rows":
        return Pace(rows=rng.choice([0, 1, 4, 12]), by=by, idle=idle)
    if kind == "marks":
        return Pace(marks=True, data=rng.random() < 0.5, by=by, idle=idle)
    if kind == "beside":
        return Pace(beside=f"told_{stream}", by=by, idle=idle)
    return Pace(by=by, idle=idle)


def add_marks(rng: random.Random, pace: Pace, rows: Sequence[Row], unit: int) -> list[Row]:
    """The rows with marks among them: at the least value still to come, before it, or (a lie) beyond it; one group gets none."""
    if not pace.marks:
        return list(rows)
    often, lies = rng.choice([0.1, 0.3]), rng.choice([0, 0, 0.3])
    without = rng.choice("pqr") if rng.random() < 0.3 else None
    out: list[Row] = []
    for i, row in enumerate(rows):
        out.append(row)
        group = row[pace.by] if pace.by else None
        if rng.random() >= often or (pace.by and group == without):
            continue
        rest = [r["ts"] for r in rows[i + 1 :] if not pace.by or r[pace.by] == group]
        early = rng.choice([0, 0, 3]) * unit
        beyond = rng.choice([2, 25]) * unit if rng.random() < lies else 0
        out.append({**row, "ts": min(rest, default=row["ts"] + 9 * unit) - early + beyond, "v": MARK})
    return out


def tell_bounds(rng: random.Random, pace: Pace, batches: Sequence[Sequence[Row]], unit: int) -> list[Any]:
    """What is told beside a stream before each batch: bounds of what comes after it, sometimes lies, sometimes nothing."""
    lies = rng.choice([0, 0, 0.3])
    out: list[Any] = []
    for i in range(len(batches)):
        rest = [r for rows in batches[i + 1 :] for r in rows]
        beyond = rng.choice([2, 25]) * unit if rng.random() < lies else 0
        if rng.random() < 0.3 or not rest:
            out.append(None)
        elif pace.by is None:
            out.append(min(r["ts"] for r in rest) + beyond)
        else:
            groups = {r[pace.by] for r in rest if rng.random() < 0.7}
            out.append([(min(r["ts"] for r in rest if r[pace.by] == g) + beyond, g) for g in sorted(groups, key=str)])
    return out
