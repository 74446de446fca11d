"""What a window must rest on: without it, it would never close, and its state never be purged."""

from __future__ import annotations

from headrace.errors import PlanError
from headrace.logical.plan import WINDOW_COLUMNS, Raw, Relation
from headrace.windows import WindowSpec


def check_window(source: Relation, shown: str, window: WindowSpec | None, attribute: str | None) -> None:
    if not isinstance(source, Raw):
        if attribute and attribute.lower() not in WINDOW_COLUMNS:
            raise PlanError(
                f"the window is on {attribute!r}, but {shown} makes progress by its own windows; "
                "leave the attribute out"
            )
        return
    if window is None:
        raise PlanError(
            f"no window: the aggregate over {shown} would never be complete, "
            "and its state never purged. "
            "Write FROM stream [RANGE 10 MINUTES SLIDE 1 MINUTE], or RANGE ALL for a landmark window"
        )
    if source.time is None:
        raise PlanError(
            f"{shown} has no progressing attribute left (it is not among its columns), so the "
            "window could never close: keep it in the SELECT of " + shown
        )
    if attribute is not None and attribute.lower() != source.time.lower():
        raise PlanError(
            f"the window is on {attribute!r}, but {shown} makes progress on {source.time!r}, "
            f"so it could never close: put the window on {source.time}"
        )
