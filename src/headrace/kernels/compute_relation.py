"""The plainest steps: a node advances, a relation is computed from another."""

from __future__ import annotations

from headrace.kernels.slot_context import SlotContext
from headrace.program.slot_steps import Advance, Compute


def advance_node(step: Advance, context: SlotContext) -> None:
    context.operators[step.node].advance(*context.round)


def compute_relation(step: Compute, context: SlotContext) -> None:
    context.space.define(step.view, step.sql, step.source)
