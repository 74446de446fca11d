"""What a slot does for each kind: the operator of a node, and for a step a function of it and of what the slot works with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from headrace.kernels.compute_relation import advance_node, compute_relation
from headrace.kernels.emit_results import emit_results
from headrace.kernels.find_versions import StoredVersions, find_versions
from headrace.kernels.gathering import Gathering
from headrace.kernels.join_rows import join_rows
from headrace.kernels.joint_aggregation import JointAggregation
from headrace.kernels.look_up import look_up
from headrace.kernels.operator import Operator
from headrace.kernels.pane_aggregation import PaneAggregation
from headrace.kernels.passed_rows import PassedRows
from headrace.kernels.send_rows import send_rows
from headrace.kernels.slot_context import SlotContext
from headrace.kernels.stored_rows import StoredRows
from headrace.program.aggregations import GatherNode, JointNode, PaneNode
from headrace.program.node import Node
from headrace.program.row_joins import JoinRows, RowNode
from headrace.program.slot_steps import Advance, Compute, Emit, Send
from headrace.program.step import Step
from headrace.program.table_lookups import LookUp, TransitNode
from headrace.program.version_joins import FindVersions, VersionNode

Runner = Callable[[Any, SlotContext], Iterable[pa.RecordBatch] | None]  # rows for the next level, if there are any

OPERATORS: dict[type[Node], type[Operator[Any]]] = {
    PaneNode: PaneAggregation,
    GatherNode: Gathering,
    JointNode: JointAggregation,
    RowNode: StoredRows,
    VersionNode: StoredVersions,
    TransitNode: PassedRows,
}

RUNNERS: dict[type[Step], Runner] = {
    Advance: advance_node,
    Compute: compute_relation,
    LookUp: look_up,
    JoinRows: join_rows,
    FindVersions: find_versions,
    Send: send_rows,
    Emit: emit_results,
}
