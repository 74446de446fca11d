"""Cost, search, restrictions and advice."""

from __future__ import annotations

import time
from itertools import chain, combinations

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from partitioning_kit import read_graph, read_workload

from headrace.partitioning import search_partitioning as search_module
from headrace.partitioning.advise_partitioning import advise_partitioning, judge_partitioning
from headrace.partitioning.explain_choice import describe_bytes, export_choice
from headrace.partitioning.infer_join import find_equal_classes
from headrace.partitioning.plan_cost import (
    NodeStatistics,
    RateStatistics,
    compute_cost,
    estimate_rates,
)
from headrace.partitioning.recognize_key import recognize_key
from headrace.partitioning.requirement import propose_partitioning
from headrace.partitioning.search_partitioning import search_partitioning
from headrace.partitioning.stream_partitioning import Partitioning, reconcile

KEYS = ["srcIP", "destIP", "srcPort", "srcIP & 240", "srcIP & 255", "destIP div 60", "destIP div 90"]
FLOWS = """CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 60] GROUP BY srcIP, destIP;
CREATE QUERY heavy AS SELECT srcIP, max(n) AS m FROM flows GROUP BY srcIP;"""


def write_query(number: int, keys: list[str]) -> str:
    shown = ", ".join(f"{k} AS k{i}" for i, k in enumerate(keys))
    return f"CREATE QUERY q{number} AS SELECT {shown}, count(*) AS n FROM tcp [RANGE 60] GROUP BY {', '.join(keys)};"


@st.composite
def workloads(draw: st.DrawFn) -> str:
    sets = draw(st.lists(st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True), min_size=1, max_size=5))
    lines = [write_query(i, keys) for i, keys in enumerate(sets)]
    lines += [f"-- selectivity: q{i} {draw(st.sampled_from(['0.001', '0.2', '0.9']))}" for i in range(len(sets))]
    if draw(st.booleans()):
        lines.append("CREATE QUERY top AS SELECT k0, max(n) AS m FROM q0 GROUP BY k0;")
    return "\n".join(lines)


@given(workloads(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_search_finds_the_optimum(text: str, few: bool) -> None:
    """The choice costs as little as the best reconciled set of any subset of the nodes, walked or enumerated."""
    plan, _ = read_workload(text)
    proposals = [propose_partitioning(r, plan.types) for r in plan.requirements.values() if r.views is not None]
    usable = [p for p in proposals if p is not None]
    subsets = chain.from_iterable(combinations(usable, n) for n in range(len(usable) + 1))
    found = []
    for subset in subsets:
        both: Partitioning | None = Partitioning()
        for one in subset:
            both = reconcile(both, one, plan.types) if both is not None else None
        found += [both] if both is not None else []
    best = min(compute_cost(plan, p).maximum for p in found)
    with pytest.MonkeyPatch.context() as patch:
        if few:
            patch.setattr(search_module, "MOST", 1)
        choice = search_partitioning(plan)
    assert choice.cost.maximum == best
    assert choice.exhaustive or few


def test_fifty_queries_take_less_than_a_second() -> None:
    """Fifty queries over six attributes, with masks and divisions, are searched exactly and quickly."""
    attributes = ["srcIP", "destIP", "srcPort", "destPort", "len", "flags"]
    ways = ["{}", "{} & 255", "{} & 240", "{} div 60", "{} div 90"]
    chosen = [[ways[(i * j) % 5].format(attributes[(i + j * j) % 6]) for j in range(1, 2 + i % 4)] for i in range(50)]
    plan, _ = read_workload("\n".join(write_query(i, list(dict.fromkeys(k))) for i, k in enumerate(chosen)))
    started = time.process_time()
    choice = search_partitioning(plan)
    assert time.process_time() - started < 1
    assert choice.exhaustive
    assert choice.partitioning.groups


def test_rates_come_from_what_was_measured_then_hints_then_defaults() -> None:
    """A measurement wins over a hint, a hint over a default, value by value."""
    graph = read_graph(FLOWS)
    measured = RateStatistics(rows={"tcp": 100}, nodes={"flows": NodeStatistics(selectivity=0.5)})
    hints = RateStatistics(rows={"tcp": 7}, sizes={"tcp": 10}, nodes={"flows": NodeStatistics(0.9, 3)})
    known = measured.over(hints)
    rates = estimate_rates(graph, ["tcp", "flows", "heavy"], known)
    assert rates["tcp"].output == 1000
    assert rates["flows"].input == 1000
    assert rates["flows"].output == 100 * 0.5 * 3
    assert rates["heavy"].output == 100 * 0.5 * 0.1 * 8 * 4  # srcIP, m and the window


def test_costs_of_a_chain() -> None:
    """0 for what runs on local data, the output if compatible and wanted, the input if not."""
    plan, _ = read_workload(FLOWS + "\n-- rows: tcp 1000\n-- size: tcp 10\n-- selectivity: flows 0.5\n-- size: flows 20\n-- size: heavy 2")
    types = plan.types["tcp"]

    def cost(*keys: str) -> dict[str, float]:
        found = [recognize_key(sqlglot.parse_one(k, dialect="spark"), types) for k in keys]
        return dict(compute_cost(plan, judge_partitioning(plan, {"tcp": [f for f in found if f is not None]})).costs)

    assert compute_cost(plan, Partitioning()).costs == {"tcp": 0, "flows": 10_000, "heavy": 0}
    assert cost("srcIP", "destIP") == {"tcp": 0, "flows": 0, "heavy": 10_000}
    assert cost("srcIP") == {"tcp": 0, "flows": 0, "heavy": 100}
    assert cost("len") == {"tcp": 0, "flows": 10_000, "heavy": 0}
    assert compute_cost(plan, Partitioning()).maximum == 10_000
    assert compute_cost(plan, Partitioning()).total == 10_000 + 100  # results travel in every plan


def test_partial_aggregation_sends_at_most_a_group_a_partition() -> None:
    """Pre-aggregation bounds what an incompatible aggregation receives by partitions times groups."""
    text = FLOWS + "\n-- rows: tcp 1000\n-- size: tcp 10\n-- selectivity: flows 0.01\n-- size: flows 20"
    assert compute_cost(read_workload(text, partial=4)[0], Partitioning()).costs["flows"] == 800
    assert compute_cost(read_workload(text, partial=400)[0], Partitioning()).costs["flows"] == 10_000


def test_equal_expressions_form_classes() -> None:
    """a.x = b.y and b.y = c.z make one class of three; another equality another."""
    a, b, c, d = [(s, sqlglot.exp.column(n)) for s, n in (("a", "x"), ("b", "y"), ("c", "z"), ("c", "w"))]
    assert find_equal_classes([(a, b), (d, a)]) == [[a, b, d]]
    assert find_equal_classes([(a, b), (c, d), (b, c)]) == [[a, b, c, d]]
    assert len(find_equal_classes([(a, b), (c, d)])) == 2


def test_advice_compares_what_the_user_proposes() -> None:
    """Advice says what each query pays under no partitioning, the recommended and the proposed one."""
    plan, _ = read_workload(FLOWS)
    destination = recognize_key(sqlglot.parse_one("destIP"), plan.types["tcp"])
    assert destination is not None
    lines = advise_partitioning(plan, proposed={"tcp": [destination]})
    table = lines[lines.index("what each query pays:") + 1 :]
    assert table[0].split() == ["round", "robin", "recommended", "proposed"]
    assert table[1].split() == ["flows", "192", "MB", "of", "input", "0", "B", "of", "results", "0", "B", "of", "results"]
    assert table[2].split() == ["heavy", "0", "B,", "follows", "1.92", "MB", "of", "results", "24", "MB", "of", "input"]
    assert table[3].split() == ["most", "192", "MB", "1.92", "MB", "24", "MB"]
    assert lines[-1] == "partition tcp by srcIP"


def test_the_choice_as_data() -> None:
    """JSON has every node, every candidate and the choice by stream."""
    plan, _ = read_workload(FLOWS)
    data = export_choice(search_partitioning(plan))
    assert data["chosen"] == {"tcp": ["srcIP"]}
    assert data["nodes"]["heavy"]["compatible"] == ["{srcIP}"]
    assert data["nodes"]["tcp"]["anything"] and not data["nodes"]["heavy"]["anything"]
    assert data["candidates"][0]["serves"] == ["flows", "heavy"]
    assert data["candidates"][0]["maximum"] <= data["candidates"][1]["maximum"]


@pytest.mark.parametrize(("count", "expected"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (2.5e6, "2.5 MB"), (1e9, "1 GB")])
def test_bytes_in_words(count: float, expected: str) -> None:
    """A thousand bytes are a kilobyte."""
    assert describe_bytes(count) == expected
