"""`headrace generate` from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from headrace.generate.generate_command import generate


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(generate, [str(a) for a in arguments])
    return result.exit_code, result.stdout, result.stderr


def test_packets(tmp_path: Path) -> None:
    """Files are written; the directory is printed alone, so that a script can use it."""
    code, out, err = run(
        "packets", "--rows", 500, "--files", 4, "--disorder", "band", "--out", tmp_path / "p"
    )
    assert (code, out) == (0, f"{tmp_path / 'p'}\n")
    assert "4 files" in err
    assert len(list((tmp_path / "p").glob("*.parquet"))) == 4


def test_flights(tmp_path: Path) -> None:
    """Two streams, two directories."""
    code, out, _ = run("flights", "--rows", 500, "--duration", "2 days", "--files", 1, "--out", tmp_path)
    assert (code, out) == (0, f"{tmp_path / 'flights'}\n{tmp_path / 'weather'}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lull", "2 fortnights", "--lulls", "1"], "unknown unit 'fortnights'"),
        (["--rows", "0"], "rows must be positive"),
        (["--disorder", "wild"], "'wild' is not one of 'none', 'band', 'block-sorted'"),
    ],
)
def test_a_mistake_is_a_message_not_a_traceback(tmp_path: Path, arguments: list[str], message: str) -> None:
    """It ends with an error code and says what was wrong."""
    code, _, err = run("packets", "--out", tmp_path / "p", *arguments)
    assert code != 0
    assert message in err
    assert "Traceback" not in err


def test_twice_into_one_directory_needs_force(tmp_path: Path) -> None:
    """The second run is refused and names --force, with which it passes."""
    arguments = ["packets", "--rows", 10, "--out", tmp_path / "p"]
    assert run(*arguments)[0] == 0
    code, _, err = run(*arguments)
    assert code == 2
    assert "--force" in err
    assert run(*arguments, "--force")[0] == 0


@pytest.mark.parametrize("command", ["packets", "flights"])
def test_help_explains_every_option(command: str) -> None:
    """Help is there, with an example."""
    code, out, _ = run(command, "--help")
    assert code == 0
    assert "Example:" in out
    assert "--seed" in out
