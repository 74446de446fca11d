"""What is run: a stream, queries over it in each contender's SQL, and what Headrace has to reach.

Joins read two or three streams and are compared like anything else; `reach` says for how long after its
time a result may still come, which Spark does not bring if the stream ends before.

The queries are text, in `workloads/`: `NAME.sql` for Headrace, `NAME.spark.sql`, `NAME.flink.sql` and, for
the floor, `NAME.duckdb.sql`. Each defines the same queries under the same names and columns; results are
compared.

Ratios are of seconds per million rows. Against Spark they are taken in steady state (`steady`: the median
batch after the first ones), as both work in the same batches. Against Flink, and where a set of twenty
queries runs as twenty Spark queries side by side, whole runs are compared (`whole`): from the start of the
queries to their last result, and for Flink and Headrace with all windows closed at the end. Flink has no
batches, so its rival is Headrace with larger ones; both are reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

FOLDER = Path(__file__).parent / "workloads"
Basis = Literal["steady", "whole"]

HEADRACE = "headrace"
ROWS = "headrace-rows"  # Headrace over a DataFrame: rows come through Spark, as they do from Kafka or CSV
LARGE = "headrace-large"  # Headrace with twice the rows in a batch, against Flink, which has no batches
ROCKSDB = "spark-rocksdb"
DEFAULT_STORE = "spark-default"
FLINK = "flink"
FLOOR = "duckdb"
RIVALS = (ROCKSDB, DEFAULT_STORE, FLINK)
CONTENDERS = (HEADRACE, LARGE, ROWS, *RIVALS, FLOOR)
SUFFIX = {
    HEADRACE: "",
    LARGE: "",
    ROWS: "",
    ROCKSDB: ".spark",
    DEFAULT_STORE: ".spark",
    FLINK: ".flink",
    FLOOR: ".duckdb",
}


@dataclass(frozen=True)
class Workload:
    """Queries (`sql`) over a data set. `targets`: how many times faster than a rival Headrace is to be."""

    name: str
    title: str
    dataset: str
    sql: str
    contenders: tuple[str, ...] = CONTENDERS
    targets: Mapping[str, float] = field(default_factory=dict)
    files_per_batch: int | None = None
    warmup: int | None = None
    spark_basis: Basis = "steady"
    reach: int = 0  # microseconds

    def text(self, contender: str) -> str:
        return (FOLDER / f"{self.sql}{SUFFIX[contender]}.sql").read_text()

    def basis(self, rival: str) -> Basis:
        return "whole" if rival in (FLINK, FLOOR) else self.spark_basis


def _targets(rocksdb: float, default: float, flink: float) -> dict[str, float]:
    return {ROCKSDB: rocksdb, DEFAULT_STORE: default, FLINK: flink}


_ALONE = (HEADRACE, FLOOR)  # and the floor, to check the results
MAIN = (
    Workload(
        "tumbling_200k",
        "tumbling 1 min, 200 k skewed groups, 3 aggregates",
        "packets_200k",
        "tumbling_1m",
        targets=_targets(4, 1.4, 3),
    ),
    Workload(
        "sliding_10_1_50k",
        "sliding 10 min / 1 min, 50 k skewed groups",
        "packets_50k",
        "sliding_10m",
        targets=_targets(12, 4, 4),
    ),
    Workload(
        "sliding_60_1_50k",
        "sliding 60 min / 1 min, 50 k skewed groups",
        "packets_50k",
        "sliding_60m",
        targets=_targets(30, 20, 10),
    ),
    Workload(
        "sliding_60_1_1k",
        "sliding 60 min / 1 min, 1,000 groups",
        "packets_1k",
        "sliding_60m",
        targets=_targets(10, 10, 3),
    ),
    Workload(
        "twenty_queries",
        "20 queries over one stream",
        "packets_50k",
        "twenty_queries",
        targets=_targets(20, 12, 5),
        spark_basis="whole",
    ),
)
JOINS = (
    Workload(
        "band_join",
        "band join on the flow key, 2 min",
        "packets_halves",
        "band_join",
        targets=_targets(15, 5, 6),
    ),
    Workload(
        "tumbling_join",
        "tumbling join 1 min, 50 k keys, then count per minute",
        "packets_halves",
        "tumbling_join",
        targets=_targets(15, 5, 4),
    ),
    Workload(
        "three_way_join",
        "three-way join on one key, 1 min",
        "packets_thirds",
        "three_way_join",
        targets=_targets(20, 8, 5),
    ),
    Workload(
        "outer_join",
        "left outer interval join, 10 % without partner",
        "packets_halves",
        "outer_join",
        targets=_targets(12, 4, 5),
        reach=180_000_000,
    ),
    Workload(
        "ten_joins",
        "10 joins and 10 aggregates over two streams",
        "packets_halves",
        "ten_joins",
        targets=_targets(30, 15, 8),
        spark_basis="whole",
        reach=180_000_000,
    ),
)
RACES = (*MAIN, *JOINS)  # where there are rivals
# Without rivals: that time per row depends on neither length of the stream nor RANGE/SLIDE, nor memory on
# the number of results; empty batches.
SHAPES = (
    Workload("tumbling_1k", "tumbling 1 min, 1,000 groups", "packets_1k", "tumbling_1m", _ALONE),
    Workload("sliding_10_1_1k", "sliding 10 min / 1 min, 1,000 groups", "packets_1k", "sliding_10m", _ALONE),
    Workload(
        "long",
        "sliding 10 min / 1 min, 50 k groups, 5 times longer",
        "packets_50k_long",
        "sliding_10m",
        _ALONE,
    ),
    Workload(
        "many_windows", "7,200 windows of 10 min / 1 s in one batch", "packets_1k", "many_windows", _ALONE, {}, 20, 0
    ),
    Workload(
        "quiet", "empty batches, sliding 10 min / 1 min", "packets_quiet", "sliding_10m", _ALONE, {}, 1, 20
    ),
    Workload(
        "quiet_twenty", "empty batches, 20 queries", "packets_quiet", "twenty_queries", _ALONE, {}, 1, 20
    ),
    Workload("long_join", "band join, 5 times longer", "packets_halves_long", "band_join", _ALONE),
    Workload("crowded_join", "band join, 8 times as many results", "packets_halves", "crowded_join", _ALONE),
)
WORKLOADS = {w.name: w for w in (*RACES, *SHAPES)}
