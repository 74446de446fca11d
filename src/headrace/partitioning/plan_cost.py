"""What a partitioning costs (document 000 §4.2.1): the most bytes any one node receives over the network per epoch.

A node compatible with the partitioning runs on every mini-partition by itself and only its results are brought
together, if a reader wants them: it costs its output rate. An incompatible one costs its input rate, or nothing
where its inputs are in its place already. The cost of the plan is the maximum over the nodes. A node is compatible only if
the nodes it reads are: what was brought together is not partitioned any more.

Results that a reader wants travel in every plan, so they count in every plan, as what the reader receives: a
join that gives more than it reads does not become dearer by running where its rows are. What a node itself pays
is the document's cost.

Two things beyond the paper. Every one of `partial` tasks or slots sends at most one row per group to an aggregation
(§5.2.2), whether it is served or not, since that is how they run. And skew: of what a compatible node receives, its
fullest mini-partition has a *share*, and the node costs at least that, the even part times how far above even the
fullest is. So a partitioning that leaves one partition with everything is no better than none. A share is known where
it was measured, for that partitioning set and, as the least it can be, for every coarser one: what was together stays
together. A key of few values has a share without being measured. What is less than `NOISE` times the even share counts
as even, or a choice would flee whatever it knows.

Where state is placed for good (not `free`) and a stream was neither measured nor limited, the worst is assumed: that
its integers are `NARROW` consecutive ones, so that a mask which drops their low bits, or a division, leaves few values
or one. A choice is for life, and one made blindly must not bring all rows to one place; so it coarsens only where that
is cheaper even then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import prod

from headrace.logical.graph import Aggregate, Graph, Merge, Rows
from headrace.partitioning.coarsening import BitMask, FloorDivision, Modulus, Remainder, TruncatedDivision
from headrace.partitioning.express_key import express_key
from headrace.partitioning.partitioning_key import PartitioningKey
from headrace.partitioning.requirement import Requirement, is_compatible
from headrace.partitioning.stream_partitioning import Partitioning, Types

EPOCH = 60.0  # seconds
ROWS_PER_EPOCH = 6_000_000.0  # 100,000 a second: the paper's traces
PARTIALS = 8  # tasks, or slots, that pre-aggregate what they send
NARROW = 256  # consecutive values of an integer, in the worst case
PIDS = 128  # mini-partitions of a run
NOISE = 2.0  # times the even share
DECLARED = "declared"  # the origin of what a stream says of itself
SELECTED, GROUPED, COLUMN_SIZE = 0.5, 0.1, 8.0
_SIZES = {"tinyint": 1.0, "boolean": 1.0, "smallint": 2.0, "int": 4.0, "float": 4.0, "date": 4.0, "string": 20.0}


@dataclass(frozen=True)
class NodeStatistics:
    """What is known of a node's results; None where nothing is."""

    selectivity: float | None = None  # output rows for each input row
    tuple_size: float | None = None  # bytes of an output row
    rows: float | None = None  # output rows per epoch; says more than a selectivity


@dataclass(frozen=True)
class RateStatistics:
    """What is known of a query set: measured in earlier batches, or declared as a hint."""

    rows: Mapping[str, float] = field(default_factory=dict)  # by stream, per epoch
    sizes: Mapping[str, float] = field(default_factory=dict)  # bytes of a row, by stream
    nodes: Mapping[str, NodeStatistics] = field(default_factory=dict)
    shares: Mapping[tuple[str, str], float] = field(default_factory=dict)  # (stream, its keys) -> the largest share
    origins: Mapping[str, str] = field(default_factory=dict)  # stream or node -> where its rows come from, in words

    def over(self, hints: RateStatistics) -> RateStatistics:
        """These, and hints where they say nothing."""
        nodes = dict(hints.nodes)
        for name, known in self.nodes.items():
            hint = nodes.get(name, NodeStatistics())
            selectivity = hint.selectivity if known.selectivity is None else known.selectivity
            size = hint.tuple_size if known.tuple_size is None else known.tuple_size
            nodes[name] = NodeStatistics(selectivity, size, hint.rows if known.rows is None else known.rows)
        return RateStatistics(
            {**hints.rows, **self.rows},
            {**hints.sizes, **self.sizes},
            nodes,
            {**hints.shares, **self.shares},
            {**hints.origins, **self.origins},
        )


@dataclass(frozen=True)
class NodeRates:
    """Bytes a node receives and gives per epoch, wherever it runs."""

    input: float
    output: float
    rows: float = 0.0  # of the output


@dataclass(frozen=True)
class KnownShare:
    """The share of the fullest mini-partition, if a stream is partitioned by `keys`."""

    keys: tuple[PartitioningKey, ...]
    share: float


@dataclass(frozen=True)
class CostedPlan:
    """A query set to be partitioned: requirements in the order of the graph, with rates."""

    requirements: Mapping[str, Requirement]
    rates: Mapping[str, NodeRates]
    types: Types
    delivered: frozenset[str]  # whose results are brought together
    statistics: RateStatistics = RateStatistics()
    partial: int = 0  # partitions that pre-aggregate; 0: none does
    pids: int = 0  # mini-partitions; 0: they are as many as it takes, and even but for what is known
    free: bool = False  # whether an even share is free, as from the paper's splitter
    shares: Mapping[str, tuple[KnownShare, ...]] = field(default_factory=dict)  # those of the statistics, by stream
    limited: frozenset[str] = frozenset()  # of which no worst is assumed: users say by what, or they are results


@dataclass(frozen=True)
class PartitioningCost:
    """What each node pays under a partitioning, what readers of results receive, which nodes it serves."""

    costs: Mapping[str, float]
    results: Mapping[str, float]  # of the nodes whose results are wanted
    compatible: frozenset[str]

    @property
    def maximum(self) -> float:
        return max([*self.costs.values(), *self.results.values()], default=0.0)

    @property
    def total(self) -> float:
        beside = sum(size for name, size in self.results.items() if name not in self.compatible)
        return sum(self.costs.values()) + beside


def estimate_rates(graph: Graph, relations: Collection[str], known: RateStatistics) -> dict[str, NodeRates]:
    """Rates of the relations, inputs first: from what is known, else from defaults."""
    rows: dict[str, float] = {}
    sizes: dict[str, float] = {}
    found: dict[str, NodeRates] = {}
    for name in relations:
        relation = graph.relations[name]
        said = known.nodes.get(name, NodeStatistics())
        if isinstance(relation, Rows):
            streams = [b.stream for b in relation.branches]
            came = [known.rows.get(s, ROWS_PER_EPOCH) for s in streams]
            received = sum(n * size_of_stream(graph, s, known) for n, s in zip(came, streams, strict=True))
            kept = [SELECTED if b.where is not None else 1.0 for b in relation.branches]
            selectivity = sum(n * k for n, k in zip(came, kept, strict=True)) / max(sum(came), 1e-9)
            arrived = sum(came)
            size = max(size_of_stream(graph, s, known) for s in streams)
            if name not in graph.streams:
                size = min(size, COLUMN_SIZE * len(relation.columns))
        else:
            read = relation.reads
            arrived = sum(rows[r] for r in read)
            received = sum(found[r].output for r in read)
            size = COLUMN_SIZE * len(relation.columns)
            selectivity = 1.0
            if isinstance(relation, Aggregate):
                selectivity = GROUPED if relation.keys else GROUPED / 1000
            elif not isinstance(relation, Merge) and getattr(relation, "where", None) is not None:
                selectivity = SELECTED
        selectivity = said.selectivity if said.selectivity is not None else selectivity
        sizes[name] = said.tuple_size if said.tuple_size is not None else size
        rows[name] = said.rows if said.rows is not None else arrived * selectivity
        found[name] = NodeRates(received, rows[name] * sizes[name], rows[name])
    return found


def read_rate_hints(graph: Graph) -> RateStatistics:
    """What streams declare: `RATE 100000 PER SECOND`."""
    rows = {s.name: EPOCH * s.rate for s in graph.streams.values() if s.rate is not None}
    return RateStatistics(rows, origins=dict.fromkeys(rows, DECLARED))


def size_of_stream(graph: Graph, stream: str, known: RateStatistics) -> float:
    """Bytes of a row, as known or by its types."""
    declared = sum(_SIZES.get(t.strip().lower(), COLUMN_SIZE) for _, t in graph.streams[stream].columns)
    return known.sizes.get(stream, declared)


def compute_cost(plan: CostedPlan, partitioning: Partitioning) -> PartitioningCost:
    """What every node pays under a partitioning."""
    compatible: set[str] = set()
    costs: dict[str, float] = {}
    results = {name: plan.rates[name].output for name in plan.requirements if name in plan.delivered}
    for name, requirement in plan.requirements.items():
        rates = plan.rates[name]
        local = [i for i in requirement.inputs if i in plan.requirements and i not in compatible]
        if not local and is_compatible(requirement, partitioning, plan.types):
            compatible.add(name)
            costs[name] = results.get(name, 0.0)
            if requirement.views is not None:
                shares = [find_share(plan, stream, partitioning) for stream in requirement.streams]
                received = _aggregate_before(plan, name, rates.input)
                costs[name] = max([costs[name], *(received * s for s in shares if not plan.free or s > _even(plan))])
            continue
        remote = sum(plan.rates[i].output for i in requirement.inputs if i in compatible)
        if not requirement.inputs:
            remote = rates.input
        costs[name] = _aggregate_before(plan, name, remote)
    return PartitioningCost(costs, results, frozenset(compatible))


def _aggregate_before(plan: CostedPlan, name: str, size: float) -> float:
    """What an aggregation receives of so many bytes: those who send them aggregate first."""
    if not plan.partial or plan.requirements[name].kind != "aggregation":
        return size
    return min(size, plan.partial * plan.rates[name].output)


def find_share(plan: CostedPlan, stream: str, partitioning: Partitioning) -> float:
    """What the fullest mini-partition has of a stream, at least: as known of this or a finer partitioning, else by its values."""
    keys, types = partitioning.keys_of(stream), plan.types.get(stream, {})
    measured = stream in plan.shares or plan.statistics.origins.get(stream, DECLARED) != DECLARED
    narrow = not (plan.free or measured or stream in plan.limited)
    values = prod(2 if types.get(k.text, "").lower() == "boolean" else count_values(k, narrow) for k in keys)
    least = 1 / min(plan.pids, values) if plan.pids else 0.0
    shares = [
        one.share
        for one in plan.shares.get(stream, ())
        if one.share > NOISE * _even(plan) and all(express_key(key, one.keys, types, as_value=False) for key in keys)
    ]
    return max([least, *shares])


def _even(plan: CostedPlan) -> float:
    return 1 / plan.pids if plan.pids else 0.0


def count_values(key: PartitioningKey, narrow: bool = False) -> int:
    """How many values a key can have at most, as far as it is known: a mask of four bits spreads over sixteen. `narrow`: of
    `NARROW` consecutive values of its column.
    """
    bits, column = (1 << key.width) - 1, 1 << key.width
    if narrow:
        bits, column = NARROW - 1, NARROW
    match key.coarsening:
        case BitMask(mask):
            return 1 << (mask & bits).bit_count()
        case Modulus(n):
            return n
        case Remainder(n):
            return 2 * n
        case TruncatedDivision(n) | FloorDivision(n):
            return max(1 if narrow else 2, column // n)
    return 1 << 64
