"""Where each part of a plan works: source tasks, slots, or one slot, and what changes slots between
(document 000 §5).

A plan's nodes, inputs first, as its tables, exchanges and parts have them; nothing is decided here. What §5
calls a merge is an exchange: before it an aggregation's *sub*-aggregates, in source tasks or in the slots of
a lower level, behind it its *super*-aggregate. The partition-agnostic plan (§5.1, figure 3) is the one whose
tables are partitioned by nothing, so that rows meet in one mini-partition and all else is done there
(`plan_agnostic`); it runs, too, with `--partition-by ''`. EXPLAIN shows it beside the plan that was chosen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from headrace.optimizer import optimize
from headrace.optimizer.plan import Plan, Table, Typer
from headrace.partitioning.advise_partitioning import NOTHING
from headrace.partitioning.infer_requirements import infer_requirements
from headrace.partitioning.row_places import SOURCE

_IN_TASKS, _EVERYWHERE, _ONCE = "source tasks", "every slot", "one slot"


@dataclass(frozen=True)
class PlanNode:
    """A stream, a part of a relation's work, or an exchange, which `by` says the keys of."""

    id: str
    kind: str  # stream, selection, union, lookup, sub, super, aggregation, join, distinct, exchange, folders
    label: str
    level: int  # of the slots; those of an exchange are behind it
    place: str
    inputs: tuple[str, ...]
    by: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"exchange {self.level + 1} of {self.label}" if self.kind == "exchange" else f"{self.kind} {self.label}"


def plan_agnostic(plan: Plan, typer: Typer) -> Plan:
    """The partition-agnostic plan of the same set."""
    settings = replace(plan.settings, partition_by=NOTHING, placements={}, by_folder=None)
    return optimize(plan.graph, typer, settings)


def lay_out_plan(plan: Plan) -> list[PlanNode]:
    return _Layout(plan).run()


class _Layout:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.graph = plan, plan.graph
        self.kinds = {n: r.kind for n, r in infer_requirements(plan.graph, plan.relations).items()}
        self.exchanges = {e.table: e for e in plan.exchanges}
        self.nodes: dict[str, PlanNode] = {}
        self.ends: dict[str, list[str]] = {}  # relation -> the nodes that give its rows

    def run(self) -> list[PlanNode]:
        for name in self.plan.relations:
            if name in self.plan.used:
                tables = [t for t in self.plan.tables.values() if name in t.members]
                self.ends[name] = self._compute_of_tables(name, tables) if tables else self._compute_in_place(name)
        return list(self.nodes.values())

    def _compute_in_place(self, name: str) -> list[str]:
        """Where what it reads is: in each of these places, if it unites rows of several."""
        relation = self.graph.relations[name]
        if name in self.graph.streams:  # all its rows, as they come
            return [self._find_stream(name)]
        read = [self._find_stream(s) for s in relation.own_streams]
        read += [end for one in relation.reads for end in self.ends[one]]
        groups: dict[tuple[int, str], list[str]] = {}
        for end in read:
            groups.setdefault((self.nodes[end].level, self.nodes[end].place), []).append(end)
        ids = [name if len(groups) == 1 else f"{name}@{level} {place}" for level, place in groups]
        for id_, ((level, place), inputs) in zip(ids, groups.items(), strict=True):
            self._add(PlanNode(id_, self.kinds[name], name, level, place, tuple(inputs)))
        return ids

    def _compute_of_tables(self, name: str, tables: list[Table]) -> list[str]:
        kind, level = self.kinds[name], max(t.level for t in tables)
        inputs = [end for table in tables for end in self._bring_rows(table, kind)]
        if kind == "aggregation" and any(t.id in self.exchanges for t in tables):
            kind = "super"
        together = all(not t.partition and t.id not in self.plan.by_folder for t in tables)
        return [self._add(PlanNode(name, kind, name, level, _ONCE if together else _EVERYWHERE, tuple(inputs)))]

    def _bring_rows(self, table: Table, kind: str) -> list[str]:
        """The nodes that a table's rows come from; partial aggregates are sent, of what is aggregated."""
        input_ = table.find_input(self.graph)
        given, members = self.ends[input_], ", ".join(m for m in table.members if m in self.plan.used)
        crossing = [end for end in given if self.nodes[end].level < table.level]
        if (exchange := self.exchanges.get(table.id)) is None:
            return [self._read_folders(table, members, end) for end in crossing] or given
        here = [end for end in given if end not in crossing]
        if kind == "aggregation":
            crossing = [self._add_sub(table.id, members, self.nodes[end]) for end in crossing]
        label, place = members if kind == "aggregation" else input_, _EVERYWHERE if exchange.by else _ONCE
        node = PlanNode(
            f"exchange {table.id}", "exchange", label, table.level, place, tuple(crossing), exchange.by
        )
        return [*here, self._add(node)]

    def _read_folders(self, table: Table, label: str, end: str) -> str:
        """Slots read the rows of a stream that comes partitioned; source tasks tell progress."""
        return self._add(PlanNode(f"folders {table.id} {end}", "folders", label, table.level, _EVERYWHERE, (end,)))

    def _add_sub(self, table: str, label: str, below: PlanNode) -> str:
        return self._add(PlanNode(f"sub {table} {below.id}", "sub", label, below.level, below.place, (below.id,)))

    def _find_stream(self, name: str) -> str:
        return self._add(PlanNode(f"stream {name}", "stream", name, SOURCE, _IN_TASKS, ()))

    def _add(self, node: PlanNode) -> str:
        self.nodes.setdefault(node.id, node)
        return node.id


# -- rendering --------------------
def render_layout(nodes: Iterable[PlanNode]) -> list[str]:
    """Lines of text: what is read first comes first."""
    names: dict[str, str] = {}
    lines = []
    for node in nodes:
        names[node.id] = node.name
        where = _describe_exchange(node) if node.kind == "exchange" else f"in {node.place}"
        over = f", over {', '.join(dict.fromkeys(names[i] for i in node.inputs))}" if node.inputs else ""
        lines.append(f"{node.name}: {where}{over}")
    return lines


def export_layout(nodes: Iterable[PlanNode]) -> dict[str, Any]:
    """Nodes and edges, for JSON and drawings."""
    listed = list(nodes)
    return {
        "nodes": [
            {
                "id": n.id,
                "kind": n.kind,
                "label": n.label,
                "level": n.level,
                "place": n.place,
                "detail": _describe_exchange(n) if n.kind == "exchange" else n.place,
            }
            for n in listed
        ],
        "edges": [[i, n.id] for n in listed for i in n.inputs],
    }


def _describe_exchange(node: PlanNode) -> str:
    return f"by {', '.join(node.by)}" if node.by else "to one mini-partition"
