"""The registry of functions of the Spark that runs: names, kinds and numbers of arguments, and what a program added to it."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

_MOST_TRIED = 12  # arguments; one that takes so many takes any number
_KINDS = {"agg_funcs": "aggregate", "window_funcs": "window", "generator_funcs": "generator"}
_WRONG_COUNT = ("WRONG_NUM_ARGS", "REQUIRED_PARAMETER_NOT_FOUND", "UNEXPECTED_POSITIONAL_ARGUMENT")


def list_registry(spark: SparkSession) -> dict[str, str]:
    """The kind of every built-in function, by name."""
    found = {name: "table" for name, _ in _list(_state(spark).tableFunctionRegistry())}
    for name, info in _list(_state(spark).functionRegistry()):
        if info.getSource() == "built-in":
            found[name] = _KINDS.get(info.getGroup(), "scalar")
    return found


def is_registered(spark: SparkSession, name: str) -> bool:
    """Whether a function was registered with this session: by Python, by Java, or by an extension."""
    jvm: Any = spark._jvm
    try:
        return bool(_state(spark).catalog().isTemporaryFunction(jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name)))
    except (PySparkException, Py4JJavaError):
        return False


def count_arguments(spark: SparkSession, name: str) -> tuple[int, int | None]:
    """The smallest and the largest number of arguments, None for no limit: found by trying."""
    taken = [n for n in range(_MOST_TRIED + 1) if takes_count(spark, name, n)]
    if not taken:
        return 0, None
    return taken[0], None if taken[-1] == _MOST_TRIED else taken[-1]


def takes_count(spark: SparkSession, name: str, count: int) -> bool:
    """Whether a function takes so many arguments, whatever their types."""
    jvm: Any = spark._jvm
    state = _state(spark)
    nothing = state.sqlParser().parseExpression("NULL")
    arguments = jvm.org.apache.spark.api.python.PythonUtils.toSeq([nothing] * count)
    some = jvm.scala.Some
    identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name, some("builtin"), some("system"))
    try:
        state.functionRegistry().lookupFunction(identifier, arguments).checkInputDataTypes()  # coalesce counts there
    except (PySparkException, Py4JJavaError) as e:
        return not any(word in str(e) for word in _WRONG_COUNT)
    return True


def _state(spark: SparkSession) -> Any:
    session: Any = spark
    return session._jsparkSession.sessionState()


def _list(registry: Any) -> list[tuple[str, Any]]:
    names, out = registry.listFunction().iterator(), []
    while names.hasNext():
        one = names.next()
        if (info := registry.lookupFunction(one)).isDefined():
            out.append((one.funcName(), info.get()))
    return out


__all__ = ["count_arguments", "is_registered", "list_registry", "takes_count"]
