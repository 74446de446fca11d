"""Names of streams and queries: which can be one, how two are compared, and how one is shown in a message."""

from __future__ import annotations

from collections.abc import Iterable
from unicodedata import normalize

from headrace.errors import SqlError

MAX_BYTES = 200  # names become names of folders and files, with a little around them; file systems take 255


def check_new_name(name: str, taken: Iterable[str]) -> None:
    """Refuse a name that cannot be a folder's, or is another's."""
    if not name.isidentifier():
        raise SqlError(
            f"{name!r} cannot be the name of a stream or query: names become names of folders; "
            "use letters, digits and _, and start with a letter or _"
        )
    if len(name.encode()) > MAX_BYTES:
        raise SqlError(
            f"the name {name[:20]}… is {len(name.encode())} bytes long; names become names of folders and have at "
            f"most {MAX_BYTES} bytes"
        )
    if name != normalize("NFC", name):
        raise SqlError(
            f"the name {name!r} has letters and accents apart; write it in Unicode's composed form (NFC)"
        )
    if fold_name(name) in {fold_name(n) for n in taken}:
        raise SqlError(f"the name {name!r} is taken by another stream or query")


def fold_name(name: str) -> str:
    """A name as it is compared with others: letters in one Unicode form, small."""
    return normalize("NFC", name).lower()


def shown_name(relation: str, alias: str = "") -> str:
    """A relation's name in a message; a part of a query has a name that nobody has given."""
    return relation if "$" not in relation else alias if alias and "$" not in alias else "the sub-select"


def is_column_name(name: str) -> bool:
    """Whether Spark, DuckDB and Arrow all take the name as it is: quotes they do not, and at NUL one of them ends it."""
    return bool(name) and not set(name) & set("\"`\0")
