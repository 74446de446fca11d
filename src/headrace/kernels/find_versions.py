"""The version valid at a row's time: the last row of its key that is not later (SQL's FOR SYSTEM_TIME AS OF).

Exact in any order of arrival: a row at time t is answered when the low-watermark of the versions has passed t, since before that
an earlier version could still come. Rows that are not answered are kept (`StoredRows`), and the versions that may still be asked
for: with x the least time of a row that is not answered or still to come, all versions from x on, and of each key the last one
before. Older ones go when segments are merged; until then they are there and do no harm. A batch reads those of the
mini-partitions that its rows are in, up to the last time it asks for, and looks among the keys it asks for.

Of versions of one key at the same time the largest counts, compared column by column as declared, a NULL less than anything.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from headrace.kernels.delta import Delta
from headrace.kernels.slot_context import SlotContext
from headrace.kernels.stored_rows import StoredRows
from headrace.kernels.workspace import Workspace
from headrace.program.column_names import alias_values, name_keys, name_values
from headrace.program.version_joins import FindVersions
from headrace.progress import LOWEST
from headrace.progress.advance_program import Interval
from headrace.state import Span


class StoredVersions(StoredRows):
    """A `VersionNode` in one slot."""

    def needed_from(self) -> int:
        return LOWEST  # the last version of a key may be of any age

    def keep(self, tables: Sequence[pa.Table]) -> tuple[pa.Table, Span] | None:
        """What may still be asked for, of these tables; those of other segments have theirs."""
        found = super().keep_from(LOWEST, tables)
        if found is None or self._needed <= LOWEST:
            return found
        name = self.space.register(f"kept_{self.node.name}", found[0])
        keys = self.node.list_keys()
        last = pick_last_sql(f"SELECT * FROM {name} WHERE _t < {self._needed}", keys, self.node.values, ["_t"])
        rows = self.space.query(f"SELECT * FROM {name} WHERE _t >= {self._needed} UNION ALL BY NAME {last}")
        self.space.forget(name)
        rows = rows.select(found[0].column_names).cast(found[0].schema)
        return super().keep_from(LOWEST, [rows])


def pick_last_sql(rows: str, by: Sequence[str], values: int, before: Sequence[str] = ()) -> str:
    """Of all rows that agree on `by` the last, in the order of `before` and then of all values."""
    order = ", ".join(f"{c} DESC NULLS LAST" for c in (*before, *name_values(values)))
    if not order:
        return f"(SELECT DISTINCT ON ({', '.join(by)}) * FROM ({rows}))"
    return f"(SELECT * FROM ({rows}) QUALIFY row_number() OVER (PARTITION BY {', '.join(by)} ORDER BY {order}) = 1)"


def find_versions(step: FindVersions, context: SlotContext) -> None:
    """The relation of the rows whose version became known in this turn."""
    rows, versions = map(context.delta, step.meets)
    define_versions(context.space, step, rows, versions, context.progress[step.complete])


def define_versions(
    space: Workspace,
    step: FindVersions,
    rows: Delta,
    versions: Delta,
    complete: Interval,
) -> None:
    """Define the relation of the rows whose version became known in this batch."""
    low, high = complete.before.bound, complete.after.bound
    nulls = " OR ".join(f"{c} IS NULL" for c in ("_t", *name_keys(step.keys))) if step.kind.kept else "false"
    parts = []
    if new := [t for t in rows.new if t.num_rows]:
        name = space.register(f"new_{step.view}", pa.concat_tables(new))
        parts.append(f"SELECT * FROM {name} WHERE _t < {high} OR {nulls}")
    if high > low and (old := [t for t in rows.old(low, high - 1) if t.num_rows]):
        name = space.register(f"old_{step.view}", pa.concat_tables(old))
        parts.append(f"SELECT * FROM {name} WHERE _t >= {low} AND _t < {high}")
    source = f"({' UNION ALL BY NAME '.join(parts)})"
    last, pids = _find_asked(space, source) if parts else (LOWEST, frozenset[int]())
    known = [t for t in (*versions.old(LOWEST, last, pids), *versions.new) if t.num_rows] if pids else []
    if not pids or (not known and not step.kind.kept):
        space.define_empty(step.view)
        return
    keys = name_keys(step.keys)
    asked = f"(SELECT {_list('_t', *keys, step.row_columns)} FROM {source})"
    if known:
        name = space.register(f"versions_{step.view}", pa.concat_tables(known))
        among = f"SELECT * FROM {name} WHERE _t <= {last}"
        if keys:
            among = f"SELECT * FROM ({among}) SEMI JOIN {source} AS asked USING ({', '.join(keys)})"
        one_each = pick_last_sql(among, [*keys, "_t"], len(step.unknown))
    else:  # typed, so that every slot sends the same columns
        empty = alias_values(step.unknown)
        one_each = f"(SELECT {_list('0::BIGINT AS _t', *(f'NULL AS {k}' for k in keys), *empty)} LIMIT 0)"
    given = f"(SELECT {_list('_t', *keys, step.version_columns)} FROM {one_each})"
    on = " AND ".join([*(f"i0.{k} = i1.{k}" for k in keys), "i0._t >= i1._t"])
    word = "ASOF LEFT JOIN" if step.kind.kept else "ASOF JOIN"
    where = f" WHERE {step.condition}" if step.condition is not None else ""
    space.define(step.view, f"SELECT {step.outputs} FROM {asked} AS i0 {word} {given} AS i1 ON {on}{where}")


def _find_asked(space: Workspace, rows: str) -> tuple[int, frozenset[int]]:
    """The last time that rows ask for, and the mini-partitions they are in."""
    found = space.query(f"SELECT max(_t) AS last, list(DISTINCT pid) AS pids FROM {rows}").to_pylist()[0]
    return LOWEST if found["last"] is None else found["last"], frozenset(found["pids"] or ())


def _list(*pieces: str) -> str:
    return ", ".join(p for p in pieces if p)
