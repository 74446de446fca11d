"""Upper and lower case as Java and ICU have them.

DuckDB maps letter by letter; Unicode's full mapping does not: `upper('ß')` is SS, a Σ at the end of a word is ς in small.
Of all characters, 102 become more than one in upper case, one in lower case (İ), and in titles some have a form of their
own; these are mapped by a table, where a text has any of them. Python's own mapping is the full one.
"""

from __future__ import annotations

from collections.abc import Callable

_LETTERS = [chr(code) for code in range(0xDF, 0xFB18)]
_MANY = "".join(c for c in _LETTERS if len(c.upper()) > 1)
_TITLES = "".join(c for c in _LETTERS if c.title() != c.upper() and c not in _MANY)
_CASED = r"\p{Lu}\p{Ll}\p{Lt}"
_IGNORED = r"\p{Mn}\p{Me}\p{Cf}\p{Lm}\p{Sk}''.:·’‘․‧︓﹕：．͵՟״"  # between letters, as if it were not there
_LAST_SIGMA = f"([{_CASED}][{_IGNORED}]*)Σ([{_IGNORED}]*)([^{_CASED}{_IGNORED}]|$)"


def upper_sql(text: str) -> str:
    by_letter = _mapped("hr_c", _MANY, str.upper)
    letters = f"list_transform(regexp_extract_all({text}, '(?s).'), lambda hr_c: {by_letter})"
    return f"CASE WHEN regexp_matches({text}, '[{_MANY}]') THEN array_to_string({letters}, '') ELSE upper({text}) END"


def lower_sql(text: str) -> str:
    dotted = f"replace({text}, 'İ', 'i̇')"
    last = f"regexp_replace(regexp_replace({dotted}, '{_LAST_SIGMA}', '\\1ς\\2\\3', 'g'), '{_LAST_SIGMA}', '\\1ς\\2\\3', 'g')"
    return f"CASE WHEN regexp_matches({text}, '[İΣ]') THEN lower({last}) ELSE lower({text}) END"


def title_sql(text: str) -> str:
    """The first letter of every word between spaces in its title form, the rest small."""
    first = _mapped("left(hr_w, 1)", _MANY + _TITLES, str.title)
    rest = f"substr({lower_sql('hr_w')}, 1 + length({lower_sql('left(hr_w, 1)')}))"
    return f"array_to_string(list_transform(string_split({text}, ' '), lambda hr_w: {first} || {rest}), ' ')"


def _mapped(letter: str, special: str, form: Callable[[str], str]) -> str:
    listed = ", ".join(f"'{c}': '{form(c)}'" for c in special)
    return f"coalesce(MAP {{{listed}}}[{letter}], upper({letter}))"
