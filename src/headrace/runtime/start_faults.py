"""Why Spark did not start, from what it wrote: the line that says it, not the stack below."""

from __future__ import annotations

import re

from headrace.errors import OptionError

_OLD_JAVA = "UnsupportedClassVersionError"
_UNRESOLVED = re.compile(r"unresolved dependency: ([^\s\]]+?)(?:: not found|[\],]|\s|$)")
_THROWN = re.compile(r"^(?:Exception in thread \"[^\"]*\" |Caused by: )?((?:[\w$]+\.)+\w*(?:Exception|Error)\b.*)")
_LAST = 6  # lines, where none says it


def explain_start(error: Exception, said: str) -> OptionError:
    """The error to raise; `said` is what Spark and Java wrote while they started."""
    if found := list(dict.fromkeys(one.replace(";", ":").replace("#", ":") for one in _UNRESOLVED.findall(said))):
        return OptionError(
            f"Spark did not start: --packages names what cannot be found: {', '.join(found)}. Expected GROUP:ARTIFACT:VERSION of "
            "packages that are published for this Spark and its Scala (…_2.13), and a network that reaches where they are; "
            "jars that are here are given with --jars"
        )
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    thrown = [match[1] for line in lines if (match := _THROWN.match(line))]
    why = "this Java is too old, it must be 17 or newer" if _OLD_JAVA in said else str(error)
    return OptionError("\n  ".join([f"Spark did not start: {why}", *(thrown[:2] or lines[-_LAST:])]))
