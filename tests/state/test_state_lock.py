"""One run per checkpoint, whatever happens to the run."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from headrace.errors import CheckpointError
from headrace.state import CheckpointLock, Store
from headrace.state import lock as lock_module


@pytest.fixture(params=["local", "remote"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A lock of the kernel, and a lease on a file system of pyarrow (in memory)."""
    return Store.open(str(tmp_path / "ck") if request.param == "local" else "mock:///ck")


def test_the_second_holder_is_told_who_has_it(store: Store) -> None:
    """Even within one process two runs cannot share a checkpoint."""
    with (
        CheckpointLock(store) as held,
        pytest.raises(
            CheckpointError, match=rf"ck is in use by process {os.getpid()} on \S+ since \d{{4}}-.*stop it"
        ),
    ):
        CheckpointLock(store).acquire()
    held.release()
    with CheckpointLock(store) as again:
        again.check()


def test_a_lock_is_taken_once_and_given_back_once(store: Store) -> None:
    """acquire and release may be repeated; only what is held can be checked."""
    lock = CheckpointLock(store)
    lock.acquire()
    lock.acquire()
    lock.check()
    lock.release()
    lock.release()
    with pytest.raises(CheckpointError, match="no longer holds"):
        lock.check()
    CheckpointLock(store).acquire()


def _hold(uri: str, ready: object) -> None:
    lock = CheckpointLock(Store.open(uri))
    lock.acquire()
    ready.set()  # type: ignore[attr-defined]
    time.sleep(600)


def test_a_killed_holder_leaves_the_checkpoint_free(tmp_path: Path) -> None:
    """kill -9 needs no clean-up: the kernel gives the lock back."""
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    run = context.Process(target=_hold, args=(str(tmp_path), ready))
    run.start()
    assert ready.wait(60)
    store = Store.open(str(tmp_path))
    with pytest.raises(CheckpointError, match=f"in use by process {run.pid} on "):
        CheckpointLock(store).acquire()
    os.kill(run.pid or 0, signal.SIGKILL)
    run.join()
    CheckpointLock(store).acquire()


def test_a_checkpoint_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    """A file where the directory should be; the message names the lock."""
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot lock"):
        CheckpointLock(Store.open(str(tmp_path / "file"))).acquire()


def test_a_stale_lease_is_taken_over() -> None:
    """A holder that has not renewed its lease for its length is taken for dead."""
    store = Store.open("mock:///ck")
    dead = {"pid": 1, "host": "gone", "started": 1.0, "owner": "x"}
    store.write(
        "lock", json.dumps({**dead, "heartbeat": time.time() - 2 * lock_module.LEASE_SECONDS}).encode()
    )
    with CheckpointLock(store) as lock:
        lock.check()
        assert json.loads(store.read("lock"))["pid"] == os.getpid()
    assert not store.exists("lock")


def test_a_lease_that_cannot_be_read_is_respected() -> None:
    """Its owner may just be writing it; the message says how to get rid of it."""
    store = Store.open("mock:///ck")
    store.write("lock", b'{"pid": 1')
    with pytest.raises(
        CheckpointError, match=r"process \? on \? .*if it is surely dead, delete mock:///ck/lock"
    ):
        CheckpointLock(store).acquire()


def test_a_lease_is_renewed_and_its_loss_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run outlives the length of its lease; one that was robbed of it stops committing and robs nobody."""
    monkeypatch.setattr(lock_module, "LEASE_SECONDS", 0.4)
    store = Store.open("mock:///ck")
    lock = CheckpointLock(store)
    lock.acquire()
    time.sleep(1)
    lock.check()
    with pytest.raises(CheckpointError, match="in use"):
        CheckpointLock(store).acquire()
    store.write("lock", json.dumps({"owner": "robber"}).encode())
    time.sleep(0.5)
    with pytest.raises(CheckpointError, match="no longer holds"):
        lock.check()
    lock.release()
    assert json.loads(store.read("lock")) == {"owner": "robber"}
