"""Query sets for tests of partitioning: SQL, with comments for what SQL cannot say yet.

    -- rows: tcp 1000              -- selectivity: flows 0.1        -- size: flows 16       -- share: tcp srcIP 0.5
    -- restrict: tcp PARTITIONED BY (destIP)
"""

from __future__ import annotations

import re

from headrace.logical.graph import Graph
from headrace.partitioning.plan_cost import CostedPlan, NodeStatistics, RateStatistics
from headrace.partitioning.restrictions import StreamRestriction, read_restrictions
from headrace.partitioning.search_partitioning import describe_workload
from headrace.sql import parse_script
from headrace.sql.bind import Binder

STREAMS = """
CREATE STREAM tcp (time BIGINT, srcIP INT, destIP INT, srcPort INT, destPort INT, len INT, flags INT)
  PROGRESSING ON time ORDERED FROM 'kafka';
CREATE STREAM udp (time BIGINT, srcIP BIGINT, destIP BIGINT, len INT) PROGRESSING ON time ORDERED FROM 'kafka';
CREATE STREAM log (time BIGINT, host STRING) PROGRESSING ON time ORDERED FROM 'kafka';
CREATE STREAM web (ts TIMESTAMP, host STRING, address STRING, day DATE, seen TIMESTAMP, bytes BIGINT, rtt DOUBLE, small TINYINT)
  PROGRESSING ON ts SLACK 1 MINUTE FROM 'kafka';
"""


def read_graph(text: str) -> Graph:
    """The query graph of a text, over those of the streams that it names."""
    binder = Binder()
    streams = STREAMS
    for stream, clause in re.findall(r"-- restrict: (\w+) (.*)", text):
        streams = re.sub(rf"(?s)(CREATE STREAM {stream} .*?)( FROM 'kafka')", rf"\1 {clause}\2", streams, count=1)
    for statement in parse_script(streams):
        if re.search(rf"\b{statement.name}\b", text):
            binder.create(statement)
    for statement in parse_script(text):
        binder.create(statement)
    return binder.graph()


def read_workload(text: str, partial: int = 0) -> tuple[CostedPlan, dict[str, StreamRestriction]]:
    graph = read_graph(text)
    selectivities = {n: float(v) for n, v in re.findall(r"-- selectivity: (\w+) ([\d.]+)", text)}
    sizes = {n: float(v) for n, v in re.findall(r"-- size: (\w+) ([\d.]+)", text)}
    known = RateStatistics(
        rows={n: float(v) for n, v in re.findall(r"-- rows: (\w+) ([\d.]+)", text)},
        sizes={n: v for n, v in sizes.items() if n in graph.streams},
        nodes={n: NodeStatistics(selectivities.get(n), sizes.get(n)) for n in {*selectivities, *sizes}},
        shares={(s, k): float(v) for s, k, v in re.findall(r"-- share: (\w+) (.*) ([\d.]+)", text)},
    )
    return describe_workload(graph, statistics=known, partial=partial), read_restrictions(graph)
