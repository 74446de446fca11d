"""Pane aggregation: state is partial rows (pid, pane, k…, p…), windows are closed from panes (document 003 §6.2).

What arrived and what state holds of a pane are alike and merge in any order, so a batch only appends; a row is merged
with others of its group when a window closes and when segments are compacted. Which panes a closing window needs,
which of them open windows will still need, and which may melt into one is the window's business (`windows/`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.kernels.close_windows import PaneRows, define_closed
from headrace.kernels.operator import FLOOR, Due
from headrace.kernels.sql_pieces import columns, group_by, merge_list
from headrace.kernels.workspace import Workspace
from headrace.program.program import PaneNode
from headrace.state import Span
from headrace.windows import Runs, WindowSpec


class PaneAggregation:
    """A `PaneNode` in one slot, from the low-watermark `before` the batch to the one `after` it."""

    def __init__(
        self,
        node: PaneNode,
        space: Workspace,
        read_state: Callable[[], list[pa.Table]],
        before: int,
        after: int,
        born: int | None = None,  # only windows that start after this have seen all their rows
        last_report: int | None = None,  # of a flush, for windows that report without rows
        round_rows: int = 0,
    ) -> None:
        self.node, self.space, self.before, self.after = node, space, before, after
        self._read_state, self._born, self._last_report = read_state, born, last_report
        self._round_rows = round_rows
        self._arrived: list[pa.Table] = []
        self._rows: PaneRows | None = None
        self._loaded: list[pa.Table] | None = None

    def absorb(self, rows: pa.Table) -> None:
        self._arrived.append(rows)
        self._rows = None

    def arrived(self) -> list[pa.Table]:
        return self._arrived

    def due(self) -> Iterable[Due]:
        for window in self.node.windows:
            runs = self._closing(window, self.before, self.after)
            if not len(runs):
                continue
            rows = self._pane_rows()
            total = np.concatenate([[0], np.cumsum(rows.sizes)])
            count, cost = runs.stop - runs.first, total[runs.high] - total[runs.low]
            if int((count * cost).sum()) > self._round_rows:  # a window has no more results than there are groups
                cost = np.minimum(cost, self._count_groups(rows))
            yield Due(window.end_of(runs.first), window.slide, count, cost)

    def advance(self, low: int, high: int) -> None:
        for output in self.node.outputs:
            runs = self._closing(output.window, max(self.before, low), min(self.after, high))
            if len(runs):
                define_closed(self.space, self.node, self._pane_rows(), output.window, runs, output.view)
            else:
                self.space.define_empty(output.view)

    def needed_from(self) -> int:
        if self.after <= FLOOR:
            return FLOOR
        return min(w.needed_from(self.after) for w in self.node.windows)

    def keep(self, tables: Sequence[pa.Table]) -> tuple[pa.Table, Span] | None:
        tables = [t for t in tables if t.num_rows]
        if not tables:
            return None
        keys, _ = columns(self.node)
        rows, needed = self.space.register("kept", pa.concat_tables(tables)), self.needed_from()
        if self.after > FLOOR and any(w.settles for w in self.node.windows):
            rows = self._settle(rows)
        where = f" WHERE pane >= {needed}" if needed > FLOOR else ""
        listed = ", ".join(["pid", "pane", *keys, *merge_list(self.node)])
        table = self.space.query(f"SELECT {listed} FROM {rows}{where}{group_by(['pid', 'pane', *keys])} ORDER BY pid")
        if not table.num_rows:
            return None
        span = pc.min_max(table["pane"])
        return table, Span(span["min"].as_py(), span["max"].as_py() + self.node.grid.width)

    def _settle(self, rows: str) -> str:
        """The rows in the panes they may be kept in from now on; windows that settle panes share with none."""
        (window,) = self.node.windows
        panes = self.space.fetch_numpy(f"SELECT DISTINCT pane FROM {rows}")["pane"]
        settled = window.settle(np.asarray(panes), self.node.grid.width, self.after)
        self.space.register("settled", pa.table({"pane": panes, "settled_pane": settled}))
        return f"(SELECT * EXCLUDE (settled_pane) REPLACE (settled_pane AS pane) FROM {rows} JOIN settled USING (pane))"

    # -- parts --------------------
    def _closing(self, window: WindowSpec, low: int, high: int) -> Runs:
        if window.reports_without_rows and self._last_report is not None:
            high = min(high, self._last_report)
        if high <= low:
            return _NO_RUNS
        runs = window.closing(self._pane_rows().panes, None if low <= FLOOR else low, high)
        if self._born is None or not len(runs):
            return runs
        complete = int(np.searchsorted(window.start_of(wids := runs.wids()), self._born, "right"))
        return runs.between(int(wids[complete]), int(wids[-1]) + 1) if complete < wids.size else _NO_RUNS

    def _pane_rows(self) -> PaneRows:
        """State and what arrived, as one relation."""
        if self._rows is None:
            name = f"all_{self.node.name}"
            tables = [t for t in (*self._state(), *self._arrived) if t.num_rows]
            if not tables:
                self._rows = PaneRows(name, np.empty(0, np.int64), np.empty(0, np.int64))
                return self._rows
            self.space.register(name, pa.concat_tables(tables), keep=True)
            counted = self.space.fetch_numpy(f"SELECT pane, count(*) AS n FROM {name} GROUP BY pane ORDER BY pane")
            self._rows = PaneRows(name, np.asarray(counted["pane"]), np.asarray(counted["n"]))
        return self._rows

    def _state(self) -> list[pa.Table]:
        """The state before the batch, read when the first window closes."""
        if self._loaded is None:
            self._loaded = self._read_state()
        return self._loaded

    def _count_groups(self, rows: PaneRows) -> int:
        keys, _ = columns(self.node)
        if not keys:
            return 1
        sql = f"SELECT approx_count_distinct(hash({', '.join(keys)})) AS n FROM {rows.name}"
        return max(1, int(self.space.fetch_numpy(sql)["n"][0]))


_NO_RUNS = Runs(*(np.empty(0, np.int64) for _ in range(4)))
