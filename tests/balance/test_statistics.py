"""Statistics from reports, smoothed rates, the model of seconds, and the controller's step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headrace.balance.controller import ControllerState, add_statistics, control
from headrace.balance.executor_pace import learn_pace, remove_pace
from headrace.balance.find_policy import find_policy
from headrace.balance.seconds_model import learn_seconds, price_pids, start_model
from headrace.balance.smooth_rates import observe_rates, start_rates
from headrace.balance.statistics import (
    Activity,
    Statistics,
    make_pid_statistics,
    make_slot_statistics,
    measure_imbalance,
    read_reports,
    sum_by_slot,
)
from headrace.errors import OptionError
from headrace.program.messages import NodeActivity, SlotReport, Timings


def report(slot: int, level: int, total: float, pids: tuple[int, ...], rows: tuple[int, ...]) -> SlotReport:
    activity = NodeActivity("n", pids, rows, rows, tuple(10 * r for r in rows), tuple(0 for _ in rows))
    return SlotReport(7, slot, level, {}, (), (), {}, (activity,), Timings(0.1, 0.2, 0.3, total))


def test_reports_become_statistics() -> None:
    """Rows add up over levels, each level waits for its slowest slot, and a resting mini-partition keeps its last touch."""
    reports = [
        report(0, 0, 1.0, (0,), (5,)),
        report(1, 0, 3.0, (1, 2), (7, 0)),
        report(0, 1, 2.0, (0,), (1,)),
        report(1, 1, 0.5, (), ()),
    ]
    seen, nodes = read_reports(reports, 4, 2)
    assert seen.pids.rows.tolist() == [6.0, 7.0, 0.0, 0.0] and seen.seconds == 5.0
    assert seen.pids.state_bytes.tolist() == [60.0, 70.0, 0.0, 0.0]
    assert seen.slots.busy.tolist() == [3.0, 3.5] and seen.slots.wait.tolist() == [2.0, 1.5]
    assert seen.slots.load.tolist() == [0.2, 0.2] and seen.slots.utilisation.tolist() == [0.6, 0.7]
    assert seen.pids.last_touch.tolist() == [7, 7, -1, -1]
    assert nodes["n"].rows.tolist() == [6.0, 7.0, 0.0, 0.0]
    later, _ = read_reports([report(0, 0, 1.0, (2,), (1,))], 4, 2, seen)
    assert later.pids.last_touch.tolist() == [7, 7, 7, -1]


def test_what_waits_for_its_turn_is_on_disk() -> None:
    """Mini-partitions beyond what may be in memory at once have later turns, and the paper's memory policies see them."""
    reports = [report(0, 0, 1.0, (0, 1, 2), (5, 5, 5)), report(1, 0, 1.0, (3,), (50,))]
    seen, _ = read_reports(reports, 4, 2, memory=110)
    assert seen.pids.on_disk.tolist() == [False, False, True, False]
    assert seen.slots.memory.tolist() == [110.0, 110.0]
    assert not read_reports(reports, 4, 2)[0].pids.on_disk.any() and not read_reports(reports, 4, 2, memory=150)[0].pids.on_disk.any()


def test_imbalance_is_the_slowest_over_the_mean() -> None:
    """Nothing at all is balanced."""
    assert measure_imbalance(np.array([1.0, 2.0, 3.0])) == 1.5
    assert measure_imbalance(np.zeros(3)) == 1.0


def test_smoothed_rates_settle_on_noise_and_follow_a_jump() -> None:
    """The error of the mean shrinks well below that of an observation and covers the truth; a jump is followed at once."""
    random = np.random.default_rng(1)
    rates = start_rates(500)
    for _ in range(60):
        rates = observe_rates(rates, random.normal(100.0, 10.0, 500), np.full(500, 4.0))
    assert 2.5 < float(np.median(rates.error)) < 5.0
    assert np.mean(np.abs(rates.mean - 100.0) < 3 * rates.error) > 0.95
    rates = observe_rates(rates, np.full(500, 200.0), np.full(500, 4.0))
    assert float(np.median(rates.mean)) == 200.0
    kept = observe_rates(rates, np.zeros(500), np.full(500, 4.0), np.arange(500) > 0)
    assert kept.mean[0] == rates.mean[0] and kept.rounds[0] == rates.rounds[0]


def test_the_model_learns_what_rows_state_and_results_cost() -> None:
    """Prices of mini-partitions approach the truth, the error reported is that of the noise, and no price is negative."""
    random = np.random.default_rng(2)
    owners = np.arange(64) % 8
    model = start_model(("a", "b"))
    for _ in range(80):
        nodes = {
            name: Activity(*(random.uniform(0, 1000, 64) * (random.random(64) < 0.6) for _ in range(3)))
            for name in ("a", "b")
        }
        true = 3e-5 * nodes["a"].rows + 1e-6 * nodes["a"].state_rows + 2e-5 * nodes["b"].results
        busy = (0.02 + sum_by_slot(true, owners, 8)) * (1 + 0.02 * random.standard_normal(8))
        seen = Statistics(1.0, make_pid_statistics(np.zeros(64)), make_slot_statistics(busy, np.zeros(8)))
        model = learn_seconds(model, nodes, seen, owners)
    priced = price_pids(model, nodes)
    assert priced.min() >= 0 and np.corrcoef(priced, true)[0, 1] > 0.995
    assert priced.sum() == pytest.approx(true.sum(), rel=0.05)
    assert 0.01 < model.error < 0.04


def test_the_model_survives_batches_that_are_all_alike() -> None:
    """What cannot be told apart does not drift: predictions stay right for thousands of equal batches."""
    owners = np.arange(16) % 4
    nodes = {"a": Activity(np.full(16, 100.0), np.full(16, 50.0), np.zeros(16))}
    seen = Statistics(
        1.0, make_pid_statistics(np.full(16, 100.0)), make_slot_statistics(np.full(4, 0.2), np.zeros(4))
    )
    model = start_model(("a",))
    for _ in range(1500):
        model = learn_seconds(model, nodes, seen, owners)
    assert model.error < 1e-3 and np.isfinite(model.coefficients).all()


def step(state: ControllerState, rows: np.ndarray, route: tuple, count: int, **more: int):  # type: ignore[type-arg, no-untyped-def]
    from headrace.state.split_route import list_leaves

    owners = list_leaves(route)[1]
    busy = sum_by_slot(rows, owners, count) * 1e-4
    pids = make_pid_statistics(rows, state_bytes=np.full(len(rows), 100.0))
    seen = Statistics(1.0, pids, make_slot_statistics(busy, busy.max() - busy))
    return control(
        state, seen, {"n": Activity(rows, np.zeros(len(rows)), np.zeros(len(rows)))}, route, **more
    )


def test_the_controller_balances_and_numbers_the_heaviest_first() -> None:
    """A skewed route becomes level in a few steps; slots are numbered by falling load; static leaves all as it is."""
    rows = np.array([900.0, 800.0, 700.0, 600.0] + [100.0] * 12) * 100
    route = (1, 1, 1, 1, *([0, 2, 3] * 4))
    done = step(ControllerState(), rows, route, 4)
    assert done.moved and done.imbalance == pytest.approx(3000 / 1050)
    for _ in range(4):
        done = step(done.state, rows, done.route, 4)
    loads = sum_by_slot(rows, np.array(done.route), 4)
    assert loads.max() <= 1.1 * loads.mean() and (loads[:-1] >= loads[1:] / 1.1).all()
    assert step(ControllerState("static"), rows, route, 4).route == route


def test_the_controller_rescales_when_asked() -> None:
    """Another number of slots is a route over just these."""
    rows = np.full(12, 100.0)
    done = step(ControllerState(), rows, tuple(p % 3 for p in range(12)), 3, slots=5)
    assert done.slots == 5 and set(done.route) == {0, 1, 2, 3, 4}
    back = step(done.state, rows, done.route, 5, slots=2)
    assert set(back.route) == {0, 1} and sum_by_slot(rows, np.array(back.route), 2).tolist() == [600.0, 600.0]


def test_the_controller_splits_only_where_the_runtime_can() -> None:
    """A mini-partition above a slot's share is split if splits are on, and then nothing else moves in that step."""
    rows = np.array([1000.0, 100.0, 100.0, 100.0])
    seen = step(ControllerState(splits=True), rows, (0, 1, 0, 1), 2)
    on = step(seen.state, rows, (0, 1, 0, 1), 2)
    assert on.route == ((((0, 0), (0, 0)), ((0, 0), (0, 0))), 1, 0, 1) and on.split and not on.moved
    off = step(step(ControllerState(), rows, (0, 1, 0, 1), 2).state, rows, (0, 1, 0, 1), 2)
    assert all(isinstance(b, int) for b in off.route)


def test_batches_add_up_until_the_collection_is_over() -> None:
    """Counted things add up, state is the later; a policy is asked when its time is over."""
    one = Statistics(1.0, make_pid_statistics([1.0, 2.0]), make_slot_statistics([1.0], [0.5]))
    two = Statistics(
        2.0, make_pid_statistics([3.0, 4.0], state_bytes=[5.0, 6.0]), make_slot_statistics([1.0], [0.0])
    )
    both = add_statistics(one, two)
    assert (
        both.seconds == 3.0
        and both.pids.rows.tolist() == [4.0, 6.0]
        and both.pids.state_bytes.tolist() == [5.0, 6.0]
    )
    assert both.slots.busy.tolist() == [2.0] and both.slots.wait.tolist() == [0.5]
    waiting = step(ControllerState(collect=2.5), np.array([9.0, 1.0, 9.0, 1.0]), (0, 1, 0, 1), 2)
    assert waiting.state.gathered is not None and not waiting.moved


def test_a_wrong_policy_name_says_which_there_are() -> None:
    """The message lists the names."""
    with pytest.raises(OptionError, match="flux-load"):
        find_policy("fluks")


def test_a_policy_has_the_parameters_it_is_given() -> None:
    """With others than the paper's it decides otherwise; with the paper's, and without any, as the paper's does."""
    owners = np.array([0, 0, 1])
    rows = np.array([60.0, 40.0, 80.0])
    seen = Statistics(1.0, make_pid_statistics(rows), make_slot_statistics([0.9, 0.5], [0.1, 0.5]))
    texts = ("flux-load", "flux-load:th_imb=1.2,delta_min=0.01", "flux-load:th_imb=2", "hybrid: delta_min = 3 , th_imb = 2")
    decisions = [find_policy(text)(seen, owners, None) for text in texts]
    assert [d.owners.tolist() for d in decisions] == [[0, 1, 1], [0, 1, 1], [0, 0, 1], [0, 0, 1]]
    assert [d.collect for d in decisions] == [0.01, 0.01, 0.5, 3.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("flux-load:th=2", "the balance policy flux-load has no parameter 'th'; it has delta_min, th_imb, th_util"),
        ("hybrid:", "the balance policy hybrid has no parameter ''"),
        ("flux-memory:th_imb=0.5", "th_imb of the balance policy flux-memory is '0.5'; expected a number of at least 1"),
        ("flux-load:delta_min=soon", "delta_min of the balance policy flux-load is 'soon'; expected a number of at least 0"),
        ("flux-load:delta_min=nan", "expected a number"),
        ("flux-load:th_util=inf", "expected a number"),
        ("headrace:th_imb=2", "the balance policy headrace has no parameters; flux-load, flux-memory, hybrid have"),
        ("fluks:th_imb=2", "there is no balance policy 'fluks'"),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_named(text: str, message: str) -> None:
    """With what there is, or what is expected."""
    with pytest.raises(OptionError, match=message):
        find_policy(text)


def test_the_pace_of_an_executor_is_taken_out_of_its_slots() -> None:
    """Slots alike in work, of which those on one executor took twice as long: without that pace they took alike. A single executor,
    and one that has no name, have none.
    """
    owners = np.array([0, 1, 2, 3])
    work, busy = np.array([1.0, 2.0, 1.0, 2.0]), np.array([1.0, 4.0, 2.0, 2.0])
    slots = make_slot_statistics(busy, busy.max() - busy, executor=("a", "b", "b", "a"))
    seen = Statistics(4.0, make_pid_statistics(work), slots)
    pace = learn_pace({}, seen, work, owners)
    assert pace["b"] == pytest.approx(2 * pace["a"])
    alike = remove_pace(seen, pace).slots
    assert alike.busy / work == pytest.approx(np.full(4, alike.busy[0])) and alike.wait.min() == 0
    later = learn_pace({"a": 1.0, "b": 1.0, "gone": 3.0}, seen, work, owners)
    assert 1.0 < later["b"] < pace["b"] and set(later) == {"a", "b"}
    for names in (("a",) * 4, ("a", "", "a", "b")):
        other = replace(seen, slots=replace(slots, executor=names))
        assert learn_pace({}, other, work, owners) == {} and remove_pace(other, {}) is other
