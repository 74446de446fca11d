"""Load and moves of a run over its batches, for its page (document 002, section 5: what a controller sees and does).

Two maps: slots by batches, coloured by seconds over the mean of the batch, and mini-partitions by batches, coloured by the
digits of `BatchReport.heat`, with a dot where one moved. Cells of one colour are one SVG path, side by side they are one
rectangle, so that a hundred mini-partitions over a hundred batches are some ten thousand letters; more batches than
COLUMNS are drawn in groups. Below is a table of what moved, with the imbalance before and after.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

from headrace.report.model import BatchReport

COLUMNS = 120
SHOWN_MOVES = 12  # batches in the table
_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 980.0, 48.0, 8.0, 6.0, 22.0
_OVER_MEAN = (0.5, 0.7, 0.85, 0.95, 1.05, 1.15, 1.3, 1.6)  # between the levels 1 to 9 of a slot
Cells = list[list[int]]  # by row and column; 0 is nothing


def draw_balance(reports: Sequence[BatchReport]) -> str:
    """The section; empty where there is one slot, or no batch with a load."""
    loaded = [r for r in reports if len(r.slot_loads) > 1 and any(one.seconds for one in r.slot_loads)]
    if not loaded:
        return ""
    width = math.ceil(len(loaded) / COLUMNS)
    groups = [loaded[i : i + width] for i in range(0, len(loaded), width)]
    each = "a column is a batch" if width == 1 else f"a column is {width} batches"
    levels = ["half of the mean", "the mean", "1.6 times or more"]
    parts = [_figure("Slots", f"seconds over the mean; {each}", levels, _slot_cells(groups), groups, 14.0, False)]
    cells = _pid_cells(groups)
    if cells:
        levels = ["a sixteenth of the mean", "the mean", "16 times or more"]
        note = f"load over the mean; {each}; a dot is a move"
        parts.append(_figure("Mini-partitions", note, levels, cells, groups, max(1.5, 200 / len(cells)), True))
    return f'<h2>Balance</h2><div class="card">{"".join(parts)}{_table(reports)}</div>'


def _slot_cells(groups: Sequence[Sequence[BatchReport]]) -> Cells:
    slots = max(len(r.slot_loads) for group in groups for r in group)
    cells: Cells = [[0] * len(groups) for _ in range(slots)]
    for column, group in enumerate(groups):
        for slot in range(slots):
            ratios = [
                r.slot_loads[slot].seconds / mean
                for r in group
                if slot < len(r.slot_loads)
                and (mean := statistics.fmean(one.seconds for one in r.slot_loads)) > 0
            ]
            cells[slot][column] = 1 + bisect(_OVER_MEAN, statistics.fmean(ratios)) if ratios else 0
    return cells


def _pid_cells(groups: Sequence[Sequence[BatchReport]]) -> Cells:
    pids = max(len(r.heat) for group in groups for r in group)
    cells: Cells = [[0] * len(groups) for _ in range(pids)]
    for column, group in enumerate(groups):
        known = [r.heat for r in group if len(r.heat) == pids]
        for pid in range(pids if known else 0):
            cells[pid][column] = round(statistics.fmean(int(heat[pid]) for heat in known))
    return cells


def _figure(
    title: str,
    note: str,
    levels: Sequence[str],
    cells: Cells,
    groups: Sequence[Sequence[BatchReport]],
    height: float,
    with_moves: bool,
) -> str:
    wide = (_WIDTH - _LEFT - _RIGHT) / len(groups)
    total = _TOP + height * len(cells) + _BOTTOM
    body = _paths(cells, wide, height) + _axes(len(cells), height, groups, wide)
    if with_moves:
        body += _dots(groups, len(cells), wide, height)
    legend = "".join(
        f'<li class="h{at}"><i></i>{escape(words)}</li>' for at, words in zip((1, 5, 9), levels, strict=True)
    )
    return (
        f'<figure class="heat"><figcaption><b>{escape(title)}</b> <span>{escape(note)}</span></figcaption>'
        f'<ul class="legend">{legend}</ul>'
        f'<div class="scroll"><svg viewBox="0 0 {_WIDTH:.0f} {total:.0f}" role="img" aria-label="{escape(title)}">'
        f"{body}{_hits(groups, wide, height * len(cells))}</svg></div></figure>"
    )


def _paths(cells: Cells, wide: float, height: float) -> str:
    """One path for each level; neighbours of one level in a row are one rectangle."""
    drawn: dict[int, list[str]] = {}
    for row, levels in enumerate(cells):
        column = 0
        for level, run in groupby(levels):
            length = len(list(run))
            if level:
                x, y = _LEFT + column * wide, _TOP + row * height
                box = f"M{x:.1f} {y:.1f}h{length * wide:.1f}v{height:.1f}h-{length * wide:.1f}z"
                drawn.setdefault(level, []).append(box)
            column += length
    return "".join(f'<path class="h{level}" d="{"".join(drawn[level])}"/>' for level in sorted(drawn))


def _axes(rows: int, height: float, groups: Sequence[Sequence[BatchReport]], wide: float) -> str:
    parts = []
    step = max(1, math.ceil(rows * 14 / max(14.0, rows * height) / 8) * 8) if rows * 14 > rows * height * 1.01 else 1
    for row in range(0, rows, step):
        y = _TOP + (row + 0.5) * height + 4
        parts.append(f'<text class="tick" x="{_LEFT - 6:.0f}" y="{y:.1f}" text-anchor="end">{row}</text>')
    count = len(groups)
    for column in sorted({round(i * (count - 1) / 8) for i in range(9)}):
        x, y = _LEFT + (column + 0.5) * wide, _TOP + rows * height + 15
        anchor = "end" if count > 1 and column == count - 1 else "middle"
        label = groups[column][0].batch_id
        parts.append(f'<text class="tick" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{label}</text>')
    return "".join(parts)


def _dots(groups: Sequence[Sequence[BatchReport]], pids: int, wide: float, height: float) -> str:
    places = {
        (column, pid)
        for column, group in enumerate(groups)
        for report in group
        for pid, _, _ in report.moves
        if pid < pids
    }
    radius = min(2.4, max(1.1, height * 0.7))
    return "".join(
        f'<circle class="move" cx="{_LEFT + (column + 0.5) * wide:.1f}" cy="{_TOP + (pid + 0.5) * height:.1f}" r="{radius:.1f}"/>'
        for column, pid in sorted(places)
    )


def _hits(groups: Sequence[Sequence[BatchReport]], wide: float, height: float) -> str:
    parts = []
    for column, group in enumerate(groups):
        first, last = group[0].batch_id, group[-1].batch_id
        words = [f"batch {first}" if first == last else f"batches {first} to {last}"]
        worst = max(group, key=lambda r: r.imbalance)
        seconds = worst.slot_seconds
        words.append(f"slowest slot {seconds.index(max(seconds))}: {worst.imbalance:.2f} times the mean")
        words += [f"batch {r.batch_id}: {describe_moves(r.moves)}" for r in group if r.moves]
        parts.append(
            f'<rect class="hit" x="{_LEFT + column * wide:.1f}" y="{_TOP:.0f}" width="{wide:.1f}" height="{height:.1f}">'
            f"<title>{escape(chr(10).join(words))}</title></rect>"
        )
    return "".join(parts)


def describe_moves(moves: Sequence[tuple[int, int, int]], most: int = 6) -> str:
    """Moves in words, the largest ways first."""
    ways = Counter((a, b) for _, a, b in moves).most_common()
    shown = [f"{a} to {b}" + (f" ({count})" if count > 1 else "") for (a, b), count in ways[:most]]
    if len(ways) > most:
        shown.append(f"{len(ways) - most} more ways")
    return f"{len(moves):,} moved, from slot " + ", ".join(shown)


def _table(reports: Sequence[BatchReport]) -> str:
    found = [(i, r) for i, r in enumerate(reports) if r.moves or (i and r.slots != reports[i - 1].slots)]
    if not found:
        return '<p class="none">No mini-partition moved.</p>'
    rows = []
    for i, report in found[-SHOWN_MOVES:]:
        before = statistics.median(r.imbalance for r in reports[max(0, i - 3) : i]) if i else None
        after = statistics.median(r.imbalance for r in reports[i : i + 3])
        was = reports[i - 1].slots if i else report.slots
        cells: Mapping[str, str] = {
            "batch": f"{report.batch_id}",
            "slots": f"{was} to {report.slots}" if was != report.slots else f"{report.slots}",
            "imbalance before": "–" if before is None else f"{before:.2f}",
            "imbalance after": f"{after:.2f}",
        }
        what = describe_moves(report.moves) if report.moves else "nothing moved"
        listed = "".join(f'<td class="n">{escape(value)}</td>' for value in cells.values())
        rows.append(f"<tr>{listed}<td>{escape(what)}</td></tr>")
    head = "".join(f'<th class="n">{name}</th>' for name in cells)
    left_out = len(found) - len(rows)
    caption = "imbalance is the slowest slot over the mean, the median of three batches"
    caption += f"; {left_out:,} earlier batches with moves are left out" if left_out else ""
    return (
        f'<div class="scroll moves"><table><caption>{caption}</caption><thead><tr>{head}<th>what moved</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
