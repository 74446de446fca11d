"""SQL that kernels write says what the window algebra says."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.kernels.sql_pieces import pane_sql
from headrace.windows import Grid


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": "1"})


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 50), st.integers(0, 49))
def test_panes(con: duckdb.DuckDBPyConnection, width: int, offset: int) -> None:
    """The pane of a tick starts at or before it, for negative ticks too."""
    offset %= width
    found = con.sql(f"SELECT _t, {pane_sql('_t', width, offset)} FROM range(-120, 121) AS r(_t)").fetchall()
    assert all(pane == Grid(width, offset).pane_of(t) for t, pane in found)
