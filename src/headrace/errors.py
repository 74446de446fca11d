"""Every error a user can meet, one class per stage.

A message says where, what was expected, what came, and what to do. `HeadraceError` is the user's side: something to
change in the text, the data, the options or the machine. A bug of ours surfaces as `InternalError` with the query,
node and batch it happened in, so that a report can be made from the message alone.
"""

from __future__ import annotations


class HeadraceError(Exception):
    """Something the user can act on."""


class SqlError(HeadraceError):
    """The text of a statement is wrong; the message underlines the place."""


class PlanError(HeadraceError):
    """A query is understood but cannot run forever: it would never emit, or never purge its state."""


class CheckpointError(HeadraceError):
    """The checkpoint cannot be used: another query set, another run, a damaged manifest, a full disk."""


class SourceError(HeadraceError):
    """A source cannot be read."""


class SinkError(HeadraceError):
    """A sink, or a function the user gave, failed with results that are committed."""


class OptionError(HeadraceError):
    """An option has a value that cannot be used."""


class NetworkError(HeadraceError):
    """A network, a deployment or a placement problem that cannot be satisfied."""


class UnplaceableError(NetworkError):
    """No choice of nodes that a planner looks at can take a query."""


class InternalError(HeadraceError):
    """A fault of Headrace itself; please report it with the text of the message."""
