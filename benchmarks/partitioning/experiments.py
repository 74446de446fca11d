"""The query sets of document 000 §6, each as the plans that its configurations are (§5).

The document's machines are: a splitter that sends each row to one of two partitions on each of the hosts, leaves that work on a
partition each, and an aggregator. Here the exchange from source tasks to slots is the splitter (source tasks do not
pre-aggregate), slots of level 0 are the leaves, and what comes after is the aggregator: slots of level 1, and results
of leaves, which the aggregator would have to collect. A plan is written down as the document writes it:

* *naive*: rows go round robin to partitions, `part`; an aggregation is a sub-aggregate per partition and a super-aggregate;
* *optimized*: the same with a sub-aggregate per host, `host`;
* *partial*: partitioned by a set that serves some of the queries, `flow_part` and `pair_part` (functions of it);
* *full*: the queries as they are, partitioned as Headrace chooses.

`part` and the like are columns of the files, see `packet_files.py`.

A join that is not served gets all rows of its inputs in one place; that is a run of its own with one slot. Section 6.2 says that
its aggregation dominates the load. In *jitter* the join does; *subnets* is the same set over twenty times as many pairs of
hosts, so that sub-aggregates are half to two thirds of what the naive plan sends, as in the text.

The document's aggregator is one of the hosts, and what its own leaves send it crosses no network. Here it is apart, so of what
it receives one part in as many as there are hosts would stay at home (`count_remote`): parts are alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

COLUMNS = (
    "ts TIMESTAMP, srcIP INT, destIP INT, srcPort INT, destPort INT, protocol INT, len INT, flags INT, "
    "part INT, host INT, flow_part INT, pair_part INT"
)
PARTS = ("part", "host", "flow_part", "pair_part")


@dataclass(frozen=True)
class PlannedRun:
    """Queries that run together. Without leaves all is done by the aggregator."""

    sql: str
    partition_by: str | None = None
    merged: tuple[str, ...] = ()  # whose results leaves produce, for the aggregator to collect
    leaves: bool = True


Plans = tuple[PlannedRun, ...]


@dataclass(frozen=True)
class PartitioningExperiment:
    """A query set of the document, its plans by configuration, and what Headrace is to choose."""

    title: str
    figures: tuple[str, str]  # of the processor, of the network
    sql: str
    answers: tuple[str, ...]  # queries whose results must be the same in all configurations
    configurations: dict[str, Plans]
    candidates: dict[str, str]  # the text of a partitioning -> the configuration that uses it
    groups: int = 3_000  # pairs of hosts that talk, in the trace


FLOW = "srcIP, destIP, srcPort, destPort"
PATTERN = 41  # FIN, PSH and URG


def suspicious_naive(part: str) -> Plans:
    sql = f"""
CREATE QUERY sub_flows AS
  SELECT {part} AS part, {FLOW}, bit_or(flags) AS orflag, count(*) AS cnt, sum(len) AS bytes
  FROM tcp [RANGE 1 MINUTE] GROUP BY {part}, {FLOW};
CREATE QUERY suspicious AS
  SELECT {FLOW}, bit_or(orflag) AS orflag, sum(cnt) AS cnt, sum(bytes) AS bytes
  FROM sub_flows GROUP BY {FLOW} HAVING bit_or(orflag) = {PATTERN};"""
    return (PlannedRun(sql, part),)


SUSPICIOUS = f"""
CREATE QUERY suspicious AS
  SELECT {FLOW}, bit_or(flags) AS orflag, count(*) AS cnt, sum(len) AS bytes
  FROM tcp [RANGE 1 MINUTE] GROUP BY {FLOW} HAVING bit_or(flags) = {PATTERN};"""

NET = "srcIP & 0xFFFFFF00"
NETS = f"""
CREATE QUERY nets AS
  SELECT {NET} AS net, destIP, count(*) AS cnt, sum(len) AS bytes FROM tcp [RANGE 1 MINUTE] GROUP BY {NET}, destIP;"""
JITTER = """
CREATE QUERY jitter AS
  SELECT a.ts AS at, a.srcIP, a.destIP, a.srcPort, a.destPort, b.ts AS next
  FROM tcp AS a JOIN tcp AS b ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort = b.srcPort AND a.destPort = b.destPort
    AND b.ts > a.ts AND b.ts <= a.ts + INTERVAL 100 MILLISECONDS
  WHERE a.protocol = 6 AND b.protocol = 6;"""


def split_nets(part: str) -> str:
    return f"""
CREATE QUERY sub_nets AS
  SELECT {part} AS part, {NET} AS net, destIP, count(*) AS cnt, sum(len) AS bytes
  FROM tcp [RANGE 1 MINUTE] GROUP BY {part}, {NET}, destIP;
CREATE QUERY nets AS
  SELECT net, destIP, sum(cnt) AS cnt, sum(bytes) AS bytes FROM sub_nets GROUP BY net, destIP;"""


def jitter_naive(part: str) -> Plans:
    return (PlannedRun(split_nets(part), part), PlannedRun(JITTER, leaves=False))


def jitter_partial(part: str) -> Plans:
    """By flow: the join is served, the aggregation is not."""
    return (PlannedRun(split_nets(part), part), PlannedRun(JITTER, merged=("jitter",)))


HEAVY = """
CREATE QUERY heavy_flows AS SELECT srcIP, max(cnt) AS max_cnt FROM flows GROUP BY srcIP;
CREATE QUERY flow_pairs AS
  SELECT a.window_end AS at, a.srcIP, a.max_cnt, b.max_cnt AS before
  FROM heavy_flows AS a JOIN heavy_flows AS b ON a.srcIP = b.srcIP AND a.window_end = b.window_end + INTERVAL 1 MINUTE;"""
FLOWS_BY_PAIR = """
CREATE QUERY flows AS
  SELECT srcIP, destIP, count(*) AS cnt FROM tcp [RANGE 1 MINUTE] GROUP BY pair_part, srcIP, destIP;"""
FLOWS = """
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS cnt FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;"""


def pairs_naive(part: str) -> Plans:
    sub = f"""
CREATE QUERY sub_flows AS
  SELECT {part} AS part, srcIP, destIP, count(*) AS cnt FROM tcp [RANGE 1 MINUTE] GROUP BY {part}, srcIP, destIP;
CREATE QUERY flows AS SELECT srcIP, destIP, sum(cnt) AS cnt FROM sub_flows GROUP BY srcIP, destIP;"""
    return (PlannedRun(sub + HEAVY, part),)


EXPERIMENTS = {
    "suspicious": PartitioningExperiment(
        "Suspicious flows",
        ("Fig. 8", "Fig. 9"),
        SUSPICIOUS,
        ("suspicious",),
        {
            "naive": suspicious_naive("part"),
            "optimized": suspicious_naive("host"),
            "full": (PlannedRun(SUSPICIOUS, merged=("suspicious",)),),
        },
        {"round robin": "naive", "tcp by {destIP, destPort, srcIP, srcPort}": "full"},
    ),
    "jitter": PartitioningExperiment(
        "Subnets and jitter",
        ("Fig. 10", "Fig. 11"),
        NETS + JITTER,
        ("nets", "jitter"),
        {
            "naive": jitter_naive("part"),
            "optimized": jitter_naive("host"),
            "partial": jitter_partial("flow_part"),
            "full": (PlannedRun(NETS + JITTER, f"{NET}, destIP", merged=("nets", "jitter")),),
        },
        {
            "round robin": "naive",
            "tcp by {destIP, destPort, srcIP, srcPort}": "partial",
            "tcp by {destIP, srcIP & -256}": "full",
        },
    ),
    "join": PartitioningExperiment(
        "Jitter alone",
        ("processor", "network"),
        JITTER,
        ("jitter",),
        {
            "naive": (PlannedRun(JITTER, leaves=False),),
            "full": (PlannedRun(JITTER, merged=("jitter",)),),
        },
        {"round robin": "naive", "tcp by {destIP, destPort, srcIP, srcPort}": "full"},
    ),
    "pairs": PartitioningExperiment(
        "Flows, heavy flows, pairs",
        ("Fig. 13", "Fig. 14"),
        FLOWS + HEAVY,
        ("flows", "heavy_flows", "flow_pairs"),
        {
            "naive": pairs_naive("part"),
            "optimized": pairs_naive("host"),
            "partial": (PlannedRun(FLOWS_BY_PAIR + HEAVY, "pair_part"),),
            "full": (PlannedRun(FLOWS + HEAVY, merged=("flow_pairs",)),),
        },
        {"round robin": "naive", "tcp by {destIP, srcIP}": "partial", "tcp by {srcIP}": "full"},
    ),
}

EXPERIMENTS["subnets"] = replace(
    EXPERIMENTS["jitter"],
    title="Subnets and jitter, the aggregation dominates",
    figures=("processor", "network"),
    groups=60_000,
)


def count_remote(received: float, workers: int) -> float:
    """What comes to the aggregator from other hosts, of what comes from all."""
    return received * (workers - 1) / workers


def many_queries() -> str:
    """Fifty aggregations over one stream, by addresses, subnets and ports, of five kinds of aggregates."""
    keys = [
        "srcIP",
        "srcIP, destIP",
        "srcIP, destIP, destPort",
        FLOW,
        "srcIP & 0xFFFFFF00",
        "srcIP & 0xFFFFFF00, destIP",
        "srcIP & 0xFFFF0000",
        "srcIP, protocol",
        "srcIP, flags",
        "srcIP & 0xFFFFFF00, protocol",
    ]
    kinds = ["count(*)", "sum(len)", "max(len)", "avg(len)", "bit_or(flags)"]
    return "".join(
        f"CREATE QUERY q{10 * i + j} AS SELECT {name_keys(key)}, {kind} AS a FROM tcp [RANGE 1 MINUTE] GROUP BY {key};\n"
        for i, kind in enumerate(kinds)
        for j, key in enumerate(keys)
    )


def name_keys(keys: str) -> str:
    return ", ".join(f"{k} AS k{i}" for i, k in enumerate(keys.split(", ")))
