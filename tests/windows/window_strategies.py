"""Small windows and values: every kind, gaps, ranges the slide does not divide, negative ticks."""

from __future__ import annotations

from hypothesis import strategies as st

from headrace.windows import Window, WindowSpec, window, windows

ticks_ = st.integers(-60, 60)
origins = st.integers(-15, 15)
sliding = st.builds(
    WindowSpec,
    range=st.integers(1, 14),
    slide=st.integers(1, 14),
    origin=origins,
    align=st.sampled_from(["start", "end"]),
)
landmark = st.builds(WindowSpec, range=st.none(), slide=st.integers(1, 14), origin=origins)
cumulative = st.builds(
    lambda slide, times, origin: WindowSpec(None, slide, origin, reset=slide * times),
    st.integers(1, 6),
    st.integers(1, 5),
    origins,
)
bounded = st.one_of(sliding, cumulative)
specs = st.one_of(sliding, cumulative, landmark)

LO, HI = -200, 200


def all_windows(spec: WindowSpec) -> list[Window]:
    """Every window that has a part in [LO, HI): the brute force the laws are checked against."""
    ids = windows(spec, LO, HI)
    some = (window(spec, wid) for wid in ids[: 2 * (HI - LO)])
    return [w for w in some if w.start < HI and w.end > LO]
