"""A set changed between two batches is the set changed by stop and restart, whatever dies in between."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from headrace.cli import main
from headrace.errors import CheckpointError, HeadraceError, OptionError
from headrace.program.limits import Limits
from headrace.state.set_requests import SetChange, read_changes, request_change
from headrace.testing import LocalRun

STREAMS = """
CREATE STREAM s (ts BIGINT, k STRING, g INT, v INT) PROGRESSING ON ts SLACK 3 FROM 'memory';
CREATE STREAM r (ts BIGINT, k STRING, w INT) PROGRESSING ON ts SLACK 3 FROM 'memory';
CREATE TABLE t (k STRING, name STRING) FROM 'memory';
"""
QUERIES = {
    "counts": "SELECT k, count(*) AS n FROM s [RANGE 10] GROUP BY k",
    "sums": "SELECT k, sum(v) AS total FROM s [RANGE 10] GROUP BY k",
    "slides": "SELECT k, max(v) AS most FROM s [RANGE 20 SLIDE 10] GROUP BY k",
    "coarse": "SELECT g, count(*) AS n FROM s [RANGE 10] WHERE v > 3 GROUP BY g",
    "raw": "SELECT ts, k, v FROM s WHERE v > 7",
    "joined": "SELECT s.k, s.v, r.w FROM s JOIN r ON s.k = r.k AND r.ts BETWEEN s.ts - 4 AND s.ts + 4",
    "left_out": "SELECT s.k, s.v FROM s WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = s.k AND r.ts BETWEEN s.ts - 2 AND s.ts)",
    "named": "SELECT t.name, count(*) AS n FROM s [RANGE 10] JOIN t ON s.k = t.k GROUP BY t.name",
    "distinct": "SELECT DISTINCT ts, g FROM s",
}
NAMES = [("a", "Anna"), ("b", "Bert"), ("c", None)]


def write_set(names: list[str]) -> str:
    return STREAMS + "".join(f"CREATE QUERY {n} AS {QUERIES[n]};\n" for n in names)


def make_batch(rng: random.Random, number: int) -> dict[str, list[tuple[Any, ...]]]:
    at = lambda: max(0, number * 6 + rng.randint(-5, 5))  # noqa: E731
    s = [(at(), rng.choice("abcd"), rng.randrange(3), rng.randrange(12)) for _ in range(rng.randint(0, 14))]
    return {"s": s, "r": [(at(), rng.choice("abcd"), rng.randrange(9)) for _ in range(rng.randint(0, 8))]}


def start(path: Path, names: list[str], slots: int | None = 2) -> LocalRun:
    return LocalRun(write_set(names), slots, path=str(path), tables={"t": NAMES}, limits=Limits(mini_partitions=4, compact_every=3))


class Killed(BaseException):
    """The process ends here."""


def kill_at(run: LocalRun, patch: pytest.MonkeyPatch, step: int) -> None:
    """The run dies at the so-manieth thing that it would write or delete from here on."""
    count = [0]
    for name in ("write", "publish", "delete"):
        real = getattr(type(run.store), name)

        def die(store: Any, *args: Any, real: Any = real) -> Any:
            count[0] += 1
            if count[0] > step:
                raise Killed
            return real(store, *args)

        patch.setattr(type(run.store), name, die)


SEEDS = [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 200))]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_set_changed_live_is_the_set_changed_by_restart(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random sets and changes; the run that changes live dies now and then, and goes on with the set that was committed."""
    rng = random.Random(seed)
    names = rng.sample(sorted(QUERIES), rng.randint(1, 4))
    live, other = start(tmp_path / "live", names), start(tmp_path / "other", names)
    left = [n for n in QUERIES if n not in names]
    kills = changes = 0
    for number in range(10):
        batch = make_batch(rng, number)
        now = list(names)
        if number and rng.random() < 0.5:
            drop = rng.sample(names, rng.randint(0, len(names) - 1))
            add = rng.sample(left, min(len(left), rng.randint(0 if drop else 1, 2)))
            now = [n for n in names if n not in drop] + add
            left = [n for n in left if n not in add]
            changes += bool(add or drop)
        added = "".join(f"CREATE QUERY {n} AS {QUERIES[n]};" for n in now if n not in names)
        change = SetChange(added, tuple(n for n in names if n not in now))
        if now != names:
            other.close()
            other = start(tmp_path / "other", now, None)
        other.push(**batch)
        asked = rng.random() < 0.5
        if now != names and asked:
            request_change(live.store, change)
        elif now != names:
            live.change(change.add, change.drop)
        for _ in range(rng.choice([0, 0, 1, 2])):
            before, step = live.manifest.version, rng.randrange(40)
            with monkeypatch.context() as patch:
                kill_at(live, patch, step)
                try:
                    live.push(**batch)
                except Killed:
                    kills += 1
            live.close()
            done = live.log.__class__(live.store).latest()
            committed = done is not None and done.version > before
            live = start(tmp_path / "live", now if committed or (asked and now == names) else names, None)
            assert live.manifest.version == before + committed
            if committed:
                break
            if now != names and not asked:
                live.change(change.add, change.drop)
        if live.manifest.version <= number:
            live.push(**batch)
        assert live.manifest.version == number + 1
        assert live.driver.epoch.queries == other.driver.epoch.queries, change
        assert live.manifest.promises == other.manifest.promises
        names = now
    live.flush()
    other.flush()
    for name in live.driver.epoch.record.queries:
        assert live.rows(name) == other.rows(name), (name, QUERIES[name])
    assert [n.name for n in live.program.nodes] == [n.name for n in other.program.nodes]
    assert dict(live.driver.epoch.record.born) == dict(other.driver.epoch.record.born)
    assert changes


def test_what_does_not_fit_is_refused_before_anything_changes(tmp_path: Path) -> None:
    """The epoch, the plan and the files are as they were, and the run goes on."""
    run = start(tmp_path / "c", ["counts", "sums"])
    with pytest.raises(OptionError, match="when its first batch is committed"):
        run.change(drop=["sums"])
    run.push(**make_batch(random.Random(1), 1))
    epoch, files = run.driver.epoch, run.store.list()
    refused = [
        ("CREATE QUERY counts AS SELECT k FROM s;", (), "counts"),
        ("CREATE QUERY x AS SELECT nothing FROM s;", (), "nothing"),
        ("CREATE QUERY x AS SELECT count(*) AS n FROM s [RANGE ALL SLIDE 5];", (), "landmark window"),
        ("CREATE STREAM x (ts BIGINT) PROGRESSING ON ts ORDERED FROM 'memory';", (), "no new stream"),
        ("", ("sum",), "no query 'sum' to drop. Did you mean"),
        ("", ("counts", "sums"), "none would be left"),
    ]
    for add, drop, said in refused:
        with pytest.raises(HeadraceError, match=said):
            run.change(add, drop)
        assert run.driver.epoch is epoch
        assert run.store.list() == files
    run.change(f"CREATE QUERY total AS SELECT sum(n) AS n FROM counts [RANGE 10]; CREATE QUERY raw AS {QUERIES['raw']}", ["sums"])
    with pytest.raises(HeadraceError, match="counts"):
        run.change(drop=["counts"])  # total reads it
    notes = run.push(**make_batch(random.Random(2), 2)).report["notes"]
    assert "the set changes with this batch: it adds total, raw and drops sums" in notes
    with pytest.raises(CheckpointError, match="was removed from this checkpoint before"):
        run.change(f"CREATE QUERY sums AS {QUERIES['sums']}")
    assert run.rows("raw")


def test_requests_that_are_none_are_refused_in_the_report(tmp_path: Path) -> None:
    """And deleted; a change that was made already changes nothing."""
    run = start(tmp_path / "c", ["counts"])
    run.push(**make_batch(random.Random(1), 1))
    change = SetChange(f"CREATE QUERY raw AS {QUERIES['raw']};")
    request_change(run.store, change)
    request_change(run.store, change)
    request_change(run.store, SetChange("CREATE QUERY"))
    request_change(run.store, SetChange(drop=("nobody",)))
    path = f"requests/set-{9:020d}-{'0' * 32}.json"
    run.store.write(path, b'{"add": 7}')
    notes = run.push(**make_batch(random.Random(2), 2)).report["notes"]
    assert len([note for note in notes if "was refused" in note]) == 3
    assert any("it is no request: expected" in note for note in notes)
    assert run.driver.epoch.queries == ("counts", "raw")
    assert not list(read_changes(run.store))
    run.push(**make_batch(random.Random(3), 3))
    epoch = run.manifest.epoch
    run.close()
    again = start(tmp_path / "c", ["counts", "raw"], None)
    assert again.push(**make_batch(random.Random(4), 4)).epoch == epoch, "it is the same epoch"


def test_a_manifest_names_its_epoch_and_old_ones_go(tmp_path: Path) -> None:
    """Each version says by what its batch went; records that no version to go back to names are deleted."""
    run = start(tmp_path / "c", ["counts"])
    seen = [run.push(**make_batch(random.Random(1), 1)).epoch]
    for number, name in enumerate(("sums", "raw", "coarse"), 2):
        run.change(f"CREATE QUERY {name} AS {QUERIES[name]};")
        seen.append(run.push(**make_batch(random.Random(number), number)).epoch)
    assert len(set(seen)) == 4
    assert set(run.store.list("epochs")) == {*seen[-2:], seen[-3]} & set(run.store.list("epochs")) >= set(seen[-2:])
    run.close()
    shown = CliRunner().invoke(main, ["state", str(tmp_path / "c"), "--format", "json"])
    assert seen[-1] in shown.output
