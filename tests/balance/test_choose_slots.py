"""Laws of the number of slots that a run chooses for itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.balance.choose_slots import (
    AIM,
    BEHIND,
    LATER,
    SOON,
    BatchPressure,
    SlotChoice,
    SlotTrend,
    choose_slots,
    predict_seconds,
)

SEEN = BatchPressure(seconds=1.0, in_slots=0.8, trigger=1.0, backlog=False, cores=8, reach=8)
seconds = st.floats(0.001, 100)


@st.composite
def pressures(draw: st.DrawFn) -> BatchPressure:
    took = draw(seconds)
    cores = draw(st.integers(1, 64))
    return BatchPressure(
        took,
        took * draw(st.floats(0, 1)),
        draw(st.one_of(st.just(0.0), seconds)),
        draw(st.booleans()),
        cores,
        cores * draw(st.integers(1, 4)),
    )


@st.composite
def trends(draw: st.DrawFn) -> SlotTrend:
    behind = draw(st.integers(0, 9))
    ahead = 0 if behind else draw(st.integers(0, 9))
    return SlotTrend(behind, ahead, draw(st.integers(1, 64)) if ahead else 1)


def repeat(slots: int, seen: BatchPressure, batches: int) -> list[SlotChoice]:
    """The same batch over and over, whatever is chosen."""
    found, trend = [], SlotTrend()
    for _ in range(batches):
        found.append(choose_slots(slots, seen, trend))
        slots, trend = found[-1].slots, found[-1].trend
    return found


@given(slots=st.integers(1, 200), seen=pressures(), trend=trends())
def test_a_choice_is_between_one_and_the_cores_there_may_be(
    slots: int, seen: BatchPressure, trend: SlotTrend
) -> None:
    """And has a reason exactly if it is another number; at most twice, at least half of what was there and can stay."""
    choice = choose_slots(slots, seen, trend)
    assert 1 <= choice.slots <= seen.reach
    assert bool(choice.reason) == (choice.slots != slots)
    if seen.trigger and slots <= seen.reach:
        assert slots / 2 <= choice.slots <= 2 * slots


@given(slots=st.integers(1, 64), seen=pressures(), trend=trends())
def test_slots_are_taken_away_only_if_the_rest_would_be_early(
    slots: int, seen: BatchPressure, trend: SlotTrend
) -> None:
    """Under its own model, and never while the source has more or batches are late."""
    choice = choose_slots(slots, seen, trend)
    if seen.trigger and choice.slots < slots <= seen.reach:
        assert predict_seconds(slots, choice.slots, seen) <= AIM * seen.trigger * (1 + 1e-6)
        assert not seen.backlog and seen.seconds <= BEHIND * seen.trigger


@given(slots=st.integers(1, 64), seen=pressures(), trend=trends())
def test_slots_are_added_only_if_it_helps(slots: int, seen: BatchPressure, trend: SlotTrend) -> None:
    """A batch whose time goes elsewhere is not given more tasks."""
    choice = choose_slots(slots, seen, trend)
    if seen.trigger and choice.slots > slots:
        assert predict_seconds(slots, choice.slots, seen) < seen.seconds
        assert seen.seconds > BEHIND * seen.trigger or seen.backlog
        assert seen.in_slots > 0.05 * seen.seconds


@given(
    start=st.integers(1, 32),
    cores=st.integers(1, 32),
    rest=st.floats(0, 0.5),
    work=st.floats(0.01, 20),
    noise=st.lists(st.floats(0.9, 1.1), min_size=80, max_size=80),
)
def test_a_steady_load_settles(start: int, cores: int, rest: float, work: float, noise: list[float]) -> None:
    """Batches that take what the model says, give or take a tenth: slots go one way only, so they stay in the end."""
    slots, trend, history = min(start, cores), SlotTrend(), []
    for factor in noise:
        in_slots = factor * work / slots
        seen = BatchPressure(rest + in_slots, in_slots, 1.0, False, cores, cores)
        choice = choose_slots(slots, seen, trend)
        history.append(choice.slots)
        slots, trend = choice.slots, choice.trend
    changes = [b - a for a, b in zip([min(start, cores), *history], history, strict=False) if a != b]
    assert all(c > 0 for c in changes) or all(c < 0 for c in changes)
    if rest + work / cores < 0.5:
        assert rest + work / slots <= BEHIND / 0.9


def test_slots_are_added_soon_and_taken_away_later() -> None:
    """Two late batches in a row; five early ones in a row, and as many slots as the worst of them needs."""
    late = repeat(2, replace(SEEN, seconds=1.2, in_slots=1.0), SOON)
    assert [c.slots for c in late] == [2, 4] and "1.20 of the trigger" in late[-1].reason
    early = repeat(8, replace(SEEN, seconds=0.15, in_slots=0.1), LATER)
    assert [c.slots for c in early] == [8, 8, 8, 8, 4]  # 2 would do; at least half
    trend = SlotTrend()
    for in_slots in (0.1, 0.1, 0.35, 0.1, 0.1):  # 0.35 · 8 / 0.55 is 5.09
        choice = choose_slots(8, replace(SEEN, seconds=0.05 + in_slots, in_slots=in_slots), trend)
        trend = choice.trend
    assert choice.slots == 6


def test_one_late_batch_or_a_backlog_begins_again() -> None:
    """What is counted is batches in a row."""
    trend = SlotTrend(ahead=LATER - 1, enough=1)
    quick = replace(SEEN, seconds=0.1, in_slots=0.05)
    assert choose_slots(4, quick, trend).slots == 2
    assert choose_slots(4, replace(quick, backlog=True), trend) == SlotChoice(4, SlotTrend(behind=1))
    assert choose_slots(4, replace(SEEN, seconds=0.7), SlotTrend(behind=9)).trend == SlotTrend()


def test_a_backlog_asks_for_more_where_batches_are_not_early() -> None:
    """Between the aim and the trigger a backlog decides; below the aim, more slots would bring nothing."""
    near = replace(SEEN, seconds=0.8, in_slots=0.8)
    assert choose_slots(4, near, SlotTrend(behind=5)).slots == 4
    assert choose_slots(4, replace(near, backlog=True), SlotTrend(behind=5)) == SlotChoice(
        6, reason="the source has more"
    )
    assert choose_slots(4, replace(SEEN, seconds=0.3, in_slots=0.3, backlog=True), SlotTrend(9)).slots == 4


@pytest.mark.parametrize("trigger", [0.0, 1.0])
def test_a_lost_executor_takes_its_slots_at_once(trigger: float) -> None:
    """Whatever the batches say."""
    seen = replace(SEEN, trigger=trigger, cores=3, reach=3)
    assert choose_slots(8, seen, SlotTrend()) == SlotChoice(3, reason="Spark has 3 cores")
    assert choose_slots(8, replace(seen, cores=1, reach=1), SlotTrend()).reason == "Spark has 1 core"
    assert choose_slots(8, replace(seen, cores=0, reach=0), SlotTrend()).slots == 1


def test_without_a_trigger_slots_are_the_cores() -> None:
    """An executor that joins is used by the next batch."""
    seen = replace(SEEN, trigger=0.0)
    assert choose_slots(3, seen, SlotTrend()) == SlotChoice(8, reason="Spark has 8 cores")
    assert choose_slots(8, seen, SlotTrend()) == SlotChoice(8)


def test_where_spark_adds_executors_slots_go_ahead_of_them_and_wait() -> None:
    """With and without a trigger: twice the cores, then nothing more until these have come; back when they do not and nobody waits."""
    for trigger in (0.0, 1.0):
        seen = BatchPressure(2.0, 1.8, trigger, True, cores=2, reach=16)
        assert [c.slots for c in repeat(2, seen, 6)] == [2, 4, 4, 4, 4, 4]
        assert choose_slots(4, replace(seen, cores=4), SlotTrend(behind=SOON)).slots == 8
        assert choose_slots(8, replace(seen, cores=8, reach=9), SlotTrend(behind=SOON)).slots == 9
    assert choose_slots(4, replace(seen, trigger=0.0, backlog=False), SlotTrend()).slots == 2
    fixed = replace(seen, reach=2)
    assert [c.slots for c in repeat(2, fixed, 6)] == [2] * 6
