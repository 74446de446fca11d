"""The map of progress: what streams say, taken through every relation of a program, and what holds a relation back."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.program.row_joins import JoinRows
from headrace.program.version_joins import FindVersions
from headrace.progress import LOWEST, NOTHING_KNOWN, Frontier
from headrace.progress.advance_program import Interval, ProgressRule, advance_program, hold_back, pair_up
from headrace.progress.monotone_steps import Shift
from headrace.progress.waits import Back, Floor, Wait, meld_waits
from headrace.testing import LocalRun

SECOND = 1_000_000
STREAMS = """
CREATE STREAM a (ts TIMESTAMP, k INT, v INT) PROGRESSING ON ts SLACK 3 SECONDS FROM 'memory';
CREATE STREAM b (ts TIMESTAMP, k INT, v INT) PROGRESSING ON ts ORDERED FROM 'memory';
"""
SCRIPT = f"""{STREAMS}
CREATE QUERY every AS SELECT ts, k FROM a UNION ALL SELECT ts + INTERVAL 2 SECONDS, k FROM b;
CREATE QUERY counts AS SELECT k, count(*) AS n FROM every [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k;
CREATE QUERY tops AS SELECT max(n) AS n FROM counts [RANGE 30 SECONDS];
CREATE QUERY near AS SELECT x.ts AS t, y.ts AS u, greatest(x.ts, y.ts) AS g, x.k AS k
  FROM a x JOIN b y ON x.k = y.k AND y.ts BETWEEN x.ts - INTERVAL 4 SECONDS AND x.ts + INTERVAL 7 SECONDS;
CREATE QUERY pairs AS SELECT k, count(*) AS n FROM near [RANGE 10 SECONDS WA u] GROUP BY k;
CREATE QUERY latest AS SELECT count(*) AS n FROM near [RANGE 10 SECONDS WA g];
CREATE QUERY alone AS SELECT x.ts AS t, x.k AS k FROM a [RANGE TUMBLING 5 SECONDS] AS x
  LEFT JOIN b [RANGE TUMBLING 5 SECONDS] AS y ON x.k = y.k;
CREATE QUERY busy AS SELECT count(*) AS n FROM alone [RANGE 20 SECONDS];
CREATE QUERY met AS SELECT c.k AS k, c.window_end AS until, p.n AS n FROM counts c JOIN pairs p ON c.k = p.k;
CREATE QUERY ends AS SELECT count(*) AS n FROM met [RANGE 10 SECONDS];
CREATE QUERY priced AS SELECT x.ts AS t, p.v AS v FROM a x LEFT JOIN b FOR SYSTEM_TIME AS OF x.ts AS p ON x.k = p.k;
"""
ticks = st.integers(-50 * SECOND, 50 * SECOND)
known = st.just(NOTHING_KNOWN) | st.builds(Frontier, ticks)


@pytest.fixture(scope="module")
def run() -> LocalRun:
    return LocalRun(SCRIPT)


def bounds(progress: Mapping[str, Interval]) -> dict[str, tuple[int, int]]:
    return {name: (one.before.bound, one.after.bound) for name, one in progress.items()}


@given(known, known)
def test_rules_give_what_the_waits_for_streams_give(run: LocalRun, a: Frontier, b: Frontier) -> None:
    """One rule after the other, every column is known of as much as by all steps from the streams at once."""
    streams = {"a": a, "b": b}
    progress = advance_program(run.program.rules, pair_up(streams, streams))
    columns = [(n, c, w) for n, passage in run.plan.passages.items() for c, w in passage.columns.items()]
    assert len(columns) > 15
    for name, column, waits in columns:
        assert progress[f"{name}.{column}"].after == meld_waits(waits, streams), (name, column)
    for node in run.program.nodes:
        assert progress[node.name].before == meld_waits(node.waits, streams), node.label


@given(known, known, ticks)
def test_more_progress_in_is_no_less_out(run: LocalRun, a: Frontier, b: Frontier, more: int) -> None:
    """No interval goes back when streams do not."""
    after = {"a": Frontier(max(a.bound, more)), "b": b}
    assert all(before <= after for before, after in bounds(advance_program(run.program.rules, pair_up({"a": a, "b": b}, after))).values())


def test_a_rule_waits_for_the_last_of_its_sources() -> None:
    """The least of what its sources say, each through its steps."""
    rules = (
        ProgressRule("x", (Wait("a"), Wait("b", (Back(3),))), ()),
        ProgressRule("y", (Wait("x", (Shift(10),)),), ()),
        ProgressRule("z", (Wait("y", (Floor(5),)), Wait("a")), ()),
    )
    found = advance_program(rules, pair_up({"a": Frontier(20)}, {"a": Frontier(30), "b": Frontier(21)}))
    assert bounds(found) == {"a": (20, 30), "b": (LOWEST, 21), "x": (LOWEST, 18), "y": (LOWEST, 28), "z": (LOWEST, 25)}


def test_bounds_of_groups_pass_where_a_rule_says_so() -> None:
    """A relation whose groups close together knows of no group."""
    streams = {"a": Frontier(5, ((("p",), 9),))}
    rules = (ProgressRule("x", (Wait("a", (Shift(1),)),), (), by_group=True), ProgressRule("y", (Wait("x"),), ()))
    found = advance_program(rules, pair_up(streams, streams))
    assert found["x"].after == Frontier(6, ((("p",), 10),))
    assert found["y"].after == Frontier(6)


def test_what_is_held_back_holds_back_what_stands_on_it_and_no_neighbour() -> None:
    """An entry of a relation reaches those that wait for it, by their steps; others go on."""
    rules = (
        ProgressRule("sums", (Wait("a"),), (), level=0),
        ProgressRule("others", (Wait("a"),), (), level=0),
        ProgressRule("joined", (Wait("sums", (Back(2),)), Wait("b")), (), level=1),
        ProgressRule("beside", (Wait("others"), Wait("b")), (), level=1),
    )
    streams = pair_up({"a": Frontier(10), "b": Frontier(10)}, {"a": Frontier(30), "b": Frontier(30)})
    found = advance_program(rules, streams, {"sums": Interval(Frontier(4), Frontier(12))})
    assert bounds(found) == {
        "a": (10, 30), "b": (10, 30), "sums": (4, 12), "others": (10, 30), "joined": (2, 10), "beside": (10, 30),
    }  # fmt: skip
    ahead = advance_program(rules, streams, {"sums": Interval(Frontier(40), Frontier(50))})
    assert bounds(ahead) == bounds(advance_program(rules, streams)), "an entry holds back, and never brings forward"


def test_what_the_first_level_owes_holds_it_back(run: LocalRun) -> None:
    """Mini-partitions that are behind hold back what slots give, and not what comes from streams directly."""
    behind = pair_up({"a": Frontier(5), "b": Frontier(5)}, {"a": Frontier(6), "b": Frontier(5)})
    held = hold_back(run.program.rules, behind)
    levels = {rule.name: rule.level for rule in run.program.rules}
    assert held and all(levels[name] == 0 for name in held)
    streams = {"a": Frontier(90), "b": Frontier(90)}
    found = advance_program(run.program.rules, pair_up(streams, streams), held)
    assert found["counts.window_end"] == Interval(Frontier(5), Frontier(6))
    assert found["every.ts"].after.bound == 90
    assert levels["a.ts"] is None


def many_rules(relations: int) -> list[ProgressRule]:
    """Relations over one another, every third of them of two inputs."""
    rules = [ProgressRule("r0", (Wait("a"),), (Wait("a"),))]
    for i in range(1, relations):
        waits = [Wait(f"r{i // 2}", (Back(5),) if i % 5 == 0 else ()), *([Wait("b", (Floor(7),))] if i % 3 == 0 else [])]
        rules.append(ProgressRule(f"r{i}", tuple(waits), (Wait(f"r{i // 2}"),)))
    return rules


def test_a_thousand_relations_take_milliseconds() -> None:
    """Every task of a batch folds them once: five milliseconds by themselves, more where others use the machine."""
    rules = many_rules(1000)
    streams = pair_up({"a": Frontier(100), "b": Frontier(90)}, {"a": Frontier(200), "b": Frontier(300)})
    times = []
    for _ in range(20):
        began = time.perf_counter()
        advance_program(rules, streams)
        times.append(time.perf_counter() - began)
    assert min(times) < 0.01


BAND = "y.ts BETWEEN x.ts - INTERVAL 4 SECONDS AND x.ts + INTERVAL 7 SECONDS"
NEEDED = {  # with the streams at A and B: from where on rows of x and of y are needed, and may be without a partner
    f"SELECT x.ts AS t FROM a x JOIN b y ON x.k = y.k AND {BAND}": (("B - 7", "A - 4"), ("B - 7", "A - 4")),
    f"SELECT x.ts AS t FROM a x LEFT JOIN b y ON x.k = y.k AND {BAND}": (("B - 7", "min(A - 4, B - 11)"), ("B - 7", "A - 4")),
    f"SELECT x.ts AS t FROM a x FULL JOIN b y ON x.k = y.k AND {BAND}": (
        ("min(B - 7, A - 11)", "min(A - 4, B - 11)"), ("B - 7", "A - 4"),
    ),
    f"SELECT x.ts AS t FROM a x LEFT ANTI JOIN b y ON x.k = y.k AND {BAND}": (("B - 7", "min(A - 4, B - 11)"), ("B - 7", "A - 4")),
    f"SELECT x.ts AS t FROM a x LEFT SEMI JOIN b y ON x.k = y.k AND {BAND}": (("B - 7", "min(A - 4, B - 11)"), ("B - 7", "A - 4")),
    "SELECT DISTINCT ts AS t FROM a": (("A",), ()),
    "SELECT x.ts AS t FROM a x LEFT JOIN b FOR SYSTEM_TIME AS OF x.ts AS y ON x.k = y.k": (("B", "min(A, B)"), ("B",)),
}  # fmt: skip


@pytest.mark.parametrize("query", NEEDED)
@pytest.mark.parametrize(("a", "b"), [(100, 100), (100, 91), (100, 150)])
def test_what_a_join_needs_and_decides(query: str, a: int, b: int) -> None:
    """Rows are kept until nobody who comes can meet them, and as long as the join has not decided who is alone."""
    needed, complete = NEEDED[query]
    program = LocalRun(f"{STREAMS}CREATE QUERY q AS {query};").program
    (step,) = (s for level in program.levels for s in level.steps if isinstance(s, (JoinRows, FindVersions)))
    streams = {"a": Frontier(a * SECOND), "b": Frontier(b * SECOND)}
    progress = advance_program(program.rules, pair_up(streams, streams))

    def ticks(texts: tuple[str, ...]) -> list[int]:
        return [eval(text, {"A": a, "B": b, "min": min}) * SECOND for text in texts]

    if isinstance(step, FindVersions):
        nodes, sides = [step.rows, step.versions], [step.complete]
    else:
        nodes, sides = [s.node for s in step.inputs], [s.complete for s in step.inputs][: len(complete)]
    assert [progress[f"{node} needed"].after.bound for node in nodes] == ticks(needed)
    assert [progress[side].after.bound for side in sides] == ticks(complete)
