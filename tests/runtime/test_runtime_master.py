"""Which Spark a session runs on: spark-submit's, the one that is there, or the one that is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest

import headrace
import headrace as hr
from headrace.errors import OptionError
from headrace.runtime.choose_master import choose_master, read_given_settings
from headrace.runtime.spark import SETTINGS, make_session

SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"


@pytest.mark.parametrize(
    ("asked", "environment", "given", "master"),
    [
        (None, None, None, "local[*,4]"),
        (None, "local[2]", None, "local[2,4]"),
        ("local", "local[2]", None, "local[1,4]"),
        ("spark://a:7077", None, None, "spark://a:7077"),
        (None, None, {"spark.master": "local[1]"}, "local[1]"),
        (None, "local[2]", {"spark.master": "yarn"}, "yarn"),
        ("yarn", None, {"spark.master": "yarn"}, "yarn"),
        ("local[2]", None, {"spark.master": "local[2,4]"}, "local[2,4]"),
        ("local[2]", None, {}, "local[2]"),
    ],
)
def test_the_spark_that_is_there_comes_first(asked: str | None, environment: str | None, given: Any, master: str) -> None:
    """Then what is asked for, what the environment says, and this machine."""
    assert choose_master(asked, environment, given) == master


def test_another_master_than_the_one_there_is_is_refused() -> None:
    """Spark would take no notice of it."""
    with pytest.raises(OptionError, match=r"master spark://a:7077: this process has a Spark already, on local\[1\]"):
        choose_master("spark://a:7077", None, {"spark.master": "local[1]"})


def test_a_running_spark_is_the_one_there_is(spark: Any) -> None:
    """A session in a process that has one runs on it, or is refused."""
    assert (read_given_settings() or {})["spark.master"] == spark.sparkContext.master
    assert make_session() is spark
    with pytest.raises(OptionError, match="this process has a Spark already"):
        _ = hr.Session(master="local[7]").spark


def submit(master: str, *arguments: str | Path, conf: str = "spark.ui.enabled=false") -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(Path(headrace.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HEADRACE_")}
    environment |= {"PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    command = [str(SUBMIT), "--master", master, "--conf", conf, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_spark_submit_is_obeyed(tmp_path: Path) -> None:
    """The session has the master and the settings of the command line, as plain PySpark has, and ours where none is given."""
    script = tmp_path / "script.py"
    script.write_text(
        "import headrace as hr\n"
        "spark = hr.Session().spark\n"
        "print('MASTER', spark.sparkContext.master, spark.conf.get('spark.sql.shuffle.partitions'))\n"
        "print('OURS', spark.conf.get('spark.sql.ansi.enabled'), spark.conf.get('spark.sql.session.timeZone'))\n"
        "try:\n"
        "    hr.Session(master='local[3]').spark\n"
        "except hr.HeadraceError as error:\n"
        "    print('REFUSED', error)\n"
    )
    done = submit("local[1]", script, conf="spark.sql.session.timeZone=Asia/Tokyo")
    assert "MASTER local[1] 200\n" in done.stdout, done.stderr
    assert f"OURS {SETTINGS['spark.sql.ansi.enabled']} Asia/Tokyo\n" in done.stdout
    assert "REFUSED master local[3]: this process has a Spark already, on local[1]" in done.stdout


@pytest.mark.slow
def test_the_command_runs_under_spark_submit(tmp_path: Path) -> None:
    """By the file of the package, since spark-submit takes no program without .py; and with another master it is refused."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.json").write_text('{"ts": "2026-01-01T00:00:00Z", "k": 1}\n')
    (tmp_path / "q.sql").write_text(
        "CREATE STREAM s (ts TIMESTAMP, k INT) PROGRESSING ON ts ORDERED FROM 'json' OPTIONS (path 'data');\n"
        "CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 SECOND] GROUP BY k;\n"
    )
    program = Path(headrace.__file__).parent / "__main__.py"
    options = ("run", tmp_path / "q.sql", "--checkpoint", tmp_path / "c", "--available-now", "--flush")
    done = submit("local[1]", program, *options)
    assert done.returncode == 0, done.stderr
    assert hr.Session(checkpoint=tmp_path / "c").results("q").arrow().num_rows == 1
    refused = submit("local[1]", program, *options, "--master", "local[2]")
    assert refused.returncode != 0
    assert "this process has a Spark already, on local[1]" in refused.stdout  # where spark-submit puts all that a program says
