"""The manifest log: commits, damage, gaps, outputs over versions, garbage."""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest
from state_samples import manifest, segment

from headrace.errors import CheckpointError
from headrace.state import ManifestLog, Store, collect_garbage
from headrace.state.manifest import path_of
from headrace.state.record import encode
from headrace.state.sealed_lines import checksum
from headrace.testing import LocalRun


@pytest.fixture(params=["local", "remote"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """The same behaviour on the local disk and on a file system of pyarrow (in memory)."""
    return Store.open(str(tmp_path / "ck") if request.param == "local" else "mock:///ck")


def committed(store: Store, versions: int) -> ManifestLog:
    log = ManifestLog(store)
    for version in range(1, versions + 1):
        log.publish(manifest(version))
    return log


def damage(store: Store, version: int, content: bytes) -> None:
    store.delete(path_of(version))
    store.write(path_of(version), content)


def test_what_is_published_is_read(store: Store) -> None:
    """Every field survives, in the log that wrote it and in one that reads the files."""
    writer = committed(store, 3)
    for log in (writer, ManifestLog(store)):
        assert log.latest() == manifest(3)
        assert [log.read(version) for version in (1, 2, 3)] == [manifest(1), manifest(2), manifest(3)]
        assert log.versions() == [1, 2, 3]
        assert list(log.since(1)) == [manifest(2), manifest(3)]
        assert list(log.since(3)) == []
    assert store.list() == [f"manifests/00000000000{version}.json" for version in (1, 2, 3)]


def test_an_empty_store_has_no_manifest(store: Store) -> None:
    """A new checkpoint is not an error."""
    log = ManifestLog(store)
    assert log.latest() is None
    assert log.versions() == []
    assert list(log.since(0)) == []
    assert log.results("flows") == []


def test_a_reader_sees_versions_as_they_come(store: Store) -> None:
    """A log that is open while another process commits finds the new versions."""
    writer, reader = committed(store, 1), ManifestLog(store)
    assert reader.latest() == manifest(1)
    writer.publish(manifest(2))
    writer.publish(manifest(3))
    assert reader.latest() == manifest(3)
    assert len(reader.results("flows")) == 3


def test_outputs_are_collected_over_versions(store: Store) -> None:
    """Result and late files come in the order of their versions, from a given one on."""
    for log in (committed(store, 3), ManifestLog(store)):
        assert [file.path for file in log.results("flows")] == [
            f"results/flows/{version}.parquet" for version in (1, 2, 3)
        ]
        assert [(part.path, part.rows, part.bytes) for part in log.results("flows", since=2)] == [("results/flows/3.parquet", 10, 500)]
        assert log.results("heavy") == log.results("unknown") == []
        assert [file.rows for file in log.late("tcp")] == [1, 1, 1]


def test_a_version_is_committed_once(store: Store) -> None:
    """The second run to commit a version is told, and what was committed stays."""
    committed(store, 2)
    other = ManifestLog(store)
    with pytest.raises(CheckpointError, match=r"another run has committed version 2 .*ck"):
        other.publish(manifest(2, epoch="other"))
    assert ManifestLog(store).latest() == manifest(2)
    assert other.latest() == manifest(2)


def test_versions_follow_each_other(store: Store) -> None:
    """Publishing beyond the next version is impossible; a hole is no version, and is said to be one."""
    log = committed(store, 3)
    with pytest.raises(CheckpointError, match=r"000000000004.json is missing.*without a gap"):
        log.publish(manifest(5))
    store.delete(path_of(2))
    fresh = ManifestLog(store)
    with pytest.raises(CheckpointError, match=r"000000000002.json is missing.*Restore the file"):
        list(fresh.since(0))
    assert fresh.versions() == [1, 3]
    assert fresh.latest() == manifest(3)
    assert [file.path for file in fresh.results("flows")] == ["results/flows/1.parquet", "results/flows/3.parquet"]
    (loss,) = fresh.faults()
    assert (loss.first, loss.last) == (2, 2)
    assert re.search(r"000000000002.json is missing.*Restore it from a backup", loss.why)


def test_a_manifest_cut_short_anywhere_is_recognised(tmp_path: Path) -> None:
    """No prefix of the file passes for the whole."""
    store = Store.open(str(tmp_path))
    committed(store, 2)
    whole = store.read(path_of(2))
    for length in range(len(whole)):
        (tmp_path / path_of(2)).write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match="is damaged"):
            ManifestLog(store).latest()


def test_a_flipped_bit_anywhere_is_recognised(tmp_path: Path) -> None:
    """No single bit can change unseen, and the results of earlier versions stay readable one by one."""
    store = Store.open(str(tmp_path))
    committed(store, 2)
    whole = store.read(path_of(2))
    for position in range(0, 8 * len(whole), 7):
        flipped = bytearray(whole)
        flipped[position // 8] ^= 1 << position % 8
        (tmp_path / path_of(2)).write_bytes(flipped)
        for act in (ManifestLog(store).latest, lambda: ManifestLog(store).results("flows")):
            with pytest.raises(CheckpointError, match="is damaged"):
                act()
    assert ManifestLog(store).read(1) == manifest(1)


def test_a_damaged_last_manifest_says_what_deleting_it_costs(store: Store) -> None:
    """The message names the file and what is and is not lost; doing as it says gives the version before."""
    committed(store, 2)
    damage(store, 2, store.read(path_of(2))[:-10])
    with pytest.raises(CheckpointError) as caught:
        ManifestLog(store).latest()
    for part in (
        "000000000002.json is damaged",
        "nothing committed in the versions before 2 is lost",
        "replayed only if Spark's commit log does not have that batch",
        "spark/commits",
    ):
        assert part in str(caught.value)
    store.delete(path_of(2))
    assert ManifestLog(store).latest() == manifest(1)


def test_a_damaged_old_manifest_does_not_block_the_rest(store: Store) -> None:
    """State is in the last version, so a run goes on; all other results are listed, and it is said which are not."""
    committed(store, 4)
    damage(store, 2, b"")
    log = ManifestLog(store)
    assert log.latest() == manifest(4)
    assert [part.path for part in log.results("flows")] == [f"results/flows/{v}.parquet" for v in (1, 3, 4)]
    assert log.list_results("flows").starts == [0, 10, 20]
    assert log.named() == {
        "epochs/000000000001-f00d.json",
        "segments/3.arrow",
        "segments/4.arrow",
        *(f"{kind}/{v}.parquet" for v in (1, 3, 4) for kind in ("results/flows", "late/tcp")),
    }
    (loss,) = log.faults()
    assert (loss.first, loss.last) == (2, 2)
    assert re.search(r"000000000002.json is damaged.*results of version 2 cannot be listed.*a run goes on", loss.why)


def test_a_manifest_under_another_name_or_format_is_refused(store: Store) -> None:
    """A copy of another version, or a newer format, has a right checksum and is still not what we want."""
    committed(store, 2)
    damage(store, 2, store.read(path_of(1)))
    with pytest.raises(CheckpointError, match="its content is that of version 1"):
        ManifestLog(store).latest()
    body = b'{"format":99}\n{}\n'
    damage(store, 2, body + checksum(body))
    with pytest.raises(CheckpointError, match="it has format 99"):
        ManifestLog(store).latest()


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (b'"clock":0', b'"clock":0,"moon":1', "unknown field `moon`"),
        (b'"clock":0,', b"", "missing required field `clock`"),
        (b'"clock":0', b'"clock":"0"', "Expected `int`, got `str`"),
        (b',2147483648]]', b',2147483648,0]]', "Expected `array` of at most length"),
    ],
)
def test_what_is_not_known_of_a_manifest_is_refused(store: Store, before: bytes, after: bytes, why: str) -> None:
    """A field more, one less, one of another type: no default takes its place, even where the checksum is right."""
    lines = encode(manifest(1)).splitlines(keepends=True)
    assert before in lines[1]
    body = lines[0] + lines[1].replace(before, after)
    store.write(path_of(1), body + checksum(body))
    with pytest.raises(CheckpointError, match=f"000000000001.json is damaged: it cannot be understood .*{why}"):
        ManifestLog(store).latest()


def test_a_manifest_is_lines_of_json(store: Store) -> None:
    """Any tool can look into it."""
    committed(store, 1)
    lines = [json.loads(line) for line in store.read(path_of(1)).splitlines()]
    assert lines[0]["outputs"][0] == ["results/flows/1.parquet", 500, 400, 7, [[0, 0, 0, 10]]]
    assert lines[1]["batch_id"] == 0
    assert re.fullmatch("[0-9a-f]{64}", lines[2]["sha256"])


def test_leftovers_of_a_crash_are_not_versions(store: Store) -> None:
    """A temporary file beside the manifests is neither read nor in the way."""
    log = committed(store, 1)
    store.write("manifests/.000000000002.json.abc.tmp", b"half")
    assert ManifestLog(store).latest() == manifest(1)
    log.publish(manifest(2))
    assert ManifestLog(store).versions() == [1, 2]


def test_a_log_of_thousands_of_versions_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first look, results cost one probe for a newer version, not one read per version."""
    store = Store.open(str(tmp_path))
    committed(store, 2000)
    log = ManifestLog(store)
    assert len(log.results("flows")) == 2000

    def never(*_: object) -> None:
        raise AssertionError("a version was read again")

    monkeypatch.setattr(Store, "read", never)
    assert len(log.results("flows")) == 2000
    assert len(log.late("tcp")) == 2000


@pytest.fixture
def crowded(tmp_path: Path) -> Store:
    """Three versions with all their files, what a crash leaves, and files that are none of our business."""
    store = Store.open(str(tmp_path))
    log = ManifestLog(store)
    log.publish(manifest(1))
    log.publish(manifest(2, segments=(segment("segments/2.arrow"), segment("segments/both.arrow"))))
    log.publish(manifest(3, segments=(segment("segments/3.arrow"), segment("segments/both.arrow"))))
    for path in (*NAMED, *GARBAGE, *FOREIGN):
        store.write(path, b"x")
        os.utime(tmp_path / path, (time.time() - 100,) * 2)
    return store


NAMED = [
    "late/tcp/1.parquet",
    "late/tcp/2.parquet",
    "late/tcp/3.parquet",
    "results/flows/1.parquet",
    "results/flows/2.parquet",
    "results/flows/3.parquet",
    "segments/2.arrow",
    "segments/3.arrow",
    "segments/both.arrow",
]
GARBAGE = [
    "late/tcp/lost.parquet",
    "results/flows/.half.tmp",
    "results/flows/lost.parquet",
    "segments/1.arrow",
    "segments/deep/lost.arrow",
]
FOREIGN = ["lock", "manifests/.old.tmp", "notes.txt", "plan.json", "resultsX/a", "spark/commits/0"]


def test_garbage_is_what_no_manifest_names(crowded: Store) -> None:
    """Segments before the last two versions and lost attempts go; named files, manifests, Spark's own and foreign files stay."""
    deleted = collect_garbage(crowded, ManifestLog(crowded), grace_seconds=50)
    assert sorted(deleted) == GARBAGE
    assert crowded.list() == sorted([*NAMED, *FOREIGN, path_of(1), path_of(2), path_of(3)])
    assert collect_garbage(crowded, ManifestLog(crowded), grace_seconds=0) == []


def test_young_files_are_left_alone(crowded: Store) -> None:
    """The files of a running batch are not named yet."""
    assert collect_garbage(crowded, ManifestLog(crowded), grace_seconds=3600) == []


def test_without_proof_nothing_is_deleted(crowded: Store) -> None:
    """A log that is empty or cannot be read names nothing; that does not make everything garbage."""
    damage(crowded, 1, b"")
    before = crowded.list()
    assert collect_garbage(crowded, ManifestLog(crowded), grace_seconds=0) == []
    assert crowded.list() == before
    for version in (1, 2, 3):
        crowded.delete(path_of(version))
    assert collect_garbage(crowded, ManifestLog(crowded), grace_seconds=0) == []


def test_a_file_committed_during_the_listing_stays(crowded: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is read after the directory, so what is committed in between is named in time."""
    other, log, scan = ManifestLog(crowded), ManifestLog(crowded), Store.scan
    log.latest()

    def commit_then_scan(self: Store, prefix: str = "") -> list:
        found = scan(self, prefix)
        if prefix == "segments":
            last = replace(manifest(2), version=4, segments=(segment("segments/deep/lost.arrow"),))
            other.publish(last)
        return found

    monkeypatch.setattr(Store, "scan", commit_then_scan)
    assert "segments/deep/lost.arrow" not in collect_garbage(crowded, log, grace_seconds=0)


def test_a_manifest_names_what_wrote_it(tmp_path: Path) -> None:
    """The versions of Headrace and of the engines in it, also when another process reads it."""
    script = (
        "CREATE STREAM s (ts TIMESTAMP, k INT) PROGRESSING ON ts ORDERED FROM 'memory';\n"
        "CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k;"
    )
    run = LocalRun(script, path=str(tmp_path))
    run.push(s=[(0, 1)])
    run.close()
    found = ManifestLog(Store.open(str(tmp_path))).latest()
    assert found is not None
    assert found.engine == {name: metadata.version(name) for name in ("headrace", "duckdb", "pyarrow")}
