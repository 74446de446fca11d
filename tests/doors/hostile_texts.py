"""Texts that try to end the quotes around them, in every way that is known, and how Spark SQL writes them."""

from __future__ import annotations

SECRET = "what the file says"


def list_hostile_texts(secret: str) -> list[str]:
    """Letters that mean something in SQL, and whole ways out to the file `secret`, by each kind of quotes."""
    read = f"(SELECT content FROM read_text($${secret}$$))"
    return [
        *("'", "''", '"', "`", "\\", "\\'", "$$", "$1", "\\1", "%", "{0}{w}{p}", "--", "/*", ";", "a\x00b", "a\nb", "\u2028"),
        *("\u2019", "\uff07", "\U0001f600", "') OR true --", "_ws", "a.b", "a:b,c>)]}"),
        f"' || {read} || '",
        f"'' || {read} || ''",
        f"\\' || {read} || \\'",
        f"') || {read} || ('",
        f'" || {read} || "',
        f'", {read} AS "x',
        f"`, {read} AS `x",
        f"\uff07 || {read} || \uff07",
        f"x'; COPY (SELECT 1) TO '{secret}.out'; SELECT '",
        f"1) , {read} , (1",
        f"INT), {read}, CAST(1 AS INT",
    ]


def write_text(text: str) -> str:
    """As a value of Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def write_name(text: str) -> str:
    """As a name of Spark SQL."""
    return "`" + text.replace("`", "``") + "`"
