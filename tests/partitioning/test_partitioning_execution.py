"""The plans of document 000 §5 as a run executes them: sub- and super-aggregates, WHERE and HAVING, joins with padding.

Streams are partitioned by `a` (`partition_by`), which is compatible with some of the queries, so that each plan of the section is
there: below the merge in the slots of the first level, above it in those of the next one.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from headrace.logical.user_aggregate import UserAggregate
from headrace.program.aggregations import PaneNode
from headrace.program.slot_steps import Send
from headrace.testing import LocalRun

STREAMS = """
CREATE STREAM s (t BIGINT, a INT, b INT, v DOUBLE) PROGRESSING ON t SLACK 0 FROM 'memory';
CREATE STREAM u (t BIGINT, a INT, w INT) PROGRESSING ON t SLACK 0 FROM 'memory';
"""
ROWS = [(i // 12, i % 11, i % 3, float(i % 7 + 1)) for i in range(120)]
FLOWS = "CREATE QUERY flows AS SELECT a, b, count(*) AS n, sum(v) AS v FROM s [RANGE 10] WHERE v > 2 GROUP BY a, b;"
SLOTS = pytest.mark.parametrize("slots", [1, 3])


def run_set(text: str, slots: int, user: dict[str, UserAggregate] | None = None) -> LocalRun:
    run = LocalRun(STREAMS + text, slots=slots, partition_by="a", user=user)
    run.push(s=ROWS[:50])
    run.push(s=ROWS[50:])
    run.flush()
    run.close()
    return run


def find_flows() -> Counter[tuple[int, int]]:
    return Counter((a, b) for _, a, b, v in ROWS if v > 2)


@SLOTS
def test_where_is_in_the_sub_aggregate_and_having_in_the_super(slots: int) -> None:
    """§5.2.2: a partition sends a row for each of its groups, of rows that pass WHERE; HAVING sees whole groups only."""
    wide = "CREATE QUERY wide AS SELECT b, sum(n) AS n FROM flows GROUP BY b HAVING sum(n) > 28;"
    run = run_set(FLOWS + wide, slots)
    (node,) = (n for n in run.program.nodes if isinstance(n, PaneNode))
    assert all(feed.where for feed in node.feeds)
    (sub,) = (step for step in run.program.levels[0].steps if isinstance(step, Send))
    assert not sub.local and "GROUP BY" in sub.sql and "28" not in sub.sql
    assert any("28" in getattr(step, "sql", "") for step in run.program.levels[1].steps)
    totals: Counter[int] = Counter()
    for (_, b), n in find_flows().items():
        totals[b] += n
    assert sorted(totals.values())[0] <= 28 < sorted(totals.values())[-1]  # HAVING leaves some out, not all
    assert [(b, n) for b, n, *_ in run.rows("wide")] == sorted((b, n) for b, n in totals.items() if n > 28)
    label = next(n.label for n in run.program.nodes if n.name == sub.node)
    sent = sum(run.log.read(v).report["tables"][label] for v in run.log.versions())
    assert len(totals) <= sent <= slots * len(totals) < len(find_flows())  # groups of slots, not rows


@SLOTS
def test_a_compatible_aggregation_stays_below_the_merge(slots: int) -> None:
    """§5.2.1: by a, each slot has whole groups, and nothing is sent on."""
    run = run_set(FLOWS + "CREATE QUERY hosts AS SELECT a, max(n) AS n FROM flows GROUP BY a HAVING max(n) > 2;", slots)
    assert run.plan.levels == 1
    most: Counter[int] = Counter()
    for (a, _), n in find_flows().items():
        most[a] = max(most[a], n)
    assert [(a, n) for a, n, *_ in run.rows("hosts")] == sorted((a, n) for a, n in most.items() if n > 2)


@SLOTS
def test_a_sub_and_super_pair_of_a_user(slots: int) -> None:
    """§5.2.2, [10]: states of partitions are sent, and made one; the same in the source stage, of rows."""
    spread = UserAggregate(
        "spread",
        lambda v: {"low": min(v), "high": max(v)},
        lambda s: {"low": min(q["low"] for q in s), "high": max(q["high"] for q in s)},
        lambda q: q["high"] - q["low"],
        "DOUBLE",
        "STRUCT(low DOUBLE, high DOUBLE)",
        "DOUBLE",
    )
    text = FLOWS + "CREATE QUERY own AS SELECT b, spread(v) AS r FROM flows GROUP BY b HAVING spread(v) > 0;"
    text += "CREATE QUERY rows_ AS SELECT b, spread(v) AS r FROM s [RANGE 10] WHERE v > 2 GROUP BY b;"
    run = run_set(text, slots, {"spread": spread})
    assert run.plan.levels == 2
    sums: Counter[tuple[int, int]] = Counter()
    for _, a, b, v in ROWS:
        sums[a, b] += int(v) if v > 2 else 0
    of_flows, of_rows = defaultdict(list), defaultdict(list)
    for (_, b), total in sums.items():
        if total:
            of_flows[b].append(total)
    for _, _, b, v in ROWS:
        if v > 2:
            of_rows[b].append(v)
    assert [r[:2] for r in run.rows("own")] == sorted((b, max(x) - min(x)) for b, x in of_flows.items())
    assert [r[:2] for r in run.rows("rows_")] == sorted((b, max(x) - min(x)) for b, x in of_rows.items())


@SLOTS
@pytest.mark.parametrize("by", ["a", ""])
@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
def test_partitions_without_a_partner_are_padded(slots: int, kind: str, by: str) -> None:
    """§5.3: rows of a mini-partition that the other side has nothing in come with NULLs, or not at all, in one exchange."""
    text = f"CREATE QUERY j AS SELECT s.a, s.b, u.w FROM s {kind} u ON s.a = u.a AND s.t = u.t;"
    run = LocalRun(STREAMS + text, slots=slots, partition_by=by)
    left = [(1, a, a * 10, 0.0) for a in (1, 2, 3)]
    right = [(1, a, a * 100) for a in (3, 4)]
    run.push(s=left, u=right)
    run.flush()
    run.close()
    expected: list[tuple[int | None, ...]] = [(3, 30, 300)]
    expected += [(1, 10, None), (2, 20, None)] if kind in ("LEFT JOIN", "FULL JOIN") else []
    expected += [(None, None, 400)] if kind in ("RIGHT JOIN", "FULL JOIN") else []
    assert run.plan.levels == 1
    assert Counter(run.rows("j")) == Counter(expected)
