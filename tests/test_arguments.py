"""What a user's program hands over is refused by name where it is not of the type that the signature says."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace as hr
from headrace.arguments import _read_annotation
from headrace.coordinator.committed_results import Results
from headrace.report.shown_text import PlanPage
from headrace.runtime.loop import Run

SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k INT) PROGRESSING ON ts ORDERED FROM 'parquet' OPTIONS (path '.');
CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k;
"""
UNCHECKED = {  # what takes anything, or a DataFrame as well as a function that makes one
    "Run.start": "of the machine",
    "Session.check": "of the command line",
    "Session.check_installed": "of the command line",
}


def list_methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Everything that a user's program calls with arguments."""
    for kind in (hr.Session, hr.slack, hr.ordered, hr.punctuated, Run):
        for name, method in vars(kind).items():
            is_public = not name.startswith("_") or (name == "__init__" and kind is not Run)
            where = f"{kind.__name__}.{name}"
            if inspect.isfunction(method) and is_public and where not in UNCHECKED and len(inspect.signature(method).parameters) > 1:
                yield where, method


METHODS = dict(list_methods())


def list_arguments() -> Iterator[tuple[str, str]]:
    for where, method in METHODS.items():
        for name, one in list(inspect.signature(method).parameters.items())[1:]:
            if _read_annotation(str(one.annotation)):
                yield where, name


@pytest.mark.parametrize("where", METHODS)
def test_every_public_method_looks_at_its_arguments(where: str) -> None:
    """One that is new does too."""
    assert hasattr(METHODS[where], "__wrapped__")


@pytest.mark.parametrize(("where", "name"), list(list_arguments()))
def test_every_argument_of_another_type_is_refused(where: str, name: str) -> None:
    """With where, what came, and what was expected; nothing is done before."""
    method, wrong = METHODS[where], object()
    required = {n: wrong for n, one in inspect.signature(method).parameters.items() if one.default is one.empty and n != "self"}
    with pytest.raises(hr.HeadraceError, match=r": \w+ is <object .* of type object; expected [\w ]+"):
        method(object(), **{**required, name: wrong})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s: s.sql(None), "Session.sql: text is None, of type NoneType; expected a text, of SQL"),
        (lambda s: s.start(trigger=5), "Session.start: trigger is 5, of type int; expected a text, like '5 seconds'"),
        (lambda s: s.start(sinks="console"), r"expected a list, like \['console'\]"),
        (lambda s: s.table("t", lambda: 5), "table t: its function gave 5; expected a batch DataFrame"),
        (lambda s: hr.Session(conf={1: "2"}), "expected a dict with texts as keys"),
        (lambda s: hr.Session(slots=True), "slots is True"),
        (lambda s: hr.slack("1 s", on="ts", per=[1]), "expected a text or a list of texts"),
        (lambda s: s.explain("pdf"), "expected text, json, dot or html, got 'pdf'"),
    ],
)
def test_the_words(call: Callable[[hr.Session], Any], said: str) -> None:
    """Where, what came, what was expected."""
    with pytest.raises(hr.HeadraceError, match=said):
        call(hr.Session())


def test_what_python_shows_is_readable() -> None:
    """Nothing runs for it, and nothing of the machine is in it."""
    session = hr.Session(checkpoint="ck").sql(SCRIPT)
    assert repr(hr.Session()) == "<headrace.Session: nothing registered>"
    assert repr(session) == "<headrace.Session: streams s; queries q; checkpoint ck>"
    session = hr.Session().sql(SCRIPT)
    assert repr(session.explain()) == str(session.explain())
    assert "\n" in repr(session.explain())
    page = session.explain(format="html")
    assert isinstance(page, PlanPage)
    assert page.startswith("<!doctype html>")
    assert page._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert "lambda" not in repr(Results(None, list, __import__("pyarrow").schema([("n", "int64")])))  # type: ignore[arg-type]
