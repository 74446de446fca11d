"""Load and moves on the page, and what they are made of."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from report_samples import report, reports

from headrace.balance.heat_levels import encode_heat
from headrace.balance.list_moves import list_moves
from headrace.report import BatchReport, SlotLoad
from headrace.report.heat_map import COLUMNS, describe_moves, draw_balance
from headrace.report.page import render_page

routes = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40)


@given(routes, st.permutations(range(6)))
def test_moves_are_what_leaves_its_slot_whatever_its_number(pairs: list[tuple[int, int]], names: list[int]) -> None:
    """Renumbering alone moves nothing; otherwise never more than the routes differ; and applied to them, they are the rest."""
    before, after = [a for a, _ in pairs], [b for _, b in pairs]
    assert list_moves(before, [names[slot] for slot in before]) == ()
    moves = list_moves(before, after)
    assert len(moves) <= sum(a != b for a, b in pairs)
    assert all((before[pid], after[pid]) == (a, b) for pid, a, b in moves)
    gone = {pid for pid, _, _ in moves}
    stayed = {(before[pid], after[pid]) for pid in range(len(pairs)) if pid not in gone}
    assert len({a for a, _ in stayed}) == len({b for _, b in stayed}) == len(stayed)  # slots in pairs


def test_a_move_beside_renumbering_is_found() -> None:
    """Slots 0 and 1 change numbers, and mini-partition 2 changes company; what is split is left out."""
    assert list_moves([0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 0, 0]) == ((2, 0, 0),)
    assert list_moves([0, 0, 1, 1], [0, 0, 1, 0]) == ((3, 1, 0),)
    assert list_moves([0, 0, (0, 1)], [0, 0, 1]) == ()


def test_heat_has_a_digit_for_each_mini_partition() -> None:
    """Five is about the mean, a step is a factor of two, nothing is nothing."""
    assert encode_heat(np.ones(4)) == "5555"
    assert encode_heat(np.array([2.0, 1.0, 0.0, 1.0])) == "6505"
    assert encode_heat(np.r_[1000.0, np.ones(99)]) == "9" + "2" * 99  # 91 times and 0.09 times the mean
    assert encode_heat(np.r_[1e9, np.ones(99)]) == "9" + "1" * 99
    assert encode_heat(np.zeros(3)) == ""


def loaded(batch: int, seconds: tuple[float, ...], **other: object) -> BatchReport:
    loads = tuple(SlotLoad(1, s, 0) for s in seconds)
    imbalance = max(seconds) * len(seconds) / sum(seconds)
    return replace(report(batch), slot_loads=loads, slots=len(seconds), imbalance=imbalance, **other)  # type: ignore[arg-type]


def columns_of(page: str, title: str) -> list[str]:
    """The words over each column of a map."""
    figure = next(part for part in page.split("<figure") if f"<b>{title}</b>" in part)
    return re.findall(r"<title>(.*?)</title>", figure, re.DOTALL)


def test_the_balance_of_a_run_is_drawn() -> None:
    """A cell for each slot and mini-partition that did something, dots and a table of moves, words on every column."""
    moved = ((0, 0, 1), (1, 0, 1), (3, 2, 1))
    run = [
        loaded(1, (3.0, 1.0, 1.0), heat="9055"),
        loaded(2, (1.0, 1.0, 1.0), heat="9055", moves=moved),
        loaded(3, (1.0, 1.0), heat="5555"),
    ]
    page = draw_balance(run)
    slots, pids = page.split("<figure")[1:]
    assert slots.count('class="h9"') == 1 + 1 and slots.count('class="h5"') == 1 + 1  # a path and the legend
    cells = {c: re.findall(r"M[^z]*z", d) for c, d in re.findall(r'<path class="(h\d)" d="([^"]*)"', slots)}
    assert len(cells["h9"]) == 1 and len(cells["h2"]) == 2 and len(cells["h5"]) == 3  # slots 0 and 1 go on, 2 ends
    boxes = {c: re.findall(r"M[^z]*z", d) for c, d in re.findall(r'<path class="(h\d)" d="([^"]*)"', pids)}
    assert len(boxes["h9"]) == 1 and len(boxes["h5"]) == 4
    assert pids.count("<circle") == 3 and "<circle" not in slots
    words = columns_of(page, "Mini-partitions")
    assert words[0] == "batch 1\nslowest slot 0: 1.80 times the mean"
    assert words[1].endswith("batch 2: 3 moved, from slot 0 to 1 (2), 2 to 1")
    assert ">3 to 2<" in page and page.count("<tr>") == 3 and ">1.80<" in page
    whole = render_page("t", {"nodes": [], "edges": []}, run, {})
    assert "<h2>Balance</h2>" in whole and "<b>Imbalance</b>" in whole and "<b>Moves</b>" in whole


def test_many_batches_are_drawn_in_groups() -> None:
    """The map stays as wide, and names the batches of a column and the worst of them."""
    run = [loaded(i, (2.0, 1.0) if i == 5 else (1.0, 1.0), heat="5" * 128) for i in range(1, 3 * COLUMNS + 1)]
    page = draw_balance(run)
    words = columns_of(page, "Slots")
    assert len(words) == COLUMNS and words[1] == "batches 4 to 6\nslowest slot 0: 1.33 times the mean"
    assert "a column is 3 batches" in page and "No mini-partition moved." in page
    assert len(page) < 60_000


def test_without_slots_or_loads_there_is_nothing_to_draw() -> None:
    """Reports of before, and runs on one slot."""
    assert draw_balance(reports(3)) == draw_balance([]) == ""
    assert draw_balance([loaded(1, (1.0,))]) == ""
    assert "<figure" in draw_balance([loaded(1, (1.0, 2.0))])


def test_moves_in_words() -> None:
    """The largest ways first, and how many more there are."""
    assert describe_moves([(1, 0, 1)]) == "1 moved, from slot 0 to 1"
    many = [(pid, pid, 9) for pid in range(8)] + [(9, 3, 9)]
    assert describe_moves(many, most=2) == "9 moved, from slot 3 to 9 (2), 0 to 9, 6 more ways"


def test_reports_with_moves_go_through_json() -> None:
    """And slots' seconds are those of their loads, kept once."""
    one = loaded(4, (1.5, 0.5), heat="55", moves=((0, 0, 1), (1, 1, 0)), model_error=0.125)
    data = one.to_json()
    assert BatchReport.from_json(data) == one and one.moved == 2 and one.slot_seconds == (1.5, 0.5)
    assert "slot_seconds" not in data and data["moves"] == [[0, 0, 1], [1, 1, 0]]
    assert BatchReport.from_json({**data, "slot_seconds": [1, 2], "moved": 7}) == one  # of an earlier version
