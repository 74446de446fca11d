"""What relations of a plan are lowered into: nodes, and steps by level, with the relations that slots make on their way."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from sqlglot import parse_one

from headrace.dialect.duck import translate
from headrace.dialect.duck_cast import duck_type
from headrace.dialect.sql_quotes import quote_name
from headrace.logical.graph import WINDOW_COLUMNS
from headrace.optimizer.plan import Part, Plan, RowTable, Table, TransitTable
from headrace.physical.aggregates import Decomposed
from headrace.physical.keys import normalize_key
from headrace.physical.lowered_node import KnownOfNode
from headrace.physical.result_sql import ResultSql
from headrace.physical.stored_text import keeps_unmatched, time_sql
from headrace.program.column_names import alias_keys, alias_values
from headrace.program.node import Node
from headrace.program.slot_steps import Compute, Send
from headrace.program.step import Step
from headrace.progress.advance_program import ProgressRule


@dataclass(frozen=True)
class SlotView:
    """A part of a relation, as a relation of the slot."""

    name: str
    part: Part


@dataclass
class Lowering:
    plan: Plan
    nodes: dict[str, Node] = field(default_factory=dict)  # by table
    finals: dict[str, list[Decomposed]] = field(default_factory=dict)  # by aggregation
    views: dict[str, list[SlotView]] = field(default_factory=dict)  # by relation
    steps: dict[int, list[Step]] = field(default_factory=dict)  # by level
    rules: list[ProgressRule] = field(default_factory=list)  # of tables and joins
    count: int = 0

    def __post_init__(self) -> None:
        self.graph, self.sql = self.plan.graph, ResultSql(self.plan)

    def step(self, level: int, step: Step) -> None:
        self.steps.setdefault(level, []).append(step)

    def add_node(self, table: Table, node: Node, *rules: ProgressRule) -> None:
        """The node of a table, and what is known of its progress."""
        self.nodes[table.id] = node
        self.rules += rules

    def name_view(self, letter: str) -> str:
        """A new relation of the slot."""
        self.count += 1
        return f"{letter}{self.count}"

    def define(self, name: str, sql: str, source: str, part: Part) -> None:
        """A part of a relation that is SQL over another."""
        view = self.name_view("r")
        self.step(part.level, Compute(view, sql, source))
        self.views.setdefault(name, []).append(SlotView(view, part))

    def name_node(self, table: Table, stored: object) -> str:
        """A node is called by what it stores, so that its state is found by meaning."""
        waits = tuple(w.stream if not w.steps else w for w in self.plan.waits_of(table.id))
        parts = (stored, table.level, tuple(sorted(waits, key=repr)), table.partition, self.plan.settings.pids)
        identity = repr((*parts, "by folder") if table.id in self.plan.by_folder else parts)
        name = "n" + hashlib.sha256(identity.encode()).hexdigest()[:12]
        assert name not in {n.name for n in self.nodes.values()}, f"two tables are stored as {name}"
        return name

    def describe_node(self, table: Table, name: str, keys: int) -> KnownOfNode:
        """What is said of a node of any kind."""
        return KnownOfNode(
            name=name,
            label=table.label,
            level=table.level,
            waits=self.plan.waits_of(table.id),
            keys=keys,
            partition=self._lower_partition(table),
            by_folder=table.id in self.plan.by_folder,
        )

    def _lower_partition(self, table: Table) -> tuple[int | str, ...]:
        """What is hashed, expressions in their declared type."""
        declared = self.plan.types_of_keys(table.members[0])
        types = {f"k{i}": t for i, t in enumerate(declared)}
        found: list[int | str] = []
        for key in table.partition:
            if isinstance(key, str):
                value = translate(parse_one(key, dialect="spark"), types)
                key = f"CAST({value.sql} AS {duck_type(value.type)})"
            found.append(key)
        return tuple(found)

    def send_rows(self, node: Node, table: RowTable | TransitTable, time: str, at_end: bool = False) -> None:
        """Rows of slots on their way to a table; results of windows are at the end of their window, or a tick before."""
        scope, windowed = dict(self.plan.types[table.input]), self.graph.is_windowed(table.input)
        if windowed:
            scope |= dict.fromkeys(WINDOW_COLUMNS, self.graph.window_type(table.input))
        for view in self.views.get(table.input, ()):
            keys = [self.sql.translate_in(table.input, k, scope).sql for k in table.keys]
            tick = "_we" if at_end and windowed else time_sql(self.graph, table.input, time) if time else "0::BIGINT"
            listed = [*(["_pid"] if table.id in self.plan.by_folder else []), f"{tick} AS _t"]
            listed += alias_keys(map(normalize_key, keys, table.types))
            listed += alias_values(map(quote_name, table.columns))
            sql = f"SELECT {', '.join(listed)} FROM {view.name}"
            # rows of no time, as outer joins give them, meet nobody
            if isinstance(table, RowTable) and not keeps_unmatched(self.plan, table):
                sql = f"SELECT * FROM ({sql}) WHERE _t IS NOT NULL"
            self.step(view.part.level, Send(node.name, sql, view.name, view.part.level == table.level))
