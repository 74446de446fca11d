"""The window algebra: specifications, windows/extent/wids, panes. Pure mathematics on integers."""

from headrace.windows.algebra import FOREVER, Window, extent, first_end, first_open, wids, window, windows
from headrace.windows.duration import ticks
from headrace.windows.panes import LANDMARK_LIMIT, closing, needed_from, pane_of, shared_pane
from headrace.windows.spec import WindowSpec

__all__ = [
    "FOREVER",
    "LANDMARK_LIMIT",
    "Window",
    "WindowSpec",
    "closing",
    "extent",
    "first_end",
    "first_open",
    "needed_from",
    "pane_of",
    "shared_pane",
    "ticks",
    "wids",
    "window",
    "windows",
]
