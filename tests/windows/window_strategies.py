"""Small windows and values: every kind, gaps, ranges the slide does not divide, negative ticks."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from headrace.windows import Cumulative, Landmark, Sliding, WindowSpec

ticks_ = st.integers(-60, 60)
origins = st.integers(-15, 15)
sliding = st.builds(
    Sliding,
    range=st.integers(1, 14),
    slide=st.integers(1, 14),
    origin=origins,
    align=st.sampled_from(["start", "end"]),
)
landmark = st.builds(Landmark, slide=st.integers(1, 14), origin=origins)
cumulative = st.builds(
    lambda slide, times, origin: Cumulative(slide, origin, slide * times),
    st.integers(1, 6),
    st.integers(1, 5),
    origins,
)
bounded = st.one_of(sliding, cumulative)
specs = st.one_of(sliding, cumulative, landmark)

LO, HI = -200, 200


class Window(NamedTuple):
    """A window-id with its extent."""

    wid: int
    start: int
    end: int


def all_windows(spec: WindowSpec) -> list[Window]:
    """Every window that has a part in [LO, HI): the brute force the laws are checked against."""
    ids = spec.windows(LO, HI)
    some = (Window(wid, *spec.extent(wid)) for wid in ids[: 2 * (HI - LO)])
    return [w for w in some if w.start < HI and w.end > LO]
