"""State and exactly-once: stores, segments, manifests, the lock, the routing table. Knows no engine."""

from headrace.state.disk import FileEntry
from headrace.state.format import FORMAT, check_format
from headrace.state.lock import CheckpointLock
from headrace.state.manifest import (
    Manifest,
    ManifestLog,
    ResultFile,
    StreamState,
    TableVersion,
    collect_garbage,
)
from headrace.state.route import initial_route, pids_of, rescale
from headrace.state.segment import SegmentMeta, Span, pid_sizes, read_segment, write_segment
from headrace.state.store import Store

__all__ = [
    "FORMAT",
    "CheckpointLock",
    "FileEntry",
    "Manifest",
    "ManifestLog",
    "ResultFile",
    "SegmentMeta",
    "Span",
    "Store",
    "StreamState",
    "TableVersion",
    "check_format",
    "collect_garbage",
    "initial_route",
    "pid_sizes",
    "pids_of",
    "read_segment",
    "rescale",
    "write_segment",
]
