"""Which numbers place the tables of a run: declared ones, then measured ones, and none once a table has state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.errors import OptionError
from headrace.program.limits import Limits
from headrace.session import Session
from headrace.testing import LocalRun

STREAMS = """
CREATE STREAM s (t BIGINT, a INT, b INT) PROGRESSING ON t SLACK 0 FROM 'memory';
CREATE STREAM u (t BIGINT, a INT, b INT) PROGRESSING ON t SLACK 0 FROM 'memory';
"""
FIRST = """
CREATE QUERY first_s AS SELECT a, count(*) AS n FROM s [RANGE 10] GROUP BY a;
CREATE QUERY first_u AS SELECT a, count(*) AS n FROM u [RANGE 10] GROUP BY a;
"""
# the join brings both streams together; by a serves what is over s, by b what is over u
NEW = """
CREATE QUERY of_s AS SELECT a, b, count(*) AS n FROM s [RANGE 10] GROUP BY a, b;
CREATE QUERY of_u AS SELECT a, b, count(*) AS n FROM u [RANGE 10] GROUP BY a, b;
CREATE QUERY both AS SELECT x.window_end AS at, x.a, x.b, x.n AS n, y.n AS m FROM of_s AS x JOIN of_u AS y
  ON x.a = y.a AND x.b = y.b AND x.window_end = y.window_end;
CREATE QUERY by_a AS SELECT a, max(n) AS n FROM of_s GROUP BY a;
CREATE QUERY by_b AS SELECT b, max(n) AS n FROM of_u GROUP BY b;
"""
QUERIES = ("of_s", "of_u", "both", "by_a", "by_b")
BUSY = pytest.mark.parametrize(("busy", "by"), [("s", "a"), ("u", "b")])


def find_keys(run: LocalRun, query: str) -> tuple[str, ...]:
    """What the table of a query is partitioned by."""
    table = run.plan.table_of[query]
    return next(e.by for e in run.plan.exchanges if e.table == table)


def push(run: LocalRun, start: int, busy: str) -> None:
    """Ten ticks of both streams; one of them has ten times the rows of the other."""
    counts = {name: 200 if name == busy else 20 for name in ("s", "u")}
    run.push(**{name: [(start + 10 * i // n, i % 7, i % 5) for i in range(n)] for name, n in counts.items()})


def measure(path: Path, busy: str) -> None:
    run = LocalRun(STREAMS + FIRST, slots=2, path=str(path))
    for start in (0, 10):
        push(run, start, busy)
    run.close()


def answer(path: Path, busy: str, partition_by: str | None = None) -> dict[str, list[tuple[object, ...]]]:
    """Results of all queries, where the new ones come after two windows, and the run starts anew once more."""
    texts = [FIRST, FIRST + NEW, FIRST + NEW]
    for number, text in enumerate(texts):
        run = LocalRun(STREAMS + text, slots=2 + number % 2, path=str(path), partition_by=partition_by)
        for start in (20 * number, 20 * number + 10):
            push(run, start, busy if number < 2 else "su".replace(busy, ""))
        if number == len(texts) - 1:
            run.flush()
        found = {q: run.rows(q) for q in run.graph.queries}
        run.close()
    return found


@BUSY
def test_declared_rates_place_a_new_run(busy: str, by: str) -> None:
    """Nothing was measured yet: what the streams say of themselves decides."""
    declared = STREAMS.replace(f"STREAM {busy} (t BIGINT, a INT, b INT) PROGRESSING ON t SLACK 0", "X")
    declared = declared.replace("SLACK 0", "SLACK 0 RATE 10 PER SECOND")
    clause = f"STREAM {busy} (t BIGINT, a INT, b INT) PROGRESSING ON t SLACK 0 RATE 100 PER SECOND"
    run = LocalRun(declared.replace("X", clause) + NEW)
    assert find_keys(run, "of_s") == find_keys(run, "of_u") == (by,)
    run.close()
    said = Session().sql(declared.replace("X", clause) + NEW).explain()
    assert said.count("partitioned so by rates declared") == 2


@BUSY
def test_measured_rates_place_new_tables(tmp_path: Path, busy: str, by: str) -> None:
    """Queries that are added are placed by the rates of the batches before; explain says so, before and after they are there."""
    measure(tmp_path, busy)
    script = STREAMS + FIRST + NEW
    said = Session(checkpoint=tmp_path).sql(script).explain()
    assert said.count("partitioned so by rates measured in 2 batches") == 2
    assert said.count("partitioned so since it was new: state stays where it is") == 2
    run = LocalRun(script, slots=2, path=str(tmp_path))
    assert find_keys(run, "of_s") == find_keys(run, "of_u") == (by,)
    assert find_keys(run, "first_s") == ("a",)
    push(run, 20, busy)
    run.close()
    after = json.loads(Session(checkpoint=tmp_path).sql(script).explain("json"))
    said_of = {t["label"]: t["numbers"] for t in after["tables"]}
    assert said_of["s by a, b"] == "partitioned so since it was new, by rates measured in 2 batches by the clock: state stays where it is"


@BUSY
def test_measured_rates_change_no_answer(tmp_path: Path, busy: str, by: str) -> None:
    """Added queries, restarts, other rates in between, other numbers of slots: as with a fixed partitioning."""
    found = answer(tmp_path / "measured", busy)
    assert all(found[q] for q in QUERIES)
    assert found == answer(tmp_path / "fixed", busy, "b" if by == "a" else "a")


@BUSY
def test_tables_with_state_stay(tmp_path: Path, busy: str, by: str) -> None:
    """Rates that are the other way round by now move nothing: the same tables under the same names."""
    measure(tmp_path, busy)
    nodes = []
    for start in (20, 40, 60):
        run = LocalRun(STREAMS + FIRST + NEW, slots=2, path=str(tmp_path))
        for more in (0, 10):
            push(run, start + more, "su".replace(busy, ""))
        assert find_keys(run, "of_s") == (by,)
        nodes.append([n.name for n in run.program.nodes])
        run.close()
    assert nodes[0] == nodes[1] == nodes[2]
    third = "CREATE QUERY third AS SELECT a, b, sum(b) AS n FROM s [RANGE 10] GROUP BY a, b;"
    run = LocalRun(STREAMS + FIRST + NEW + third, slots=2, path=str(tmp_path), limits=Limits(measured_batches=2))
    assert find_keys(run, "of_s") == (by,)
    assert set(nodes[0]) < {n.name for n in run.program.nodes}
    run.close()


def test_a_rate_declared_later_moves_no_state(tmp_path: Path) -> None:
    """The clause is a hint about the future; state that is there keeps its hash, and so its rows."""
    run = LocalRun(STREAMS + NEW, slots=2, path=str(tmp_path))
    push(run, 0, "s")
    before, nodes = find_keys(run, "of_s"), [n.name for n in run.program.nodes]
    run.close()
    busy = {"a": "u", "b": "s"}[before[0]] if len(before) == 1 else "s"
    head, tail = STREAMS.split(f"STREAM {busy} ")
    later = f"{head}STREAM {busy} {tail.replace('SLACK 0', 'SLACK 0 RATE 900000 PER SECOND', 1)}"
    fresh = LocalRun(later + NEW)
    assert find_keys(fresh, "of_s") != before
    fresh.close()
    run = LocalRun(later + NEW, slots=2, path=str(tmp_path))
    assert find_keys(run, "of_s") == before
    assert [n.name for n in run.program.nodes] == nodes
    run.flush()
    assert sum(r[2] for r in run.rows("of_s")) == 200
    run.close()


def test_what_was_chosen_before_a_kill_stays(tmp_path: Path) -> None:
    """A run that dies after it has chosen and before its first batch binds nobody: the next one chooses by the same numbers."""
    measure(tmp_path, "u")
    killed = LocalRun(STREAMS + FIRST + NEW, slots=2, path=str(tmp_path))  # no batch is committed
    assert find_keys(killed, "of_s") == ("b",)
    killed.close()
    fresh = LocalRun(STREAMS + FIRST + NEW)
    assert find_keys(fresh, "of_s") == ("a",)
    fresh.close()
    again = LocalRun(STREAMS + FIRST + NEW, slots=2, path=str(tmp_path))
    assert find_keys(again, "of_s") == ("b",)
    assert again.driver.epoch.record.placed["of_s"].numbers == "measured in 2 batches by the clock"
    again.close()


@BUSY
def test_a_new_checkpoint_is_placed_by_an_old_one(tmp_path: Path, busy: str, by: str) -> None:
    """Its tables are placed as if they were added to the old one; the record says whose numbers they are, and a restart keeps
    them.
    """
    old, new = tmp_path / "old", tmp_path / "new"
    measure(old, busy)
    said = Session(checkpoint=new, rates_from=old).sql(STREAMS + NEW).explain()
    assert said.count(f"partitioned so by rates measured in 2 batches by the clock of {old}\n") == 2
    run = LocalRun(STREAMS + NEW, slots=2, path=str(new), rates_from=str(old))
    assert find_keys(run, "of_s") == find_keys(run, "of_u") == (by,)
    push(run, 0, busy)
    run.change(add="CREATE QUERY more AS SELECT b, count(*) AS n FROM s [RANGE 10] GROUP BY b;")  # by its own numbers
    push(run, 10, busy)
    run.close()
    run = LocalRun(STREAMS + NEW, slots=2, path=str(new))
    assert find_keys(run, "of_s") == (by,)
    assert run.driver.epoch.record.placements["of_s"]["numbers"] == f"measured in 2 batches by the clock of {old}"
    run.close()


def test_borrowed_rates_change_no_answer(tmp_path: Path) -> None:
    """The same rows on a checkpoint that is partitioned by what another measured, and on one that is not."""
    measure(tmp_path / "old", "u")
    found = []
    for name, rates_from in (("new", str(tmp_path / "old")), ("plain", None)):
        run = LocalRun(STREAMS + NEW, slots=2, path=str(tmp_path / name), rates_from=rates_from)
        for start in (0, 10, 20):
            push(run, start, "s")
        run.flush()
        found.append(({q: run.rows(q) for q in QUERIES}, find_keys(run, "of_s")))
        run.close()
    assert found[0][0] == found[1][0]
    assert all(found[0][0].values())
    assert found[0][1] != found[1][1]


def test_rates_that_cannot_be_had_are_refused(tmp_path: Path) -> None:
    """No checkpoint, one without a row, one of other streams, and a new one that is none: before anything is written."""
    other = STREAMS.replace("b INT", "b INT, c INT")
    measure(tmp_path / "old", "s")
    measure(tmp_path / "begun", "s")
    run = LocalRun(STREAMS + FIRST, path=str(tmp_path / "empty"))
    run.push()
    run.close()
    (tmp_path / "folder").mkdir()
    refused = [
        ("nowhere", "new", STREAMS, "nowhere: that is no checkpoint"),
        ("folder", "new", STREAMS, "folder: that is no checkpoint"),
        ("empty", "new", STREAMS, "empty: its last batches have measured nothing"),
        ("old", "new", other, "old: it has none of the streams s, u with the columns they have here"),
        ("old", "begun", STREAMS, "begun has begun: its tables are partitioned for good"),
    ]
    for rates_from, checkpoint, streams, message in refused:
        paths = {"checkpoint": tmp_path / checkpoint, "rates_from": tmp_path / rates_from}
        files = streams.replace("'memory'", f"'json' OPTIONS (path '{tmp_path}')")
        session = Session(**paths).sql(files + FIRST)  # type: ignore[arg-type]
        for ask in (session.check, session.explain, session.advise):
            with pytest.raises(OptionError, match=message):
                ask()
        with pytest.raises(OptionError, match=message):
            LocalRun(streams + FIRST, path=str(tmp_path / checkpoint), rates_from=str(tmp_path / rates_from))
    assert not (tmp_path / "nowhere").exists()
    assert not list((tmp_path / "folder").iterdir())
