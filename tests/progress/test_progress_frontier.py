"""Laws of frontiers: a distributive lattice of what will not come any more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from propagation_rules import pass_aggregate, pass_projection, pass_selection, pass_union

from headrace.progress import LOWEST, NOTHING_KNOWN, Frontier, advance, meld

GROUPS = [("a",), ("b",), ("c", 1)]
bounds = st.one_of(st.just(LOWEST), st.integers(-20, 20))
frontiers = st.builds(
    lambda bound, groups: Frontier(bound, tuple(groups.items())),
    bounds,
    st.dictionaries(st.sampled_from(GROUPS), st.integers(-20, 20)),
)


def excludes(frontier: Frontier, group: tuple[object, ...], t: int) -> bool:
    """By definition: whether a row of the group at `t` will not come."""
    bound = frontier.bound_of(group)
    return t < bound


@given(frontiers, frontiers, st.sampled_from([*GROUPS, ("other",)]), st.integers(-21, 21))
def test_advance_and_meld_are_what_they_say(a: Frontier, b: Frontier, group: tuple[object, ...], t: int) -> None:
    """Known both: what either excludes. A union: what each of them excludes."""
    assert excludes(advance(a, b), group, t) == (excludes(a, group, t) or excludes(b, group, t))
    assert excludes(meld([a, b]), group, t) == (excludes(a, group, t) and excludes(b, group, t))


@given(frontiers, frontiers, frontiers)
def test_laws_of_a_lattice(a: Frontier, b: Frontier, c: Frontier) -> None:
    """Associative, commutative, idempotent, absorbing, distributive."""
    assert advance(a, advance(b, c)) == advance(advance(c, a), b)
    assert meld([a, meld([b, c])]) == meld([meld([c, a]), b]) == meld([b, c, a])
    assert advance(a, a) == a == meld([a, a])
    assert advance(a, meld([a, b])) == a == meld([a, advance(a, b)])
    assert advance(a, meld([b, c])) == meld([advance(a, b), advance(a, c)])


@given(frontiers)
def test_nothing_known_is_neutral(a: Frontier) -> None:
    """It adds nothing to what is known, and a union with it excludes nothing."""
    assert advance(a, NOTHING_KNOWN) == a
    assert meld([a, NOTHING_KNOWN]) == meld([]) == NOTHING_KNOWN


@given(frontiers)
def test_a_frontier_is_written_in_one_way(a: Frontier) -> None:
    """Groups that are not ahead of the rest are not named, whatever the order they came in."""
    assert Frontier(a.bound, tuple(reversed(a.groups))) == a
    assert all(bound > a.bound for _, bound in a.groups)


@given(frontiers, frontiers)
def test_rules_never_know_more_than_their_input(a: Frontier, b: Frontier) -> None:
    """What a rule excludes of its output, its input excluded; and rules keep the order of frontiers."""
    for rule in (pass_selection, pass_aggregate, lambda f: pass_projection(f, True), lambda f: pass_union([f, b])):
        assert advance(a, rule(a)) == a
        assert advance(rule(a), rule(advance(a, b))) == rule(advance(a, b))
    assert pass_projection(a, False) == NOTHING_KNOWN
    assert pass_aggregate(a).bound == a.bound
