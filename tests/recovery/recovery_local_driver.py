"""The same kernels and manifests without Spark, one batch after the other, to be killed: `… CHECKPOINT BATCHES < script`.

Batch i is the file i.json of the folder BATCHES; the manifest says which one is next.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from headrace.testing import LocalRun


def main() -> None:
    checkpoint, batches = sys.argv[1:]
    run = LocalRun(sys.stdin.read(), slots=2, path=checkpoint)
    print("started", flush=True)
    files = sorted(Path(batches).iterdir())
    while run.manifest.batch_id + 1 < len(files):
        run.push(s=json.loads(files[run.manifest.batch_id + 1].read_text()))
    if not run.manifest.flush:
        run.flush()
    print("done", flush=True)


if __name__ == "__main__":
    main()
