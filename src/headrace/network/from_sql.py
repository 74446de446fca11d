"""placeholder"""

from __future__ import annotations

from headrace.network.catalog import Catalog
from headrace.network.query import Query


def queries_from_sql(text: str, catalog: Catalog, sinks: dict[str, str]) -> list[Query]:
    raise NotImplementedError
