"""Things broken on purpose, one at a time: a simulation that does not notice them is worth nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from headrace.coordinator.delivery import Delivery
from headrace.kernels.node_segments import NodeSegments
from headrace.kernels.operator import Operator
from headrace.progress.policy import Slack
from headrace.state import Manifest, Store


def commit_before_flushing(patch: pytest.MonkeyPatch) -> None:
    """A manifest is published before the files that it names are flushed."""
    patch.setattr(Store, "sync", lambda store, rels: None)


def purge_too_early(patch: pytest.MonkeyPatch) -> None:
    """Segments whose last row is needed for one tick more are let go."""
    retain = NodeSegments.retain

    def retain_less(segments: NodeSegments, operator: Operator) -> None:
        needed = operator.needed_from()
        operator.needed_from = lambda: needed + 1  # type: ignore[method-assign]
        retain(segments, operator)
        del operator.needed_from

    patch.setattr(NodeSegments, "retain", retain_less)


def progress_too_far(patch: pytest.MonkeyPatch) -> None:
    """A stream is taken to be complete one tick further than its slack says."""
    frontier = Slack.frontier
    patch.setattr(Slack, "frontier", lambda slack, seen: frontier(_Shorter(slack.bound - 1), seen))


class _Shorter(Slack):
    def __post_init__(self) -> None:
        """May be negative."""


def remember_before_giving(patch: pytest.MonkeyPatch) -> None:
    """What a sink was given is remembered before it is given."""
    deliver = Delivery._deliver

    def remember_first(delivery: Delivery, name: str, sink: Any, manifest: Manifest) -> None:
        delivery._remember(name, manifest.version)
        deliver(delivery, name, sink, manifest)

    patch.setattr(Delivery, "_deliver", remember_first)


MUTANTS: Mapping[str, Callable[[pytest.MonkeyPatch], None]] = {
    "commit": commit_before_flushing,
    "purge": purge_too_early,
    "progress": progress_too_far,
    "delivery": remember_before_giving,
}
