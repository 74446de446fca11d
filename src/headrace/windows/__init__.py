"""The window algebra: windows/extent/wids, panes. Pure mathematics on integers and arrays of integers."""

from headrace.windows.cumulative import Cumulative
from headrace.windows.duration import ticks
from headrace.windows.landmark import LANDMARK_LIMIT, Landmark
from headrace.windows.panes import Grid, make_window, share_grid
from headrace.windows.sliding import Sliding
from headrace.windows.spec import FOREVER, LONGEST, Runs, WindowSpec, spell_longest

__all__ = [
    "FOREVER",
    "LANDMARK_LIMIT",
    "LONGEST",
    "Cumulative",
    "Grid",
    "Landmark",
    "Runs",
    "Sliding",
    "WindowSpec",
    "make_window",
    "share_grid",
    "spell_longest",
    "ticks",
]
