"""Functions that carry progress never fall, `reach` is their inverse, and SQL, arrays and numbers agree on them."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.kernels.sql_pieces import map_tick_sql
from headrace.progress import Frontier
from headrace.progress.monotone_steps import (
    Divide,
    FloorDivide,
    MonotoneStep,
    Multiply,
    Shift,
    Truncate,
    apply_steps,
)
from headrace.progress.propagate import pass_function
from headrace.progress.waits import Back, Wait, meld_waits

lengths = st.integers(1, 9)
steps = st.one_of(
    st.builds(Shift, st.integers(-9, 9)),
    *(st.builds(kind, lengths) for kind in (Truncate, Divide, FloorDivide, Multiply)),
)
chains = st.lists(steps, max_size=3).map(tuple)
ticks = st.integers(-60, 60)


@given(chains, ticks, ticks)
def test_they_never_fall_and_reach_inverts_them(chain: tuple[MonotoneStep, ...], tick: int, value: int) -> None:
    """`reach` is the least tick whose image is not before a value."""
    wait = Wait("s", chain)
    assert wait.bound(tick) <= wait.bound(tick + 1)
    assert wait.bound(wait.reach(value)) >= value > wait.bound(wait.reach(value) - 1)


@given(chains)
def test_sql_and_arrays_agree(chain: tuple[MonotoneStep, ...]) -> None:
    """Tasks compute them in SQL, the judge of late rows on arrays."""
    domain = range(-70, 71)
    expected = [apply_steps(chain, tick) for tick in domain]
    assert list(apply_steps(chain, np.array(domain))) == expected
    found = duckdb.sql(f"SELECT {map_tick_sql(chain)} FROM (SELECT unnest(range(-70, 71)) AS _t)").fetchall()
    assert [row[0] for row in found] == expected


@pytest.mark.parametrize(
    ("step", "tick", "image"),
    [(Divide(4), -3, 0), (Divide(4), -4, -1), (FloorDivide(4), -3, -1), (Truncate(4), -3, -4), (Multiply(3), -3, -9)],
)
def test_before_zero(step: MonotoneStep, tick: int, image: int) -> None:
    """DIV rounds towards zero, seconds of a timestamp and date_trunc down, as Spark does."""
    assert step.bound(tick) == image


def test_what_is_too_large_to_be_multiplied() -> None:
    """The largest number stands for it, in every way it is computed."""
    step, tick = Multiply(1_000_000), 1 << 61
    assert step.bound(tick) == step.bound(np.array([tick]))[0] <= 1 << 62
    assert duckdb.sql(f"SELECT {map_tick_sql([step], f'{tick}::BIGINT')}").fetchall() == [(step.bound(tick),)]


@given(chains, ticks, ticks)
def test_groups_keep_their_bounds(chain: tuple[MonotoneStep, ...], bound: int, own: int) -> None:
    """As the rule of propagation says; a join in between forgets them."""
    source = Frontier(bound, ((("x",), own),))
    wait = Wait("s", chain)
    assert meld_waits([wait], {"s": source}) == pass_function(source, wait.bound)
    assert meld_waits([wait.then(Back(3))], {"s": source}) == Frontier(wait.bound(bound) - 3)


@given(ticks, st.integers(0, 20))
def test_how_far_an_attribute_can_have_been(tick: int, apart: int) -> None:
    """Joins bring together what is apart, once."""
    assert Wait("s", (Shift(5), Divide(2))).look_ahead(tick, apart) == Divide(2).bound(tick + 5)
    assert Wait("s", (Back(3), Shift(5), Back(1))).look_ahead(tick, apart) == tick + apart + 5
