"""The kinds of joins, and what each says of its inputs.

Inputs go by number: of a join of two, 0 is the one written first. A join keeps a row of an input when the row is a result
although it has no partner. Where a join *decides* whether a row has a partner at all, it has to see all partners of the row.
"""

from __future__ import annotations

from enum import StrEnum


class JoinKind(StrEnum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"
    DISTINCT = "distinct"  # of one input: a row is there if no row before it had the same keys

    @property
    def kept(self) -> tuple[int, ...]:
        """The inputs whose rows are results when they have no partner."""
        return _KEPT.get(self, ())

    @property
    def padded(self) -> tuple[int, ...]:
        """The inputs whose columns are NULL beside a row without a partner."""
        return tuple(1 - i for i in self.kept) if self.shows_both else ()

    @property
    def shows_both(self) -> bool:
        """Whether the columns of every input are in the results: all but semi- and anti-joins."""
        return self not in (JoinKind.SEMI, JoinKind.ANTI)

    @property
    def pairs(self) -> bool:
        """Whether a row and its partner make a result."""
        return self.shows_both and self is not JoinKind.DISTINCT

    @property
    def decided(self) -> tuple[int, ...]:
        """The inputs of whose rows the join decides once whether they have a partner."""
        return (0,) if self is JoinKind.SEMI else self.kept

    @property
    def flipped(self) -> JoinKind:
        """The same join with its two inputs the other way round."""
        return {JoinKind.LEFT: JoinKind.RIGHT, JoinKind.RIGHT: JoinKind.LEFT}.get(self, self)


_KEPT = {
    JoinKind.LEFT: (0,),
    JoinKind.RIGHT: (1,),
    JoinKind.FULL: (0, 1),
    JoinKind.ANTI: (0,),
}
