"""A binder that knows what another knows, so that a whole script is registered or nothing of it."""

from __future__ import annotations

from copy import copy

from headrace.sql.bind import Binder


def copy_binder(binder: Binder) -> Binder:
    fresh = copy(binder)
    fresh.streams, fresh.relations = dict(binder.streams), dict(binder.relations)
    fresh.queries, fresh.tables = dict(binder.queries), dict(binder.tables)
    return fresh
