"""The command line: options, exit codes, messages, and what is printed.

The session is a stub here; the real one is run by the tests of the runtime.
"""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from headrace.cli import main
from headrace.errors import PlanError
from headrace.generate.packets import generate_packets
from headrace.progress import Frontier, Observation
from headrace.report import BatchReport, QueryReport, StreamReport
from headrace.state import (
    CheckpointLock,
    Kind,
    Manifest,
    ManifestLog,
    Numbers,
    OutputFile,
    OutputPart,
    SegmentMeta,
    Span,
    Store,
    StreamState,
    write_segment,
)
from headrace.state.result_parquet import seal_output

SCRIPT = """
CREATE STREAM tcp (ts TIMESTAMP, a INT) PROGRESSING ON ts SLACK 5 SECONDS
  FROM 'parquet' OPTIONS (path 'data');
CREATE QUERY flows AS SELECT a, count(*) AS cnt FROM tcp [RANGE 1 MINUTE] GROUP BY a;
"""
T0 = 1_704_067_200_000_000


def batch_report(batch: int) -> BatchReport:
    stream = StreamReport(100, T0 + 60_000_000, T0 + 55_000_000)
    return BatchReport(batch, 100, 0.5, 1.7e9 + batch, {"tcp": stream}, {"flows": QueryReport(2)})


class FakeRun:
    def __init__(self, on_batch: Callable[[BatchReport], None], mode: str) -> None:
        self.on_batch, self.mode = on_batch, mode
        self.stopped = threading.Event()

    def wait(self) -> None:
        self.on_batch(batch_report(0))
        if self.mode == "endless":
            os.kill(os.getpid(), signal.SIGINT)
            assert self.stopped.wait(10)
        if self.mode == "fails":
            raise PlanError("query flows can never emit: it has no window")
        if self.mode == "breaks":
            raise ZeroDivisionError("oh")

    def stop(self) -> None:
        self.stopped.set()


class FakeSession:
    mode = "drains"
    calls: ClassVar[list[tuple[str, dict[str, Any]]]] = []

    spark = None

    def __init__(self, **options: Any) -> None:
        self.calls.append(("init", options))

    def sql(self, text: str, **options: Any) -> None:
        self.calls.append(("sql", {"text": text, **options}))

    def check(self, to_run: bool = True) -> None:
        pass

    def explain(self, format: str = "text", verbose: bool = False) -> str:
        nodes = [{"id": "tcp", "label": "tcp", "kind": "stream", "detail": ""}]
        return (
            json.dumps({"graph": {"nodes": nodes, "edges": []}})
            if format == "json"
            else f"a plan as {format}{', with its SQL' * verbose}"
        )

    def start(self, **options: Any) -> FakeRun:
        self.calls.append(("start", options))
        return FakeRun(options["on_batch"], self.mode)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> type[FakeSession]:
    module = ModuleType("headrace.session")
    module.Session = FakeSession  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "headrace.session", module)
    monkeypatch.setattr("headrace.commands.run_command.need_java", lambda: None)
    monkeypatch.setattr(FakeSession, "calls", [])
    monkeypatch.setattr(FakeSession, "mode", "drains")
    return FakeSession


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "queries.sql"
    path.write_text(SCRIPT)
    return str(path)


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """A checkpoint of two committed batches, a file that no manifest names, and a little state."""
    store = Store.open(tmp_path / "ck point")
    log = ManifestLog(store)
    segment = state_of(store)
    for version in (1, 2):
        name = f"results/flows/{version}.parquet"
        ends = [datetime(2024, 1, 1, 0, version, tzinfo=UTC)] * 2
        table = pa.table(
            {
                "window_end": pa.array(ends, pa.timestamp("us", "UTC")),
                "a": [1, 2],
                "cnt": [10 * version, None],
            }
        )
        sink = io.BytesIO()
        pq.write_table(table, sink)
        store.write(name, sink.getvalue())
        store.write(f"results/flows/orphan-{version}.parquet", sink.getvalue())
        log.publish(manifest(version, seal_output(store, name, [OutputPart(0, Kind.RESULT, 0, 2)]), segment))
    return store.uri


def state_of(store: Store) -> SegmentMeta:
    table = pa.table(
        {
            "pid": pa.array([0, 0, 0, 5], pa.uint16()),
            "pane": pa.array([1, 2, 3, 1], pa.int64()),
            "n": [1, 2, 3, 4],
        }
    )
    return write_segment(store, "segments/one.arrow", "flows", table, Span(0, 100), 1)


def manifest(version: int, file: OutputFile, segment: SegmentMeta) -> Manifest:
    return Manifest(
        version=version,
        batch_id=version - 1,
        epoch="epochs/000000000001-f.json",
        streams={"tcp": StreamState(Observation(T0 + 60_000_000), Frontier(T0 + 55_000_000), 100 * version, 3, 1)},
        route=(0, 1) * 4,
        slots=2,
        segments=(segment,),
        outputs=(file,),
        numbers=Numbers({"flows": 0}, {"tcp": 0}),
        report=batch_report(version).to_json(),
        created_at=1.7e9,
        promises={"flows": {"window_end": Frontier(T0 + 50_000_000)}},
    )


def call(*args: str) -> Result:
    return CliRunner().invoke(main, args)


def test_help_and_version() -> None:
    """Every command has a help text with an example, and there is a version."""
    assert "0.1.0" in call("--version").stdout
    for command in ("run", "explain", "advise", "results", "state"):
        text = call(command, "--help").stdout
        assert f"headrace {command} " in text, command


def test_the_command_line_starts_without_spark() -> None:
    """Help and results must not pay for importing pyspark."""
    code = "import sys, headrace.cli, headrace.report.export; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_run_passes_its_options_on(session: type[FakeSession], script: str, tmp_path: Path) -> None:
    """What is written on the command line reaches the session, and paths in the file are relative to it."""
    sinks = ["--sink", "console", "--sink", "csv:out"]
    result = call(
        "run",
        script,
        "--checkpoint",
        "ck",
        "--trigger",
        "5 seconds",
        "--slots",
        "3",
        "--balance",
        "hybrid:delta_min=2,th_imb=1.5",
        "--defer",
        "2 seconds",
        "--share",
        "all",
        "--partition-by",
        "k",
        "--rates-from",
        "old",
        "--master",
        "local[2]",
        "--retain",
        "7 days",
        "--allow-functions",
        "java_method,reflect",
        *sinks,
    )
    assert result.exit_code == 0, result.output
    (_, init), (_, sql), (_, start) = session.calls
    assert init == {
        "checkpoint": "ck",
        "slots": 3,
        "master": "local[2]",
        "conf": {},
        "balance": "hybrid:delta_min=2,th_imb=1.5",
        "partition_by": "k",
        "rates_from": "old",
        "defer": "2 seconds",
        "allow_functions": "java_method,reflect",
        "share": "all",
    }
    assert sql == {"text": SCRIPT, "base": tmp_path}
    del start["on_batch"]
    assert start == {
        "available_now": False,
        "trigger": "5 seconds",
        "flush": False,
        "sinks": ["console", "csv:out"],
        "retain": "7 days",
    }


def test_run_logs_a_line_per_batch_when_not_on_a_terminal(session: type[FakeSession], script: str) -> None:
    """Off a terminal the output is one greppable line per batch and nothing else."""
    result = call("run", script, "--checkpoint", "ck", "--available-now")
    assert result.stdout.startswith("batch=0 rows=100 seconds=0.500 rows_per_s=200 results=2 ")
    assert result.stdout.count("\n") == 1


@pytest.mark.parametrize(("flags", "code"), [((), 0), (("--available-now",), 130)])
def test_ctrl_c_stops_after_the_batch(
    session: type[FakeSession], script: str, flags: tuple[str, ...], code: int
) -> None:
    """An endless run that is stopped has done its work (0); one that was to drain has not (130)."""
    session.mode = "endless"
    result = call("run", script, "--checkpoint", "ck", *flags)
    assert result.exit_code == code
    assert "stopping" in result.stderr
    assert "stopped" in result.stderr


def test_errors_are_messages(session: type[FakeSession], script: str) -> None:
    """A mistake of the user is one message and exit code 2; --debug adds the traceback."""
    session.mode = "fails"
    result = call("run", script, "--checkpoint", "ck")
    assert result.exit_code == 2
    assert result.stderr == "Error: query flows can never emit: it has no window\n"
    assert "Traceback" in call("run", script, "--checkpoint", "ck", "--debug").stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\xff\xfe\x00a", "is not a text in UTF-8: byte 1 begins no letter"), (b"\xef\xbb\xbf \r\n", "is empty; expected CREATE STREAM"), (b"-- later\n", "is empty; expected")],
)  # fmt: skip
def test_files_that_are_no_sql(tmp_path: Path, content: bytes, said: str) -> None:
    """Bytes that are no text, and files without a statement, are mistakes of the user and not faults of ours."""
    (tmp_path / "q.sql").write_bytes(content)
    for command in (("run", "--checkpoint", "ck"), ("explain",), ("advise",)):
        result = call(command[0], str(tmp_path / "q.sql"), *command[1:])
        assert result.exit_code == 2
        assert f"q.sql {said}" in result.stderr
        assert "fault of Headrace" not in result.stderr


def test_a_fault_of_ours_is_told_apart(session: type[FakeSession], script: str) -> None:
    """An exception nobody foresaw has exit code 1 and says how to see more."""
    session.mode = "breaks"
    result = call("run", script, "--checkpoint", "ck")
    assert result.exit_code == 1
    assert "ZeroDivisionError: oh" in result.stderr
    assert "--debug" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "flags",
    [
        ("--sink", "kafka"),
        ("--sink", "csv:"),
        ("--slots", "0"),
        ("--balance", "fluks"),
        ("--balance", "headrace:th_imb=2"),
        ("--balance", "flux-load:th_imb=0"),
        ("--jars", "hdfs://a.jar,nowhere/b.jar"),
        ("--available-now", "--trigger", "1 second"),
        ("--sink", f"csv:{__file__}"),
        ("--sink", f"parquet:{__file__}/out"),
        ("--report", f"{__file__}/page.html"),
    ],
)
def test_bad_options_are_refused_before_anything_starts(
    session: type[FakeSession], script: str, flags: tuple[str, ...]
) -> None:
    """A sink nobody knows, no slots, or two ways to run at once: a usage error, and no session."""
    assert call("run", script, "--checkpoint", "ck", *flags).exit_code == 2
    assert not session.calls


def test_a_syntax_error_points_into_the_file(session: type[FakeSession], tmp_path: Path) -> None:
    """The message shows the line, before Spark is started."""
    path = tmp_path / "bad.sql"
    path.write_text("CREATE QUERY q AS\nSELEKT 1;")
    result = call("run", str(path), "--checkpoint", "ck")
    assert result.exit_code == 2
    assert "line" in result.stderr
    assert "^" in result.stderr
    assert not session.calls


def test_java_is_asked_for_in_plain_words(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Java the message says what to install."""
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    result = call("run", script, "--checkpoint", "ck")
    assert result.exit_code == 2
    assert "JAVA_HOME is /nowhere" in result.stderr
    assert "openjdk-17-jre-headless" in result.stderr


def test_spark_that_does_not_start_is_explained(
    session: type[FakeSession], script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Spark's Java said before it died is in the message, and an old Java is called one."""

    def start(_: FakeSession) -> None:
        os.write(2, b"java.lang.UnsupportedClassVersionError: class file version 61.0\n")
        raise RuntimeError("JAVA_GATEWAY_EXITED")

    monkeypatch.setattr(FakeSession, "spark", property(start))
    result = call("run", script, "--checkpoint", "ck")
    assert result.exit_code == 2
    assert "17 or newer" in result.stderr
    assert "class file version 61.0" in result.stderr


def test_run_draws_a_page(session: type[FakeSession], script: str, checkpoint: str, tmp_path: Path) -> None:
    """--report leaves a page with the plan, the batches and the results of the checkpoint."""
    page = tmp_path / "new dir" / "page.html"
    result = call("run", script, "--checkpoint", checkpoint, "--available-now", "--report", str(page))
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert "4 result rows" in text
    assert "2024-01-01 00:02:00" in text


@pytest.mark.parametrize("format_", ["text", "dot"])
def test_explain(session: type[FakeSession], script: str, format_: str) -> None:
    """The plan goes to the standard output in the format asked for."""
    assert call("explain", script, "--format", format_).stdout == f"a plan as {format_}\n"
    assert call("explain", script, "--format", format_, "--verbose").stdout == f"a plan as {format_}, with its SQL\n"


def test_advise(tmp_path: Path) -> None:
    """Advice for a file whose sources are not there yet, compared with the user's own idea."""
    path = tmp_path / "queries.sql"
    path.write_text(SCRIPT)
    result = call("advise", str(path), "--by", "a & 15")
    assert result.exit_code == 0, result.output
    assert "round robin           recommended              proposed" in result.stdout
    assert result.stdout.endswith("partition tcp by a\n")
    wrong = call("advise", str(path), "--by", "b")
    assert wrong.exit_code == 2 and "no stream has all of the columns b" in wrong.output
    assert "--by" not in call("advise", str(path)).output


def test_results_as_csv(checkpoint: str) -> None:
    """A header, every committed row once, nulls empty; files no manifest names are not results."""
    rows = list(csv.reader(io.StringIO(call("results", checkpoint, "flows", "--format", "csv").stdout)))
    assert rows[0] == ["window_end", "a", "cnt"]
    assert rows[1:] == [
        ["2024-01-01T00:01:00Z", "1", "10"],
        ["2024-01-01T00:01:00Z", "2", ""],
        ["2024-01-01T00:02:00Z", "1", "20"],
        ["2024-01-01T00:02:00Z", "2", ""],
    ]


def test_results_as_json(checkpoint: str) -> None:
    """One object per line."""
    lines = call("results", checkpoint, "flows", "--format", "json").stdout.splitlines()
    assert len(lines) == 4
    assert json.loads(lines[2]) == {"window_end": "2024-01-01T00:02:00Z", "a": 1, "cnt": 20}


def test_results_as_table(checkpoint: str) -> None:
    """Numbers are right-aligned under their names."""
    assert call("results", checkpoint, "flows").stdout.splitlines()[:4] == [
        "window_end           a   cnt",
        "───────────────────  ─  ────",
        "2024-01-01 00:01:00  1    10",
        "2024-01-01 00:01:00  2  null",
    ]


def test_results_as_parquet(checkpoint: str, tmp_path: Path) -> None:
    """A Parquet file has all rows with their types."""
    path = tmp_path / "flows.parquet"
    assert call("results", checkpoint, "flows", "--format", "parquet", "--output", str(path)).exit_code == 0
    assert pq.read_table(path)["cnt"].to_pylist() == [10, None, 20, None]


def test_results_lists_queries(checkpoint: str) -> None:
    """Without a query, the queries and their row counts."""
    assert call("results", checkpoint).stdout == "flows\t4\n"


def test_results_of_an_unknown_query(checkpoint: str) -> None:
    """The nearest name is suggested."""
    result = call("results", checkpoint, "flow")
    assert result.exit_code == 2
    assert "Did you mean 'flows'?" in result.stderr


def test_results_of_no_checkpoint(tmp_path: Path) -> None:
    """A directory that is no checkpoint is said to be none, and is not created."""
    result = call("results", str(tmp_path / "none"), "flows")
    assert result.exit_code == 2
    assert "no manifest" in result.stderr
    assert not (tmp_path / "none").exists()


def test_late_rows_that_are_not_there(checkpoint: str) -> None:
    """A stream without late rows is no error; a stream nobody knows is."""
    result = call("results", checkpoint, "--late", "tcp")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "No late rows of tcp" in result.stderr
    assert call("results", checkpoint, "--late", "udp").exit_code == 2


def test_results_dies_quietly_on_a_closed_pipe(checkpoint: str) -> None:
    """`headrace results … | head` leaves no trace of the pipe that closed."""
    command = [
        sys.executable,
        "-c",
        "from headrace.cli import main; main()",
        "results",
        checkpoint,
        "flows",
        "-f",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # before the first line is written, or just after
        log = ManifestLog(Store.open(checkpoint))
        last = log.latest()
        assert last is not None
        log.publish(manifest(3, last.outputs[0], last.segments[0]))
        assert process.wait(20) == 0
        assert process.stderr.read() == b""


def test_follow_sees_new_batches(checkpoint: str) -> None:
    """--follow prints what is there, then each batch as it is committed, each row once."""
    command = [sys.executable, "-c", "from headrace.cli import main; main()"]
    command += ["results", checkpoint, "flows", "--follow", "--format", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(5)]
        log = ManifestLog(Store.open(checkpoint))
        last = log.latest()
        assert last is not None
        log.publish(manifest(3, last.outputs[0], last.segments[0]))
        lines += [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == ""
        assert process.wait(20) == 0
    assert lines[5:] == lines[3:5]


def test_a_damaged_old_manifest_is_reported_and_the_rest_printed(checkpoint: str) -> None:
    """results, state and compact say what is out of reach and go on; results ends with 2, as it is not complete."""
    Path(checkpoint, "manifests", "000000000001.json").write_bytes(b"no")
    result = call("results", checkpoint, "flows", "--format", "csv")
    assert result.exit_code == 2
    assert result.stdout == "window_end,a,cnt\n2024-01-01T00:02:00Z,1,20\n2024-01-01T00:02:00Z,2,\n"
    assert "Warning: manifest" in result.stderr
    assert "000000000001.json is damaged" in result.stderr
    assert call("results", checkpoint).exit_code == 2
    found = call("state", checkpoint, "--format", "json")
    assert found.exit_code == 0
    (lost,) = json.loads(found.stdout)["out_of_reach"]
    assert (lost["first"], lost["last"]) == (1, 1)
    assert "000000000001.json is damaged" in found.stderr
    assert "000000000001.json is damaged" in call("compact", checkpoint).stderr


def test_results_with_addresses(checkpoint: str) -> None:
    """--ipv4 shows integer columns as addresses, whatever the format; a column that is not there is said."""
    text = call("results", checkpoint, "flows", "--format", "json", "--ipv4", "A,cnt").stdout
    assert json.loads(text.splitlines()[0]) == {"window_end": "2024-01-01T00:01:00Z", "a": "0.0.0.1", "cnt": "0.0.0.10"}
    result = call("results", checkpoint, "flows", "--ipv4", "srcIP")
    assert result.exit_code == 2
    assert "there is no column 'srcIP'" in result.stderr


def test_compact_leaves_fewer_files_and_the_same_rows(checkpoint: str) -> None:
    """Eight more batches, compacted: one page, three result files, the same text; with --retain old results go."""
    log = ManifestLog(Store.open(checkpoint))
    last = log.latest()
    assert last is not None
    for version in range(3, 11):
        log.publish(manifest(version, last.outputs[0], last.segments[0]))
    before = call("results", checkpoint, "flows", "--format", "csv").stdout
    result = call("compact", checkpoint, "--grace", "0 seconds")
    assert result.exit_code == 0, result.output
    assert "8 versions moved onto pages" in result.stdout
    assert result.stderr == ""
    assert call("compact", checkpoint, "--grace", "0 seconds").exit_code == 0
    assert len(list(Path(checkpoint, "manifests").iterdir())) == 2
    assert len(list(Path(checkpoint, "history").iterdir())) == 1
    assert call("results", checkpoint, "flows", "--format", "csv").stdout == before
    assert "16 rows expired" in call("compact", checkpoint, "--retain", "1 day").stdout
    assert len(call("results", checkpoint, "flows", "--format", "csv").stdout.splitlines()) == 5
    for wrong in ("0 days", "a week", "-1 day"):
        assert call("compact", checkpoint, "--retain", wrong).exit_code == 2


def test_compact_while_a_run_has_the_checkpoint(checkpoint: str) -> None:
    """A run compacts by itself; the command does not interfere."""
    with CheckpointLock(Store.open(checkpoint)):
        result = call("compact", checkpoint)
    assert result.exit_code == 2
    assert "is in use by process" in result.stderr


def test_state_as_json(checkpoint: str) -> None:
    """Progress, outputs, and state by node, slot and mini-partition are there as data."""
    found = json.loads(call("state", checkpoint, "--format", "json").stdout)
    assert found["batch"] == 2
    assert found["streams"][0]["behind_newest"] == 5_000_000
    assert found["queries"] == [
        {"query": "flows", "rows": 4, "files": 2, "bytes": found["queries"][0]["bytes"],
         "complete_to": {"window_end": T0 + 50_000_000}, "unit": "us"}
    ]
    assert found["nodes"][0]["rows"] == 4
    assert [(p["pid"], p["slot"], p["rows"]) for p in found["mini_partitions"]] == [(0, 0, 3), (5, 1, 1)]
    assert [(s["slot"], s["pids"], s["rows"]) for s in found["slots"]] == [(0, 4, 3), (1, 4, 1)]


def test_state_as_table(checkpoint: str) -> None:
    """The same for people."""
    text = call("state", checkpoint).stdout
    for word in ("2024-01-01 00:00:55", "5 s", "flows", "mini-partitions", "complete to", "2024-01-01 00:00:50"):
        assert word in text


def test_generate_is_attached() -> None:
    """Groups of other packages are part of the command."""
    assert "packets" in call("generate", "--help").stdout


def test_a_real_run(tmp_path: Path) -> None:
    """The whole way on Spark: run, log, sink, page, results; a second run finds nothing left to do."""
    generate_packets(tmp_path / "data", rows=3000, groups=20, files=3, disorder="band")
    script = tmp_path / "queries.sql"
    script.write_text(
        "CREATE STREAM tcp (ts TIMESTAMP, srcIP INT, len INT) PROGRESSING ON ts SLACK 5 SECONDS\n"
        "  FROM 'parquet' OPTIONS (path 'data');\n"
        "CREATE QUERY totals AS SELECT count(*) AS cnt FROM tcp [RANGE 10 MINUTES];\n"
    )
    checkpoint, page, sink = str(tmp_path / "check point"), tmp_path / "page.html", tmp_path / "csv"
    command = [sys.executable, "-c", "from headrace.cli import main; main()", "run", str(script)]
    command += ["--checkpoint", checkpoint, "--available-now", "--master", "local[1]", "--flush"]
    first = subprocess.run(
        [*command, "--report", str(page), "--sink", f"csv:{sink}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("batch=1 rows=3000 ")
    assert first.stderr == f"{page}\n"  # and nothing of what Java has to say
    lines = call("results", checkpoint, "totals", "--format", "json").stdout.splitlines()
    assert sum(json.loads(line)["cnt"] for line in lines) == 3000
    assert f"{len(lines)} result rows" in page.read_text()
    assert sum(len(file.read_text().splitlines()) - 1 for file in sink.rglob("*.csv")) == len(lines)
    second = subprocess.run(command, capture_output=True, text=True, check=False)
    assert second.returncode == 0, second.stderr
    assert call("results", checkpoint, "totals", "--format", "json").stdout.splitlines() == lines


def test_where_nothing_can_be_written(checkpoint: str, tmp_path: Path) -> None:
    """An output in a directory that is not there, and a file as checkpoint: what to do, and no fault of ours."""
    result = call("results", checkpoint, "flows", "--output", str(tmp_path / "nowhere" / "flows.csv"))
    assert result.exit_code == 2
    assert "flows.csv cannot be written: No such file or directory" in result.stderr
    (tmp_path / "file").touch()
    assert "is a file, and a checkpoint is a directory" in call("results", str(tmp_path / "file")).stderr


def test_lengths_of_time_say_which_option_they_are(checkpoint: str) -> None:
    """A number without a unit, and a negative grace."""
    assert "retain: 5 has no unit; write for example '5 seconds'" in call("compact", checkpoint, "--retain", "5").stderr
    assert "grace: '-3 seconds' is before now" in call("compact", checkpoint, "--grace", "-3 seconds").stderr


# -- refused before anything starts --------------------------------------------------------------------------------
def write_script(tmp_path: Path, source: str, columns: str = "(ts TIMESTAMP, k INT)", on: str = "ts") -> str:
    path = tmp_path / "refused.sql"
    path.write_text(
        f"CREATE STREAM s {columns} PROGRESSING ON {on} ORDERED FROM {source};"
        "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 1 MINUTE];"
    )
    return str(path)


@pytest.mark.parametrize("command", ["run", "explain"])
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("'parket' OPTIONS (path '.')", "there is no source 'parket'. Did you mean 'parquet'?"),
        ("'csv'", "a csv source needs OPTIONS (path '…')"),
        ("'csv' OPTIONS (path '')", "its path is empty"),
        ("'csv' OPTIONS (path '.', maxFilesPerTriger 3)", "csv has no option 'maxFilesPerTriger'. Did you mean 'maxFilesPerTrigger'?"),
        ("'csv' OPTIONS (path '.', maxFilesPerTrigger -3)", "maxFilesPerTrigger is a number of files above 0, got '-3'"),
    ],
)
def test_sources_that_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, source: str, said: str
) -> None:
    """A misspelt format or option is refused before Spark starts, by explain too."""
    monkeypatch.setattr("headrace.commands.run_command.need_java", lambda: None)
    monkeypatch.setattr("headrace.commands.run_command._start_spark", lambda *_: pytest.fail("Spark was started"))
    result = call(command, write_script(tmp_path, source), *(["--checkpoint", str(tmp_path / "ck")] if command == "run" else []))
    assert result.exit_code == 2
    assert said in result.output
    assert not (tmp_path / "ck").exists()


def test_explain_needs_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path where nothing is yet is refused by a run before Spark starts; explain plans and says what it could not look at."""
    monkeypatch.setattr("headrace.commands.run_command.need_java", lambda: None)
    monkeypatch.setattr("headrace.commands.run_command._start_spark", lambda *_: pytest.fail("Spark was started"))
    script = write_script(tmp_path, "'parquet' OPTIONS (path 'nowhere')")
    refused = call("run", script, "--checkpoint", str(tmp_path / "ck"))
    assert refused.exit_code == 2 and "there is nothing at" in refused.output
    explained = call("explain", script)
    assert explained.exit_code == 0, explained.output
    assert f"not checked: stream s: there is nothing at {tmp_path}/nowhere yet" in explained.stdout
    (sentence,) = json.loads(call("explain", script, "--format", "json").stdout)["not_checked"]
    assert "nowhere" in sentence


def test_the_example_is_explained_without_its_data(tmp_path: Path) -> None:
    """`headrace explain examples/netmon/queries.sql` in a fresh clone, before any data is made."""
    example = Path(__file__).parent.parent / "examples" / "netmon" / "queries.sql"
    copied = tmp_path / "queries.sql"
    copied.write_text(example.read_text(encoding="utf-8"), encoding="utf-8")
    result = call("explain", str(copied))
    assert result.exit_code == 0, result.output
    assert "not checked" in result.stdout


@pytest.mark.parametrize("columns", ["(ts TIMESTAMP, k INT)", ""])
def test_a_source_that_no_spark_here_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    """An unknown format is refused before Spark starts, with or without a list of columns; a package or a Spark that runs
    already may have it, so then Spark is asked.
    """
    monkeypatch.setattr("headrace.commands.run_command.need_java", lambda: None)
    monkeypatch.setattr("headrace.commands.run_command._start_spark", lambda *_: sys.exit(77))
    monkeypatch.setattr("headrace.sources.installed_sources._has_session", lambda: False)
    script = write_script(tmp_path, "'nosuch'", columns)
    run = ["run", script, "--checkpoint", str(tmp_path / "ck")]
    result = call(*run)
    assert result.exit_code == 2
    assert "stream s: Spark has no source 'nosuch'" in result.output
    assert "--packages" in result.output
    assert call(*run, "--packages", "a:b:1").exit_code == 77
    assert call(*run, "--conf", "spark.driver.extraClassPath=x").exit_code == 77
    monkeypatch.setattr("headrace.sources.installed_sources._has_session", lambda: True)
    assert call(*run).exit_code == 77


def test_costly_windows_are_warned_of(tmp_path: Path) -> None:
    """explain says the numbers on standard error, once, and goes on."""
    script = write_script(tmp_path, "'rate'", "(timestamp TIMESTAMP)", "timestamp")
    Path(script).write_text(Path(script).read_text().replace("RANGE 1 MINUTE", "RANGE 1 DAY SLIDE 1 MILLISECOND"))
    result = call("explain", script)
    assert result.exit_code == 0
    assert result.stderr.count("Warning: query q: with RANGE 1 d and SLIDE 1 ms every row is in 86,400,000 windows") == 1


def test_columns_only_spark_knows(tmp_path: Path) -> None:
    """Without Spark, explain says what it cannot know."""
    result = call("explain", write_script(tmp_path, "'beats'", ""))
    assert result.exit_code == 2
    assert "stream s: only Spark knows beforehand which columns a 'beats' source has; list those that are read" in result.output
    known = call("explain", write_script(tmp_path, "'rate'", "", on="timestamp"))
    assert known.exit_code == 0, known.output


def test_a_trigger_before_now(tmp_path: Path, script: str) -> None:
    """A negative trigger is refused with the option's name."""
    result = call("run", script, "--checkpoint", str(tmp_path / "ck"), "--trigger=-5 seconds")
    assert result.exit_code == 2
    assert "--trigger" in result.output and "'-5 seconds' is before now" in result.output


def test_a_checkpoint_that_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused before Spark starts."""
    monkeypatch.setattr("headrace.commands.run_command.need_java", lambda: None)
    monkeypatch.setattr("headrace.commands.run_command._start_spark", lambda *_: pytest.fail("Spark was started"))
    (tmp_path / "file").write_text("")
    result = call("run", write_script(tmp_path, "'rate'", "", on="timestamp"), "--checkpoint", str(tmp_path / "file"))
    assert result.exit_code == 2
    assert f"checkpoint {tmp_path}/file is a file; expected a directory" in result.output


def test_settings_of_spark(session: type[FakeSession], script: str) -> None:
    """--packages, --jars and --conf are settings of the Spark that is started; a jar must be there, or elsewhere."""
    jar = Path(script).with_name("a.jar")
    jar.touch()
    jars = f"{jar},hdfs://b.jar"
    result = call(
        "run", script, "--checkpoint", "ck", "--available-now", "--packages", "g:a:1", "--jars", jars,
        "--conf", "spark.a=b=c", "--conf", "spark.d=",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    conf = {"spark.a": "b=c", "spark.d": "", "spark.jars.packages": "g:a:1", "spark.jars": jars}
    assert dict(session.calls)["init"]["conf"] == conf
    refused = call("run", script, "--checkpoint", "ck", "--conf", "executor.memory=4g")
    assert refused.exit_code == 2
    assert "expected KEY=VALUE, like spark.executor.memory=4g" in refused.output
