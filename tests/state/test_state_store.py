"""Stores: addresses, escapes, atomic publishing, and failing disks."""

from __future__ import annotations

import errno
import multiprocessing
import os
import pickle
import signal
import threading
from pathlib import Path
from urllib.parse import quote

import pytest

from headrace.errors import CheckpointError
from headrace.state import Store
from headrace.state import disk as disk_module

PLACES = ("local", "remote")


@pytest.fixture(params=PLACES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """The same behaviour on the local disk and on a file system of pyarrow (in memory)."""
    return Store.open(str(tmp_path / "ck") if request.param == "local" else "mock:///ck")


def failing(number: int):
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def test_what_is_written_is_read(store: Store) -> None:
    """Bytes and streams come back, parents are made, sizes and existence are known."""
    store.write("a/b/c.bin", b"one")
    store.write("a/b/c.bin", b"two!")
    with store.open_output("a/x/y.bin") as stream:
        stream.write(b"three")
    store.sync(["a/x/y.bin"])
    assert store.read("a/b/c.bin") == b"two!"
    with store.open_input("a/x/y.bin") as stream:
        assert stream.read() == b"three"
    assert store.size("a/x/y.bin") == 5
    assert store.exists("a/b/c.bin")
    assert not store.exists("a/b/nothing")
    assert not store.exists("a/b")


def test_lists_are_recursive_relative_and_sorted(store: Store) -> None:
    """A listing names files only, and an absent directory has none."""
    for path in ("s/b/2", "s/b/1", "s/a", "t/z"):
        store.write(path, b".")
    assert store.list("s") == store.list("s/") == ["s/a", "s/b/1", "s/b/2"]
    assert store.list() == ["s/a", "s/b/1", "s/b/2", "t/z"]
    assert store.list("nothing") == []
    assert [entry.size for entry in store.scan("t")] == [1]


def test_deleting_twice_is_no_error(store: Store) -> None:
    """Clean-up may be repeated after a crash."""
    store.write("a/b", b".")
    store.delete("a/b")
    store.delete("a/b")
    assert store.list() == []


def test_publish_creates_and_never_replaces(store: Store) -> None:
    """The second writer is told so and changes nothing; no temporary file stays."""
    assert store.publish("m/1", b"first")
    assert not store.publish("m/1", b"second")
    assert store.read("m/1") == b"first"
    assert store.list() == ["m/1"]


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/", "a\0b", ".."])
def test_paths_never_leave_the_store(store: Store, path: str) -> None:
    """Absolute paths and '..' are refused whatever is to be done with them."""
    for act in (store.read, store.delete, store.exists, store.size, store.open_input, store.open_output):
        with pytest.raises(CheckpointError, match="is not a path inside of"):
            act(path)
    for put in (store.write, store.publish):
        with pytest.raises(CheckpointError, match="is not a path inside of"):
            put(path, b"")


def test_a_missing_file_is_explained(store: Store) -> None:
    """Reading, opening or measuring what is not there names the file and says what to do."""
    for act in (store.read, store.open_input, store.size):
        with pytest.raises(CheckpointError, match=r"ck/m/1 is missing.*restore it from a backup"):
            act("m/1")


def test_a_store_is_pickled_as_its_address(store: Store) -> None:
    """A store that has been used still travels to a worker, and equals the one it came from."""
    store.write("a", b"x")
    data = pickle.dumps(store)
    copy = pickle.loads(data)
    assert copy == store
    assert copy.uri == store.uri
    assert hash(copy) == hash(store)
    assert len(data) < 150 + len(store.uri)
    if store.is_local:
        assert copy.read("a") == b"x"


def test_local_addresses_are_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path means the same directory in every process; file:// is the same store."""
    monkeypatch.chdir(tmp_path)
    here = Store.open("c k/é")
    assert here.uri == str(tmp_path / "c k" / "é")
    assert Store.open("file://" + quote(here.uri)) == here
    assert Store.open(tmp_path / "c k/é") == here
    assert here.is_local
    assert here.local_path("a/b") == f"{here.uri}/a/b"


@pytest.mark.parametrize("uri", ["", "file:relative", "file://elsewhere/dir"])
def test_addresses_that_mean_nothing_are_refused(uri: str) -> None:
    """The message says what an address looks like."""
    with pytest.raises(CheckpointError, match=r"directory"):
        Store.open(uri)


def test_an_unknown_scheme_is_refused() -> None:
    """With those that are known; no folder of that name is made."""
    with pytest.raises(CheckpointError, match=r"'gopher://hole/ck' cannot be opened.*hdfs://"):
        Store.open("gopher://hole/ck").read("a")


def test_a_remote_store_has_no_local_paths() -> None:
    """Asking for one is an error, not a wrong path."""
    with pytest.raises(CheckpointError, match="not on the local disk"):
        Store.open("mock:///ck").local_path("a")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_explained_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Full while flushing: no file, no temporary file, and a message that says what to do."""
    store = Store.open(str(tmp_path))
    monkeypatch.setattr(disk_module.os, "fsync", failing(number))
    for put in (store.write, store.publish):
        with pytest.raises(CheckpointError, match=r"the disk of .* is full: cannot .* m/1; free some space"):
            put("m/1", b"x")
    assert store.list() == []


def test_a_full_disk_under_a_stream_is_explained(tmp_path: Path) -> None:
    """A stream that meets the end of the disk (the device that is always full) explains itself too."""
    store = Store.open(str(tmp_path))
    os.symlink("/dev/full", tmp_path / "full")

    def fill() -> None:
        with store.explain("full", "write"), store.open_output("full") as stream:
            stream.write(b"x" * 100_000)

    with pytest.raises(CheckpointError, match="is full"):
        fill()


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_read_only_disk_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Works for root too, who may write to any file of a disk that is not read-only."""
    store = Store.open(str(tmp_path))
    monkeypatch.setattr(disk_module.os, "open", failing(number))
    for put in (store.write, store.publish):
        with pytest.raises(CheckpointError, match=r"m/1 cannot be written .*use another checkpoint"):
            put("m/1", b"x")


@pytest.mark.parametrize(("number", "text"), [(errno.EMFILE, "ulimit -n"), (errno.EIO, "repair the cause")])
def test_other_faults_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, text: str
) -> None:
    """Too many open files has its own advice; the rest gives the words of the system."""
    store = Store.open(str(tmp_path))
    monkeypatch.setattr(disk_module.os, "open", failing(number))
    with pytest.raises(CheckpointError, match=text):
        store.write("a", b"x")


def test_publish_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Disks that cannot link get a rename; the name is still never replaced."""
    store = Store.open(str(tmp_path))
    monkeypatch.setattr(disk_module.os, "link", failing(errno.EPERM))
    assert store.publish("m/1", b"first")
    assert not store.publish("m/1", b"second")
    assert store.read("m/1") == b"first"
    assert store.list() == ["m/1"]


def test_of_many_threads_one_publishes(tmp_path: Path) -> None:
    """All start at once; exactly one wins, each time, and its content is what is there."""
    store = Store.open(str(tmp_path))
    for round_ in range(20):
        barrier = threading.Barrier(4)
        won: list[int] = []

        def attempt(me: int, round_: int = round_, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            if store.publish(f"m/{round_}", str(me).encode() * 1000):
                won.append(me)  # noqa: B023 - joined before the next round

        threads = [threading.Thread(target=attempt, args=(me,)) for me in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert store.read(f"m/{round_}") == str(won[0]).encode() * 1000
    assert len(store.list()) == 20


def _race(uri: str, me: int, barrier: object, won: object) -> None:
    store = Store.open(uri)
    for round_ in range(20):
        barrier.wait()  # type: ignore[attr-defined]
        if store.publish(f"m/{round_}", b"%d" % me):
            won.put((round_, me))  # type: ignore[attr-defined]


def test_of_two_processes_one_publishes(tmp_path: Path) -> None:
    """The promise holds between processes, which share nothing but the disk."""
    context = multiprocessing.get_context("spawn")
    barrier, won = context.Barrier(2), context.Queue()
    runs = [context.Process(target=_race, args=(str(tmp_path), me, barrier, won)) for me in range(2)]
    for run in runs:
        run.start()
    winners = dict(won.get(timeout=60) for _ in range(20))
    for run in runs:
        run.join()
    assert won.empty()
    store = Store.open(str(tmp_path))
    assert {round_: int(store.read(f"m/{round_}")) for round_ in range(20)} == winners


def _die_before_link(uri: str) -> None:
    disk_module.os.link = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    Store.open(uri).publish("manifests/000000000001.json", b"x")


def test_a_kill_before_the_link_leaves_no_file(tmp_path: Path) -> None:
    """Killed with the content written and not yet named: the name is free, and the next attempt gets it."""
    context = multiprocessing.get_context("spawn")
    run = context.Process(target=_die_before_link, args=(str(tmp_path),))
    run.start()
    run.join()
    assert run.exitcode == -signal.SIGKILL
    store = Store.open(str(tmp_path))
    (left,) = store.list("manifests")
    assert left.startswith("manifests/.")
    assert not store.exists("manifests/000000000001.json")
    assert store.publish("manifests/000000000001.json", b"y")
