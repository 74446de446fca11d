"""Run the experiments and draw what docs/evidence/network.md shows.

python -m benchmarks.network run [NAME …]     measure, into benchmarks/network/results/NAME.json
python -m benchmarks.network draw             figures into docs/figures, tables into docs/evidence/network.md
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from benchmarks.network.experiments import EXPERIMENTS

RESULTS = Path(__file__).parent / "results"


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["run"]:
        RESULTS.mkdir(exist_ok=True)
        for name in arguments[1:] or EXPERIMENTS:
            started = time.perf_counter()
            data = EXPERIMENTS[name]()
            (RESULTS / f"{name}.json").write_text(json.dumps(_rounded(data), indent=None) + "\n")
            print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
    elif arguments == ["draw"]:
        from benchmarks.network.draw import draw

        draw()
    else:
        sys.exit(__doc__)


def _rounded(data: object) -> object:
    if isinstance(data, float):
        return float(f"{data:.6g}")
    if isinstance(data, dict):
        return {k: _rounded(v) for k, v in data.items()}
    return [_rounded(v) for v in data] if isinstance(data, (list, tuple)) else data


if __name__ == "__main__":
    main(sys.argv[1:])
