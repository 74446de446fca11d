"""Rows that a slot computes on their way to a node: in this slot, or in those of the next level."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from headrace.kernels import payloads
from headrace.kernels.late_rows import drop_late
from headrace.kernels.slot_context import SlotContext
from headrace.kernels.sql_pieces import name_pid_sql
from headrace.program.slot_steps import Send


def send_rows(step: Send, context: SlotContext) -> Iterator[pa.RecordBatch]:
    """Lookups pass late rows on; what takes none drops them here."""
    orders, node = context.orders, context.program.node(step.node)
    taken = drop_late(node, context.progress[node.name].before, step.sql)
    sql = name_pid_sql(node, orders.route, taken)
    for table in context.space.stream(sql, step.source):  # a join may give far more rows than state has
        if step.local:
            context.operators[node.name].absorb(table)
            continue
        for slot, part in payloads.split_by_slot(table, orders.route, orders.slots):
            yield from payloads.make_payloads(slot, node.name, part, orders.limits.payload_bytes)
