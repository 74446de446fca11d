"""Results of a query, on their way to its file."""

from __future__ import annotations

from headrace.kernels.slot_context import SlotContext
from headrace.program.slot_steps import Emit


def emit_results(step: Emit, context: SlotContext) -> None:
    for table in context.space.stream(step.sql, step.source):
        if not table.num_rows:
            continue
        if step.by_pid:
            last = table.num_columns - 1
            context.result_pids.add(step.node, table.column(last).to_numpy())
            table = table.remove_column(last)
        context.results.write(step.query, table)
