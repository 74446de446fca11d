"""Documentation that runs: what README and docs show is executed, bound or checked here.

* ```python blocks of a page are run one after the other, in one namespace, in a directory that has the
  packets which the pages speak of (`data/packets`, as `headrace generate packets` makes them, but few).
* ```sql blocks are parsed and bound. Streams and queries of earlier blocks of the page are known; a block
  without CREATE is taken as the text of a query.
* command lines in ```console and ```sh blocks: `headrace …` must have that command and these options,
  `make …` that target.
* links and `paths/like/this` must exist.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from sqlglot import exp

from headrace.cli import main
from headrace.generate.packets import generate_packets
from headrace.session import Session
from headrace.sql import CreateQuery, CreateStream, parse_query, parse_script

ROOT = Path(__file__).parent.parent
PAGES = sorted(p for p in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/*.md")))
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
TOPS = ("src", "tests", "docs", "examples", "scripts", "benchmarks", ".ci")


def blocks(page: Path, *languages: str) -> list[str]:
    return [match[2] for match in FENCE.finditer(page.read_text(encoding="utf-8")) if match[1] in languages]


def pages_with(*languages: str) -> list[Any]:
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES if blocks(page, *languages)]


@pytest.fixture(scope="module")
def packets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a few packets, lines of text, and the examples."""
    place = tmp_path_factory.mktemp("snippets")
    generate_packets(place / "data" / "packets", rows=20_000, groups=200, files=4, disorder="band")
    (place / "data" / "text").mkdir()
    lines = ["2024-03-09T22:00:01Z Bern", "2024-03-09T22:10:00Z Kyiv", "2024-03-09T22:20:00Z Bern"]
    (place / "data" / "text" / "trips.txt").write_text("\n".join(lines))
    (place / "examples").symlink_to(ROOT / "examples")
    return place


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_runs(page: Path, packets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of a page runs as it stands."""
    monkeypatch.chdir(packets)
    monkeypatch.setenv("HEADRACE_MASTER", "local[2]")
    namespace: dict[str, Any] = {"__name__": "snippet"}
    for number, block in enumerate(blocks(page, "python"), 1):
        exec(compile(block, f"{page.name}, python block {number}", "exec"), namespace)


@pytest.mark.parametrize("page", pages_with("sql"))
def test_sql_binds(page: Path) -> None:
    """The SQL of a page is understood, and every name in it is known."""
    known: dict[str, CreateStream | CreateQuery] = {}
    for block in blocks(page, "sql"):
        if re.search(r"^\s*CREATE\b", block, re.IGNORECASE | re.MULTILINE):
            statements = parse_script(block)
        else:
            statements = [parse_query("snippet", block.strip().rstrip(";"))]
        bind([*needed(statements, known), *statements])
        known.update({one.name: one for one in statements})


def needed(
    statements: list[CreateStream | CreateQuery], known: dict[str, CreateStream | CreateQuery]
) -> list[CreateStream | CreateQuery]:
    """The earlier statements that these read, in an order in which they can be registered."""
    defined = {one.name for one in statements}
    found: dict[str, CreateStream | CreateQuery] = {}

    def visit(statement: CreateStream | CreateQuery) -> None:
        if isinstance(statement, CreateQuery):
            for table in statement.body.find_all(exp.Table):
                if table.name in known and table.name not in defined and table.name not in found:
                    visit(known[table.name])
                    found[table.name] = known[table.name]

    for statement in statements:
        visit(statement)
    return list(found.values())


def bind(statements: list[CreateStream | CreateQuery]) -> None:
    session = Session()
    for statement in statements:
        if isinstance(statement, CreateQuery):
            session.query(statement.name, statement.text)
        else:
            session.sql(statement.text)


def command_lines() -> Iterator[Any]:
    for page in PAGES:
        for block in blocks(page, "console", "sh", "bash", "shell"):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line.removeprefix("$ "), comments=True)
                if words and Path(words[0]).name in ("headrace", "make"):
                    yield pytest.param(words, id=f"{page.relative_to(ROOT)}: {' '.join(words)[:60]}")


@pytest.mark.parametrize("words", list(command_lines()))
def test_command_lines_exist(words: list[str]) -> None:
    """Each command that is shown has this name and these options."""
    stop = next((i for i, word in enumerate(words) if word in ("|", ">", "&&", ";", "&")), len(words))
    name, *rest = words[:stop]
    if name == "make":
        targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        assert {word for word in rest if "=" not in word} <= targets
        return
    command: click.Command = main
    context = click.Context(main, info_name="headrace")
    while isinstance(command, click.Group):
        if rest[:1] in (["--help"], ["--version"]):
            return
        found = command.get_command(context, rest.pop(0))
        assert found is not None, f"there is no such command: {' '.join(words)}"
        command, context = found, click.Context(found, parent=context, info_name=found.name)
    values, arguments, _ = command.make_parser(context).parse_args(rest)
    assert not arguments
    missing = [p.name for p in command.params if p.required and not values.get(p.name or "")]
    assert not missing or "--help" in words
    if isinstance(file := values.get("file"), str) and "/" in file:
        assert (ROOT / file).exists()


@pytest.mark.parametrize("page", [pytest.param(p, id=str(p.relative_to(ROOT))) for p in PAGES])
def test_named_files_exist(page: Path) -> None:
    """Links lead somewhere, and paths in `code` are there."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    missing = [link for link in links if link and not (page.parent / link).exists()]
    for path in re.findall(r"`([\w.-]+/[\w./-]*)`", text):
        if path.split("/")[0] in TOPS or path.endswith((".py", ".sql", ".md")):
            places = (ROOT / path, ROOT / "src" / "headrace" / path, page.parent / path)
            missing += [] if any(place.exists() for place in places) else [path]
    assert not missing
