"""Files that queries share: each query's rows are read without the others', in their order, however files are merged.

A model keeps what every query was given, version by version. Versions are written as slots write them, with parts of files small
and large, and columns of several shapes and names; compaction merges and expires; a reader must find what the model has.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from state_samples import manifest

from headrace.errors import CheckpointError
from headrace.kernels.result_files import ResultWriter, write_late
from headrace.program.limits import SHIPPED, Limits
from headrace.state import (
    Kind,
    ManifestLog,
    Numbers,
    OutputFile,
    PartKey,
    Retention,
    Store,
    compact_checkpoint,
    split_versions,
)
from headrace.state.manifest import path_of
from headrace.state.result_parquet import SharedReads, read_parts, read_results

SHAPES = ([pa.int64()], [pa.int64(), pa.string()], [pa.int64(), pa.timestamp("us")])
QUERIES = [f"q{i}" for i in range(9)]
NAMES = {q: [f"{'abc'[i % 2]}{j}" for j in range(len(SHAPES[i % 3]))] for i, q in enumerate(QUERIES)}
NUMBERS = Numbers({q: 7 + i for i, q in enumerate(QUERIES)}, {"tcp": 0})
SCHEMAS = {
    q: pa.schema(list(zip(NAMES[q], SHAPES[i % 3], strict=True))).serialize().to_pybytes() for i, q in enumerate(QUERIES)
}
LATE = pa.schema([("n", pa.int64()), ("_reason", pa.string())])


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path))


class Model:
    """What was committed to a checkpoint."""

    def __init__(self, store: Store, seed: int, limits: Limits = SHIPPED) -> None:
        self.limits = limits
        self.store, self.log, self.random = store, ManifestLog(store), random.Random(seed)
        self.rows: dict[str, list[tuple[int, int]]] = {q: [] for q in (*QUERIES, "tcp")}  # version, value
        self.next = 0

    def commit(self, at: float = 1000.0) -> None:
        version = self.log._count + 1
        outputs: list[OutputFile] = []
        for _slot in range(2):
            writer = ResultWriter(self.store, version, SCHEMAS, NUMBERS.results, self.limits)
            for query in self.random.sample(QUERIES, self.random.randint(0, len(QUERIES))):
                for _ in range(self.random.choice([1, 1, 2])):
                    writer.write(query, self._table(query, self.random.choice([0, 1, 3, 40])))
            outputs += writer.close()
        if self.random.random() < 0.3:
            table = pa.table([[self._give("tcp", version)], ["late"]], schema=LATE)
            outputs.append(write_late(self.store, "tcp", 0, version, table, LATE.serialize().to_pybytes()))
        for file in outputs:
            for part in file.parts:
                assert part.rows > 0
        self.log.publish(
            manifest(version, outputs=tuple(outputs), numbers=NUMBERS, segments=(), created_at=at, checkpoint="c")
        )

    def _table(self, query: str, rows: int) -> pa.Table:
        version = self.log._count + 1
        values = [self._give(query, version) for _ in range(rows)]
        types = SHAPES[QUERIES.index(query) % 3]
        columns = [pa.array(values).cast(type_) for type_ in types]
        return pa.table(columns, names=NAMES[query])

    def _give(self, name: str, version: int) -> int:
        self.next += 1
        self.rows[name].append((version, self.next))
        return self.next

    def check(self, log: ManifestLog, first: int = 1) -> None:
        """Every reader finds every row from version `first` on once, in its order, under its own columns."""
        log.refresh()
        shared = SharedReads(self.store)
        for name, rows in self.rows.items():
            late = name == "tcp"
            listing = log.list_late(name) if late else log.list_results(name)
            # slots write one after the other here, so the model's order is that of the files
            expected = [value for version, value in rows if version >= first]
            position = len(rows) - len(expected)
            found: list[int] = []
            for start, part in zip(listing.starts, listing.parts, strict=True):
                table = read_results(self.store, part)
                assert table.column_names == (LATE.names if late else NAMES[name])
                assert table.equals(shared.read(part))
                assert start == position + len(found)
                assert table.num_rows == part.rows
                found += [v if isinstance(v, int) else v.timestamp() for v in table[0].to_pylist()]
            assert found == expected, name

    def check_versions(self, log: ManifestLog) -> None:
        """Each version can be cut out of what was merged."""
        for name, rows in self.rows.items():
            key = NUMBERS.find(Kind.LATE if name == "tcp" else Kind.RESULT, name)
            assert key is not None
            found = [
                (version, value)
                for page in log.history()
                for kept in page.files
                for part in [kept.file.find(key)]
                if part is not None
                for version, table in split_versions(self.store, part, kept.first)
                for value in table[0].to_pylist()
            ]
            assert found == rows[: len(found)]


SMALL = {"keep": 2, "step": 3, "fanout": 3, "grace": -1.0}


@pytest.mark.parametrize("seed", range(12))
def test_every_query_reads_its_own_rows_whatever_is_merged(store: Store, seed: int) -> None:
    """Small and large parts, shared and own files, several shapes and names, merged once and again."""
    chosen = random.Random(seed)
    limits = Limits(own_bytes=chosen.choice([200, 1 << 20]), shared_bytes=chosen.choice([300, 32 << 20]))
    policy = Retention(**SMALL, target=chosen.choice([3_000, 20_000, 64 << 20]))  # type: ignore[arg-type]
    model = Model(store, seed, limits)
    reader = ManifestLog(store)
    for step in range(30):
        model.commit()
        if chosen.random() < 0.4:
            compact_checkpoint(store, policy)
        if step % 5 == 4:
            model.check(reader)
    compact_checkpoint(store, policy, whole=seed % 2 == 0)
    model.check(reader)
    model.check_versions(reader)
    assert reader.faults() == []
    named = {kept.file.path for page in reader.history() for kept in page.files}
    named |= {file.path for version in reader.versions() for file in reader.read(version).outputs}
    assert {p for folder in ("results", "late") for p in store.list(folder)} == named


def test_a_thousand_small_queries_become_one_file(store: Store) -> None:
    """Of a batch, and again when batches are merged: one file for each list of types."""
    queries = [f"q{i}" for i in range(1000)]
    schema = pa.schema([("k", pa.int64()), ("n", pa.int64())])
    numbers = Numbers(dict(zip(queries, range(1000), strict=True)), {})
    log = ManifestLog(store)
    for version in range(1, 9):
        writer = ResultWriter(store, version, dict.fromkeys(queries, schema.serialize().to_pybytes()), numbers.results)
        for i, query in enumerate(queries):
            writer.write(query, pa.table([[version, version], [i, i]], schema=schema))
        (file,) = writer.close()
        assert len(file.parts) == 1000
        log.publish(manifest(version, outputs=(file,), numbers=numbers, segments=(), checkpoint="c"))
    compact_checkpoint(store, Retention(keep=2, step=3, grace=-1.0))
    log.refresh()
    assert len(store.list("results")) == 1 + 2
    table = pa.concat_tables([read_results(store, part) for part in log.results("q500")])
    assert table.to_pydict() == {"k": [v for v in range(1, 9) for _ in (1, 2)], "n": [500] * 16}


@pytest.mark.parametrize("seed", range(4))
def test_shared_files_expire_with_their_versions(store: Store, seed: int) -> None:
    """What is left is what newer versions gave, without a hole, and rows keep their numbers."""
    model = Model(store, seed)
    import time

    now = time.time()
    for version in range(1, 31):
        model.commit(at=now - 300 + 10 * version)
        if version % 7 == 0:
            compact_checkpoint(store, Retention(**SMALL, target=3_000))  # type: ignore[arg-type]
            model.check(ManifestLog(store))
    compact_checkpoint(store, Retention(**SMALL, target=3_000, retain=100.0))  # type: ignore[arg-type]
    log = ManifestLog(store)
    for query in QUERIES:
        listing = log.list_results(query)
        values = [v if isinstance(v, int) else v.timestamp() for part in listing.parts for v in read_results(store, part)[0].to_pylist()]
        everything = [value for _, value in model.rows[query]]
        assert values == everything[len(everything) - len(values) :]
        recent = [value for version, value in model.rows[query] if version > 20]
        assert set(recent) <= set(values)
        assert not listing.starts or listing.starts[0] == len(everything) - len(values)
    gone = [q for q in QUERIES if log.list_results(q).starts[:1] not in ([], [0])]
    assert gone, "nothing expired"


class Crash(BaseException):
    pass


def test_a_crash_while_shared_files_are_merged_changes_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its first, second, … change of the store; the next compaction leaves no file that nobody names."""
    crashes = 0
    for call in range(1, 120):
        store = Store.open(str(tmp_path / str(call)))
        model = Model(store, 5, Limits(own_bytes=200))
        for _ in range(14):
            model.commit()
        compact_checkpoint(store, Retention(**SMALL, target=4_000))  # type: ignore[arg-type]
        for _ in range(8):
            model.commit()
        left = call
        with monkeypatch.context() as patch:
            for name in ("write", "publish", "open_output", "sync", "delete"):
                real = getattr(Store, name)

                def change(self: Store, *args: Any, real: Any = real) -> Any:
                    nonlocal left
                    left -= 1
                    if left <= 0:
                        raise Crash
                    return real(self, *args)

                patch.setattr(Store, name, change)
            try:
                compact_checkpoint(store, Retention(**SMALL, target=4_000))  # type: ignore[arg-type]
            except Crash:
                crashes += 1
        model.check(ManifestLog(store))
        compact_checkpoint(store, Retention(**SMALL, target=4_000))  # type: ignore[arg-type]
        log = ManifestLog(store)
        model.check(log)
        named = {part.path for q in QUERIES for part in log.results(q)} | {part.path for part in log.late("tcp")}
        assert {p for folder in ("results", "late") for p in store.list(folder)} == named
        if crashes < call:
            break
    assert crashes > 20


def test_damage_of_a_shared_file_is_said_and_stays_where_it_is(store: Store) -> None:
    """Whoever reads a query of it is told; the merge passes it over; rows of other files are there."""
    model = Model(store, 3)
    for _ in range(12):
        model.commit()
    shared = next(f for v in (4, 5, 6) for f in model.log.read(v).outputs if len(f.parts) > 1)
    content = bytearray(store.read(shared.path))
    content[60] ^= 4  # in the pages of the first column
    store.write(shared.path, bytes(content))
    name = next(q for q, n in NUMBERS.results.items() if n == shared.parts[0].number)
    for read in (
        lambda: read_parts(store, shared),
        lambda: [read_results(store, part) for part in ManifestLog(store).results(name)],
    ):
        with pytest.raises(CheckpointError, match=f"{shared.path} cannot be read"):
            read()
    compact_checkpoint(store, Retention(**SMALL))  # type: ignore[arg-type]
    log = ManifestLog(store)
    assert shared.path in {kept.file.path for page in log.history() for kept in page.files}
    lost = {part.number for part in shared.parts}
    whole = [q for q, n in NUMBERS.results.items() if n not in lost]
    assert whole, "every query has rows in the damaged file: choose another seed"
    for query in whole:
        values = [v for part in log.results(query) for v in read_results(store, part)[0].to_pylist()]
        assert len(values) == len(model.rows[query])


def test_numbers_are_for_ever() -> None:
    """Who comes later gets the next number, who goes keeps it, and streams have numbers of their own."""
    numbers = Numbers().extend(["a", "b"], ["s"])
    later = numbers.extend(["c", "b"], ["s", "t"])
    assert later == Numbers({"a": 0, "b": 1, "c": 2}, {"s": 0, "t": 1})
    assert later.find(Kind.RESULT, "a") == PartKey(0, Kind.RESULT)
    assert later.find(Kind.LATE, "t") == PartKey(1, Kind.LATE)
    assert later.find(Kind.LATE, "a") is None


def test_a_checkpoint_that_was_started_anew_is_not_read_on(store: Store) -> None:
    """A reader has counted rows of the one that was there: it is told, and gives no row of the other."""
    log = ManifestLog(store)
    for version in (1, 2):
        log.publish(manifest(version, checkpoint="one"))
    reader = ManifestLog(store)
    assert len(reader.results("flows")) == 2
    other = Store.open(store.uri + "-other")
    renewed = ManifestLog(other)
    for version in (1, 2, 3):
        renewed.publish(manifest(version, checkpoint="two"))
        store.delete(path_of(version))
        store.write(path_of(version), other.read(path_of(version)))
    with pytest.raises(CheckpointError, match="was deleted and started anew while it was being read; open it again"):
        reader.results("flows")
    assert len(ManifestLog(store).results("flows")) == 3
