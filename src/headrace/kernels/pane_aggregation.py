"""Pane aggregation: state is partial rows (pid, pane, k…, p…), windows are closed from panes (document 003 §6.2).

What arrived and what state holds of a pane are alike and merge in any order, so a batch only appends; a row is merged
with others of its group when a window closes and when segments are compacted. Which panes a closing window needs,
which of them open windows will still need, and which may melt into one is the window's business (`windows/`).

Where groups make progress by themselves (`GroupBounds`), a window of a group closes when the group's own bound passes
its end: in (bound before, bound after] of the group. So what closes for all is closed for the groups that had not
closed it already, and beyond it the windows of the groups that are ahead are closed, from the rows of these alone.
State is let go of by the bound of all: it is no earlier for a group that is ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.kernels.close_windows import PaneRows, define_closed
from headrace.kernels.group_bounds import GroupBounds, find_group_bounds, make_bounds_table
from headrace.kernels.operator import Due, Operator, OperatorContext
from headrace.kernels.sql_pieces import group_by, map_tick_sql, merge_list, pane_sql
from headrace.program.aggregations import ClosedWindows, PaneNode
from headrace.program.column_names import alias_keys, alias_partials
from headrace.program.node import SourceFeed
from headrace.progress import LOWEST
from headrace.progress.propagate import brings_windows
from headrace.state import Span
from headrace.windows import Runs, WindowSpec


class PaneAggregation(Operator[PaneNode]):
    """A `PaneNode` in one slot, from what was known before the batch to what is known after it."""

    def __init__(self, node: PaneNode, context: OperatorContext) -> None:
        super().__init__(node, context)
        known = context.progress[node.name]
        self.before, self.after, self._groups = known.before.bound, known.after.bound, find_group_bounds(*known)
        self._born, self._last_report = context.born, context.last_report
        self._ahead: PaneRows | None = None
        self._rows: PaneRows | None = None
        self._loaded: list[pa.Table] | None = None

    @classmethod
    def feed_sql(cls, node: PaneNode, feed: SourceFeed, preaggregate: bool) -> str:
        """Partial rows (pane, k…, p…): one for each pane and group, or for each row."""
        where = f" WHERE {feed.where}" if feed.where else ""
        pane = f"{pane_sql(map_tick_sql(feed.steps), *node.grid)} AS pane"
        source = "src" if preaggregate else "(SELECT *, row_number() OVER () AS _row FROM src)"
        pid = ["_pid"] if node.by_folder else []
        inner = f"SELECT {', '.join([*pid, pane, *alias_keys(feed.keys), *alias_partials(feed.values)])} FROM {source}{where}"
        return inner + group_by([*pid, "pane", *node.list_keys(), *([] if preaggregate else ["_row"])])

    def absorb(self, rows: pa.Table) -> None:
        super().absorb(rows)
        self._rows = self._ahead = None

    def due(self) -> Iterable[Due]:
        for window in self.node.windows:
            yield from self._find_due(window, self._closing(window, self.before, self.after), self._pane_rows)
            if self._groups is not None:
                runs = self._closing(window, self.after, self._groups.furthest, self._ahead_rows)
                yield from self._find_due(window, runs, self._ahead_rows)

    def _find_due(self, window: WindowSpec, runs: Runs, read: Callable[[], PaneRows]) -> Iterable[Due]:
        if len(runs):
            rows = read()
            total = np.concatenate([[0], np.cumsum(rows.sizes)])
            count, cost = runs.stop - runs.first, total[runs.high] - total[runs.low]
            if int((count * cost).sum()) > self.space.limits.round_rows:  # a window has no more results than there are groups
                cost = np.minimum(cost, self._count_groups(rows))
            yield Due(window.end_of(runs.first), window.slide, count, cost)

    def advance(self, low: int, high: int) -> None:
        for output in self.node.outputs:
            runs = self._closing(output.window, max(self.before, low), min(self.after, high))
            if self._groups is not None:
                self._advance_groups(output, runs, self._groups, low, high)
            elif len(runs):
                define_closed(self.space, self.node, self._pane_rows(), output.window, runs, output.view)
            else:
                self.space.define_empty(output.view)

    def _advance_groups(self, output: ClosedWindows, runs: Runs, groups: GroupBounds, low: int, high: int) -> None:
        """What closes for all, without what single groups have closed before, and what closes for single groups."""
        view, rows = output.view, self._ahead_rows
        ahead = self._closing(output.window, max(self.after, low), min(groups.furthest, high), rows)
        parts = [f"{view}_all"] * bool(len(runs)) + [f"{view}_ahead"] * bool(len(ahead))
        if not parts:
            self.space.define_empty(view)
            return
        if len(runs):
            define_closed(self.space, self.node, self._pane_rows(), output.window, runs, f"{view}_all")
        if len(ahead):
            define_closed(self.space, self.node, rows(), output.window, ahead, f"{view}_ahead")
        keys, partials = self.node.list_keys(), self.node.list_partials()
        own = ("_pid",) if self.node.by_folder else ()
        listed = ", ".join(f"c.{name}" for name in (*keys, *partials, "_ws", "_we", *own))
        united = " UNION ALL ".join(f"SELECT * FROM {part}" for part in parts)
        due = f"_we > coalesce(_before, {self.before}) AND _we <= coalesce(_after, {self.after})"
        sql = f"SELECT {listed} FROM ({united}) c LEFT JOIN {self._register_groups()} g ON {self._same_group('c')} WHERE {due}"
        self.space.define_over(view, sql, parts)

    def _register_groups(self) -> str:
        name = f"groups_{self.node.name}"
        assert self._groups is not None
        names = [f"g{i}" for i in range(len(self.node.groups))]
        table = make_bounds_table(names, self._groups.bounds, ("_before", "_after"))
        return self.space.register(name, table, keep=True)

    def _same_group(self, rows: str) -> str:
        return " AND ".join(f"{rows}.k{key} IS NOT DISTINCT FROM g.g{i}" for i, key in enumerate(self.node.groups))

    def _ahead_rows(self) -> PaneRows:
        """The rows of the groups that are ahead."""
        if self._ahead is None:
            rows, name = self._pane_rows(), f"ahead_{self.node.name}"
            if not rows.panes.size:
                return rows
            sql = f"SELECT r.* FROM {rows.name} r SEMI JOIN {self._register_groups()} g ON {self._same_group('r')}"
            self.space.register(name, self.space.query(sql), keep=True)
            self._ahead = self._count_panes(name)
        return self._ahead

    def needed_from(self) -> int:
        if self.after <= LOWEST:
            return LOWEST
        return min(w.needed_from(self.after) for w in self.node.windows)

    def keep(self, tables: Sequence[pa.Table]) -> tuple[pa.Table, Span] | None:
        tables = [t for t in tables if t.num_rows]
        if not tables:
            return None
        keys = self.node.list_keys()
        rows, needed = self.space.register("kept", pa.concat_tables(tables)), self.needed_from()
        if self.after > LOWEST and any(w.settles for w in self.node.windows):
            rows = self._settle(rows)
        where = f" WHERE pane >= {needed}" if needed > LOWEST else ""
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
    def _closing(
        self, window: WindowSpec, low: int, high: int, read: Callable[[], PaneRows] | None = None
    ) -> Runs:
        if window.reports_without_rows and self._last_report is not None:
            high = min(high, self._last_report)
        if not brings_windows(low, high, [window]):
            return _NO_RUNS
        rows = self._pane_rows() if read is None else read()
        runs = window.closing(rows.panes, low, high)
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
            self._rows = self._count_panes(name)
        return self._rows

    def _count_panes(self, name: str) -> PaneRows:
        counted = self.space.fetch_numpy(f"SELECT pane, count(*) AS n FROM {name} GROUP BY pane ORDER BY pane")
        return PaneRows(name, np.asarray(counted["pane"]), np.asarray(counted["n"]))

    def _state(self) -> list[pa.Table]:
        """The state before the batch, read when the first window closes."""
        if self._loaded is None:
            self._loaded = self._context.state.read()
        return self._loaded

    def _count_groups(self, rows: PaneRows) -> int:
        keys = self.node.list_keys()
        if not keys:
            return 1
        sql = f"SELECT approx_count_distinct(hash({', '.join(keys)})) AS n FROM {rows.name}"
        return max(1, int(self.space.fetch_numpy(sql)["n"][0]))


_NO_RUNS = Runs(*(np.empty(0, np.int64) for _ in range(4)))
