"""Query sets for tests of partitioning: SQL, with comments for what SQL cannot say yet.

    -- join pairs: SELECT a.k AS k FROM flows AS a LEFT JOIN flows AS b ON a.k = b.k
    -- rows: tcp 1000              -- selectivity: flows 0.1        -- size: flows 16       -- share: tcp srcIP 0.5
    -- restrict: tcp PARTITIONED BY (destIP)
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp

from headrace.logical.graph import Graph, Merge
from headrace.partitioning.infer_join import JoinDescription, find_equalities
from headrace.partitioning.plan_cost import CostedPlan, NodeStatistics, RateStatistics
from headrace.partitioning.restrictions import StreamRestriction, read_restriction
from headrace.partitioning.search_partitioning import describe_workload
from headrace.sql import parse_script
from headrace.sql.bind import Binder

STREAMS = """
CREATE STREAM tcp (time BIGINT, srcIP INT, destIP INT, srcPort INT, destPort INT, len INT, flags INT)
  PROGRESSING ON time ORDERED FROM 'kafka';
CREATE STREAM udp (time BIGINT, srcIP BIGINT, destIP BIGINT, len INT) PROGRESSING ON time ORDERED FROM 'kafka';
CREATE STREAM web (ts TIMESTAMP, host STRING, address STRING, day DATE, seen TIMESTAMP, bytes BIGINT, rtt DOUBLE, small TINYINT)
  PROGRESSING ON ts SLACK 1 MINUTE FROM 'kafka';
"""


def describe_join(select: exp.Select) -> tuple[JoinDescription, list[str]]:
    """A SELECT over joins as plain data, and the relations it reads."""
    tables = [select.args["from_"].this, *(j.this for j in select.args["joins"])]
    sides = {t.alias_or_name: t.name for t in tables}
    conditions = [j.args["on"] for j in select.args["joins"] if j.args.get("on") is not None]
    if select.args.get("where"):
        conditions.append(select.args["where"].this)
    padded: set[str] = set()
    before = [tables[0].alias_or_name]
    for join in select.args["joins"]:
        alias = join.this.alias_or_name
        if join.side in ("LEFT", "FULL"):
            padded.add(alias)
        if join.side in ("RIGHT", "FULL"):
            padded |= set(before)
        before.append(alias)
    outputs = []
    for e in select.expressions:
        used = {c.table for c in e.find_all(exp.Column)}
        plain = e.unalias().copy().transform(lambda n: exp.column(n.name) if isinstance(n, exp.Column) else n)
        outputs.append((e.alias_or_name, (used.pop(), plain) if len(used) == 1 else None))
    equalities = tuple(p for c in conditions for p in find_equalities(c, {s: s for s in sides}))
    return JoinDescription(sides, equalities, tuple(outputs), frozenset(padded)), list(sides.values())


def read_graph(text: str) -> tuple[Graph, dict[str, JoinDescription]]:
    """The query graph of a text, with a union standing for each join."""
    binder, joins = Binder(), {}
    for statement in parse_script(STREAMS):
        if re.search(rf"\b{statement.name}\b", text):
            binder.create(statement)
    for part in re.split(r"(?m)^(?=-- join )|(?<=\n)(?=CREATE)", text):
        if part.startswith("-- join "):
            head, _, part = part.partition("\n")
            name, _, sql = head.removeprefix("-- join ").partition(": ")
            select = sqlglot.parse_one(sql, dialect="spark")
            joins[name], read = describe_join(select)
            columns = tuple(n for n, _ in joins[name].outputs)
            binder.relations[name] = Merge(name, tuple(read), binder.relations[read[0]].unit, columns)
            binder.queries[name] = sql
        for statement in parse_script(part) if "CREATE" in part else []:
            binder.create(statement)
    return binder.graph(), joins


def read_workload(text: str, partial: int = 0) -> tuple[CostedPlan, dict[str, StreamRestriction]]:
    graph, joins = read_graph(text)
    limits = {}
    for stream, kind, keys in re.findall(r"-- restrict: (\w+) (PARTITIONED|PARTITIONABLE) BY \((.*)\)", text):
        expressions = sqlglot.parse_one(f"SELECT {keys}", dialect="spark").expressions
        limits[stream] = read_restriction(graph.streams[stream], expressions, kind == "PARTITIONED")
    selectivities = {n: float(v) for n, v in re.findall(r"-- selectivity: (\w+) ([\d.]+)", text)}
    sizes = {n: float(v) for n, v in re.findall(r"-- size: (\w+) ([\d.]+)", text)}
    known = RateStatistics(
        rows={n: float(v) for n, v in re.findall(r"-- rows: (\w+) ([\d.]+)", text)},
        sizes={n: v for n, v in sizes.items() if n in graph.streams},
        nodes={n: NodeStatistics(selectivities.get(n), sizes.get(n)) for n in {*selectivities, *sizes}},
        shares={(s, k): float(v) for s, k, v in re.findall(r"-- share: (\w+) (.*) ([\d.]+)", text)},
    )
    return describe_workload(graph, statistics=known, partial=partial, joins=joins), limits
