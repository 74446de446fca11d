"""SQL that kernels write says what the window algebra says."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.kernels.judge import _missed_sql
from headrace.kernels.sql import pane_sql
from headrace.windows import WindowSpec, first_end, pane_of

TICKS = st.integers(-200, 200)


@st.composite
def specs(draw: st.DrawFn) -> WindowSpec:
    slide, origin = draw(st.integers(1, 20)), draw(st.integers(-30, 30))
    kind = draw(st.sampled_from(["sliding", "end", "landmark", "cumulative"]))
    if kind == "landmark":
        return WindowSpec(None, slide, origin)
    if kind == "cumulative":
        return WindowSpec(None, slide, origin, reset=slide * draw(st.integers(1, 5)))
    return WindowSpec(draw(st.integers(1, 60)), slide, origin, "end" if kind == "end" else "start")


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": "1"})


@settings(max_examples=150, deadline=None)
@given(specs(), TICKS)
def test_missed_is_first_end(con: duckdb.DuckDBPyConnection, spec: WindowSpec, low_watermark: int) -> None:
    """A row is late exactly if the first window that holds it has ended, whatever the kind of window."""
    missed = con.sql(
        f"SELECT _t, {_missed_sql(spec, low_watermark)} FROM range(-120, 121) AS r(_t)"
    ).fetchall()
    for t, found in missed:
        end = first_end(spec, t)
        assert found == (end is not None and end <= low_watermark), (spec, t)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 50), st.integers(0, 49))
def test_panes(con: duckdb.DuckDBPyConnection, width: int, offset: int) -> None:
    """The pane of a tick starts at or before it, for negative ticks too."""
    offset %= width
    found = con.sql(f"SELECT _t, {pane_sql('_t', width, offset)} FROM range(-120, 121) AS r(_t)").fetchall()
    assert all(pane == pane_of(width, offset, t) for t, pane in found)
