"""Values of OPTIONS that stand elsewhere, `${env:NAME}` and `${file:PATH}`, and what of an option may be written down.

A text only names where a password is. The value is filled in when a run opens its sources (`sources/option_values.py`),
so neither a plan nor a checkpoint ever has it. Of an option a checkpoint keeps the name, and beside it what is known to
be no secret: the path without a user's name in it, the references, and the few values that say which rows a source
has, since a checkpoint where nothing was committed has to notice that these are others.
"""

from __future__ import annotations

import re

from headrace.errors import SqlError

REFERENCE = re.compile(r"\$\{([^{}]*)\}")
_KNOWN = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|file:[^\s].*")
_USER = re.compile(r"(?<=://)[^/@]*@")  # who logs in with what, in a URI
_SECRET = re.compile(
    r"passw|passphrase|pwd|secret|token|credential|(api|access|private|account|keystore).?key|jaas", re.IGNORECASE
)
_SAYS_WHICH_ROWS = frozenset(
    (
        *("path", "name", "table", "subscribe", "subscribepattern", "assign", "topic", "topics", "stream", "streamname"),
        *("startingoffsets", "startingoffsetsbytimestamp", "startingtimestamp", "startingversion", "host", "port"),
        *("rowspersecond", "rowsperbatch", "numpartitions", "header", "includeheaders", "includetimestamp"),
    )
)


def check_reference(what: str, option: str, value: str, planned: bool) -> None:
    """Refuse a `${…}` that names nothing, and one for an option whose value is needed when the set is `planned`."""
    for found in REFERENCE.finditer(value):
        if not _KNOWN.fullmatch(found[1]):
            raise SqlError(f"{what}: option {option}: expected ${{env:NAME}} or ${{file:PATH}}, got {found[0]}")
        if planned:
            raise SqlError(f"{what}: option {option} is read when the set is planned: write its value out, got {found[0]}")


def says_which_rows(option: str) -> bool:
    """Whether the option decides which rows a source has; nobody writes a password there."""
    return option.lower() in _SAYS_WHICH_ROWS


def describe_value(option: str, value: str) -> str | None:
    """What a checkpoint may keep of an option's value."""
    if says_which_rows(option):
        return _USER.sub("…@", value)
    return "".join(found[0] for found in REFERENCE.finditer(value)) or None


def looks_like_secret(option: str, value: str) -> bool:
    """Whether a value that is written out is one that should not be."""
    if REFERENCE.search(value):
        return False
    return bool(_USER.search(value)) or (bool(_SECRET.search(option)) and value.lower() not in ("", "true", "false"))
