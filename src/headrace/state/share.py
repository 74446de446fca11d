"""Who may look into a checkpoint: the user who runs the set, unless it is shared.

A checkpoint holds what streams and results hold, so its folder is made for its owner alone (0700), and with it whatever
is in it, what Spark keeps there too. `group`, or the name of one, opens it to a group: to readers, and to executors that
run as other users of that group, so folders are writable by it and what is made in them belongs to it. `all` opens it to
readers. The rights are set when the checkpoint is new, and whenever a run says so; what somebody else owns is left as it is.
Other file systems than the local one have rights of their own.
"""

from __future__ import annotations

import grp
import os
import stat
from contextlib import suppress

from headrace.errors import OptionError
from headrace.state.local_files import LocalFiles
from headrace.state.store import Store

GROUP, ALL = "group", "all"
_PRIVATE, _BY_GROUP, _BY_ALL = 0o700, 0o2770, 0o755
_KNOWN = ("epochs", "manifests")


def protect_checkpoint(store: Store, share: str | None = None) -> None:
    """Make the checkpoint's folder, and give it its rights."""
    if not store.is_local:
        if share is not None:
            raise OptionError(f"share: who may read {store.uri} is set in its file system; leave the option out")
        return
    group = _find_group(share)
    there = os.path.isdir(store.uri)
    names = os.listdir(store.uri) if there and os.access(store.uri, os.R_OK | os.X_OK) else []
    if names and not any(name in names for name in _KNOWN):
        if share is not None:
            raise OptionError(f"share: {store.uri} holds other things than a checkpoint; give the checkpoint a folder of its own")
        return
    if share is None and (names or (there and os.stat(store.uri).st_uid != os.geteuid())):
        return
    with store.explain("", "write"):
        os.makedirs(store.uri, _PRIVATE, exist_ok=True)
        with suppress(PermissionError):  # of a folder that we may write to and not read
            LocalFiles().flush(os.path.dirname(store.uri))
        if group is not None:
            _give(store.uri, group)
        os.chmod(store.uri, _PRIVATE if share is None else _BY_ALL if share == ALL else _BY_GROUP)


def _give(folder: str, group: int) -> None:
    """What is there already becomes the group's too."""
    for path, _, files in os.walk(folder):
        os.chown(path, -1, group)
        os.chmod(path, _BY_GROUP)
        for file in files:
            os.chown(os.path.join(path, file), -1, group, follow_symlinks=False)


def check_share(share: str | None) -> str | None:
    """What is asked for, if there is such a group and the files we make can be read by whom it is shared with."""
    _find_group(share)
    if share is not None:
        masked = os.umask(0o077)
        os.umask(masked)
        if masked & (stat.S_IRGRP if share != ALL else stat.S_IROTH):
            raise OptionError(
                f"share: this process makes files that nobody else can read (umask {masked:04o}); start it with umask 0022"
            )
    return share


def _find_group(share: str | None) -> int | None:
    if share is None or share == ALL:
        return None
    if share == GROUP:
        return os.getegid()
    try:
        return grp.getgrnam(share).gr_gid
    except KeyError:
        raise OptionError(f"share: there is no group {share!r}; expected the name of a group, group (your own) or all") from None
