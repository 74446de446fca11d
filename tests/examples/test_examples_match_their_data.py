"""The example scripts are read, and their streams have the columns of the generated data."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from headrace.generate.checkins import CHECKINS
from headrace.generate.flights import FLIGHTS, WEATHER
from headrace.generate.packets import SCHEMA
from headrace.sql import CreateQuery, CreateStream, parse_script

EXAMPLES = Path(__file__).parents[2] / "examples"
TYPES = {"INT": pa.int32(), "STRING": pa.string(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_()}
TYPES["TIMESTAMP"] = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("example", "streams", "queries"),
    [
        ("netmon/queries.sql", {"tcp": SCHEMA}, 8),
        ("netmon/joins.sql", {"tcp": SCHEMA}, 8),
        ("airline/queries.sql", {"flights": FLIGHTS, "weather": WEATHER}, 8),
        ("airline/joins.sql", {"flights": FLIGHTS, "weather": WEATHER, "checkins": CHECKINS}, 5),
    ],
)
def test_streams_have_the_columns_of_the_generated_files(
    example: str, streams: dict[str, pa.Schema], queries: int
) -> None:
    """Names, order and types agree, so a run reads what `headrace generate` wrote."""
    statements = parse_script((EXAMPLES / example).read_text())
    declared = {s.name: s for s in statements if isinstance(s, CreateStream)}
    assert declared.keys() == streams.keys()
    for name, schema in streams.items():
        columns = [(c.name, TYPES[c.type]) for c in declared[name].columns]
        assert pa.schema(columns) == schema
        assert declared[name].options["path"].startswith("data/")
    assert len([s for s in statements if isinstance(s, CreateQuery)]) == queries
