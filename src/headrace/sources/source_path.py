"""Where the files of a stream or a table are, known before Spark is started and without it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from headrace.errors import SourceError
from headrace.logical.graph import Graph, StaticTable, Stream
from headrace.logical.option_texts import looks_like_secret
from headrace.logical.source_formats import FILE_FORMATS, NEED_PATH, find_misspelt, find_misspelt_option
from headrace.sources.option_values import fill_references


class AbsentSourceError(SourceError):
    """There is nothing at the path of a source."""


def check_sources(graph: Graph, bases: Mapping[str, Path], to_run: bool = True) -> list[str]:
    """Refuse streams and tables whose format or options are misspelt and, for a run, whose path has nothing; else say which."""
    absent = []
    for source in list_sources(graph):
        if source.format is None:
            continue
        if meant := find_misspelt(source.format):
            raise SourceError(f"{describe_source(source)}: there is no source {source.format!r}. Did you mean {meant!r}?")
        if found := find_misspelt_option(source.format, [key for key, _ in source.options]):
            what, option = describe_source(source), found[0]
            raise SourceError(f"{what}: {source.format} has no option {option!r}. Did you mean {found[1]!r}?")
        limit = source.option("maxFilesPerTrigger")
        if source.format.lower() in FILE_FORMATS and limit is not None and not (limit.isdecimal() and int(limit)):
            raise SourceError(f"{describe_source(source)}: maxFilesPerTrigger is a number of files above 0, got {limit!r}")
        try:
            resolve_options(source, bases.get(source.name))
        except AbsentSourceError as e:
            if to_run:
                raise
            absent.append(f"{e} yet, so only what its columns are declared to be is known")
    return absent


def list_folders(graph: Graph, bases: Mapping[str, Path]) -> list[str]:
    """The local folders that hold the files of all streams; none if some stream has anything else."""
    found = []
    for name, stream in graph.streams.items():
        if (stream.format or "").lower() not in FILE_FORMATS:
            return []
        folder = fixed_part(resolve_options(stream, bases.get(name))["path"])
        if not os.path.isdir(folder):
            return []
        found.append(folder)
    return found


def find_flat_streams(graph: Graph, bases: Mapping[str, Path]) -> frozenset[str]:
    """The streams that say PARTITIONED BY, but whose files all lie in one folder: there is one file, or files
    and no folder with any. Of a folder without files nothing is known yet.
    """
    said = {n: s for n, s in graph.streams.items() if s.partition_by and s.partition_fixed}
    return frozenset(n for n, s in said.items() if _is_flat(s, bases.get(n)))


def _is_flat(stream: Stream, base: Path | None) -> bool:
    files = False
    try:
        path = fixed_part(fill_options(stream, base).get("path", ""))
    except SourceError:  # there is nothing yet
        return False
    if not os.path.isdir(path):
        return os.path.isfile(path)
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name[:1] in "._":  # Spark does not read these
                continue
            if entry.is_dir():
                return False
            files = True
    return files
def list_sources(graph: Graph) -> list[Stream | StaticTable]:
    return [*graph.streams.values(), *graph.tables.values()]


def check_values(graph: Graph, bases: Mapping[str, Path]) -> None:
    """Refuse options whose values are not where they are said to be."""
    for source in list_sources(graph):
        if source.format is not None:
            fill_references(describe_source(source), dict(source.options), bases.get(source.name))


def list_written_secrets(graph: Graph) -> list[str]:
    """A warning for each option that has a password, or something like it, in plain sight."""
    return [
        f"{describe_source(source)}: option {option} seems to hold a secret in plain text. Write ${{env:NAME}} or ${{file:PATH}} "
        f"for it, like '${{env:{re.sub('[^A-Z0-9]+', '_', option.upper())}}}', and set that where the set runs"
        for source in list_sources(graph)
        for option, value in source.options
        if looks_like_secret(option, value)
    ]


def describe_source(source: Stream | StaticTable) -> str:
    return f"{'stream' if isinstance(source, Stream) else 'table'} {source.name}"


def resolve_options(stream: Stream | StaticTable, base: Path | None) -> dict[str, str]:
    """The source's options, with a path that does not depend on where we are."""
    options = dict(stream.options)
    path = stream.option("path")
    if (stream.format or "").lower() not in NEED_PATH:
        return options
    if path is None:
        raise SourceError(f"{describe_source(stream)}: a {stream.format} source needs OPTIONS (path '…')")
    if not path.strip():
        raise SourceError(f"{describe_source(stream)}: its path is empty; name a folder, like OPTIONS (path 'data')")
    options = {k: v for k, v in options.items() if k.lower() != "path"} | {"path": path}
    if "://" not in path and not path.startswith("file:"):
        folder = os.path.abspath(base or Path.cwd())
        resolved = os.path.normpath(os.path.join(folder, path))
        if os.path.isfile(resolved) and isinstance(stream, Stream):
            raise SourceError(
                f"{describe_source(stream)}: {resolved} is a file, and a stream reads a folder, to which files are added; name "
                f"the folder, or a pattern: OPTIONS (path '{os.path.join(os.path.dirname(path), '*' + Path(path).suffix)}')"
            )
        if os.path.exists(resolved):
            options["path"] = literal(resolved)
        elif any(c in path for c in "*?[{"):
            options["path"] = os.path.join(literal(folder), path)
        else:
            raise AbsentSourceError(f"{describe_source(stream)}: there is nothing at {resolved}")
    return options


def fill_options(source: Stream | StaticTable, base: Path | None) -> dict[str, str]:
    """The source's options as Spark gets them: with a path that does not depend on where we are, and with their values."""
    return fill_references(describe_source(source), resolve_options(source, base), base)


def literal(path: str) -> str:
    """A path as Spark takes it when no letter of it is meant as a pattern."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)


def unliteral(path: str) -> str:
    """The path that `literal` was given."""
    return re.sub(r"\\([\[\]{}*?\\])", r"\1", path)


def local_path(uri: str) -> str:
    """A path as Spark writes it, without its scheme."""
    return re.sub("^file:/+", "/", uri)


def fixed_part(path: str) -> str:
    """What the paths of all files of a stream start with."""
    fixed = path
    for i, letter in enumerate(path):
        if letter in "*?[{" and path[i - 1 : i] != "\\":
            fixed = path[:i].rpartition("/")[0]
            break
    plain = local_path(unliteral(fixed))
    return plain if os.path.isfile(plain) else plain.rstrip("/") + "/"
