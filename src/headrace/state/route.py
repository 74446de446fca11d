"""The routing table: which slot owns which mini-partition (document 002, section 5; DESIGN section 3.1).

A route is a tuple with the slot of every pid, or of its parts (`split_route`). Between a key and the task that holds its state
there is always this indirection (Flux's routing of mini-partitions), so the number of slots may change at any batch
while the number of pids stays fixed for the life of a checkpoint: state is never rehashed, only reread by
its new owner.

`rescale` makes slots equal in number of pids, within one, and moves as few pids as possible. Why it is the
least: the sizes of a balanced route are fixed up to which slots get the one extra; a slot keeps at most its
new size of what it has; giving the extra to the slots that have most keeps the largest sum.
"""

from __future__ import annotations

from collections import defaultdict

from headrace.errors import OptionError
from headrace.state.leaf_numbers import list_numbers
from headrace.state.split_route import SplitRoute, list_leaves, replace_slots


def initial_route(pids: int, slots: int) -> tuple[int, ...]:
    """Neighbouring pids on one slot, so that a slot reads few runs of a segment; sizes equal within one."""
    if pids < 1 or pids > 1 << 16:
        raise OptionError(f"the number of mini-partitions must be 1 to 65536, got {pids}")
    check_slots(slots)
    return tuple(pid * slots // pids for pid in range(pids))


def rescale(route: SplitRoute, slots: int) -> SplitRoute:
    """A balanced route over `slots` slots that differs from `route` in as few pids as possible."""
    check_slots(slots)
    owned: dict[int, list[int]] = defaultdict(list)
    owners = list_leaves(route)[1].tolist()
    for pid, slot in enumerate(owners):
        owned[slot].append(pid)
    size, extra = divmod(len(owners), slots)
    by_most = sorted(range(slots), key=lambda slot: -len(owned[slot]))
    sizes = {slot: size + (rank < extra) for rank, slot in enumerate(by_most)}
    moving = sorted(pid for slot, has in owned.items() for pid in has[sizes.get(slot, 0) :])
    result = list(owners)
    for slot in range(slots):
        for _ in range(sizes[slot] - len(owned[slot])):
            result[moving.pop(0)] = slot
    return replace_slots(route, result)


def pids_of(route: SplitRoute, slot: int) -> frozenset[int]:
    """The mini-partitions that a slot owns, by number."""
    owners = list_leaves(route)[1].tolist()
    return frozenset(pid for pid, owner in zip(list_numbers(route), owners, strict=True) if owner == slot)


def check_slots(slots: int) -> None:
    if slots < 1:
        raise OptionError(f"the number of slots must be at least 1, got {slots}")
