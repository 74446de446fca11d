"""Where the numbers of a cost come from: measured in a checkpoint, declared, or assumed (document 000 §4.2.1)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from headrace.cli import main
from headrace.coordinator.measured_rates import read_measured_rates
from headrace.errors import SqlError
from headrace.partitioning.advise_partitioning import read_proposal
from headrace.partitioning.plan_cost import EPOCH, ROWS_PER_EPOCH, RateStatistics, find_share
from headrace.partitioning.search_partitioning import describe_workload, search_partitioning
from headrace.partitioning.stream_partitioning import make_partitioning
from headrace.session import Session
from headrace.testing import LocalRun

STREAM = "CREATE STREAM s (t BIGINT, a INT, b INT, v INT) PROGRESSING ON t SLACK 0 FROM 'memory';"
CONFLICT = """
CREATE QUERY few AS SELECT a, b, count(*) AS n FROM s [RANGE 10] GROUP BY a, b;
CREATE QUERY many AS SELECT a, b, v, count(*) AS n FROM s [RANGE 10] WHERE v > 0 GROUP BY a, b, v;
CREATE QUERY by_a AS SELECT a, max(n) AS n FROM few GROUP BY a;
CREATE QUERY by_b AS SELECT b, max(n) AS n FROM many GROUP BY b;
"""


def run_batches(path: Path, text: str, count: int, keys: int = 3) -> LocalRun:
    run = LocalRun(STREAM + text, slots=2, path=str(path))
    for batch in range(count):
        run.push(s=[(10 * batch + i // 6, i % keys, i // keys % keys, i + 1) for i in range(60)])
    run.flush()
    run.close()
    return run


def test_measured_rows_are_those_that_came(tmp_path: Path) -> None:
    """Results for each row of the stream are as counted, whatever the clock says; what was not measured follows from it."""
    run = run_batches(tmp_path, CONFLICT, 4)
    known = read_measured_rates(run.store, run.graph)
    assert known is not None
    assert known.origins == dict.fromkeys(["s", "few", "many", "by_a", "by_b"], "measured in 5 batches by the clock")
    rates = describe_workload(run.graph, statistics=known).rates
    for query in run.graph.queries:
        assert rates[query].rows / known.rows["s"] == pytest.approx(len(run.rows(query)) / 240)
    assert rates["few"].output / rates["few"].rows == 4 + 4 + 8 + 8 + 8  # by its types, with the window's bounds
    reports = [run.log.read(v).report for v in run.log.versions()]
    seconds = reports[-1]["started_at"] + reports[-1]["seconds"] - reports[0]["started_at"]
    assert known.rows["s"] == pytest.approx(240 * EPOCH / seconds)


def test_measured_numbers_decide(tmp_path: Path) -> None:
    """By the defaults a filter halves its rows, and few is the larger; measured, many is, so it is the one that is served."""
    script = STREAM + CONFLICT
    assert "partition s by a\n" in Session().sql(script).advise()
    run_batches(tmp_path, CONFLICT, 3)
    said = Session(checkpoint=tmp_path).sql(script).advise()
    assert "partition s by b\n" in said
    assert "many: " in said and "measured in 4 batches" in said
    data = json.loads(Session(checkpoint=tmp_path).sql(script).explain("json"))["partitioning"]
    assert data["chosen"] == {"s": ["b"]}
    assert any("few: " in line and "measured in 4 batches" in line for line in data["numbers"])
    assert "s by {b}" in Session(checkpoint=tmp_path).sql(script).explain("dot")
    assert "chosen: s by {b}" in Session(checkpoint=tmp_path).sql(script).explain(verbose=True)


def test_what_is_new_or_changed_is_assumed(tmp_path: Path) -> None:
    """A query of another text, or of a name that was not there, has no measured rows; its stream has."""
    run_batches(tmp_path, CONFLICT, 2)
    other = CONFLICT.replace("v > 0", "v > 1") + "CREATE QUERY more AS SELECT b, count(*) AS n FROM s [RANGE 10] GROUP BY b;"
    lines = Session(checkpoint=tmp_path).sql(STREAM + other).advise().splitlines()
    numbers = {line.split(":")[0].strip(): line for line in lines if " rows, " in line}
    assert "measured in 3 batches" in numbers["s"] and "measured in 3 batches" in numbers["few"]
    assert "0.1 of its input assumed" in numbers["many"] and "0.1 of its input assumed" in numbers["more"]
    assert "from its types" in numbers["s"] and "types of its results" in numbers["few"]


def test_a_stream_of_other_columns_is_another(tmp_path: Path) -> None:
    run_batches(tmp_path, CONFLICT, 1)
    other = STREAM.replace("v INT", "v INT, w INT")
    said = Session(checkpoint=tmp_path).sql(other + CONFLICT).advise()
    assert f"s: {ROWS_PER_EPOCH:,.0f} rows, assumed" in said


def test_only_the_last_batches_count(tmp_path: Path) -> None:
    run = run_batches(tmp_path, CONFLICT, 2)
    known = read_measured_rates(run.store, run.graph, last=2)
    assert known is not None
    assert set(known.origins.values()) == {"measured in 2 batches by the clock"}


def test_a_new_checkpoint_has_measured_nothing(tmp_path: Path) -> None:
    assert Session(checkpoint=tmp_path / "new").sql(STREAM + CONFLICT).advise() == Session().sql(STREAM + CONFLICT).advise()


def test_measured_skew_is_part_of_the_cost(tmp_path: Path) -> None:
    """One value has all rows: what is served pays for its input all the same, and the candidate says why."""
    one = "CREATE QUERY one AS SELECT a, count(*) AS n FROM s [RANGE 10] GROUP BY a;"
    run_batches(tmp_path, one, 2, keys=1)
    lines = Session(checkpoint=tmp_path).sql(STREAM + one).advise().splitlines()
    assert "  s by {a}: the largest of 128 mini-partitions has 100.0% of the rows, measured" in lines
    (most,) = (line.split() for line in lines if line.startswith("  most  "))
    assert most[1:3] == most[3:5]  # as much as round robin
    (candidate,) = (line for line in lines if line.startswith("  s by {a}  "))
    assert candidate.endswith(", serves one; a mini-partition has 100% of the rows")


def find_keys(run: LocalRun, query: str) -> tuple[str, ...]:
    return next(e.by for e in run.plan.exchanges if e.table == run.plan.table_of[query])


@pytest.mark.parametrize(("hot", "by"), [("a", "b"), ("b", "a")])
def test_measured_skew_places_new_tables(tmp_path: Path, hot: str, by: str) -> None:
    """By a serves as much as by b, and comes first; but where one value of a has all rows, so that one slot would, by b is
    chosen.
    """
    one = f"CREATE QUERY one AS SELECT {hot}, count(*) AS n FROM s [RANGE 10] GROUP BY {hot};"
    run_batches(tmp_path, one, 2, keys=1)
    new = "".join(q + ";" for q in CONFLICT.replace("FROM many", "FROM few").split(";") if "many" not in q and q.strip())
    run = LocalRun(STREAM + one + new, slots=2, path=str(tmp_path))
    assert find_keys(run, "few") == (by,)
    assert find_keys(run, "one") == (hot,)
    run.close()
    even = LocalRun(STREAM + one + new, slots=2)
    assert find_keys(even, "few") == ("a",)
    even.close()


def test_few_values_are_skew_in_advice_too() -> None:
    """Without skew the larger query is served, by a flag of two values: half of the rows would be in one place."""
    script = STREAM.replace("a INT", "a BOOLEAN") + CONFLICT
    graph = Session().sql(script).graph
    assert search_partitioning(describe_workload(graph)).partitioning.text == "s by {a}"
    said = Session().sql(script).advise()
    assert "serves few, many, by_a; a mini-partition has 50% of the rows\n" in said
    assert "partition s by b\n" in said


def test_what_is_coarser_is_no_more_even() -> None:
    """Rows that are together stay together: the share of a set is the least that any coarser one has, and says nothing of others."""
    graph = Session().sql(STREAM + CONFLICT).graph

    def find(share: float, by: str) -> float:
        known = RateStatistics(shares={("s", "a, b"): share})
        plan = describe_workload(graph, statistics=known, pids=100)
        keys = read_proposal(graph, by)
        return find_share(plan, "s", make_partitioning(keys, plan.types))

    assert [find(0.6, by) for by in ("a, b", "a", "b & 240", "v", "a, v")] == [0.6, 0.6, 0.6, 0.01, 0.01]
    assert find(0.6, "b & 1") == 0.6
    assert find(0.3, "b & 1") == 0.5  # two values at most
    assert find(0.019, "a") == 0.01  # near enough to even


def test_the_share_of_every_table_is_known(tmp_path: Path) -> None:
    """Tables by other keys have a largest mini-partition each: of six batches of ten values, and of one value in half the rows."""
    both = "CREATE QUERY x AS SELECT a, v, count(*) AS n FROM s [RANGE 10] GROUP BY a, v;"
    both += "CREATE QUERY y AS SELECT b, v, count(*) AS n FROM s [RANGE 10] WHERE v > 0 GROUP BY b, v;"
    both += "CREATE QUERY z AS SELECT b, max(n) AS n FROM y GROUP BY b;"
    run = LocalRun(STREAM + both, slots=2, path=str(tmp_path))
    for batch in range(6):
        run.push(s=[(10 * batch, i, 0 if i % 2 else i, i + 1) for i in range(10 * batch, 10 * batch + 10)])
    run.close()
    known = read_measured_rates(run.store, run.graph)
    assert known is not None
    assert known.shares["s", "b"] == pytest.approx(0.5, abs=0.1)
    assert 1 / 60 <= known.shares["s", "a, v"] < 0.1


def test_declared_rates_count_where_nothing_was_measured(tmp_path: Path) -> None:
    script = STREAM.replace(" FROM", " RATE 600 PER MINUTE FROM") + CONFLICT
    said = Session().sql(script).advise()
    assert "  s: 600 rows, declared; 20 B each, from its types" in said
    assert "few: 60 rows, 0.1 of its input assumed; 40 B each, 8 B a column assumed" in said
    run_batches(tmp_path, CONFLICT, 1)
    assert "rows, measured in 2 batches by the clock; 20 B" in Session(checkpoint=tmp_path).sql(script).advise()


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("RATE 0 PER SECOND", "expected a number of rows above 0, found '0'"),
        ("RATE many PER SECOND", "expected a number of rows above 0, found 'many'"),
        ("RATE 5 PER DAY", "expected SECOND, MINUTE or HOUR, found 'DAY'"),
        ("RATE 5 FROM", "expected PER, found 'FROM'"),
    ],
)
def test_a_rate_that_is_none_is_refused(clause: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        Session().sql(STREAM.replace(" FROM", f" {clause} FROM"))


def test_the_command_line_reads_a_checkpoint(tmp_path: Path) -> None:
    run_batches(tmp_path / "out", CONFLICT, 2)
    file = tmp_path / "set.sql"
    file.write_text(STREAM + CONFLICT)
    for command in (["advise"], ["explain", "--verbose"]):
        done = CliRunner().invoke(main, [*command, str(file), "--checkpoint", str(tmp_path / "out")])
        assert done.exit_code == 0, done.output
        assert "measured in 3 batches" in done.output


TIMED = """
CREATE STREAM s (ts TIMESTAMP, a INT) PROGRESSING ON ts SLACK 0 SECONDS FROM 'memory';
CREATE STREAM u (ts TIMESTAMP, a INT) PROGRESSING ON ts SLACK 0 SECONDS FROM 'memory';
CREATE QUERY of_s AS SELECT a, count(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY a;
CREATE QUERY of_u AS SELECT a, count(*) AS n FROM u [RANGE 10 SECONDS] GROUP BY a;
"""


def replay(path: Path, batches: int, **steps: int) -> LocalRun:
    """Batches of 30 rows of each stream, whose times rise by so many seconds from row to row."""
    run = LocalRun(TIMED, slots=2, path=str(path))
    for batch in range(batches):
        numbers = range(30 * batch, 30 * batch + 30)
        run.push(**{name: [(i * step * 1_000_000, i % 3) for i in numbers] for name, step in steps.items()})
    run.close()
    return run


def test_a_rate_is_of_the_time_of_its_stream(tmp_path: Path) -> None:
    """As many rows in the same batches, of a minute and of an hour: by the clock they are the same, and the one is sixty times
    the other. The rows of the first batch came before the first time that is known.
    """
    run = replay(tmp_path, 4, s=1, u=60)
    known = read_measured_rates(run.store, run.graph)
    assert known is not None
    assert known.rows == {"s": pytest.approx(EPOCH), "u": pytest.approx(EPOCH / 60)}
    assert set(known.origins.values()) == {"measured in 4 batches"}
    rates = describe_workload(run.graph, statistics=known).rates
    assert rates["of_s"].rows == pytest.approx(EPOCH * len(run.rows("of_s")) / 120)
    assert rates["of_u"].rows == pytest.approx(EPOCH / 60 * len(run.rows("of_u")) / 120)


def test_the_batch_before_the_last_ones_tells_where_their_time_began(tmp_path: Path) -> None:
    run = replay(tmp_path, 4, s=1, u=60)
    for last in (1, 2):
        known = read_measured_rates(run.store, run.graph, last)
        assert known is not None
        assert known.rows == {"s": pytest.approx(EPOCH), "u": pytest.approx(EPOCH / 60)}
        assert set(known.origins.values()) == {f"measured in {last} batch{'es' if last > 1 else ''}"}


def test_a_first_batch_alone_is_measured_by_the_clock(tmp_path: Path) -> None:
    """Where its time began is not known."""
    run = replay(tmp_path, 1, s=1, u=60)
    known = read_measured_rates(run.store, run.graph)
    assert known is not None
    assert known.rows["s"] == known.rows["u"] > EPOCH
    assert set(known.origins.values()) == {"measured in 1 batch by the clock"}


def test_a_new_checkpoint_is_weighed_by_an_old_one(tmp_path: Path) -> None:
    """Advice, explain and the command line say the same as of the old checkpoint, and whose numbers they are."""
    run_batches(tmp_path / "old", CONFLICT, 3)
    file = tmp_path / "set.sql"
    file.write_text(STREAM + CONFLICT)
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    session = Session(checkpoint=new, rates_from=tmp_path / "old").sql(STREAM + CONFLICT)
    for said in (session.advise(), Session(rates_from=old).sql(STREAM + CONFLICT).advise()):
        assert "partition s by b\n" in said
        assert f"rows, measured in 4 batches by the clock of {old};" in said
    assert "chosen: s by {b}" in session.explain(verbose=True)
    for command in (["advise"], ["explain", "--verbose"]):
        done = CliRunner().invoke(main, [*command, str(file), "--rates-from", old])
        assert done.exit_code == 0, done.output
        assert f"measured in 4 batches by the clock of {old};" in done.output
