"""Balance in a run: whatever is moved, rescaled, killed or asked for between batches, results are those of an undisturbed run."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.simulate.random_routes import draw_route
from click.testing import CliRunner

from headrace.balance import POLICIES, read_reports
from headrace.balance.decision import Decision
from headrace.balance.policies import flux_memory
from headrace.cli import main
from headrace.coordinator import balancer
from headrace.errors import OptionError
from headrace.program.limits import Limits
from headrace.state import Manifest
from headrace.state.slot_requests import FOLDER, MOST_SLOTS, check_slot_count, read_requests, request_slots
from headrace.state.split_route import SplitRoute
from headrace.testing import LocalRun

SCRIPT = """
CREATE STREAM a (t BIGINT, k INT, v INT) PROGRESSING ON t SLACK 20 FROM 'memory';
CREATE STREAM b (t BIGINT, k INT, w INT) PROGRESSING ON t SLACK 20 FROM 'memory';
CREATE QUERY slid AS SELECT k, count(*) AS n, sum(v) AS sv FROM a [RANGE 60 SLIDE 20] GROUP BY k;
CREATE QUERY most AS SELECT max(n) AS n, count(*) AS keys FROM slid;
CREATE QUERY pairs AS SELECT a.k, a.v, b.w FROM a JOIN b ON a.k = b.k AND b.t BETWEEN a.t - 30 AND a.t;
CREATE QUERY lonely AS SELECT a.k, a.v, b.w FROM a LEFT JOIN b ON a.k = b.k AND b.t BETWEEN a.t - 5 AND a.t;
"""
QUERIES = ("slid", "most", "pairs", "lonely")
Batch = dict[str, list[tuple[int, int, int]]]


def make_batches(count: int, rows: int = 25, seed: int = 1) -> list[Batch]:
    """Rows out of order, four in ten of them of one key."""
    rng = random.Random(seed)

    def row(i: int) -> tuple[int, int, int]:
        return 40 * i + rng.randrange(60), 0 if rng.random() < 0.4 else rng.randrange(40), rng.randrange(100)

    return [{s: [row(i) for _ in range(rows)] for s in ("a", "b")} for i in range(count)]


BATCHES = make_batches(7)


def results_of(run: LocalRun) -> list[dict[str, list[Any]]]:
    """The results of every batch."""
    return [
        {q: run._read(m.results.get(q, ()), False) for q in QUERIES}
        for m in run.log.since(0)
    ]


@pytest.fixture(scope="module")
def undisturbed() -> list[dict[str, list[Any]]]:
    run = LocalRun(SCRIPT, slots=2)
    for batch in BATCHES:
        run.push(**batch)
    run.flush()
    found = results_of(run)
    assert all(any(batch[q] for batch in found) for q in QUERIES)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_any_route_and_any_number_of_slots_at_every_batch(undisturbed: list[Any], seed: int) -> None:
    """Aggregations, queries over queries and joins, inner and outer, give the same rows in the same batches on random routes
    over a random number of slots, another one in each batch.
    """
    rng = random.Random(seed)
    run = LocalRun(SCRIPT, slots=2)
    choices = []

    def choose_anything(manifest: Manifest, slots: int) -> SplitRoute:
        choices.append(slots)
        return draw_route(rng, manifest, slots, splits=0.9)

    run.driver.balancer.choose_route = choose_anything  # type: ignore[method-assign]
    for batch in [*BATCHES, None]:
        run.rescale(rng.randint(1, 6))
        manifest = run.flush() if batch is None else run.push(**batch)
        assert manifest.slots == choices[-1] == run.slots
    assert results_of(run) == undisturbed and len(set(choices)) > 1


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_gives_the_results_of_an_undisturbed_run(
    undisturbed: list[Any], policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Moves of a policy, and slots that come and go under it, change no row; memory seems so small that policies act."""

    def read_with_little_memory(reports: Any, pids: int, slots: int, before: Any, _: Any) -> Any:
        return read_reports(reports, pids, slots, before, 2_000)

    monkeypatch.setattr(balancer, "read_reports", read_with_little_memory)
    run = LocalRun(SCRIPT, slots=3, balance=policy)
    routes = {run.manifest.route}
    for i, batch in enumerate(BATCHES):
        if i in (3, 5):
            run.rescale(5 if i == 3 else 2)
        routes.add(run.push(**batch).route)
    run.flush()
    assert [m.slots for m in run.log.since(0)] == [3, 3, 3, 5, 5, 2, 2, 2]
    assert results_of(run) == undisturbed
    if policy == "static":
        assert len(routes) == 3  # one for each number of slots
    elif policy in ("flux-memory", "hybrid", "headrace"):  # act on bytes alone, whatever the clock says
        assert len(routes) > 3


@pytest.mark.parametrize(("share", "spills"), [(2_000 / (128 << 20), True), (0.5, False)])
def test_hybrid_balances_memory_where_mini_partitions_take_turns(
    undisturbed: list[Any], monkeypatch: pytest.MonkeyPatch, share: float, spills: bool
) -> None:
    """What waits for its turn is on disk to it, so it gives mini-partitions away by their bytes; with enough memory never."""
    module, asked = sys.modules["headrace.balance.policies.hybrid"], []

    def balance_memory(*given: Any) -> Decision:
        decision = flux_memory(*given)
        asked.append(bool((decision.owners != given[1]).any()))
        return decision

    monkeypatch.setattr(module, "flux_memory", balance_memory)
    run = LocalRun(SCRIPT, slots=3, balance="hybrid", memory=128 << 20, limits=Limits(turn_share=share))
    for batch in BATCHES:
        run.push(**batch)
    run.flush()
    assert results_of(run) == undisturbed
    assert (any(asked), bool(asked)) == (spills, spills)


def test_a_run_that_dies_around_a_decision_goes_on(undisturbed: list[Any], tmp_path: Path) -> None:
    """Killed before a decision is made, before the batch it is for is committed, and right after: a request is carried out once a
    batch is committed with it, not lost before and not repeated after, and no row differs.
    """

    class Killed(Exception):
        pass

    def kill(_: Any) -> None:
        raise Killed

    def start() -> LocalRun:
        return LocalRun(SCRIPT, path=str(tmp_path / "checkpoint"), balance="headrace")

    run = start()
    for i, batch in enumerate(BATCHES):
        if i == 2:
            run.rescale(4)
        if i % 2:  # the work is done and lost
            run.log.publish = kill  # type: ignore[method-assign]
            with pytest.raises(Killed):
                run.push(**batch)
            run.close()
            run = start()
        if i in (3, 4):  # after the commit, with the request's file still there
            request_slots(run.store, 4)
        if i == 4:
            run.driver.make_orders()  # decided, and not carried out
        run.close()
        run = start()
        assert run.push(**batch).slots == (2 if i < 2 else 4)
        assert not read_requests(run.store).paths
    run.flush()
    assert results_of(run) == undisturbed


def test_an_explicit_number_of_slots_at_the_start_outranks_requests(tmp_path: Path) -> None:
    """A request that nobody read takes effect in the next run, unless that one says how many slots it wants."""
    path = str(tmp_path / "checkpoint")
    run = LocalRun(SCRIPT, path=path)
    run.push(**BATCHES[0])
    run.rescale(4)
    run.rescale(3)
    run.close()
    run = LocalRun(SCRIPT, path=path)
    assert run.push(**BATCHES[1]).slots == 3
    run.rescale(4)
    run.close()
    run = LocalRun(SCRIPT, slots=2, path=path)
    assert run.push(**BATCHES[2]).slots == 2


GARBAGE = [b"", b"4", b"[]", b"{", b'{"slots": 0}', b'{"slots": -1}', b'{"slots": 1025}', b'{"slots": true}',
           b'{"slots": 2.5}', b'{"slots": "3"}', b'{"slots": 3, "more": 1}', b"\xff\xfe", b"[" * 900,
           b'{"slots": 3' + b" " * 1000 + b"}"]  # fmt: skip


def test_requests_that_are_garbage_are_refused_and_change_nothing() -> None:
    """Each is named in the report of the next batch and deleted; a good one beside them is carried out; files of other names are
    left alone.
    """
    run = LocalRun(SCRIPT, slots=2)
    for i, content in enumerate(GARBAGE):
        run.store.write(f"{FOLDER}/slots-{i:020d}-{i:032x}.json", content)
    run.store.write(f"{FOLDER}/notes.txt", b"mine")
    manifest = run.push(**BATCHES[0])
    assert manifest.slots == 2 and len(manifest.report["notes"]) == len(GARBAGE)
    assert all("is no request and was deleted" in note for note in manifest.report["notes"])
    assert run.store.list(FOLDER) == [f"{FOLDER}/notes.txt"]
    run.store.write(f"{FOLDER}/slots-{0:020d}-{0:032x}.json", GARBAGE[0])
    run.rescale(MOST_SLOTS)
    run.rescale(3)
    assert run.push(**BATCHES[1]).slots == 3
    assert len(run.manifest.report["notes"]) == 1
    run.push(**BATCHES[2])
    assert run.slots == 3 and not run.manifest.report["notes"]


@pytest.mark.parametrize("bad", [0, -1, MOST_SLOTS + 1, True, 2.0, "2", None])
def test_a_number_of_slots_that_is_none_is_refused_where_it_is_given(bad: Any) -> None:
    """The run, the session and the request say what was expected; nothing is left behind."""
    with pytest.raises(OptionError, match=f"expected 1 to {MOST_SLOTS}, got"):
        check_slot_count(bad)
    assert check_slot_count(1) == 1 and check_slot_count(MOST_SLOTS) == MOST_SLOTS


def test_reports_tell_the_load_of_slots_and_mini_partitions() -> None:
    """The manifest has what each slot and mini-partition did, and the report the imbalance and the moves."""
    run = LocalRun(SCRIPT, slots=3)
    before = run.push(**BATCHES[0])
    run.rescale(2)
    manifest = run.push(**BATCHES[1])
    report, by_slot, by_pid = manifest.report, manifest.load["by_slot"], manifest.load["by_pid"]
    assert len(by_slot["busy"]) == len(report["slot_loads"]) == 2 and min(by_slot["busy"]) > 0
    mean = sum(by_slot["busy"]) / 2
    assert report["imbalance"] == pytest.approx(max(by_slot["busy"]) / mean, abs=0.01)
    assert (
        min(by_slot["peak_memory"]) > 1 << 20
        and len(set(by_slot["executor"])) == 1
        and all(by_slot["executor"])
    )
    assert min(by_slot["waited_for_input"]) >= 0
    assert sum(by_pid["state_rows"]) == sum(m.live_rows for m in manifest.segments) > 0
    assert (
        max(by_pid["last_touch"]) == manifest.version
        and 1 in by_pid["last_touch"]
        and -1 in by_pid["last_touch"]
    )
    assert sum(by_pid["results"]) > 0 and sum(by_pid["rows"]) > 0
    assert [s["seconds"] for s in report["slot_loads"]] == pytest.approx(by_slot["busy"], abs=1e-5)
    moved = [[pid, a, b] for pid, (a, b) in enumerate(zip(before.route, manifest.route, strict=True)) if a != b]
    assert 0 < len(report["moves"]) <= len(moved) and before.report["moves"] == []
    assert [d != "0" for d in report["heat"]] == [rows > 0 for rows in by_pid["rows"]]


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(main, list(arguments))


def test_slots_of_a_checkpoint_are_asked_for_on_the_command_line(tmp_path: Path) -> None:
    """`headrace slots DIR N` is carried out by the next batch of the run there; bad input is refused and leaves nothing."""
    path = str(tmp_path / "checkpoint")
    run = LocalRun(SCRIPT, slots=2, path=path)
    run.push(**BATCHES[0])
    for bad in ("0", "-3", "1025", "many", "2.5"):
        assert invoke("slots", path, bad).exit_code == 2
    assert (
        invoke("slots", str(tmp_path / "nowhere"), "3").exit_code == 2 and not (tmp_path / "nowhere").exists()
    )
    assert not run.store.list(FOLDER)
    said = invoke("slots", path, "3")
    assert (
        said.exit_code == 0
        and said.output == "asked for 3 slots from the next batch on; the last one had 2\n"
    )
    assert run.push(**BATCHES[1]).slots == 3


def test_the_load_is_shown_by_slot_and_by_mini_partition(tmp_path: Path) -> None:
    """`headrace state --by` tells what the last batch's report has, as a table or as JSON."""
    path = str(tmp_path / "checkpoint")
    run = LocalRun(SCRIPT, slots=3, path=path)
    manifest = run.push(**BATCHES[0])
    pids = json.loads(invoke("state", path, "--by", "pid", "--format", "json").output)
    assert [p["pid"] for p in pids] == list(range(run.program.pids))
    assert [p["slot"] for p in pids] == list(manifest.route)
    assert [p["rows"] for p in pids] == manifest.load["by_pid"]["rows"] and sum(p["rows"] for p in pids) > 0
    slots = json.loads(invoke("state", path, "--by", "slot", "--format", "json").output)
    assert [s["busy"] for s in slots] == manifest.load["by_slot"]["busy"]
    assert sum(s["over_mean"] for s in slots) == pytest.approx(3, abs=0.01)
    table = invoke("state", path, "--by", "pid").output
    first = next(cells for line in table.splitlines() if (cells := line.split()) and cells[0].isdigit())
    heaviest = max(pids, key=lambda p: (p["rows"], p["state_bytes"]))
    assert first[:3] == [str(heaviest["pid"]), str(heaviest["slot"]), str(heaviest["rows"])]
    assert f"… {len(pids) - 20} more" in table
    assert "…" not in invoke("state", path, "--by", "pid", "--all").output
    assert "executor" in invoke("state", path, "--by", "slot").output
    run.log.publish(replace(manifest, version=2, load={}))
    assert "before slots reported their load" in invoke("state", path, "--by", "pid").output
