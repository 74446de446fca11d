"""State and exactly-once: stores, segments, manifests, the lock, the routing table. Knows no engine."""

from headrace.state.clock import Clock
from headrace.state.compaction import Compacted, Retention, compact_checkpoint
from headrace.state.disk import FileEntry
from headrace.state.format import FORMAT, check_format
from headrace.state.garbage import collect_garbage
from headrace.state.history import HistoryPage, KeptFile, Loss
from headrace.state.lock import CheckpointLock
from headrace.state.manifest import (
    Listing,
    Manifest,
    ManifestLog,
    Mark,
    StreamState,
    TableFile,
    TableVersion,
    WaitingPid,
)
from headrace.state.merge_files import split_versions
from headrace.state.outputs import FilePart, Kind, Numbers, OutputFile, OutputPart, PartKey
from headrace.state.route import initial_route, pids_of, rescale
from headrace.state.segment import SegmentMeta, Span, pid_sizes, read_segment, write_segment
from headrace.state.share import check_share, protect_checkpoint
from headrace.state.store import Store

__all__ = [
    "FORMAT",
    "CheckpointLock",
    "Clock",
    "Compacted",
    "FileEntry",
    "FilePart",
    "HistoryPage",
    "KeptFile",
    "Kind",
    "Listing",
    "Loss",
    "Manifest",
    "ManifestLog",
    "Mark",
    "Numbers",
    "OutputFile",
    "OutputPart",
    "PartKey",
    "Retention",
    "SegmentMeta",
    "Span",
    "Store",
    "StreamState",
    "TableFile",
    "TableVersion",
    "WaitingPid",
    "check_format",
    "check_share",
    "collect_garbage",
    "compact_checkpoint",
    "initial_route",
    "pid_sizes",
    "pids_of",
    "protect_checkpoint",
    "read_segment",
    "rescale",
    "split_versions",
    "write_segment",
]
