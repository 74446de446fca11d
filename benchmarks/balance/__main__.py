"""Run the experiments and draw what docs/balance.md shows.

python -m benchmarks.balance run [NAME …]     simulate, into benchmarks/balance/results/NAME.json
python -m benchmarks.balance draw             figures into docs/figures, tables into docs/balance.md
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from benchmarks.balance.paper_figures import EXPERIMENTS

RESULTS = Path(__file__).parent / "results"


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["run"]:
        RESULTS.mkdir(exist_ok=True)
        for name in arguments[1:] or EXPERIMENTS:
            started = time.perf_counter()
            text = json.dumps(_rounded(EXPERIMENTS[name]()))
            (RESULTS / f"{name}.json").write_text(text + "\n")
            print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
    elif arguments == ["draw"]:
        from benchmarks.balance.draw_balance import draw

        draw()
    else:
        sys.exit(__doc__)


def _rounded(data: object) -> object:
    if isinstance(data, float):
        return float(f"{data:.4g}")
    if isinstance(data, dict):
        return {k: _rounded(v) for k, v in data.items()}
    return [_rounded(v) for v in data] if isinstance(data, (list, tuple)) else data


if __name__ == "__main__":
    main(sys.argv[1:])
