"""YAML and JSON in which no entry is there twice: of two streams of one name, both readers would drop the first in silence."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

import yaml


class _UniqueKeys(yaml.SafeLoader):  # type: ignore[misc]  # yaml has no types
    """YAML without Python's tags, and with each key of a mapping once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:merge":
                name = self.construct_object(key, deep=True)
                if isinstance(name, Hashable) and name in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"{name!r} is there twice", key.start_mark)
                seen.add(name)
        return dict(super().construct_mapping(node, deep))


def read_yaml(text: str) -> Any:
    return yaml.load(text, _UniqueKeys)


def read_json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is there twice in one object")
    return found
