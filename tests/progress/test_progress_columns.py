"""What a relation of the query graph waits for gives the frontier that the rules of propagation give."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from propagation_rules import pass_aggregate, pass_projection, pass_selection, pass_union

from headrace.logical.graph import Derive, Graph, Merge, Rows
from headrace.logical.progress_columns import find_progress
from headrace.progress import LOWEST, NOTHING_KNOWN, Frontier
from headrace.progress.propagate import pass_function
from headrace.progress.waits import meld_waits
from headrace.sql import parse_script
from headrace.sql.bind import Binder

SCRIPT = """
CREATE STREAM a (ts BIGINT, k INT) PROGRESSING ON ts SLACK 3 FROM 'memory';
CREATE STREAM b (ts BIGINT, k INT) PROGRESSING ON ts SLACK 3 FROM 'memory';
CREATE QUERY some AS SELECT ts, k FROM a WHERE k > 1;
CREATE QUERY timeless AS SELECT k FROM a;
CREATE QUERY every AS SELECT ts, k FROM a UNION ALL SELECT ts, k FROM b;
CREATE QUERY counts AS SELECT k, count(*) AS n FROM every [RANGE 10] GROUP BY k;
CREATE QUERY more AS SELECT k, n FROM counts WHERE n > 1;
CREATE QUERY both AS SELECT k, n FROM counts UNION ALL SELECT k, count(*) AS n FROM a [RANGE 10] GROUP BY k;
CREATE QUERY hours AS SELECT count(*) AS n FROM more [RANGE 100];
CREATE QUERY due AS SELECT ts + 7 AS due, k FROM a;
CREATE QUERY coarse AS SELECT due DIV 4 AS c, k FROM due WHERE k > 1;
CREATE QUERY coarse_counts AS SELECT k, count(*) AS n FROM coarse [RANGE 10] GROUP BY k;
CREATE QUERY backwards AS SELECT -ts AS c, k FROM a;
"""
FUNCTIONS: dict[str, list[Callable[[int], int]]] = {
    name: [lambda t: t + 7, *([lambda t: int(t / 4)] if name.startswith("coarse") else [])]
    for name in ("due", "coarse", "coarse_counts")
}


def make_graph() -> Graph:
    binder = Binder()
    for statement in parse_script(SCRIPT):
        binder.create(statement)
    return binder.graph()


GRAPH = make_graph()


def propagate(name: str, streams: dict[str, Frontier]) -> Frontier:
    """The frontier of a relation by the rule of each relation on the way."""
    relation = GRAPH.relations[name]
    if isinstance(relation, Rows):
        arms = [pass_selection(streams[branch.stream]) for branch in relation.branches]
        for function in FUNCTIONS.get(name, []):
            arms = [pass_function(arm, function) for arm in arms]
        return pass_projection(pass_union(arms), relation.time is not None)
    if isinstance(relation, Merge):
        return pass_union(propagate(source, streams) for source in relation.inputs)
    inner = propagate(relation.input, streams)
    return pass_selection(inner) if isinstance(relation, Derive) else pass_aggregate(inner)


@given(st.just(LOWEST) | st.integers(-50, 50), st.just(LOWEST) | st.integers(-50, 50))
def test_waits_give_what_the_rules_give(one: int, two: int) -> None:
    """For every relation without a join, whatever is known of the streams."""
    streams = {"a": Frontier(one), "b": Frontier(two)}
    for name in GRAPH.relations:
        columns = find_progress(GRAPH, name)
        assert len(columns) <= 1
        found = meld_waits(next(iter(columns.values())), streams) if columns else NOTHING_KNOWN
        assert found == propagate(name, streams), name
