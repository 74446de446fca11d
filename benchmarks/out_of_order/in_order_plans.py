"""Plans that need order (IOP; document 003, sections 8.3 and 8.4), for the studies of skew between inputs.

An in-order union is a *merge*: it holds the rows of inputs that are ahead until every input has come as far. What stands
on it sees ordered rows only. All work on a small batch at once, with Arrow, NumPy and the product's own join kernel.

* `OrderedMerge`: ordered inputs to one ordered stream.
* `InOrderCount`: counts per group of each window over a merge; holds the groups of windows that have begun.
* `AgnosticTumblingJoin` stands beside them: no merge, each row joined as it comes and held while the other side can reach it.
* `InOrderTumblingJoin`: a tumbling-window join of two merges, window by window: the rows of a window go when both inputs have
  passed it. With `early` those of one input go when the other has passed the window, which the order of the inputs allows too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.out_of_order.kernel_join import HeldRows, KernelJoin
from headrace.kernels.connection import connect, fetch_arrow
from headrace.program.program import Program
from headrace.progress import HIGHEST, LOWEST, Frontier


class OrderedMerge:
    """Rows (_t, …) of several ordered inputs, given in order."""

    def __init__(self, inputs: int) -> None:
        self.inputs = [HeldRows() for _ in range(inputs)]
        self.seen = [LOWEST] * inputs

    def absorb(self, tables: Sequence[pa.Table]) -> pa.Table:
        """What no input can come before any more."""
        for i, table in enumerate(tables):
            if table.num_rows:
                self.inputs[i].add(table)
                self.seen[i] = pc.max(table["_t"]).as_py()
        ready = [r for held in self.inputs if (r := held.drop_before(self.bound)) is not None]
        if not ready:
            return tables[0].slice(0, 0)
        rows = pa.concat_tables(ready)
        return rows.take(pa.array(np.argsort(rows["_t"].to_numpy(), kind="stable")))

    def finish(self) -> None:
        """Nothing comes any more."""
        self.seen = [HIGHEST] * len(self.seen)

    @property
    def bound(self) -> int:
        return min(self.seen)

    def held(self) -> tuple[int, int]:
        return sum(h.rows for h in self.inputs), sum(h.bytes for h in self.inputs)


class InOrderCount:
    """count(*) per group and window of ordered rows."""

    def __init__(self, inputs: int, keys: int, width: int, slide: int) -> None:
        self.merge, self.width, self.slide = OrderedMerge(inputs), width, slide
        self.keys = ", ".join(f"k{i}" for i in range(keys))
        names = [*(f"k{i}" for i in range(keys)), "pane", "n"]
        self.panes = pa.table(
            {name: pa.array([], pa.int64() if name in ("pane", "n") else pa.int32()) for name in names}
        )
        self.closed = LOWEST  # the end of the last window that was given

    def absorb(self, tables: Sequence[pa.Table]) -> list[tuple[int, ...]]:
        """The windows that are complete: keys, count, start."""
        rows = self.merge.absorb(tables)
        con = connect()
        con.register("counted_rows", rows)
        con.register("counted_panes", self.panes)
        by = f"{self.keys}, " if self.keys else ""
        self.panes = fetch_arrow(
            con,
            f"SELECT {by}pane, sum(n)::BIGINT AS n FROM (SELECT * FROM counted_panes UNION ALL BY NAME "
            f"SELECT {by}_t - _t % {self.slide} AS pane, 1 AS n FROM counted_rows) GROUP BY ALL",
        )
        if not self.panes.num_rows:
            return []
        con.register("counted_panes", self.panes)
        first = pc.min(self.panes["pane"]).as_py() + self.slide
        ends = range(max(first, self.closed + self.slide), self.merge.bound + 1, self.slide)
        out: list[tuple[int, ...]] = []
        for end in ends:
            start = end - self.width
            sql = f"SELECT {by}sum(n)::BIGINT AS n FROM counted_panes WHERE pane >= {start} AND pane < {end} GROUP BY ALL"
            found = fetch_arrow(con, sql)
            out += [(*row.values(), start) for row in found.to_pylist() if row["n"] is not None]
            self.closed = end
        self.panes = self.panes.filter(
            pc.greater_equal(self.panes["pane"], self.closed + self.slide - self.width)
        )
        return out

    def held(self) -> tuple[int, int]:
        rows, size = self.merge.held()
        return rows + self.panes.num_rows, size + self.panes.nbytes


class InOrderTumblingJoin:
    """A program's tumbling-window join over ordered inputs; `streams` are those that each input merges."""

    def __init__(self, program: Program, streams: Sequence[Sequence[str]], early: bool) -> None:
        self.join, self.streams, self.early = KernelJoin(program), streams, early
        self.merges = [OrderedMerge(len(names)) for names in streams]
        self.inputs = (HeldRows(), HeldRows())

    def absorb(self, tables: Mapping[str, pa.Table], sql: str) -> pa.Table | None:
        """`sql` over the new results."""
        pairs = zip(self.merges, self.streams, strict=True)
        new = [merge.absorb([tables[s] for s in names]) for merge, names in pairs]
        found = self.join.run(self.inputs, new, sql)
        bounds = [merge.bound for merge in self.merges]
        if not self.early:
            bounds = [min(bounds)] * 2
        frontiers = {s: Frontier(b) for names, b in zip(self.streams, bounds, strict=True) for s in names}
        for number, (held, rows) in enumerate(zip(self.inputs, new, strict=True)):
            held.add(rows)
            if min(bounds) > LOWEST:
                held.drop_before(self.join.needed(number, frontiers))
        return found

    def finish(self, tables: Mapping[str, pa.Table], sql: str) -> pa.Table | None:
        """The results of what the merges still hold; `tables` are empty."""
        for merge in self.merges:
            merge.finish()
        return self.absorb(tables, sql)

    def held(self) -> tuple[int, int]:
        parts = [*(m.held() for m in self.merges), *((h.rows, h.bytes) for h in self.inputs)]
        return sum(p[0] for p in parts), sum(p[1] for p in parts)


class AgnosticTumblingJoin:
    """The same join without order: what the out-of-order plan needs to hold, to the row."""

    def __init__(self, program: Program, streams: Sequence[Sequence[str]]) -> None:
        self.join, self.streams, self.inputs = KernelJoin(program), streams, (HeldRows(), HeldRows())
        self.frontiers = {s: Frontier() for names in streams for s in names}

    def absorb(self, tables: Mapping[str, pa.Table], sql: str) -> pa.Table | None:
        """`sql` over the new results."""
        new = [pa.concat_tables([tables[s] for s in names]) for names in self.streams]
        found = self.join.run(self.inputs, new, sql)
        for stream, table in tables.items():
            if table.num_rows:
                self.frontiers[stream] = Frontier(pc.max(table["_t"]).as_py())
        for number, (held, rows) in enumerate(zip(self.inputs, new, strict=True)):
            held.add(rows)
            held.drop_before(self.join.needed(number, self.frontiers))
        return found

    def finish(self, tables: Mapping[str, pa.Table], sql: str) -> pa.Table | None:
        """Nothing waits."""
        return None

    def held(self) -> tuple[int, int]:
        return sum(h.rows for h in self.inputs), sum(h.bytes for h in self.inputs)
