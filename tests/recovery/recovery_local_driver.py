"""The same kernels and manifests without Spark, one batch after the other, to be killed: `… CHECKPOINT BATCHES < script`.

Batch i is the file i.json of the folder BATCHES; the manifest says which one is next. With a third argument, GRACE, the
checkpoint is compacted after every second batch, and what is not needed any more goes after so many seconds.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from headrace.program.limits import SHIPPED, Limits
from headrace.state import Retention
from headrace.testing import LocalRun


def main() -> None:
    checkpoint, batches, *grace = sys.argv[1:]
    limits = SHIPPED
    if grace:
        limits = Limits(compact_every=2, compaction=Retention(keep=2, step=2, fanout=2, grace=float(grace[0])))
    run = LocalRun(sys.stdin.read(), slots=2, path=checkpoint, limits=limits)
    print("started", flush=True)
    files = sorted(Path(batches).iterdir())
    while run.manifest.batch_id + 1 < len(files):
        run.push(s=json.loads(files[run.manifest.batch_id + 1].read_text()))
    if not run.manifest.flush:
        run.flush()
    print("done", flush=True)


if __name__ == "__main__":
    main()
