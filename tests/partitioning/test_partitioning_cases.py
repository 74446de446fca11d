"""SQL in, partitioning sets and costs out: every example of document 000, and more.

A case in a `.sql` file is a comment that names it, a script, and after `-- =>` what is expected, as comments. New cases
are text only. `HEADRACE_FIXTURES=write` writes what is found into the files, to be read before it is committed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from partitioning_kit import read_workload

from headrace.errors import HeadraceError
from headrace.partitioning.advise_partitioning import group_by_query, pay_for_query
from headrace.partitioning.explain_choice import explain_choice
from headrace.partitioning.search_partitioning import search_partitioning
from sql_cases import read_cases, write_case

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.sql"))
ALL = [pytest.param(p, *case, id=f"{p.stem}: {case[0]}") for p in FILES for case in read_cases(p)]


@pytest.mark.parametrize(("path", "name", "text", "expected"), ALL)
def test_case(path: Path, name: str, text: str, expected: str) -> None:
    """What is found for the query set is what the file says."""
    found = outcome(text)
    if os.environ.get("HEADRACE_FIXTURES") == "write":
        write_case(path, name, found)
    else:
        assert found == expected


def outcome(text: str) -> str:
    try:
        plan, limits = read_workload(text)
        choice = search_partitioning(plan, limits)
    except HeadraceError as e:
        return f"{type(e).__name__}: {e}"
    pays = ", ".join(f"{q} {pay_for_query(choice.cost, nodes):.0f}" for q, nodes in group_by_query(plan).items())
    return "\n".join([*explain_choice(choice), f"pays: {pays}"])


def test_there_are_enough_cases() -> None:
    """The issue asks for the examples of the document and thirty more."""
    assert len(ALL) >= 40
