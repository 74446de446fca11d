"""A lookup: the step's SQL reads a static table, which is opened for it."""

from __future__ import annotations

from headrace.kernels.compute_relation import compute_relation
from headrace.kernels.slot_context import SlotContext
from headrace.program.table_lookups import LookUp


def look_up(step: LookUp, context: SlotContext) -> None:
    context.tables.open(step)
    compute_relation(step, context)
