"""Routes as no policy would choose them: any slot for any mini-partition, splits made, kept, deepened and undone at random, and
leaves dealt where the set allows it; and rows that wait, taken in any pieces.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.kernels import slot_turns, waiting_rows
from headrace.program.dealt_tables import DealtTable, find_dealt_tables
from headrace.program.limits import SHIPPED, CloseLimits, Limits
from headrace.program.waiting_obstacle import find_waiting_obstacle
from headrace.state import Manifest
from headrace.state.split_route import Branch, DealtLeaf, SplitRoute
from headrace.testing import LocalRun

if TYPE_CHECKING:
    import pytest


def draw_route(
    rng: random.Random, manifest: Manifest, slots: int, splits: float = 0.5, tables: Sequence[DealtTable] = ()
) -> SplitRoute:
    """A route for the next batch. Mini-partitions that hold rows are split, or split otherwise, or made whole again; the rest
    of the tree stays and its leaves go anywhere. While rows wait the whole tree stays, as in a run. Rows of `tables` may be
    dealt.
    """
    splits = 0.0 if manifest.waiting else splits
    pids = len(manifest.route)
    held = sorted({number % pids for meta in manifest.segments for number in meta.pids})
    changed = {pid for pid in held if rng.random() < 0.3} if rng.random() < splits else set()
    split = set(rng.sample(sorted(changed), min(len(changed), 6)))

    def place(branch: Branch) -> Branch:
        if isinstance(branch, DealtLeaf):
            return replace(branch, slots=tuple(rng.randrange(slots) for _ in branch.slots))
        return rng.randrange(slots) if isinstance(branch, int) else (place(branch[0]), place(branch[1]))

    return tuple(
        draw_branch(rng, slots, tables=tables) if pid in split else place(0 if pid in changed else branch)
        for pid, branch in enumerate(manifest.route)
    )


def scatter(rng: random.Random, run: LocalRun) -> None:
    """The next batch of a run that does not balance has such a route."""
    run.driver.manifest = replace(run.manifest, route=draw_route(rng, run.manifest, run.slots, splits=0.7))


def scatter_next(rng: random.Random, run: LocalRun, splits: float = 0.7) -> None:
    """From now on every batch of a run has such a route, with leaves that are dealt."""
    tables = list_dealable(run)
    run.driver.balancer.choose_route = partial(draw_route, rng, splits=splits, tables=tables)  # type: ignore[method-assign]


def list_dealable(run: LocalRun) -> list[DealtTable]:
    """The tables of its set whose rows may be dealt."""
    return [table for table in find_dealt_tables(run.program).values() if table.obstacle is None]


def draw_branch(rng: random.Random, slots: int, deepest: int = 4, tables: Sequence[DealtTable] = ()) -> Branch:
    """A tree that is more likely split than not."""
    if tables and rng.random() < 0.4:
        table, parts = rng.choice(tables), rng.choice((2, 4))
        return DealtLeaf(table.node, table.copied, tuple(rng.randrange(slots) for _ in range(parts)))
    if deepest == 0 or rng.random() < 0.35:
        return rng.randrange(slots)
    return draw_branch(rng, slots, deepest - 1, tables), draw_branch(rng, slots, deepest - 1, tables)


def shrink_pids(rng: random.Random) -> Limits:
    """So few mini-partitions that each has many keys, which a split parts; or as many as usual."""
    return Limits(mini_partitions=rng.choice((1, 3, 8, 128)))


def shrink_limits(rng: random.Random) -> Limits:
    """Limits that choose between ways to the same answer, small, so that every way is taken; or as they are shipped."""
    closing = CloseLimits(
        few_copies=rng.choice((0, 40, SHIPPED.close.few_copies)),
        overlap=rng.choice((0, SHIPPED.close.overlap)),
        filtered_runs=rng.choice((0, 3, SHIPPED.close.filtered_runs)),
        runs_per_pass=rng.choice((1, 2, SHIPPED.close.runs_per_pass)),
        short_rows=rng.choice((0, SHIPPED.close.short_rows)),
    )
    return replace(
        shrink_pids(rng),
        round_rows=rng.choice((3, 50, SHIPPED.round_rows)),
        fan_in=rng.choice((2, 3, SHIPPED.fan_in)),
        frame_rows=rng.choice((1, 7, SHIPPED.frame_rows)),
        stream_rows=rng.choice((1, 5, SHIPPED.stream_rows)),
        payload_bytes=rng.choice((64, SHIPPED.payload_bytes)),
        bucket_spread=rng.choice((0, 1, SHIPPED.bucket_spread)),
        close=closing,
    )


def take_randomly(rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mini-partitions that sit out absorb any of the rows that wait, in small pieces."""
    share = rng.choice([0.0, 0.3, 0.7, 1.0])

    def choose(pieces: list[tuple[str, int, int]], room: float) -> dict[str, frozenset[int]]:
        taken: dict[str, frozenset[int]] = {}
        for path, pid, _ in pieces:
            if rng.random() < share:
                taken[path] = taken.get(path, frozenset()) | {pid}
        return taken

    monkeypatch.setattr(waiting_rows, "choose_pieces", choose)
    piece = rng.choice([1, 2, 10_000])
    monkeypatch.setattr(waiting_rows, "find_piece", lambda busy, most, least: piece)


def defer_randomly(rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """In every batch some mini-partitions sit out, and the others take turns; how many sat out."""
    share, counts = rng.choice([0.2, 0.5, 0.8]), [0]

    def defer(program: Any, orders: Any, pids: frozenset[int], arrived: Any, sent: int) -> frozenset[int]:
        if orders.flush is not None or find_waiting_obstacle(program) is not None:
            return frozenset()
        out = frozenset(pid for pid in pids if rng.random() < share)
        counts[0] += len(out & {pid for _, t in arrived for pid in t["pid"].to_pylist()})
        return out

    monkeypatch.setattr(slot_turns, "find_deferred", defer)
    rotate_randomly(rng, monkeypatch)
    take_randomly(rng, monkeypatch)
    return counts


def rotate_randomly(rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mini-partitions take turns in every slot, as if memory were small."""

    def rotate(pids: frozenset[int], sizes: Any, memory: Any) -> list[frozenset[int]]:
        groups: list[set[int]] = [set() for _ in range(rng.randint(1, 3))]
        for pid in pids:
            rng.choice(groups).add(pid)
        return [frozenset(g) for g in groups]

    monkeypatch.setattr(slot_turns, "rotate_pids", rotate)
