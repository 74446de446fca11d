"""Peak resident memory of a process and all it starts, by kind: the JVM, and Python with its workers; and the
processor's time they take.

Sampled from /proc several times a second. Workers are forks and share pages with their parent, which are
counted once for each of them: the sum errs upwards, never down. Seconds of the processor depend little on
what else the machine does, unlike those of the clock.
"""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_left
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")


class Peak:
    """Samples the tree under `pid` until stopped; `mb` has the peaks of the whole and of each kind."""

    def __init__(self, pid: int, every: float = 0.2) -> None:
        self.mb = {"total": 0, "java": 0, "python": 0}
        self._pid, self._every = pid, every
        self._cpu: dict[int, float] = {}  # by process, also of those that have ended
        self._used: list[tuple[float, float]] = []  # time.monotonic(), seconds used until then
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(self._every):
            now = {"total": 0.0, "java": 0.0, "python": 0.0}
            for pid, program in tree(self._pid).items():
                size = resident_mb(pid)
                now["total"] += size
                now["java" if program == "java" else "python"] += size
                self._cpu[pid] = max(self._cpu.get(pid, 0.0), cpu_seconds(pid))
            self._used.append((time.monotonic(), sum(self._cpu.values())))
            self.mb = {kind: max(peak, round(now[kind])) for kind, peak in self.mb.items()}


    def cpu_until(self, moment: float) -> float:
        """Seconds of the processor used until `moment` of time.monotonic()."""
        if not self._used:
            return 0.0
        at = bisect_left(self._used, (moment, 0.0))
        if at == 0:
            return self._used[0][1]
        if at == len(self._used):
            return self._used[-1][1]
        (t0, c0), (t1, c1) = self._used[at - 1 : at + 1]
        return c0 + (c1 - c0) * (moment - t0) / (t1 - t0)


def tree(root: int) -> dict[int, str]:
    """The process `root` and its descendants, with the programs they run.

    A JVM's child that is still a JVM was forked to become something else and shares its memory: left out.
    """
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                tail = (
                    (entry / "stat").read_text().rpartition(")")[2]
                )  # a name, in parentheses, may hold anything
            except OSError:  # gone meanwhile
                continue
            children.setdefault(int(tail.split()[1]), []).append(int(entry.name))
    found: dict[int, str] = {}
    waiting = [(root, "")]
    while waiting:
        pid, parent = waiting.pop()
        try:
            program = Path(os.readlink(f"/proc/{pid}/exe")).name
        except OSError:
            continue
        if program == parent == "java":
            continue
        found[pid] = program
        waiting += [(child, program) for child in children.get(pid, [])]
    return found


def resident_mb(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE / 1e6
    except (OSError, IndexError):
        return 0.0


def cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK
    except (OSError, IndexError, ValueError):
        return 0.0
