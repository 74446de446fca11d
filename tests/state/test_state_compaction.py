"""Compaction: the same rows in fewer files, whatever happens meanwhile, and old rows away by choice."""

from __future__ import annotations

import math
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from state_samples import commit_rows, manifest, read_numbers

from headrace.errors import CheckpointError
from headrace.state import Kind, ManifestLog, PartKey, Retention, Store, compact_checkpoint, split_versions
from headrace.state.compaction import choose_pages, unite_pages
from headrace.state.history import HistoryPage, Loss, PageName, follow
from headrace.state.manifest import path_of

SMALL = Retention(keep=3, step=4, fanout=3, grace=-1.0)


@pytest.fixture(params=["local", "remote"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """The same behaviour on the local disk and on a file system of pyarrow (in memory)."""
    return Store.open(str(tmp_path / "ck") if request.param == "local" else "mock:///ck")


def fill(store: Store, versions: int, first: int = 1) -> list[int]:
    log = ManifestLog(store)
    return [n for version in range(first, versions + 1) for n in commit_rows(log, version)]


def test_compaction_keeps_every_row_in_its_order(store: Store) -> None:
    """Batch after batch, compacted now and then: the same rows, in the same order, in a few files."""
    log, rows = ManifestLog(store), []
    for version in range(1, 121):
        rows += commit_rows(log, version)
        if version % 4 == 0:
            compact_checkpoint(store, SMALL)
        if version % 10 == 0:
            for reader in (ManifestLog(store), log):
                assert read_numbers(reader) == rows
                assert read_numbers(reader, late=True) == list(range(1, version + 1))
                assert reader.latest() == manifest(version, segments=(), **outputs_of(reader, version))
    assert len(store.list("history")) <= 3 * 4
    assert len(store.list("manifests")) <= 3 + 4
    assert len(store.list("results")) <= 2 * (3 + 4) + 3 * 4
    assert ManifestLog(store).faults() == []


def outputs_of(log: ManifestLog, version: int) -> dict[str, Any]:
    found = log.read(version)
    return {"outputs": found.outputs}


def test_a_whole_compaction_leaves_next_to_nothing(store: Store) -> None:
    """Asked for by hand, all versions but the last two become one page with one file for each query and stream."""
    rows = fill(store, 30)
    done = compact_checkpoint(store, SMALL, whole=True)
    assert (done.moved, done.expired) == (28, 0)
    assert store.list("history") == [PageName(1, 28).path]
    assert store.list("manifests") == [path_of(29), path_of(30)]
    assert len(store.list("results")) == 1 + 2 * 2
    assert read_numbers(ManifestLog(store)) == rows
    assert compact_checkpoint(store, SMALL, whole=True).moved == 0
    rows += fill(store, 40, 31)
    compact_checkpoint(store, SMALL, whole=True)
    assert store.list("history") == [PageName(1, 38).path]
    assert read_numbers(ManifestLog(store)) == rows


class Crash(BaseException):
    """The process ends here."""


def crash_at(monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    """From the `call`-th change of the store on, nothing happens any more: before, in the middle of, or after it."""
    left = call

    def guarded(name: str) -> None:
        real = getattr(Store, name)

        def change(self: Store, *args: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Crash
            done = real(self, *args)
            if left == 0:
                left = -1
                raise Crash
            return done

        monkeypatch.setattr(Store, name, change)

    for name in ("write", "publish", "open_output", "sync", "delete"):
        guarded(name)


def test_a_crash_at_any_point_changes_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut off after its first, second, … change, a compaction leaves all rows readable, and the next one finishes."""
    crashes = 0
    for call in range(1, 200):
        store = Store.open(str(tmp_path / str(call)))
        rows = fill(store, 16)
        compact_checkpoint(store, SMALL)
        rows += fill(store, 30, 17)
        with monkeypatch.context() as patch:
            crash_at(patch, call)
            try:
                compact_checkpoint(store, SMALL)
            except Crash:
                crashes += 1
        assert read_numbers(ManifestLog(store)) == rows, f"after {call} changes"
        compact_checkpoint(store, SMALL)
        reader = ManifestLog(store)
        assert read_numbers(reader) == rows
        assert reader.faults() == []
        assert set(store.list("results")) == {file.path for file in reader.results("flows")}
        if crashes < call:
            break
    assert crashes > 50


def test_a_reader_that_slept_finds_everything(store: Store) -> None:
    """A log listed before any compaction, and one in the middle, read on after their files have gone."""
    rows = fill(store, 12)
    readers = [ManifestLog(store), ManifestLog(store)]
    assert read_numbers(readers[0]) == rows
    assert readers[1].latest() == manifest(12, segments=(), **outputs_of(readers[1], 12))
    for last in (24, 48, 96):
        rows += fill(store, last, last // 2 + 1)
        compact_checkpoint(store, SMALL)
    assert not store.exists(path_of(12))
    for reader in readers:
        assert reader.latest() is not None
        assert reader.latest().version == 96  # type: ignore[union-attr]
        assert read_numbers(reader) == rows


def test_what_was_superseded_stays_for_a_while(tmp_path: Path) -> None:
    """A reader that has listed files can open every one of them until the grace time is over, however old they are."""
    store = Store.open(str(tmp_path))
    fill(store, 20)
    for path in store.list():
        os.utime(tmp_path / path, (1.0, 1.0))
    before = ManifestLog(store).results("flows")
    patient = Retention(keep=3, step=4, fanout=3, grace=100.0)
    assert compact_checkpoint(store, patient).moved == 17
    assert all(store.exists(file.path) for file in before)
    assert store.exists(path_of(1))
    after = ManifestLog(store).results("flows")
    for path in store.list("history"):
        os.utime(tmp_path / path, (time.time() - 101,) * 2)
    assert compact_checkpoint(store, patient).deleted == 17 + 2 * 17 + 17
    assert not store.exists(before[0].path)
    assert not store.exists(path_of(1))
    assert ManifestLog(store).results("flows") == after


def test_pages_that_are_written_anew_do_not_hold_up_the_rest(tmp_path: Path) -> None:
    """What a page has replaced for long enough goes, although the page itself has just been replaced by another edition."""
    store = Store.open(str(tmp_path))
    log = ManifestLog(store)
    for version in range(1, 21):
        commit_rows(log, version, at=time.time() - 200 + 8 * version)
    patient = Retention(keep=3, step=4, fanout=3, grace=100.0)
    compact_checkpoint(store, patient)
    os.utime(tmp_path / PageName(1, 17).path, (time.time() - 101,) * 2)
    assert compact_checkpoint(store, Retention(keep=3, step=4, fanout=3, grace=100.0, retain=60.0)).expired > 0
    assert store.list("history") == [PageName(1, 17).path, PageName(1, 17, 1).path]
    assert store.list("manifests") == [path_of(18), path_of(19), path_of(20)]


def test_results_expire_by_choice(store: Store) -> None:
    """With a time to retain, files of older commits go, oldest first, and the numbers of the rows that stay do not change."""
    log, now, rows = ManifestLog(store), time.time(), {}
    for version in range(1, 61):
        rows[version] = commit_rows(log, version, at=now - 60 + version)
    hours = Retention(keep=3, step=4, fanout=3, grace=-1.0, retain=20.0)
    done = compact_checkpoint(store, hours)
    left = read_numbers(log := ManifestLog(store))
    everything = [n for version in rows.values() for n in version]
    assert left == everything[-len(left) :]
    kept = [version for version in rows if set(rows[version]) <= set(left)]
    assert 38 <= kept[0] <= 42
    assert done.expired == 0  # they were left out of the page at once
    assert log.list_results("flows").starts[0] == len(everything) - len(left)
    assert not any(int(p.split("/")[-1][:12]) < 38 for p in store.list("results"))
    later = compact_checkpoint(store, Retention(keep=3, step=4, fanout=3, grace=-1.0, retain=5.0))
    assert later.expired > 0
    log = ManifestLog(store)
    assert read_numbers(log) == everything[-len(read_numbers(log)) :]
    assert 54 * 100 <= min(read_numbers(log)) < 58 * 100
    assert log.list_results("flows").starts[0] == len(everything) - len(read_numbers(log))


def test_without_a_choice_nothing_expires(store: Store) -> None:
    """Rows committed half a century ago stay if nobody says how long to retain them."""
    rows = fill(store, 40)
    compact_checkpoint(store, SMALL)
    assert read_numbers(ManifestLog(store)) == rows


def test_a_quiet_checkpoint_expires_too(store: Store) -> None:
    """Fewer versions than are worth a page are moved all the same once they have expired."""
    fill(store, 6)
    compact_checkpoint(store, Retention(keep=3, step=1000, grace=-1.0, retain=60.0))
    assert min(read_numbers(ManifestLog(store))) // 100 == 4


def test_a_damaged_manifest_is_remembered_and_set_aside(store: Store) -> None:
    """Compaction goes on past it; its files stay, it is kept under damaged/, and the history says what is missing."""
    fill(store, 20)
    damaged = store.read(path_of(5))[:-9]
    store.delete(path_of(5))
    store.write(path_of(5), damaged)
    store.delete(path_of(7))
    for _ in range(2):
        compact_checkpoint(store, SMALL)
        log = ManifestLog(store)
        assert {n // 100 for n in read_numbers(log)} == set(range(1, 21)) - {5, 7}
        assert [(loss.first, loss.last) for loss in log.faults()] == [(5, 5), (7, 7)]
        assert "000000000005.json is damaged" in log.faults()[0].why
    compact_checkpoint(store, SMALL, whole=True)
    assert len(ManifestLog(store).faults()) == 2
    assert store.list("damaged") == ["damaged/000000000005.json"]
    assert store.read("damaged/000000000005.json") == damaged
    spared = {f"results/flows/{version:012d}-{file}.parquet" for version in (5, 7) for file in (0, 1)}
    assert spared <= set(store.list("results"))


def test_a_damaged_page_is_replaced_by_what_it_replaced_or_reported(store: Store) -> None:
    """While the manifests are still there nothing is missing; afterwards the versions of the page are, and only they."""
    rows = fill(store, 20)
    compact_checkpoint(store, Retention(keep=3, step=4, fanout=3, grace=1000.0))
    page = PageName(1, 17).path
    whole = store.read(page)
    store.write(page, whole[:-20])
    assert read_numbers(ManifestLog(store)) == rows
    assert ManifestLog(store).faults() == []
    store.write(page, whole)
    compact_checkpoint(store, SMALL)
    store.write(page, whole[:-20])
    rest = [n for n in rows if n >= 1800]
    assert read_numbers(ManifestLog(store)) == rest
    rest += fill(store, 40, 21)
    merged = [p for p in store.list("results") if "-000000000017-" in p]
    assert len(merged) == 1
    for _ in range(2):
        compact_checkpoint(store, SMALL)
        log = ManifestLog(store)
        assert read_numbers(log) == rest
        assert [(loss.first, loss.last) for loss in log.faults()] == [(1, 17)]
        assert "is damaged" in log.faults()[0].why
    assert set(merged) <= set(store.list("results"))
    assert store.list("damaged") == [f"damaged/{page.rpartition('/')[2]}"]


@pytest.mark.parametrize("version", [1, 17])
def test_damage_at_the_ends_of_a_page(store: Store, version: int) -> None:
    """The first and the last version that move onto a page may be the damaged one."""
    fill(store, 20)
    store.delete(path_of(version))
    store.write(path_of(version), b"no")
    assert compact_checkpoint(store, SMALL).moved == 17
    log = ManifestLog(store)
    assert [(loss.first, loss.last) for loss in log.faults()] == [(version, version)]
    assert {n // 100 for n in read_numbers(log)} == set(range(1, 21)) - {version}


def test_a_damaged_last_but_one_manifest_stops_nobody(store: Store) -> None:
    """Its segments are not known, so nobody can go back to it; garbage is collected all the same, but not its files."""
    fill(store, 20)
    store.delete(path_of(19))
    store.write(path_of(19), b"no")
    for path in ("segments/n/000000000018-a.arrow", "segments/n/000000000019-a.arrow"):
        store.write(path, b"x")
    compact_checkpoint(store, SMALL)
    assert store.list("segments") == ["segments/n/000000000019-a.arrow"]
    assert {n // 100 for n in read_numbers(ManifestLog(store))} == set(range(1, 21)) - {19}


def test_a_page_of_another_format_is_refused(store: Store) -> None:
    """A newer version's history is not damage, and is not passed over."""
    fill(store, 20)
    compact_checkpoint(store, SMALL)
    from headrace.state.sealed_lines import checksum

    body = b'{"format":99}\n'
    store.write(PageName(1, 17).path, body + checksum(body))
    with pytest.raises(CheckpointError, match="format 99"):
        ManifestLog(store).results("flows")


def test_a_damaged_result_file_stays_as_it_is(store: Store) -> None:
    """It cannot be merged; its neighbours can, and whoever reads it is told."""
    fill(store, 20)
    path = "results/flows/000000000006-1.parquet"
    store.write(path, store.read(path)[:100])
    compact_checkpoint(store, SMALL)
    files = ManifestLog(store).results("flows")
    assert path in [file.path for file in files]
    assert len(files) == 3 + 2 * 3


def test_columns_that_differ_are_not_mixed(store: Store) -> None:
    """Late rows may have got a column: files of before and after are merged apart."""
    log = ManifestLog(store)
    for version in range(1, 21):
        commit_rows(log, version, more=version > 10)
    compact_checkpoint(store, SMALL)
    assert len(ManifestLog(store).results("flows")) == 2 + 2 * 3


def test_a_merged_file_can_be_cut_into_its_versions(store: Store) -> None:
    """Merged once or twice, each version's rows are found again."""
    log = ManifestLog(store)
    expected = {version: commit_rows(log, version) for version in range(1, 61)}
    for _ in range(3):
        compact_checkpoint(store, SMALL)
        fill_to = max(expected)
        for version in range(fill_to + 1, fill_to + 20):
            expected[version] = commit_rows(log, version)
    compact_checkpoint(store, SMALL)
    found: dict[int, list[int]] = {}
    for page in ManifestLog(store).history():
        for kept in page.files:
            flows = kept.file.find(PartKey(0, Kind.RESULT))
            for version, table in split_versions(store, flows, kept.first) if flows is not None else ():
                assert kept.first <= version <= kept.last
                found.setdefault(version, []).extend(table["n"].to_pylist())
    assert found == {version: rows for version, rows in expected.items() if version in found}
    assert sorted(found) == list(range(1, max(expected) - 2))


def test_large_files_are_left_alone(store: Store) -> None:
    """A file of half the target is not written again, and none is made larger than the target."""
    fill(store, 40)
    size = ManifestLog(store).results("flows")[0].bytes
    compact_checkpoint(store, Retention(keep=3, step=4, fanout=3, grace=-1.0, target=4 * size))
    assert all(file.rows <= 8 * 3 for file in ManifestLog(store).results("flows"))
    assert len(ManifestLog(store).results("flows")) > 15
    assert compact_checkpoint(store, Retention(keep=3, grace=-1.0, target=size), whole=True)


def test_the_batch_under_way_is_not_garbage(store: Store) -> None:
    """Files of the next version are not named yet, however long ago the first of them was written."""
    fill(store, 20)
    for path in ("segments/n/000000000021-a.arrow", "results/flows/000000000021-a.parquet", "late/tcp/000000000020-a.x"):
        store.write(path, b"x")
    compact_checkpoint(store, SMALL)
    assert store.exists("segments/n/000000000021-a.arrow")
    assert store.exists("results/flows/000000000021-a.parquet")
    assert not store.exists("late/tcp/000000000020-a.x")


@given(st.integers(1, 400), st.integers(2, 10))
def test_pages_stay_few(pages: int, fanout: int) -> None:
    """Merging as chosen, n pages of one step each leave fewer than `fanout` of each of log(n) sizes."""
    names: list[PageName] = []
    for number in range(pages):
        names.append(PageName(number * 5 + 1, number * 5 + 5))
        while (chosen := choose_pages(names, fanout, 5)) is not None:
            assert chosen.stop - chosen.start >= fanout
            names[chosen] = [PageName(names[chosen][0].first, names[chosen][-1].last)]
    assert len(names) <= (fanout - 1) * (math.log(pages, fanout) + 1) + 1e-9


@given(st.integers(0, 10_000))
def test_pages_of_any_sizes_stay_few(seed: int) -> None:
    """Small pages between large ones are merged too."""
    rng = random.Random(seed)
    names, end = [], 0
    for _ in range(150):
        size = rng.choice([1, 5, 50, 500])
        names.append(PageName(end + 1, end + size))
        end += size
        while (chosen := choose_pages(names, 3, 5)) is not None:
            names[chosen] = [PageName(names[chosen][0].first, names[chosen][-1].last)]
    assert len(names) <= 2 * (math.log(end / 5, 3) + 2)


def test_the_way_prefers_large_and_new_pages() -> None:
    """Superseded pages and manifests are passed over; holes are named; editions count."""
    pages = [PageName(1, 10), PageName(11, 20), PageName(1, 20), PageName(1, 20, 1), PageName(25, 30)]
    way, holes = follow(pages, [*range(15, 24), *range(28, 33)])
    assert way == [PageName(1, 20, 1), 21, 22, 23, PageName(25, 30), 31, 32]
    assert holes == [Loss(24, 24, "missing")]
    assert follow([], []) == ([], [])


def test_versions_between_pages_are_lost() -> None:
    """Pages that do not follow each other: exactly the versions between them are said to be out of reach."""
    pages = [HistoryPage(PageName(first, last), "c") for first, last in ((1, 4), (5, 6), (9, 12), (14, 20))]
    united = unite_pages(pages)
    assert united.name == PageName(1, 20)
    assert [(loss.first, loss.last) for loss in united.lost] == [(7, 8), (13, 13)]
