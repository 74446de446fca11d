"""Texts that Python, and a notebook, shows as they are meant to be read; they are texts in every other way."""

from __future__ import annotations

from html import escape


class PlanText(str):
    """A text of several lines, shown line by line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class PlanPage(str):
    """A page of HTML, shown by a notebook as a page of its own, so that its style is not the notebook's."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self)}" style="width: 100%; height: 40em; border: 0"></iframe>'
