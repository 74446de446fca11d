"""A policy from its name, with the parameters a user gives it: `flux-load:delta_min=0.25,th_imb=1.5`.

The paper's policies are sensitive to theirs (document 002, sections 5.4 and 8), so a run can set them; the default
policy and `static` have none. They belong to a run, not to its checkpoint: the next run may have others.
"""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache, partial

from headrace.balance.decision import Policy
from headrace.balance.policies import POLICIES, SETTABLE, FluxSettings
from headrace.errors import OptionError

LEAST = {"delta_min": 0.0, "th_imb": 1.0, "th_util": 0.0}


@lru_cache
def find_policy(text: str) -> Policy:
    """The policy of that name, with the paper's parameters where others are not given."""
    name, given, values = text.partition(":")
    if name not in POLICIES:
        raise OptionError(f"there is no balance policy {name!r}; there are {', '.join(POLICIES)}")
    if not given:
        return POLICIES[name]
    if name not in SETTABLE:
        raise OptionError(f"the balance policy {name} has no parameters; {', '.join(SETTABLE)} have")
    settings = dict(_read_setting(name, item) for item in values.split(","))
    return partial(SETTABLE[name], settings=FluxSettings(**settings))


def _read_setting(policy: str, item: str) -> tuple[str, float]:
    name, _, value = (part.strip() for part in item.partition("="))
    known = [field.name for field in fields(FluxSettings)]
    if name not in known:
        raise OptionError(f"the balance policy {policy} has no parameter {name!r}; it has {', '.join(known)}")
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not LEAST[name] <= number < float("inf"):
        raise OptionError(f"{name} of the balance policy {policy} is {value!r}; expected a number of at least {LEAST[name]:g}")
    return name, number
