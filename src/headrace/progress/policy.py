"""How a stream's progress is known: what follows from what was seen (document 003, sections 2.1, 3.3 and 8.1).

Eq. 4.1 defines the low-watermark after a prefix of a stream as the smallest progressing value still to come.
Nobody knows the future, so each stream declares how a bound on it follows from what was seen. A source task makes
an `Observation` of its rows, observations are folded, and the policy turns the whole into a `Frontier`:

* `Ordered`: the next value is never smaller than the largest seen (section 8.1, first case). Equal values
  may follow, so the bound is that largest value itself, not one more.
* `Slack(bound)`: no row comes more than `bound` ticks behind the largest value seen (section 3.3).
* `SlackRows(rows)`: a row is overtaken by at most `rows` others. The low-watermark is the largest value of all but the
  last `rows` rows (section 8.1, second case). Which rows of a batch were the last is unknown: of a batch after which
  m rows came, at most `rows - m` are among the last ones, so the value of rank `rows - m + 1` is safe whichever they are.
* `Punctuated`: rows, or a table beside the stream, tell low-watermarks (section 2.1).
* `ByGroup(policy)`: each group of rows (a partition of the source, or the groups that punctuation names) has a bound by
  `policy`; that of the stream is their meld (Figure 8-2), the groups that are ahead keep theirs. A group that was
  silent for as long as IDLE AFTER says is left out of the meld. A group nobody has seen holds nothing back.

`find_frontier_of` adds the heartbeat for lulls (section 8.1): a stream that was silent for `idle` is known to have come to
the clock less `idle` and the slack.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.errors import OptionError
from headrace.progress.frontier import NOTHING_KNOWN, Frontier, Group, advance, bound_at, meld
from headrace.progress.observation import Observation

LONGEST = 1 << 60  # ticks of a slack
MOST_ROWS = 500_000  # of a slack


@dataclass(frozen=True)
class Silence:
    """The clock of a batch, and for how long a stream may be silent; nothing heard before `since` is remembered."""

    clock: int
    idle: int
    since: int

    def covers(self, seen: Observation) -> bool:
        """Whether nothing was heard for that long."""
        return self.clock - max(self.since if seen.heard is None else seen.heard, self.since) >= self.idle


@dataclass(frozen=True)
class Slack:
    """Rows come at most `bound` ticks behind the largest progressing value seen."""

    bound: int

    def __post_init__(self) -> None:
        if self.bound < 0:
            raise OptionError(
                f"SLACK must not be negative, got {self.bound} ticks; 0 means an ordered stream"
            )
        if self.bound > LONGEST:
            raise OptionError(f"SLACK is too long, got {self.bound} ticks, at most {LONGEST} are possible")

    def frontier(self, seen: Observation) -> Frontier:
        """What cannot come any more when this was seen."""
        return NOTHING_KNOWN if seen.largest is None else Frontier(seen.largest - self.bound)


@dataclass(frozen=True)
class Ordered:
    """Rows come in order of the progressing attribute."""

    def frontier(self, seen: Observation) -> Frontier:
        """What cannot come any more when this was seen."""
        return bound_at(seen.largest)


@dataclass(frozen=True)
class SlackRows:
    """A row comes after at most `rows` rows that are ahead of it."""

    rows: int

    def __post_init__(self) -> None:
        if not 0 <= self.rows <= MOST_ROWS:
            raise OptionError(f"SLACK in rows: expected 0 to {MOST_ROWS}, got {self.rows}")

    def frontier(self, seen: Observation) -> Frontier:
        """What cannot come any more when this was seen."""
        bounds, after = [], 0
        for one in seen.arrivals:
            bounds.append(one.find_rank(max(0, self.rows - after) + 1))
            after += one.rows
        return bound_at(max((b for b in bounds if b is not None), default=None))

    def needed(self, seen: Observation) -> Observation:
        """Without batches that have told all they can: their largest value counts from now on."""
        kept, after = [], 0
        for one in seen.arrivals:
            if after < self.rows:
                kept.append(one)
            after += one.rows
        return replace(seen, arrivals=tuple(kept))


@dataclass(frozen=True)
class Punctuated:
    """Low-watermarks are told, by rows of the stream or beside it."""

    def frontier(self, seen: Observation) -> Frontier:
        """What cannot come any more when this was seen."""
        return bound_at(seen.mark)


OwnPolicy = Slack | Ordered | SlackRows | Punctuated


@dataclass(frozen=True)
class ByGroup:
    """Each group of rows makes progress by itself, and the stream with the last of them."""

    policy: OwnPolicy

    def frontier(
        self, seen: Observation, silence: Silence | None = None, before: Frontier = NOTHING_KNOWN
    ) -> Frontier:
        """What cannot come any more when this was seen, and that was known. Each group goes on from its own bound:
        what a policy sees of a batch may say less of a group than the batches before.
        """
        own = {
            group: advance(Frontier(before.bound_of(group)), self.policy.frontier(one)).bound
            for group, one in seen.groups
        }
        awake = [Frontier(own[g]) for g, one in seen.groups if silence is None or not silence.covers(one)]
        return Frontier(meld(awake).bound, tuple(own.items()))


Policy = OwnPolicy | ByGroup


def find_frontier_of(
    policy: Policy, seen: Observation, silence: Silence | None = None, before: Frontier = NOTHING_KNOWN
) -> Frontier:
    """What cannot come any more, if this was seen, that was known before, and the stream may be silent."""
    own = policy.frontier(seen, silence, before) if isinstance(policy, ByGroup) else policy.frontier(seen)
    found = advance(before, own)
    if silence is None or not silence.covers(seen):
        return found
    return advance(found, Frontier(silence.clock - silence.idle - find_slack(policy)))


def find_slack(policy: Policy) -> int:
    """How far behind the others a row may be, in ticks."""
    own = policy.policy if isinstance(policy, ByGroup) else policy
    return own.bound if isinstance(own, Slack) else 0


def find_promise(policy: Policy, seen: Observation) -> Frontier:
    """What punctuation has said will not come; a row that comes all the same contradicts it."""
    if isinstance(policy, Punctuated):
        return policy.frontier(seen)
    if isinstance(policy, ByGroup) and isinstance(policy.policy, Punctuated):
        return Frontier(groups=tuple((g, one.mark) for g, one in seen.groups if one.mark is not None))
    return NOTHING_KNOWN


def keep_needed(
    policy: Policy, seen: Observation, frontier: Frontier, silence: Silence | None = None, remembered: int = 1000
) -> Observation:
    """What of an observation later batches need. Of the groups that are silent and behind the rest, those that have
    been so for longest are forgotten, but for the last `remembered`.
    """
    if isinstance(policy, SlackRows):
        return policy.needed(seen)
    if not isinstance(policy, ByGroup):
        return seen
    own, ahead = policy.policy, dict(frontier.groups)
    groups: list[tuple[Group, Observation]] = []
    silent: list[tuple[Group, Observation]] = []
    for group, one in seen.groups:
        kept = own.needed(one) if isinstance(own, SlackRows) else one
        behind = frontier.is_known and group not in ahead
        (silent if silence is not None and silence.covers(one) and behind else groups).append((group, kept))
    silent.sort(key=lambda each: -1 if each[1].heard is None else each[1].heard)
    return replace(seen, groups=tuple(sorted([*groups, *silent[-remembered:]], key=repr)))
