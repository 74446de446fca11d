"""Tables of rows on behalf of joins and lookups, each shared by all that agree on what it has.

Inputs of joins are kept by key as long as a partner may come. Rows of streams on their way to a lookup pass through a table that
keeps nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

from sqlglot import exp

from headrace.dialect.duck_expression import spark_sql
from headrace.logical.graph import Join, KeyedJoin, Lookup
from headrace.logical.join_kind import JoinKind
from headrace.optimizer.describe import describe_input
from headrace.optimizer.plan import RowTable, SharedPlan, Table, TransitTable
from headrace.optimizer.trace_columns import cast_to, describe_rows, name_column
from headrace.partitioning.follow_rows import TableKey


class RowKeeper:
    def __init__(self, plan: SharedPlan) -> None:
        self.plan, self.graph = plan, plan.graph
        self.tables: dict[str, Table] = {}
        self._shared: dict[Hashable, str] = {}  # what tables of rows agree on -> table

    def keep_rows(
        self,
        join: KeyedJoin,
        number: int,
        level: int,
        partition: tuple[TableKey, ...],
        by_folder: bool,
    ) -> tuple[RowTable, bool]:
        """The table of an input's rows, shared with the joins before that agree on it, and whether it is new."""
        given, types = join.inputs[number], self.plan.joins[join.name]
        keys, key_types = tuple(map(cast_to, given.keys, types.inputs[number], types.keys)), types.keys
        cohort = self.plan.settings.cohort(join.name)
        rows = describe_rows(self.graph, given.relation)
        agreed = (
            rows,
            tuple(map(spark_sql, keys)),
            key_types,
            level,
            partition,
            given.time,
            cohort,
            join.agree(number),
            by_folder,
        )
        columns = {c.column for c in (*join.visible, *join.hidden) if c.input == number}
        if isinstance(join, Join):
            columns -= find_implied(self.plan, join, number).keys()
        if join.stores_all(number):
            columns = set(self.graph.relations[given.relation].columns)
        found = self._shared.get(agreed)
        if found is not None:
            old = self.tables[found]
            assert isinstance(old, RowTable)
            every = tuple(
                c for c in self.graph.relations[old.input].columns if c in columns or c in old.columns
            )
            shared = replace(old, columns=every, readers=(*old.readers, (join.name, number)))
            self.tables[found] = shared
            return shared, False
        by = ", ".join(k.sql(dialect="spark") for k in given.keys) or "all"
        kept = tuple(c for c in self.graph.relations[given.relation].columns if c in columns)
        label = f"rows of {describe_input(self.graph, given.relation)} by {by}"
        id_ = f"t{len(self.tables)}"
        table = RowTable(
            id_,
            label,
            given.relation,
            keys,
            key_types,
            kept,
            ((join.name, number),),
            level,
            partition,
            cohort,
        )
        self.tables[id_] = table
        self._shared[agreed] = id_
        return table, True

    def send_rows(
        self, lookup: Lookup, level: int, key_types: tuple[str, ...], typed: Mapping[str, Mapping[str, str]]
    ) -> tuple[TransitTable, bool]:
        """Rows of streams in slots, by the keys of the lookup, and whether that is new; lookups that agree share the way."""
        mine, types = tuple(k for k, _ in lookup.keys), self.plan.joins[lookup.name]
        keys = tuple(map(cast_to, mine, types.inputs[0], types.keys))
        if not keys:  # any slot will do
            times = tuple(self.plan.passages[lookup.input].columns)[:1]
            keys = tuple(name_column(c) for c in times)
            key_types = tuple(typed[lookup.input][c] for c in times)
        wanted = {c.column for c in (*lookup.visible, *lookup.hidden) if c.input == 0}
        columns = tuple(c for c in self.graph.relations[lookup.input].columns if c in wanted)
        agreed = (
            "transit",
            describe_rows(self.graph, lookup.input),
            tuple(map(spark_sql, keys)),
            key_types,
            level,
        )
        found = self._shared.get(agreed)
        if found is None:
            found = self._shared[agreed] = f"t{len(self.tables)}"
            label = f"rows of {describe_input(self.graph, lookup.input)} for {lookup.alias}"
            by = tuple(range(len(keys)))
            table = TransitTable(
                found, label, lookup.input, keys, key_types, columns, (lookup.name,), level, by
            )
            self.tables[found] = table
            return table, True
        old = self.tables[found]
        assert isinstance(old, TransitTable)
        every = tuple(c for c in self.graph.relations[old.input].columns if c in columns or c in old.columns)
        shared = replace(old, columns=every, members=(*old.members, lookup.name))
        self.tables[found] = shared
        return shared, False


def find_implied(plan: SharedPlan, join: Join, number: int) -> dict[str, str]:
    """The columns of an input that its stored rows have anyway, each as what it is there: a key, or the progressing value."""
    given, types = join.inputs[number], plan.joins[join.name]
    declared = plan.types[given.relation]
    found = {
        key.name: f"k{i}"
        for i, key in enumerate(given.keys)
        if isinstance(key, exp.Column)
        and types.keys[i] == types.inputs[number][i]
        and (
            join.kind is JoinKind.DISTINCT or types.keys[i] not in ("float", "double")
        )  # 0.0 stands for -0.0 among keys
    }
    if declared[given.time] in ("timestamp", "timestamp_ntz", "bigint"):
        found[given.time] = "_t"
    return found
