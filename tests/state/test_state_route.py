"""Laws of the routing table."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import OptionError
from headrace.state import initial_route, pids_of, rescale

slot_counts = st.integers(1, 9)
routes = st.lists(st.integers(0, 8), min_size=1, max_size=40).map(tuple)


def sizes(route: tuple[int, ...], slots: int) -> list[int]:
    return [route.count(slot) for slot in range(slots)]


@given(st.integers(1, 300), slot_counts)
def test_the_first_route_is_balanced_and_in_blocks(pids: int, slots: int) -> None:
    """Sizes differ by at most one, every slot is in range, and each slot owns neighbours."""
    route = initial_route(pids, slots)
    assert len(route) == pids
    assert sum(sizes(route, slots)) == pids
    assert max(sizes(route, slots)) - min(sizes(route, slots)) <= 1
    assert list(route) == sorted(route)


@given(routes, slot_counts)
def test_rescaling_balances(route: tuple[int, ...], slots: int) -> None:
    """Whatever the route was, the slots own equally many pids within one; twice is the same as once."""
    new = rescale(route, slots)
    assert sum(sizes(new, slots)) == len(route)
    assert max(sizes(new, slots)) - min(sizes(new, slots)) <= 1
    assert rescale(new, slots) == new


@given(routes, slot_counts)
def test_rescaling_moves_as_few_pids_as_possible(route: tuple[int, ...], slots: int) -> None:
    """No choice of which slots get the extra pid keeps more pids in place."""
    size, extra = divmod(len(route), slots)
    has = sizes(route, slots)
    best = max(
        sum(min(has[slot], size + (slot in chosen)) for slot in range(slots))
        for chosen in combinations(range(slots), extra)
    )
    kept = sum(old == new for old, new in zip(route, rescale(route, slots), strict=True))
    assert kept == best


@given(routes)
def test_slots_share_the_pids_out(route: tuple[int, ...]) -> None:
    """Every pid is owned by exactly one slot."""
    owned = [pid for slot in range(9) for pid in pids_of(route, slot)]
    assert sorted(owned) == list(range(len(route)))


def test_impossible_numbers_are_refused() -> None:
    """The message says what is allowed."""
    for pids in (0, 65537):
        with pytest.raises(OptionError, match="1 to 65536"):
            initial_route(pids, 1)
    with pytest.raises(OptionError, match="at least 1"):
        initial_route(4, 0)
    with pytest.raises(OptionError, match="at least 1"):
        rescale((0, 0), 0)
