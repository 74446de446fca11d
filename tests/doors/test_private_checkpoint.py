"""A checkpoint is its owner's alone, unless it is shared."""

from __future__ import annotations

import grp
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import headrace as hr
from headrace.cli import main
from headrace.errors import CheckpointError, OptionError
from headrace.state import Store, protect_checkpoint
from headrace.testing import LocalRun

SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k INT) PROGRESSING ON ts ORDERED FROM 'memory';
CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 SECOND] GROUP BY k;
"""
NOBODY = 65534
AS_NOBODY = f"""
import os, sys
os.setgroups([int(sys.argv[2])]); os.setgid({NOBODY}); os.setuid({NOBODY})
for folder, _, files in os.walk(sys.argv[1], onerror=print):
    for file in files:
        open(os.path.join(folder, file), "rb").read()
        print("read")
    if sys.argv[3] == "write" and "segments" in folder:
        open(os.path.join(folder, "of nobody"), "w")
        print("written")
"""


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def look_as_nobody(folder: Path, group: int, doing: str = "read") -> str:
    """What somebody else finds in a folder."""
    done = subprocess.run([sys.executable, "-c", AS_NOBODY, str(folder), str(group), doing], capture_output=True, text=True)
    return done.stdout + done.stderr


def run(path: Path) -> None:
    one = LocalRun(SCRIPT, path=str(path))
    one.push(s=[(1, 1)])
    one.push(s=[(5_000_000, 2)])
    one.close()


@pytest.fixture
def open_tmp(tmp_path: Path) -> Path:
    """A folder that everybody can come to."""
    top = Path(tempfile.gettempdir())
    for folder in (tmp_path, *tmp_path.parents):
        if folder.is_relative_to(top) and folder != top:
            folder.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("there", [False, True])
def test_a_new_checkpoint_is_private(there: bool, open_tmp: Path) -> None:
    """With all files in it, whatever their own rights are; also in an empty folder that everybody could read."""
    path = open_tmp / "c"
    if there:
        path.mkdir(mode=0o755)
    run(path)
    assert mode(path) == 0o700
    if os.geteuid() == 0:
        assert "Permission denied" in look_as_nobody(path, NOBODY)
        assert "read\n" not in look_as_nobody(path, NOBODY)


@pytest.mark.parametrize("later", [False, True])
def test_a_group_reads_and_its_executors_write(later: bool, open_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of before and those made later are the group's; nobody else sees anything."""
    path, group = open_tmp / "c", grp.getgrgid(os.getegid()).gr_name
    if later:
        run(path)
    monkeypatch.setattr("headrace.coordinator.driver.protect_checkpoint", lambda store, _: protect_checkpoint(store, group))
    run(path)
    assert mode(path) == 0o2770
    assert {mode(folder) for folder in path.rglob("*") if folder.is_dir()} == {0o2770}
    assert {file.stat().st_gid for file in path.rglob("*")} == {os.getegid()}
    if os.geteuid() == 0:
        found = look_as_nobody(path, os.getegid(), "write")
        assert found.count("read") == sum(file.is_file() and file.name != "of nobody" for file in path.rglob("*"))
        assert "written" in found
        assert "Errno" not in found
        assert "Permission denied" in look_as_nobody(path, NOBODY)


def test_all_may_read_and_not_write(open_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`all` is for readers."""
    path = open_tmp / "c"
    monkeypatch.setattr("headrace.coordinator.driver.protect_checkpoint", lambda store, _: protect_checkpoint(store, "all"))
    run(path)
    assert mode(path) == 0o755
    if os.geteuid() == 0:
        assert "read" in look_as_nobody(path, NOBODY)
        assert "Permission denied" in look_as_nobody(path, NOBODY, "write")


def test_a_checkpoint_keeps_its_rights_until_a_run_says_otherwise(open_tmp: Path) -> None:
    """Going on without the option changes nothing, with it the folder is opened."""
    path = open_tmp / "c"
    run(path)
    protect_checkpoint(Store.open(path), "all")
    run(path)
    assert mode(path) == 0o755


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    """A run on /tmp must not close /tmp, nor open a home."""
    tmp_path.chmod(0o755)
    (tmp_path / "letter").write_text("x")
    protect_checkpoint(Store.open(tmp_path))
    assert mode(tmp_path) == 0o755
    with pytest.raises(OptionError, match="holds other things than a checkpoint"):
        protect_checkpoint(Store.open(tmp_path), "group")


def test_what_cannot_be_shared_is_refused(tmp_path: Path) -> None:
    """No such group, files that the group could not read, a file system with rights of its own."""
    with pytest.raises(OptionError, match="there is no group 'no-such-group'; expected the name of a group, group"):
        hr.Session(share="no-such-group")
    os.umask(0o077)
    with pytest.raises(OptionError, match=r"nobody else can read \(umask 0077\)"):
        hr.Session(share="all")
    with pytest.raises(OptionError, match="is set in its file system"):
        protect_checkpoint(Store.open("mock://bucket/c"), "group")
    (tmp_path / "q.sql").write_text(SCRIPT)
    done = CliRunner().invoke(main, ["run", str(tmp_path / "q.sql"), "--checkpoint", "c", "--share", "no-such-group"])
    assert done.exit_code == 2
    assert "there is no group" in done.output


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_who_may_not_read_is_told_how_to_share(open_tmp: Path) -> None:
    """The message names the option."""
    run(open_tmp / "c")
    how = (
        f"import os; from headrace.state import Store; os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        f"Store.open({str(open_tmp / 'c')!r}).read('lock')"
    )
    done = subprocess.run([sys.executable, "-c", how], capture_output=True, text=True)
    assert CheckpointError.__name__ in done.stderr
    assert "unless that is done with --share GROUP" in done.stderr.replace("\n", " ")
