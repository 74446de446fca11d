"""The rules about who may import whom, read from the source itself (DESIGN §3.2).

A line of code should know its room: what can be tested without an engine lives where no engine can be
imported.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "headrace"
ENGINES = {"duckdb", "pyarrow", "pyspark"}

# From the ground up: a layer imports only from layers before it (and itself).
LAYERS = (
    "errors",
    "refused",
    "arguments",
    "windows",
    "progress",
    "logical",
    "sql",
    "dialect",
    "partitioning",
    "optimizer",
    "network",
    "state",
    "program",
    "balance",
    "kernels",
    "physical",
    "report",
    "generate",
    "sources",
    "sinks",
    "coordinator",
    "runtime",
    "session",
    "testing",
    "commands",
    "cli",
)
PURE = {"errors", "windows", "progress", "logical", "dialect", "partitioning", "optimizer", "program", "balance"}
ON_SPARK = {"runtime", "session"}

FILES = sorted(path for path in SOURCE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every import in a file, wherever it stands; `from x import y` gives x.y."""
    package = ("headrace", *path.relative_to(SOURCE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            for alias in node.names:
                yield node.lineno, ".".join([*base, *filter(None, [node.module]), alias.name])


def engines(path: Path) -> list[str]:
    found = ((line, name.split(".")[0]) for line, name in imports(path))
    return [f"{path.relative_to(SOURCE)}:{line} imports {root}" for line, root in found if root in ENGINES]


@pytest.mark.parametrize("layer", sorted({layer_of(path) for path in FILES} - {"__init__", "__main__"}))
def test_every_folder_is_a_known_layer(layer: str) -> None:
    """A new folder has to be given its place here before it is used."""
    assert layer in LAYERS


def test_imports_go_down_only() -> None:
    """No layer imports from one above it."""
    rank = {name: i for i, name in enumerate(LAYERS)}
    wrong = []
    for path in FILES:
        here = layer_of(path)
        for line, name in imports(path):
            root, _, rest = name.partition(".")
            there = rest.split(".")[0]
            if root == "headrace" and here in rank and rank.get(there, -1) > rank[here]:
                wrong.append(f"{path.relative_to(SOURCE)}:{line}: {here} imports {there}, which is above it")
    assert not wrong


def test_a_name_means_one_thing() -> None:
    """No two modules have one name, nor two classes: whoever searches for one finds it."""
    modules = Counter(path.name for path in FILES if path.name != "__init__.py")
    classes = Counter(
        node.name
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, times in (modules + classes).items() if times > 1] == []


def test_only_the_runtime_touches_spark() -> None:
    """pyspark is imported in runtime/ and session.py and nowhere else: what decides between batches (coordinator/), reads
    (sources/) and hands over (sinks/) runs without it.
    """
    wrong = [use for path in FILES if layer_of(path) not in ON_SPARK for use in engines(path)]
    assert [use for use in wrong if use.endswith("pyspark")] == []


def test_mathematics_knows_no_engine() -> None:
    """Windows, progress and plans can be imported, read and tested with no engine at all."""
    assert [use for path in FILES if layer_of(path) in PURE for use in engines(path)] == []


def test_the_walk_sees_imports_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import inside a function, a relative one and one for types only count too."""
    monkeypatch.setattr("test_layers.SOURCE", tmp_path)
    path = tmp_path / "windows" / "x.py"
    path.parent.mkdir()
    path.write_text("def f():\n    import pyspark.sql\nfrom ..kernels import slot\nfrom . import y\n")
    found = {name for _, name in imports(path)}
    assert found == {"pyspark.sql", "headrace.kernels.slot", "headrace.windows.y"}


def test_tasks_load_no_parser() -> None:
    """A worker's memory holds what tasks need: a plan is SQL text by then."""
    code = "import sys, headrace.runtime.tasks; print('sqlglot' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
