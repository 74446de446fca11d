"""Placements that are broken on purpose: the last rule refuses each, whatever the rules before it believe."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlglot import parse_one

from headrace.errors import InternalError
from headrace.optimizer import Plan, Settings, optimize
from headrace.optimizer.check_placement import check_placement
from headrace.optimizer.plan import Part, RowTable, Table
from headrace.physical.duck_typer import DuckTyper
from headrace.sql import parse_script
from headrace.sql.bind import Binder

STREAMS = """
CREATE STREAM tcp (ts TIMESTAMP, a INT, b INT, len INT, x DOUBLE, host STRING) PROGRESSING ON ts SLACK 5 SECONDS
  FROM 'parquet' OPTIONS (path 'data');
CREATE STREAM udp (ts TIMESTAMP, a BIGINT, b INT, len INT) PROGRESSING ON ts SLACK 5 SECONDS FROM 'parquet' OPTIONS (path 'u');
CREATE STREAM kept (ts TIMESTAMP, a INT, b INT, len INT) PROGRESSING ON ts SLACK 5 SECONDS PARTITIONED BY (a)
  FROM 'parquet' OPTIONS (path 'kept');
"""
FLOWS = "CREATE QUERY flows AS SELECT a, b, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY a, b;"
HEAVY = FLOWS + "CREATE QUERY heavy AS SELECT a, max(n) AS m FROM flows GROUP BY a;"
LATER = FLOWS + "CREATE QUERY later AS SELECT a, sum(n) AS n FROM flows [RANGE 1 HOUR] GROUP BY a;"
SENT = FLOWS + "CREATE QUERY by_n AS SELECT n, count(*) AS c FROM flows GROUP BY n;"
MASKED = FLOWS + "CREATE QUERY nets AS SELECT a & -16 AS net, sum(n) AS n FROM flows GROUP BY a & -16;"
JOIN = """CREATE QUERY j AS SELECT tcp.ts, tcp.a, tcp.b, udp.len FROM tcp JOIN udp ON tcp.a = udp.a AND tcp.b = udp.b AND udp.ts = tcp.ts;"""
OVER = JOIN + "CREATE QUERY per AS SELECT a, b, sum(len) AS s FROM j [RANGE 1 MINUTE] GROUP BY a, b;"
CHAINED = (
    HEAVY
    + """CREATE QUERY pairs AS SELECT x.window_end AS at, x.a, x.m, y.m AS before FROM heavy x JOIN heavy y
  ON x.a = y.a AND x.window_end = y.window_end;"""
)
OUTER = """CREATE QUERY o AS SELECT x.ts, x.a, y.a AS theirs FROM tcp x LEFT JOIN tcp y ON x.a = y.a AND x.ts = y.ts;
CREATE QUERY per AS SELECT a, count(*) AS n FROM o [RANGE 1 MINUTE] GROUP BY a;"""
UNION = """CREATE QUERY heavy AS SELECT a, max(len) AS m FROM tcp [RANGE 1 MINUTE] GROUP BY a;
CREATE QUERY other AS SELECT b AS a, max(len) AS m FROM tcp [RANGE 1 MINUTE] GROUP BY b;
CREATE QUERY all_of AS SELECT a, max(m) AS m FROM (SELECT a, m FROM heavy UNION ALL SELECT a, m FROM other) [RANGE 1 HOUR] GROUP BY a;"""
FOLDERS = """CREATE QUERY flows AS SELECT a, b, count(*) AS n FROM kept [RANGE 1 MINUTE] GROUP BY a, b;
CREATE QUERY heavy AS SELECT a, max(n) AS m FROM flows [RANGE 1 HOUR] GROUP BY a;"""
LOOKED = """CREATE TABLE hosts (a INT, name STRING) FROM 'parquet' OPTIONS (path 'hosts');
CREATE QUERY named AS SELECT tcp.ts, tcp.a, tcp.b, hosts.name FROM tcp JOIN hosts ON tcp.a = hosts.a;
CREATE QUERY per AS SELECT a, b, count(*) AS n FROM named [RANGE 1 MINUTE] GROUP BY a, b;"""


def make_plan(text: str) -> Plan:
    binder = Binder()
    for statement in [*parse_script(STREAMS), *parse_script(text)]:
        binder.create(statement)
    graph = binder.graph()
    return optimize(graph, DuckTyper(graph, {}), Settings())


def change_table(plan: Plan, relation: str, **changed: object) -> Plan:
    """The plan with another table for an aggregation, or for the first input of a join."""
    id_ = plan.table_of.get(relation) or find_sides(plan, relation)[0]
    return set_table(plan, replace(plan.tables[id_], **changed))  # type: ignore[arg-type]


def hide(plan: Plan, relation: str, **changed: object) -> Plan:
    """Another table for an aggregation, whose results say nothing of it."""
    return change_part(change_table(plan, relation, **changed), relation, partition=None)


def find_sides(plan: Plan, query: str) -> tuple[str, ...]:
    """The tables of the join of a query."""
    return next(ids for name, ids in plan.inputs_of.items() if name.startswith(f"{query}$"))


def set_table(plan: Plan, table: Table) -> Plan:
    return replace(plan, tables={**plan.tables, table.id: table})


def change_part(plan: Plan, relation: str, **changed: object) -> Plan:
    parts: tuple[Part, ...] = tuple(replace(p, **changed) for p in plan.parts[relation])  # type: ignore[arg-type]
    return replace(plan, parts={**plan.parts, relation: parts})


def drop_exchange(plan: Plan, relation: str) -> Plan:
    return replace(plan, exchanges=tuple(e for e in plan.exchanges if e.table != plan.table_of[relation]))


def merge_level(plan: Plan, relation: str) -> Plan:
    """A table on the level of what it reads, as if its rows were there already."""
    level = plan.tables[plan.table_of[relation] or ""].level - 1
    moved = change_part(change_table(plan, relation, level=level), relation, level=level)
    return drop_exchange(moved, relation)


def swap_keys(plan: Plan, relation: str) -> Plan:
    """A side of a join whose keys come in another order."""
    table = plan.tables[find_sides(plan, relation)[1]]
    assert isinstance(table, RowTable)
    return set_table(plan, replace(table, keys=table.keys[::-1]))


def change_side(plan: Plan, relation: str, **changed: object) -> Plan:
    table = plan.tables[find_sides(plan, relation)[1]]
    return set_table(plan, replace(table, **changed))  # type: ignore[arg-type]


def compute_in_place(plan: Plan, relation: str) -> Plan:
    """An aggregation that needs an exchange, over its input as it is."""
    source = plan.graph.relations[relation].input  # type: ignore[union-attr]
    placed = replace(
        plan, table_of={**plan.table_of, relation: None}, parts={**plan.parts, relation: plan.parts[source]}
    )
    return drop_exchange(placed, relation) if plan.table_of[relation] else placed


def drop_folders(plan: Plan, relation: str) -> Plan:
    """A hash for rows that come by folder."""
    hashed = replace(plan, by_folder=plan.by_folder - {plan.table_of[relation]})
    return change_part(hashed, relation, by_folder=False, pid=False)


BREAKS: dict[str, tuple[str, Callable[[Plan], Plan], str]] = {
    "a wider hash than what reads it groups by": (
        HEAVY,
        lambda p: hide(p, "flows", partition=(0, 1)),
        r"groups by \(flows.k0",
    ),
    "a hash of another key": (
        HEAVY,
        lambda p: hide(p, "flows", partition=(1,)),
        r"heavy groups by .*by the hash of \(flows.k1",
    ),
    "a key dropped where rows stay": (
        LATER,
        lambda p: change_table(p, "later", partition=()),
        r"by the hash of \(\) .*no exchange",
    ),
    "a coarser hash where rows stay": (
        LATER,
        lambda p: change_table(p, "later", partition=("k0 & -16",)),
        r"k0 & -16 int",
    ),
    "the same keys in another order": (
        FLOWS + "CREATE QUERY both AS SELECT b, a, sum(n) AS n FROM flows [RANGE 1 HOUR] GROUP BY b, a;",
        lambda p: change_table(p, "both", partition=(0, 1)),
        r"\(flows.k1 int, flows.k0 int\)",
    ),
    "the type of what is hashed": (
        LATER,
        lambda p: change_table(p, "later", partition=("CAST(k0 AS BIGINT)",)),
        "bigint",
    ),
    "a finer mask": (MASKED, lambda p: hide(p, "flows", partition=("k0 & -8",)), "nets groups by .*k0 & -8"),
    "an exchange left out of the plan": (SENT, lambda p: drop_exchange(p, "by_n"), "exchanges are planned"),
    "an exchange left out altogether": (
        SENT,
        lambda p: merge_level(p, "by_n"),
        r"by_n reads rows together .*flows.a0",
    ),
    "an exchange nobody needs": (
        LATER,
        lambda p: replace(p, exchanges=(*p.exchanges, replace(p.exchanges[0], table=p.table_of["later"]))),
        "exchanges are planned",
    ),
    "an exchange on another level": (
        SENT,
        lambda p: replace(p, exchanges=tuple(replace(e, level=0) for e in p.exchanges)),
        "planned",
    ),
    "computed in place, but not by what was hashed": (
        SENT,
        lambda p: compute_in_place(p, "by_n"),
        "by_n groups by",
    ),
    "computed in place over arms of a union": (
        UNION,
        lambda p: compute_in_place(p, "all_of"),
        "all_of is computed in place",
    ),
    "arms of a union in one table, hashed differently": (
        UNION,
        lambda p: merge_level(p, "all_of"),
        "all_of reads rows together",
    ),
    "a level above the rows'": (
        SENT,
        lambda p: change_table(change_part(p, "flows", level=2), "flows", level=2),
        "at level",
    ),
    "a side of a join by another key": (
        JOIN,
        lambda p: swap_keys(p, "j"),
        r"compares \(.*\) of udp.*reads t1 of udp by \(`b` bigint",
    ),
    "a side of a join partitioned otherwise": (
        JOIN,
        lambda p: change_side(p, "j", partition=(0,)),
        r"has rows of tcp at .* those of udp",
    ),
    "a side of a join in another type": (
        JOIN,
        lambda p: change_side(p, "j", types=("int", "int")),
        "compares .* of udp",
    ),
    "a side of a join on another level": (JOIN, lambda p: change_side(p, "j", level=1), "those of udp"),
    "both sides of a join otherwise than their inputs": (
        CHAINED,
        lambda p: change_side(
            change_table(p, "pairs", partition=("k0 & 7",)), "pairs", partition=("k0 & 7",)
        ),
        r"pairs.* reads rows together .*k0 & 7 int",
    ),
    "over a join, by a column that has the value in another type": (
        OVER,
        lambda p: change_table(p, "per", partition=(0, 1)),
        "per reads rows together",
    ),
    "an outer join's padded column": (
        OUTER,
        lambda p: change_part(p, "o", partition=("theirs",)),
        "o is said to be",
    ),
    "over an outer join, by the column that it pads": (
        OUTER.replace("SELECT a, count", "SELECT theirs, count").replace("GROUP BY a", "GROUP BY theirs"),
        lambda p: merge_level(p, "per"),
        "per reads rows together",
    ),
    "a result of an aggregate as key": (
        LATER,
        lambda p: change_table(p, "flows", partition=("a0",)),
        "has keys",
    ),
    "a key that is not the same twice": (
        LATER,
        lambda p: change_table(p, "flows", partition=("rand()",)),
        "is partitioned by",
    ),
    "a gather by fewer keys than it says": (
        "CREATE QUERY two AS SELECT a, count(*) AS n, sum(len) AS s FROM tcp [RANGE 1 MINUTE] GROUP BY a;"
        "CREATE QUERY sums AS SELECT n, s, count(*) AS c FROM two GROUP BY n, s;",
        lambda p: change_table(p, "sums", partition=(0,)),
        "sums is said to be",
    ),
    "a hash for rows by folder": (FOLDERS, lambda p: drop_folders(p, "heavy"), "by folders of"),
    "folders for rows by hash": (
        LATER,
        lambda p: replace(p, by_folder=frozenset({p.table_of["later"]})),
        "later reads .* by folders",
    ),
    "another folder than the source's": (
        FOLDERS,
        lambda p: change_table(p, "flows", partition=(1,)),
        r"kept.b",
    ),
    "folders of rows that have forgotten them": (
        FOLDERS,
        lambda p: change_part(p, "flows", by_folder=False),
        "flows is said to be",
    ),
    "a column that does not have what was hashed": (
        HEAVY,
        lambda p: change_part(p, "flows", partition=("b",)),
        "flows is said to be",
    ),
    "more columns than were hashed": (
        HEAVY,
        lambda p: change_part(p, "flows", partition=("a", "b")),
        "flows is said to be",
    ),
    "an expression that does not tell what was hashed": (
        HEAVY,
        lambda p: change_part(p, "flows", partition=(parse_one("a & 7", dialect="spark"),)),
        "flows is said to be",
    ),
    "rows in a slot of which the plan does not speak": (FLOWS, lambda p: replace(p, parts={}), "flows"),
    "rows of another table": (HEAVY, lambda p: change_part(p, "flows", table="t7"), "flows is said to be"),
    "a table for others": (
        LATER,
        lambda p: change_table(p, "later", members=("flows",)),
        "is a table of flows|exchanges",
    ),
    "rows through a lookup by another key": (
        LOOKED,
        lambda p: change_part(p, "named", partition=("b",)),
        "named is said to be",
    ),
    "over a lookup, by another key": (
        LOOKED,
        lambda p: change_table(p, "per", partition=(1,)),
        "per reads rows together",
    ),
}


@pytest.mark.parametrize("what", BREAKS)
def test_a_broken_placement_is_refused(what: str) -> None:
    """What was placed rightly passes; broken, the error names both sides."""
    text, break_plan, said = BREAKS[what]
    plan = make_plan(text)
    assert check_placement(plan) is plan
    with pytest.raises(InternalError, match="would not bring rows together") as caught:
        check_placement(break_plan(plan))
    assert re.search(said, str(caught.value)), str(caught.value)
