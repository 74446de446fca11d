"""The values behind `${env:NAME}` and `${file:PATH}` in OPTIONS, on the driver, when a source is opened.

They go to Spark's reader and nowhere else. What Spark says about a source may repeat them, so messages are shown without:
whatever was filled in is replaced by the reference it came from.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from headrace.errors import SourceError
from headrace.logical.option_texts import REFERENCE

_SHORT = 4  # letters; a shorter value is in too many words to be looked for
_filled: dict[str, str] = {}  # value -> the reference it came from


def fill_references(what: str, options: Mapping[str, str], base: Path | None) -> dict[str, str]:
    """The options with their values; paths of files start at `base`."""
    return {
        option: REFERENCE.sub(lambda found, option=option: _look_up(what, option, found[1], base), value)  # type: ignore[misc]
        for option, value in options.items()
    }


def hide_values(text: str) -> str:
    """A message without the values that were filled in."""
    for value in sorted(_filled, key=len, reverse=True):
        text = text.replace(value, _filled[value])
    return text


def _look_up(what: str, option: str, reference: str, base: Path | None) -> str:
    kind, _, name = reference.partition(":")
    where = f"{what}: option {option} has its value from ${{{reference}}}"
    if kind == "env":
        value = os.environ.get(name)
        if value is None:
            raise SourceError(f"{where}, but there is no environment variable {name}; set it where headrace is started")
    else:
        try:
            value = (base or Path.cwd()).joinpath(name).read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
            raise SourceError(f"{where}, which cannot be read: {reason}; name a file with the value and nothing else") from None
    if len(value) >= _SHORT:
        _filled[value] = f"${{{reference}}}"
    return value
