"""What Java and Spark say while they start: five lines that tell a user nothing, unless the start fails."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hold_back() -> Iterator[None]:
    """Within it, what this process and those it starts write to standard error is held back, and shown if it ends with an
    error. A process that was started within it is heard from then on.
    """
    sys.stderr.flush()
    reader, writer = os.pipe()
    terminal = os.dup(2)
    os.dup2(writer, 2)
    os.close(writer)
    held: list[bytes] = []
    through = threading.Event()

    def relay() -> None:
        """Until the last process that writes is gone."""
        with os.fdopen(reader, "rb") as lines:
            for line in lines:
                if through.is_set():
                    os.write(terminal, line)
                else:
                    held.append(line)
        os.close(terminal)

    thread = threading.Thread(target=relay, name="headrace-java-noise", daemon=True)
    thread.start()
    try:
        yield
    except BaseException:
        os.dup2(terminal, 2)
        through.set()
        thread.join(0.2)  # Java is gone, and so all it has said is here
        os.write(2, b"".join(held))
        raise
    os.dup2(terminal, 2)
    through.set()
