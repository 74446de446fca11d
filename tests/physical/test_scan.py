"""Which streams are read in the tasks, and which by Spark."""

from __future__ import annotations

import re

import pytest

from headrace.kernels.scan import Scan
from headrace.optimizer import optimize
from headrace.optimizer.choose_reader import may_read_in_tasks
from headrace.physical.duck_typer import DuckTyper
from headrace.physical.lower_scan import lower_scan
from headrace.sql import parse_script
from headrace.sql.bind import Binder

COLUMNS = "ts TIMESTAMP, k STRING, v INT, b BIGINT, x DOUBLE, d DECIMAL(10,2), day DATE"


def planned(
    where: str, options: str = "", columns: str = COLUMNS, path: str = "data", on: str = "ts"
) -> tuple[Scan | None, str]:
    text = f"CREATE STREAM s ({columns}) PROGRESSING ON {on} ORDERED FROM 'parquet' OPTIONS (path '{path}'{options});"
    text += f"CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 10{' MINUTES' * (on == 'ts')}] WHERE {where} GROUP BY k;"
    binder = Binder()
    for statement in parse_script(text):
        binder.create(statement)
    graph = binder.graph()
    typer = DuckTyper(graph, {})
    plan = optimize(graph, typer)
    reading = plan.readings["s"]
    if not reading.in_tasks:
        return None, reading.reason
    assert may_read_in_tasks(graph)
    return lower_scan(plan, graph.streams["s"], typer.result_schema("s"), "" if "*" in path else "/data"), ""


@pytest.mark.parametrize(
    "where",
    [
        "v > 3",
        "v & -256 = 0 OR NOT (b << 2) >= 7",
        "v + b * 2 - v % 7 <> 0",
        "v DIV 256 BETWEEN 1 AND 9",
        "k IN ('a', 'b') AND k IS NOT NULL",
        "CASE WHEN v > 0 THEN b ELSE v END > 1",
        "coalesce(v, b) = CAST(v AS BIGINT)",
        "x > 0.5 AND d < 7.25",
    ],
)
def test_simple_expressions_are_computed_in_the_task(where: str) -> None:
    scan, why = planned(where)
    assert scan is not None, why
    assert scan.columns[:2] == ("ts", "k")
    assert "day" not in scan.columns


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("upper(k) = 'A'", r"UPPER\(k\)|UPPER\(`k`\)"),
        ("k LIKE 'a%'", "LIKE"),
        ("x + 1 > 0", r"\+"),
        ("v / 2 > 1", "/"),
        ("hour(ts) = 3", "HOUR"),
        ("CAST(k AS INT) > 1", "CAST"),
        ("TRY_CAST(b AS INT) > 1", "TRY_CAST"),
        ("day >= '2024-06'", "2024-06"),
        ("k = 5", "= 5"),
        ("k IS TRUE", "IS TRUE"),
        ("v IS NOT FALSE", "IS FALSE"),
        ("v IN (1, '2')", "IN"),
        ("k BETWEEN 1 AND 2", "BETWEEN"),
        ("CASE WHEN v > 0 THEN x ELSE k END = 'a'", "CASE"),
        ("coalesce(v, k) = 'a'", "COALESCE"),
    ],
)
def test_others_are_sparks(where: str, why: str) -> None:
    scan, reason = planned(where)
    assert scan is None
    assert re.search(why, reason), reason
    assert reason.endswith("is for Spark to compute")


def test_what_else_is_sparks() -> None:
    """Options we do not know, files elsewhere, patterns that may match folders, nested types."""
    assert planned("v > 0", ", mergeSchema true") == (None, "its option mergeschema")
    assert planned("v > 0", path="s3://bucket/x") == (None, "its files are not local")
    assert planned("v > 0", path="data/*") == (None, "its path is a pattern of folders")
    assert planned("v > 0", path="data/*.parquet")[0] is not None
    assert planned("v > 0", columns=COLUMNS + ", l ARRAY<INT>") == (None, "l is of type array<int>")
    assert planned("b > 0", ", maxFilesPerTrigger 1, latestFirst true", on="v")[0] is not None
