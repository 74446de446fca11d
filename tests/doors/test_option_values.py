"""Passwords in OPTIONS: `${env:NAME}` and `${file:PATH}` are filled in when a source is opened, and written nowhere."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headrace as hr
from headrace.errors import SourceError, SqlError
from headrace.logical.option_texts import describe_value, looks_like_secret
from headrace.runtime.spark_faults import explain_error
from headrace.sources.option_values import fill_references, hide_values
from headrace.testing import LocalRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PASSWORD = "open-sesame-4711"
QUERY = "CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 SECOND] GROUP BY k;\n"


def script(options: str, format_: str = "kafka") -> str:
    return f"CREATE STREAM s (ts TIMESTAMP, k INT) PROGRESSING ON ts ORDERED FROM '{format_}' OPTIONS ({options});\n{QUERY}"


def read_all(folder: Path) -> str:
    """Everything in a folder, as text."""
    return "".join(f"{path}\n{path.read_bytes().decode('latin-1')}" for path in folder.rglob("*") if path.is_file())


def test_values_come_from_the_environment_and_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole values or parts of one; the end of a file's line is no part of it, and paths start at the script."""
    monkeypatch.setenv("HR_PASSWORD", PASSWORD)
    (tmp_path / "key").write_text("file key\n")
    given = {"a": "${env:HR_PASSWORD}", "b": 'user="x" password="${env:HR_PASSWORD}";', "c": "${file:key}", "d": "$plain {x}"}
    assert fill_references("stream s", given, tmp_path) == {
        "a": PASSWORD, "b": f'user="x" password="{PASSWORD}";', "c": "file key", "d": "$plain {x}",
    }  # fmt: skip


def test_a_value_that_is_nowhere_is_refused_with_its_place(tmp_path: Path) -> None:
    """By name; the text of a file that cannot be read is not shown."""
    with pytest.raises(SourceError, match=r"stream s: option password has its value from \$\{env:HR_NOT_SET\}, but there is no"):
        fill_references("stream s", {"password": "${env:HR_NOT_SET}"}, None)
    with pytest.raises(SourceError, match=r"has its value from \$\{file:none\}, which cannot be read: No such file"):
        fill_references("stream s", {"password": "${file:none}"}, tmp_path)
    with pytest.raises(SourceError, match=r"there is no environment variable HR_NOT_SET"):
        hr.Session().sql(script("subscribe 't', kafka.ssl.key.password '${env:HR_NOT_SET}'")).check()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("password '${vault:x}'", r"option password: expected \$\{env:NAME\} or \$\{file:PATH\}, got \$\{vault:x\}"),
        ("password '${env:}'", r"got \$\{env:\}"),
        ("password '${HOME}'", r"got \$\{HOME\}"),
        ("subscribe '${env:TOPIC}'", "option subscribe is read when the set is planned: write its value out"),
    ],
)
def test_a_reference_that_cannot_be_filled_in_is_refused(options: str, message: str) -> None:
    """When it names nothing known, or when the plan depends on it."""
    with pytest.raises(SqlError, match=message):
        hr.Session().sql(script(options))


def test_a_plan_needs_no_value_and_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """EXPLAIN works where the variable is not set, and does not tell it where it is."""
    session = hr.Session().sql(script("subscribe 't', kafka.ssl.key.password '${env:HR_PASSWORD}'"))
    session.check(to_run=False)
    plain = [session.explain(format=f, verbose=True) for f in ("text", "json", "dot")]
    monkeypatch.setenv("HR_PASSWORD", PASSWORD)
    assert [session.explain(format=f, verbose=True) for f in ("text", "json", "dot")] == plain
    assert PASSWORD not in "".join(plain)


def test_a_checkpoint_keeps_names_and_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that are written out are not kept either, but those that say which rows a source has."""
    monkeypatch.setenv("HR_PASSWORD", PASSWORD)
    options = (
        "subscribe 't', kafka.ssl.key.password '${env:HR_PASSWORD}', kafka.ssl.keystore.password 'plain-4712', "
        """kafka.sasl.jaas.config 'x username="plain-4713" password="${env:HR_PASSWORD}";', topic 'k://me:plain-4714@host/x'"""
    )
    run = LocalRun(script(options), path=str(tmp_path / "c"))
    run.push(s=[(1, 1)])
    run.flush()
    run.close()
    written = read_all(tmp_path / "c")
    assert PASSWORD not in written
    assert "plain-47" not in written
    (record,) = (tmp_path / "c" / "epochs").iterdir()
    assert json.loads(record.read_text())["streams"]["s"]["source"] == [
        "kafka",
        [
            ["subscribe", "t"],
            ["kafka.ssl.key.password", "${env:HR_PASSWORD}"],
            ["kafka.ssl.keystore.password", None],
            ["kafka.sasl.jaas.config", "${env:HR_PASSWORD}"],
            ["topic", "k://…@host/x"],
        ],
    ]


@pytest.mark.parametrize(
    ("after", "kept"),
    [
        ("subscribe 't', kafka.ssl.key.password 'mended'", True),
        ("subscribe 'u', kafka.ssl.key.password 'wrong'", False),
        ("subscribe 't', startingOffsets 'earliest', kafka.ssl.key.password 'wrong'", False),
    ],
)
def test_sparks_log_is_taken_over_only_for_the_same_rows(after: str, kept: bool, tmp_path: Path) -> None:
    """Where nothing was committed, Spark's log of a batch stays if the source has the same rows, with whatever password."""
    run = LocalRun(script("subscribe 't', kafka.ssl.key.password 'wrong'"), path=str(tmp_path / "c"))
    run.driver.lock.release()
    run.store.write("spark/offsets/0", b"v1")
    for manifest in run.store.list("manifests"):
        run.store.delete(manifest)
    LocalRun(script(after), path=str(tmp_path / "c"))
    assert run.store.exists("spark/offsets/0") == kept


@pytest.mark.filterwarnings("ignore:.*Spark has no source 'kafka'")
def test_a_secret_in_plain_text_is_warned_of() -> None:
    """With what to write instead; what only looks a little like one is not."""
    session = hr.Session().sql(script("subscribe 't', kafka.ssl.key.password 'plain', kafka.ssl.protocol 'TLS'"))
    with pytest.warns(RuntimeWarning, match=r"option kafka.ssl.key.password seems to hold a secret.*'\$\{env:KAFKA_SSL_KEY_PASSWORD\}'"):
        session.check(to_run=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*seems to hold a secret")
        hr.Session().sql(script("subscribe 't', kafka.ssl.key.password '${file:/run/key}'")).check(to_run=False)
    assert looks_like_secret("url", "jdbc:postgresql://me:pw@host/db")
    for option in ("sfPassphrase", "kafka.ssl.keystore.key", "fs.s3a.secret.key", "apiKey", "kafka.sasl.jaas.config", "sasToken"):
        assert looks_like_secret(option, "x"), option
    assert not looks_like_secret("url", "jdbc:postgresql://host/db")
    assert not looks_like_secret("enableTokens", "true")
    assert describe_value("password", "pw") is None


def test_messages_do_not_repeat_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Spark says of a source, in a batch or when it is opened, is shown with the reference instead."""
    monkeypatch.setenv("HR_PASSWORD", PASSWORD)
    fill_references("stream s", {"password": "${env:HR_PASSWORD}"}, None)
    assert hide_values(f"login as me:{PASSWORD} failed") == "login as me:${env:HR_PASSWORD} failed"
    for error in (RuntimeError(f"Py4JJavaError: password={PASSWORD}"), SourceError(f"bad {PASSWORD}")):
        for outside in (True, False):
            assert PASSWORD not in str(explain_error(error, 3, outside))


def test_spark_gets_the_value_and_writes_it_nowhere(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run over files whose separator and secrets are references: results are right, and neither the checkpoint, with what
    Spark itself keeps there, nor a report, nor Spark's list of running queries has the value.
    """
    monkeypatch.setenv("HR_PASSWORD", PASSWORD)
    data, reports = tmp_path / "data", []
    data.mkdir()
    (data / "a.json").write_text('{"ts": "2026-01-01T00:00:00Z", "k": 1}\n{"ts": "2026-01-01T00:00:05Z", "k": 2}\n')
    session: Any = hr.Session(spark=spark, checkpoint=tmp_path / "c")
    session.sql(script(f"path '{data}', fs.s3a.secret.key '${{env:HR_PASSWORD}}'", "json"))
    run = session.start(available_now=True, flush=True, on_batch=reports.append)
    run.wait()
    assert session.results("q").arrow().num_rows == 2
    assert PASSWORD not in read_all(tmp_path / "c") + repr(reports) + session.explain(verbose=True)
