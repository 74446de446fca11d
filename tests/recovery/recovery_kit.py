"""Starting processes and killing them at chosen moments.

There are no hooks in the product: a moment is "a file has appeared in this folder of the checkpoint", plus a random while, or a
random while alone. What is killed is the driver with all it has started, or the driver alone, whose JVM and workers then
go on for a moment as orphans: their files must not matter.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
MOMENTS = ("manifests", "results", "segments", "spark/offsets", "spark/commits", "late", "")
PATIENCE = 600.0


def start(driver: str, script: str, *arguments: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(HERE / driver), *map(str, arguments)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=environment,
    )
    assert process.stdin is not None
    process.stdin.write(script.encode())
    process.stdin.close()
    return process


def finish(process: subprocess.Popen[bytes]) -> bool:
    """Wait for a process; whether it got to its end."""
    assert process.stdout is not None
    said = process.stdout.read()
    return process.wait(PATIENCE) == 0 and said.endswith(b"done\n")


def kill_at(
    process: subprocess.Popen[bytes], checkpoint: Path, moment: str, rng: random.Random, alone: bool
) -> bool:
    """Kill at a moment; False if the process ended before."""
    assert process.stdout is not None
    if process.stdout.readline() != b"started\n":
        return False
    before = files(checkpoint / moment) if moment else set()
    end = time.monotonic() + PATIENCE
    if not moment:
        time.sleep(rng.random() * 3)
    while moment and process.poll() is None and not files(checkpoint / moment) - before:
        assert time.monotonic() < end, f"nothing appeared in {moment}"
        time.sleep(0.002)
    if moment and rng.random() < 0.7:
        time.sleep(rng.random() * 0.05)
    if process.poll() is not None:
        return False
    if alone:
        process.kill()
    else:
        kill_group(process)
    process.wait()
    return True


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """The process and everything it has started."""
    for pid in [*descendants(process.pid), process.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def until_files(folder: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not files(folder):
        assert time.monotonic() < end, f"nothing appeared in {folder}"
        time.sleep(0.01)


def files(folder: Path) -> set[str]:
    found = set()
    for root, _, names in os.walk(folder):
        found.update(os.path.join(root, n) for n in names if not n.startswith("."))
    return found


def descendants(pid: int, holding: str = "") -> list[int]:
    """Children, their children and so on, whose command line has `holding`; the deepest last."""
    children: dict[int, list[int]] = {}
    for other, parent in parents():
        children.setdefault(parent, []).append(other)
    found, todo = [], [pid]
    while todo:
        for child in children.get(todo.pop(0), []):
            todo.append(child)
            if holding in command_of(child):
                found.append(child)
    return found


def parents() -> Iterator[tuple[int, int]]:
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            yield int(entry), int(fields[1])


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
