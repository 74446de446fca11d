"""The operator of each kind of node."""

from __future__ import annotations

from typing import Any

from headrace.kernels.find_versions import StoredVersions
from headrace.kernels.gathering import Gathering
from headrace.kernels.joint_aggregation import JointAggregation
from headrace.kernels.operator import Operator
from headrace.kernels.pane_aggregation import PaneAggregation
from headrace.kernels.passed_rows import PassedRows
from headrace.kernels.stored_rows import StoredRows
from headrace.program.aggregations import GatherNode, JointNode, PaneNode
from headrace.program.node import Node
from headrace.program.row_joins import RowNode
from headrace.program.table_lookups import TransitNode
from headrace.program.version_joins import VersionNode

OPERATORS: dict[type[Node], type[Operator[Any]]] = {
    PaneNode: PaneAggregation,
    GatherNode: Gathering,
    JointNode: JointAggregation,
    RowNode: StoredRows,
    VersionNode: StoredVersions,
    TransitNode: PassedRows,
}
