"""Run the studies of processing without order and draw what docs/evidence/out-of-order.md shows.

python -m benchmarks.out_of_order run [NAME …]     measure, into benchmarks/out_of_order/results/NAME.json
python -m benchmarks.out_of_order draw             figures into docs/figures, tables into docs/evidence/out-of-order.md
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.out_of_order.band_study import compare_bands
from benchmarks.out_of_order.skew_study import compare_joins, compare_unions
from benchmarks.out_of_order.slack_study import compare_slacks

STUDIES: dict[str, Callable[[], dict[str, Any]]] = {
    "bands": compare_bands,
    "unions": compare_unions,
    "joins": compare_joins,
    "slack": compare_slacks,
}
RESULTS = Path(__file__).parent / "results"


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["run"] and set(arguments[1:]) <= set(STUDIES):
        RESULTS.mkdir(exist_ok=True)
        for name in arguments[1:] or STUDIES:
            started = time.process_time()
            data = STUDIES[name]()
            (RESULTS / f"{name}.json").write_text(json.dumps(data) + "\n")
            print(f"{name}: {time.process_time() - started:.0f} s of processor time", flush=True)
    elif arguments == ["draw"]:
        from benchmarks.out_of_order.draw_studies import draw_studies

        draw_studies()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
