"""Laws of the numbers of leaves: what rows carry as their pid when mini-partitions are split."""

from __future__ import annotations

import json
import random

import duckdb
import numpy as np
import pytest
from benchmarks.simulate.random_routes import draw_branch
from hypothesis import given
from hypothesis import strategies as st

from headrace.kernels.sql_pieces import hash_sql, number_sql
from headrace.state import pids_of, rescale
from headrace.state.leaf_numbers import (
    NUMBERS,
    describe_leaf,
    find_deepest,
    find_leaf,
    find_owner,
    find_stale,
    keep_together,
    list_numbers,
    list_owners,
    number_hashes,
    number_leaf,
)
from headrace.state.split_route import DEEPEST, Leaf, SplitRoute, find_slot, list_leaves, read_route

ROUTES = st.builds(
    lambda seed, pids: tuple(draw_branch(random.Random(seed + pid), 5) for pid in range(pids)),
    st.integers(0, 10_000),
    st.integers(1, 9),
)


@given(st.integers(1, 300), st.integers(0, DEEPEST), st.data())
def test_every_vertex_has_a_number_of_its_own(pids: int, depth: int, data: st.DataObject) -> None:
    """A number says which vertex it is; whole mini-partitions have their pid."""
    leaf = Leaf(data.draw(st.integers(0, pids - 1)), depth, data.draw(st.integers(0, (1 << depth) - 1)))
    number = number_leaf(leaf, pids)
    assert find_leaf(number, pids) == leaf and number % pids == leaf.pid
    assert (number == leaf.pid) == (depth == 0)


@pytest.mark.parametrize("pids", [1, 2, 127, 128, 129, 300, 30_000, 1 << 16])
def test_numbers_fit_into_two_bytes(pids: int) -> None:
    """As deep as mini-partitions may be split, and for many of them no deeper."""
    deepest = find_deepest(pids)
    assert number_leaf(Leaf(pids - 1, deepest, (1 << deepest) - 1), pids) < NUMBERS
    assert deepest == DEEPEST or number_leaf(Leaf(pids - 1, deepest + 1, (2 << deepest) - 1), pids) >= NUMBERS


@given(ROUTES, st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=20))
def test_a_hash_is_numbered_by_the_leaf_that_holds_it(route: SplitRoute, values: list[int]) -> None:
    """In NumPy as in the tree, and its slot is that leaf's."""
    numbers = number_hashes(route, np.array(values, np.uint64))
    for value, number in zip(values, numbers.tolist(), strict=True):
        assert find_leaf(number, len(route)).holds(value, len(route))
        assert number in list_numbers(route)
        assert list_owners(route)[number] == find_slot(route, value) == find_owner(route, number)


@pytest.mark.parametrize("seed", range(5))
def test_sql_numbers_rows_as_numpy_does(seed: int) -> None:
    """The expression in the source stage and in slots, split or not."""
    rng = random.Random(seed)
    route: SplitRoute = tuple(draw_branch(rng, 3) for _ in range(rng.randint(1, 6))) if seed else (0, 1, 0)
    con = duckdb.connect()
    sql = f"SELECT {hash_sql(['i'])} AS h, {number_sql(hash_sql(['i']), route)} AS pid FROM range(2000) t(i)"
    found = con.sql(sql).fetchnumpy()
    assert found["pid"].dtype == np.uint16
    assert np.array_equal(found["pid"], number_hashes(route, np.asarray(found["h"])))


@given(ROUTES, ROUTES)
def test_stale_rows_are_in_one_slot(before: SplitRoute, after: SplitRoute) -> None:
    """Whatever becomes of the tree, all leaves that rows of a stale number can have are in the slot that renumbers them."""
    if len(before) != len(after):
        return
    stale = find_stale(after, [list_numbers(before)])
    assert stale == set(list_numbers(before)) - set(list_numbers(after))
    route = keep_together(after, stale)
    assert list_leaves(route)[0] == list_leaves(after)[0]
    values = np.random.default_rng(0).integers(0, 1 << 62, 300).astype(np.uint64)
    then, now = number_hashes(before, values), number_hashes(route, values)
    for old, new in zip(then.tolist(), now.tolist(), strict=True):
        if old in stale:
            assert find_owner(route, old) == list_owners(route)[new]
        else:
            assert old == new
    if not stale:
        assert route == after


@given(ROUTES, st.integers(1, 7))
def test_leaves_are_rescaled_and_owned_like_mini_partitions(route: SplitRoute, slots: int) -> None:
    """A rescale keeps the tree and evens out the leaves; each is owned once; JSON gives the route back."""
    after = rescale(route, slots)
    leaves, owners = list_leaves(after)
    assert leaves == list_leaves(route)[0]
    sizes = np.bincount(owners, minlength=slots)
    assert len(sizes) == slots and sizes.max() - sizes.min() <= 1
    owned = [pids_of(after, slot) for slot in range(slots)]
    assert sorted(n for each in owned for n in each) == sorted(list_numbers(after))
    assert read_route(json.loads(json.dumps(after))) == after


def test_parts_have_names() -> None:
    """The pid, and the bits from the root down."""
    assert [describe_leaf(x) for x in (Leaf(17), Leaf(17, 2, 1), Leaf(17, 2, 2))] == ["17", "17.10", "17.01"]


@pytest.mark.parametrize(
    "value",
    ["i::TINYINT", "i::INT", "i::BIGINT", "i::HUGEINT * 10000000000000000000", "i / 7::DOUBLE", "i::FLOAT", "i::DECIMAL(9,2)",
     "i::DECIMAL(38,4)", "i::VARCHAR", "repeat(i::VARCHAR, 9)", "i::VARCHAR::BLOB", "i % 2 = 0", "DATE '2020-01-01' + i::INT",
     "make_timestamp(i * 999983)", "make_timestamptz(i * 999983)", "[i, NULL]", "{'a': i::INT, 'b': i::VARCHAR}",
     "MAP {i: 'x'}", "CASE WHEN i % 3 = 0 THEN NULL ELSE i END", "to_microseconds(i)"],
)  # fmt: skip
def test_a_key_has_the_same_hash_after_its_way_through_arrow(value: str) -> None:
    """State rows are numbered from their keys, which have been to a segment and back."""
    con = duckdb.connect()
    table = con.sql(f"SELECT {value} AS k0, hash({value}) AS h FROM range(50) t(i)").to_arrow_table()
    con.register("kept", table)
    assert con.sql("SELECT count(*) FROM kept WHERE hash(k0) <> h").fetchall() == [(0,)]
