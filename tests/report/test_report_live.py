"""The live view, drawn on terminals of several sizes."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from report_samples import report, reports
from rich.console import Console

from headrace.report.checkpoint import count_before
from headrace.report.live import LiveView
from headrace.testing import LocalRun


def drawn(view: LiveView, width: int, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    console.print(view)
    return console.file.getvalue().rstrip("\n").split("\n")  # type: ignore[attr-defined]


def view_of(*batches: object, title: str = "queries.sql") -> LiveView:
    view = LiveView(title, Console(file=io.StringIO()), clock=lambda: 1_704_067_320.0)
    for batch in batches:
        view.on_batch(batch)  # type: ignore[arg-type]
    return view


def test_totals_go_on_where_the_checkpoint_ended(tmp_path: Path) -> None:
    """They are those of `headrace state`, not of this run."""
    script = (
        "CREATE STREAM s (ts TIMESTAMP, k INT) PROGRESSING ON ts ORDERED FROM 'memory';\n"
        "CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k;"
    )
    assert count_before(str(tmp_path / "none")) == {}
    run = LocalRun(script, path=str(tmp_path / "checkpoint"))
    run.push(s=[(0, 1), (70_000_000, 2), (1_000_000, 3)])
    run.close()
    before = count_before(str(tmp_path / "checkpoint"))
    assert before == {("rows", "s"): 3, ("late", "s"): 0, ("rejected", "s"): 0, ("results", "q"): 2}
    view = LiveView("queries.sql", Console(file=io.StringIO()), clock=lambda: 0.0, before={("rows", "s0"): 7000, ("results", "q0"): 5})
    view.on_batch(report(3, streams=1, queries=1))
    text = "\n".join(drawn(view, 120, 30))
    assert "total 8k rows" in text
    assert "results 35" in text


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_names_of_streams_are_not_cut(width: int) -> None:
    """Eight letters have room on every terminal of 80 columns and more; short phases are left out."""
    one = replace(report(3, streams=1, queries=1), phases={"job": 0.4, "load": 3.17e-6, "close": 0.05})
    one = replace(one, streams={"packets1": one.streams["s0"]})
    text = "\n".join(drawn(view_of(one), width, 30))
    assert "packets1" in text
    assert "job 400 ms" in text
    assert "load" not in text


@pytest.mark.parametrize(("streams", "queries"), [(1, 1), (2, 4), (1, 30), (9, 30), (30, 2)])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 30), (200, 50)])
def test_it_fits_the_terminal(streams: int, queries: int, width: int, height: int) -> None:
    """However many streams and queries there are, the view is no taller and no wider than the terminal."""
    lines = drawn(view_of(*reports(50, streams=streams, queries=queries)), width, height)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert ("more" in text) == (
        streams + queries > height - 12 if width < 120 else max(streams, queries) > height - 12
    )


def test_a_narrow_terminal_keeps_names_and_times() -> None:
    """Where not all columns have room, some are left out, and what stays is not cut."""
    lines = drawn(view_of(*reports(3, streams=1, queries=1)), 50, 24)
    row = next(line for line in lines if "2024-01-01 " in line)
    assert "…" not in row and row.split()[0] in reports(1, streams=1)[0].streams
    assert max(map(len, lines)) <= 50


def test_it_shows_what_an_operator_asks_for() -> None:
    """Rate, batch time, low-watermark and lag, open windows, results, state and late rows are all there."""
    text = "\n".join(drawn(view_of(*reports(4)), 80, 24))
    for words in (
        "2k rows/s",
        "500 ms",
        "2024-01-01 00:02:55",
        "5 s",
        "open windows 3",
        "4.0 KiB",
        "late 2",
        "+30",
    ):
        assert words in text
    assert "q0" in text
    assert "60" in text  # results of q0 so far: 0 + 10 + 20 + 30


def test_before_the_first_batch_it_says_so() -> None:
    """An empty view is a sentence, not an error."""
    assert "waiting for the first batch" in "\n".join(drawn(view_of(), 80, 24))


def test_names_cannot_drive_the_terminal_or_the_markup() -> None:
    """Escape sequences and rich markup in names are shown as text."""
    text = "\n".join(drawn(view_of(report(1), title="[red]x\x1b[2J"), 80, 24))
    assert "[red]x\\x1b[2J" in text


def test_it_ends_with_the_state_of_the_run() -> None:
    """The last picture says whether the run is done or has failed."""
    view = view_of(report(1))
    with view:
        pass
    assert "done" in drawn(view, 80, 24)[0]
    view = view_of(report(1))
    with pytest.raises(ValueError, match="x"), view:
        raise ValueError("x")
    assert "failed" in drawn(view, 80, 24)[0]
