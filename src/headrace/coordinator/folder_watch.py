"""Watches over a run that folders keep what PARTITIONED BY promises; a batch that breaks it is not committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.errors import SourceError
from headrace.kernels.folder_samples import Sample, find_clash, group_nodes
from headrace.program.messages import SlotReport
from headrace.program.program import Program

MOST_KNOWN = 20_000  # values remembered of each group of tables, those with the smallest hashes


class FolderWatch:
    """What this run has seen of the values of each folder."""

    def __init__(self, program: Program) -> None:
        self._groups = group_nodes(program)
        self._labels = {n.name: n.label for n in program.nodes}
        self._known: dict[str, Sample] = {}

    def check(self, reports: Iterable[SlotReport], pids: Mapping[str, int]) -> None:
        """Refuse a batch in which one value is in two folders; `pids` are the mini-partitions of folders."""
        for report in reports:
            for node, pairs in report.samples.items():
                known = self._known.setdefault(self._groups[node], {})
                clash = find_clash(known, pairs)
                if clash is not None:
                    raise _refuse(self._labels[node], *(_find_folder(pids, pid) for pid in clash))
        for known in self._known.values():
            for hashed in sorted(known)[MOST_KNOWN:]:
                del known[hashed]


def _find_folder(pids: Mapping[str, int], pid: int) -> str:
    return next(name or "." for name, its in pids.items() if its == pid)


def _refuse(label: str, one: str, two: str) -> SourceError:
    return SourceError(
        f"a source is not partitioned as its stream says (PARTITIONED BY): rows of one value, of {label}, are in the folders "
        f"{one!r} and {two!r}.\nNothing of this batch was committed. Put the rows of a value into one folder, by the same name "
        "in every stream, or leave the clause out and use a new checkpoint"
    )
