"""What Java says while it starts is held back; what it says later, and all of it where the start fails, is heard."""

from __future__ import annotations

import subprocess
import time

import pytest

from headrace.runtime.java_noise import hold_back


def wait_for(capfd: pytest.CaptureFixture[str], word: str) -> str:
    said = ""
    for _ in range(100):
        said += capfd.readouterr().err
        if word in said:
            break
        time.sleep(0.05)
    return said


def test_a_start_that_succeeds_is_silent_and_later_words_are_heard(capfd: pytest.CaptureFixture[str]) -> None:
    """As of a Java that goes on when the session is there."""
    with hold_back():
        java = subprocess.Popen(["sh", "-c", "echo noise >&2; read line; echo later >&2"], stdin=subprocess.PIPE)
        time.sleep(0.3)
    assert java.stdin is not None
    java.stdin.close()
    java.wait()
    said = wait_for(capfd, "later")
    assert "later" in said
    assert "noise" not in said


def test_a_start_that_fails_is_heard(capfd: pytest.CaptureFixture[str]) -> None:
    """Before the error reaches its reader."""
    with pytest.raises(RuntimeError), hold_back():
        subprocess.run(["sh", "-c", "echo reason >&2"], check=True)
        raise RuntimeError("gone")
    assert "reason" in wait_for(capfd, "reason")
