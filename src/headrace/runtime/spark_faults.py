"""Spark's exceptions in the user's words: which batch, what happened, what to do."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
from pyspark.logger import PySparkLogger

from headrace import errors
from headrace.errors import HeadraceError, InternalError, SourceError
from headrace.sources.option_values import hide_values

_OURS = re.compile(r"headrace\.errors\.(\w+): (.*?)(?:\n\s*\n|\nSQLSTATE|\n\tat |\Z)", re.DOTALL)
_USER = re.compile(r"executing the UDF: RuntimeError: (aggregate [^\n]*)")
_AGAIN = "Nothing of this batch was committed; mend the cause and start again"
_GONE = ("SparkContext was shut down", "SparkContext has been shut down", "stopped SparkContext")
_LOST = ("Python worker exited unexpectedly", "ExecutorLostFailure", "MetadataFetchFailed", "FetchFailed")
_SOURCE = (
    "FAILED_READ_FILE",
    "CANNOT_READ_FILE",
    "MALFORMED_RECORD",
    "PATH_NOT_FOUND",
    "UNABLE_TO_INFER_SCHEMA",
    "PARQUET_COLUMN_DATA_TYPE_MISMATCH",
)
_HEADER = re.compile(
    r"CSV header (?:does not conform to the schema|is not equal to number of fields in the schema)[.:]\s*"
    r"(?:Header: (?P<header>[^\n]*)\n\s*Schema: (?P<schema>[^\n]*)\n.*?|"
    r"Header length: (?P<length>\d+), schema size: (?P<count>\d+)\s*)"
    r"CSV file: (?P<file>\S+)",
    re.DOTALL,
)
_PARQUET_DICTIONARY = "UnsupportedOperationException: org.apache.parquet.column.values.dictionary"
_TIME_MISMATCH = re.compile(r"Expected Spark type timestamp(?:_ntz)?, actual Parquet type INT64")
_NANOSECONDS = (
    "Spark's reader does not read times in nanoseconds, as pandas writes them, and of files that are not local Headrace does not "
    "know which have them. Write the file with microseconds (pandas: to_parquet(…, coerce_timestamps='us', "
    "allow_truncated_timestamps=True)), and start again"
)
MEND = "Mend or remove the file and start again (docs/operations.md has what else can be done)"
_CALL = re.compile(r"An error occurred while calling \S+\.\s*\n?\s*: (?:org\.apache\.spark\.SparkException: )?")  # py4j's words
_quieting = threading.Lock()
_quiet = 0  # how many threads are inside


@contextmanager
def quiet() -> Iterator[None]:
    """Within it, PySpark does not write an exception with its Java stack to standard error before it raises
    it.
    """
    global _quiet
    loggers = [PySparkLogger.getLogger(n) for n in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]
    with _quieting:
        _quiet += 1
        for logger in loggers:
            logger.disabled = True
    try:
        yield
    finally:
        with _quieting:
            _quiet -= 1
            for logger in loggers:
                logger.disabled = _quiet > 0


def log_threads(path: Path) -> None:
    """From here on, what py4j and PySpark's threads write to standard error when Java is gone goes to a file: the run
    itself ends with a message that says so in a sentence.
    """
    logging.basicConfig(filename=path, level=logging.ERROR)  # py4j writes to the root logger, too
    for server in (AccumulatorTCPServer, AccumulatorUnixServer):
        server.handle_error = _log_request  # type: ignore[method-assign, assignment]


def _log_request(server: object, request: object, address: object) -> None:
    logging.getLogger(__name__).exception("a request of Java's failed")


def explain_error(error: BaseException, batch: int | None, outside: bool = False) -> HeadraceError:
    """The error to raise for what Spark raised, while it ran a batch or `outside` of our part in one; it tells no value that a
    `${…}` of OPTIONS stands for.
    """
    found = _explain_error(error, batch, outside)
    text = str(found)
    hidden = hide_values(text)
    return found if hidden == text else type(found)(hidden)


def _explain_error(error: BaseException, batch: int | None, outside: bool) -> HeadraceError:
    if isinstance(error, HeadraceError):
        return error
    text = str(error)
    where = f"batch {batch}: " if batch is not None else ""
    if found := _OURS.search(text):
        kind = getattr(errors, found[1], InternalError)
        return kind(f"{where}{found[2].strip()}")  # type: ignore[no-any-return]
    if found := _USER.search(text):
        return errors.SqlError(
            f"{where}{found[1].strip()}\nNothing of this batch was committed; mend it and start again"
        )
    if found := _HEADER.search(text):
        return SourceError(
            f"{where}a source cannot be read: {found['file']}: its header does not fit: expected the columns "
            f"{found['schema'] or found['count'] + ' in number'}, found {found['header'] or found['length']}\nNothing of this "
            "batch was committed. All CSV files of a stream have the same columns in the same order: mend or remove the "
            "file, and start again"
        )
    if _PARQUET_DICTIONARY in text:
        return SourceError(
            f"{where}a source cannot be read: a column of a Parquet file is not of the type that is declared. Unsigned integers "
            "of 32 bits are read as BIGINT and those of 64 bits as DECIMAL(20,0)\nNothing of this batch was committed. Declare "
            "the stream as its files are, or mend them, and start again"
        )
    if any(mark in text for mark in _SOURCE):
        advice = _NANOSECONDS if _TIME_MISMATCH.search(text) else MEND
        return SourceError(
            f"{where}a source cannot be read: {_head(text)}\nNothing of this batch was committed. {advice}"
        )
    if "No space left on device" in text:
        return errors.CheckpointError(
            f"{where}a disk is full: {_head(text)}\nNothing of this batch was committed; make room and start again"
        )
    if any(mark in text for mark in _GONE) or _unreachable(error):
        return HeadraceError(f"{where}Spark has ended: {_head(text, 1)}\n{_AGAIN}")
    if any(mark in text for mark in _LOST):
        return HeadraceError(
            f"{where}workers were lost again and again: {_head(text, 1)}\nOften memory has run out: give Spark more, or let "
            f"it read less in a batch (maxFilesPerTrigger, maxOffsetsPerTrigger). {_AGAIN}"
        )
    if outside:
        return SourceError(f"{where}Spark cannot read a source or its own log: {_head(text)}\n{_AGAIN}")
    return InternalError(f"{where}{type(error).__name__}: {_head(text, 12)}")


def _unreachable(error: BaseException) -> bool:
    """Whether the JVM did not answer, as opposed to answering with an error."""
    return isinstance(error, ConnectionError) or (
        isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)
    )


def find_line(text: str) -> str:
    """The line that says what happened, without Java's names."""
    return _head(text, 1)


def _head(text: str, lines: int = 3) -> str:
    """The telling lines: of a Python traceback the last, of Spark's words the first, of a Java stack none."""
    text = re.sub(r"\s*SQLSTATE: \w+", "", text.split("=== Streaming Query ===")[0])
    text = _CALL.sub("", text)
    said = [line for line in text.splitlines() if line.strip() and not line.startswith(("\tat ", "\t..."))]
    traced = [i for i, line in enumerate(said) if "Traceback (most recent call last)" in line]
    if traced:
        said = [line for line in said[traced[-1] + 1 :] if not line.startswith("  ")] or said
    return " ".join(line.strip() for line in said[:lines])[:1500]
