"""What is known of Spark's sources without Spark: which have columns of their own, and which these are.

Files of lines and columns have no schema that a stream could start with, so CREATE STREAM lists their columns. Other
sources have one: it may be listed, all of it or the part that is wanted, or left out. For those below it is always the
same; what any other source has, only Spark can tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

MALFORMED = "_text"  # column of a late table: the line that does not parse

Columns = tuple[tuple[str, str], ...]

FILE_FORMATS = frozenset(("parquet", "csv", "json", "orc", "text", "avro", "binaryfile", "xml"))
TABLES_ONLY = frozenset(("jdbc", "table", "image", "libsvm"))  # what Spark reads in one go only
NEED_PATH = FILE_FORMATS | {"delta"}
_RATE: Columns = (("timestamp", "TIMESTAMP"), ("value", "BIGINT"))
_KAFKA: Columns = (
    ("key", "BINARY"),
    ("value", "BINARY"),
    ("topic", "STRING"),
    ("partition", "INT"),
    ("offset", "BIGINT"),
    ("timestamp", "TIMESTAMP"),
    ("timestampType", "INT"),
)
_OWN: Mapping[str, Columns] = {
    "rate": _RATE,
    "rate-micro-batch": _RATE,
    "socket": (("value", "STRING"),),
    "kafka": _KAFKA,
    "text": (("value", "STRING"),),
}
_MORE: Mapping[tuple[str, str], Columns] = {
    ("socket", "includetimestamp"): (("timestamp", "TIMESTAMP"),),
    ("kafka", "includeheaders"): (("headers", "ARRAY<STRUCT<key: STRING, value: BINARY>>"),),
}
_OF_FILES = (
    *("path", "maxFilesPerTrigger", "maxBytesPerTrigger", "latestFirst", "fileNameOnly", "maxFileAge", "maxCachedFiles"),
    *("cleanSource", "sourceArchiveDir", "discardCachedInputRatio", "pathGlobFilter", "recursiveFileLookup", "basePath"),
    *("modifiedBefore", "modifiedAfter", "ignoreCorruptFiles", "ignoreMissingFiles", "allowUnexpectedFiles"),
)
_OF_TEXT = (
    *("encoding", "charset", "lineSep", "compression", "codec", "locale", "timeZone", "dateFormat", "timestampFormat"),
    *("timestampNTZFormat", "mode", "columnNameOfCorruptRecord", "multiLine", "samplingRatio", "enableDateTimeParsingFallback"),
    *("preferDate", "singleVariantColumn"),
)
_OF_FORMATS: Mapping[str, tuple[str, ...]] = {
    "csv": (
        *_OF_TEXT,
        *("sep", "delimiter", "quote", "escape", "comment", "header", "inferSchema", "enforceSchema", "nullValue", "nanValue"),
        *("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "positiveInf", "negativeInf", "emptyValue", "maxColumns"),
        *("maxCharsPerColumn", "charToEscapeQuoteEscaping", "unescapedQuoteHandling", "quoteAll", "escapeQuotes", "extension"),
        *("inputBufferSize", "columnPruning", "unescapedQuoteHandling"),
    ),
    "json": (
        *_OF_TEXT,
        *("primitivesAsString", "prefersDecimal", "allowComments", "allowUnquotedFieldNames", "allowSingleQuotes"),
        *("allowNumericLeadingZeros", "allowNonNumericNumbers", "allowBackslashEscapingAnyCharacter"),
        *("allowUnquotedControlChars", "dropFieldIfAllNull", "ignoreNullFields", "useUnsafeRow"),
    ),
    "parquet": ("mergeSchema", "compression", "datetimeRebaseMode", "int96RebaseMode"),
    "orc": ("mergeSchema", "compression"),
    "text": ("wholetext", "lineSep", "compression", "encoding"),
}
KNOWN_FORMATS = FILE_FORMATS | _OWN.keys() | {"delta", "iceberg", "kinesis", "pulsar"}


def known_columns(format_: str, options: Mapping[str, str]) -> Columns:
    """The columns that a source is known to have; none if only Spark can tell."""
    name = format_.lower()
    columns = _OWN.get(name, ())
    for key, value in options.items():
        if value.lower() == "true":
            columns += _MORE.get((name, key.lower()), ())
    return columns


def find_misspelt_option(format_: str, options: Iterable[str]) -> tuple[str, str] | None:
    """An option of a source of files that it does not have but for a letter or two, and the one that was probably meant.
    Spark takes no notice of options it does not know.
    """
    name = format_.lower()
    if name not in FILE_FORMATS:
        return None
    known = _known_options(name)
    for option in options:
        near = get_close_matches(option.lower(), known, n=1, cutoff=0.85)
        if near and option.lower() not in known:
            return option, known[near[0]]
    return None


def is_option_of_files(format_: str, option: str) -> bool:
    """Whether Spark's readers of files know this option; others are passed on to the file system."""
    name = format_.lower()
    return name in FILE_FORMATS and option.lower() in _known_options(name)


def _known_options(name: str) -> dict[str, str]:
    """Options of a format of files, by their names in small letters."""
    return {one.lower(): one for one in (*_OF_FILES, *_OF_FORMATS.get(name, ()))}


def find_misspelt(format_: str) -> str | None:
    """The format that was probably meant, if this is none that is known."""
    name = format_.lower()
    if name in KNOWN_FORMATS or "." in name:
        return None
    return next(iter(get_close_matches(name, sorted(KNOWN_FORMATS), n=1, cutoff=0.75)), None)
