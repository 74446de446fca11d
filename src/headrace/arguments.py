"""What a user's program hands over is of the type that the signature says, or is refused by name before it does anything.

Annotations are what is checked, so that a new argument cannot be forgotten; what a text must say is checked where it is read.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from headrace.errors import OptionError

P = ParamSpec("P")
R = TypeVar("R")

_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "str": ("a text", lambda v: isinstance(v, str)),
    "bool": ("True or False", lambda v: isinstance(v, bool)),
    "int": ("a whole number", lambda v: isinstance(v, int) and not isinstance(v, bool)),
    "float": ("a number", lambda v: isinstance(v, (int, float)) and not isinstance(v, bool)),
    "Path": ("a path", lambda v: isinstance(v, os.PathLike)),
    "None": ("None", lambda v: v is None),
    "Callable": ("a function", callable),
    "Mapping": ("a dict", lambda v: isinstance(v, Mapping)),
    "Sequence": ("a list", lambda v: isinstance(v, Sequence) and not isinstance(v, (str, bytes))),
    "DataFrame": ("a Spark DataFrame", lambda v: hasattr(v, "isStreaming")),
    "SparkSession": ("a SparkSession", lambda v: hasattr(v, "readStream")),
    "slack": ("slack(…), ordered(…) or punctuated(…)", lambda v: hasattr(v, "clause")),
}
_EXAMPLES = {
    "trigger": "like '5 seconds'",
    "retain": "like '7 days'",
    "defer": "like '2 seconds'",
    "refresh": "like '1 hour'",
    "idle": "like '30 seconds'",
    "horizon": "like '1 day'",
    "bound": "like '5 seconds', or 5 for integers",
    "on": "the progressing column",
    "slots": "like 4 or 'auto'",
    "sinks": "like ['console']",
    "master": "like 'local[4]'",
    "text": "of SQL",
}


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, behind a look at what it is given."""
    signature = inspect.signature(function)
    kinds = {name: _read_annotation(str(one.annotation)) for name, one in signature.parameters.items() if name != "self"}

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given = signature.bind(*args, **kwargs).arguments if kinds else {}
        for name, value in given.items():
            allowed = kinds.get(name, ())
            if allowed and not any(_fits(value, kind, inner) for kind, inner in allowed):
                raise OptionError(_explain(function, name, value, allowed))
        return function(*args, **kwargs)

    return call


def _read_annotation(text: str) -> tuple[tuple[str, str], ...]:
    """Its alternatives, each with what is in it; none if some is not known, and so anything may come."""
    found = [re.fullmatch(r"(\w+)(?:\[(.*)\])?", part.strip()) for part in re.split(r"\|(?![^\[]*\])", text)]
    if not all(match is not None and match[1] in _KINDS for match in found):
        return ()
    return tuple((match[1], match[2] or "") for match in found if match is not None)


def _fits(value: Any, kind: str, inner: str) -> bool:
    if not _KINDS[kind][1](value):
        return False
    inner = inner.partition(",")[0]  # of a dict, what its keys are: Spark takes numbers as settings
    return kind not in ("Sequence", "Mapping") or inner not in _KINDS or all(_KINDS[inner][1](one) for one in value)


def _explain(function: Callable[..., Any], name: str, value: Any, allowed: Sequence[tuple[str, str]]) -> str:
    words = []
    for kind, inner in allowed:
        of_texts = " of texts" if kind == "Sequence" and inner == "str" else " with texts as keys" if kind == "Mapping" else ""
        words += [_KINDS[kind][0] + of_texts] if kind != "None" else []
    example = f", {_EXAMPLES[name]}" if name in _EXAMPLES else ""
    where = re.sub(r"\.__init__$", "", function.__qualname__)
    return f"{where}: {name} is {value!r:.80}, of type {type(value).__name__}; expected {' or '.join(words)}{example}"
