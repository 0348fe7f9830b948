"""Edit rules at random, and what it means to break one, said record by record."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from engine.data.domain import Domain, EditRule

Codes = Sequence[int]


@st.composite
def refusing_rules(draw: st.DrawFn, domain: Domain, most: int = 3) -> tuple[EditRule, ...]:
    """0 to 3 rules that refuse, on 1 to 3 attributes each, of which some allow only what the original holds."""
    rules = []
    for number in range(draw(st.integers(0, most))):
        places = draw(st.lists(st.sampled_from(range(len(domain))), min_size=1, max_size=3, unique=True))
        if len(places) > 1 and draw(st.booleans()):
            existing = tuple(domain.names[j] for j in places)
            rules.append(EditRule(f"rule {number}", refuse=True, existing=existing))
            continue
        forbid = tuple(
            (
                domain.names[j],
                tuple(
                    draw(st.lists(st.sampled_from(domain.attributes[j].levels), min_size=1, max_size=2, unique=True))
                ),
            )
            for j in places
        )
        rules.append(EditRule(f"rule {number}", forbid, refuse=True))
    return tuple(rules)


def fails(record: Codes, rule: EditRule, domain: Domain, original: Sequence[Codes]) -> bool:
    """Whether a record has, of every attribute that the rule names, one of the levels listed; or, where the rule lists
    none, a combination that no record of the original has."""
    if rule.existing:
        looked_at = domain.indices(rule.existing)
        return all(any(one[j] != record[j] for j in looked_at) for one in original)
    return all(
        domain.attributes[domain.index(name)].levels[record[domain.index(name)]] in levels
        for name, levels in rule.forbid
    )


def breaks_anew(before: Sequence[Codes], after: Sequence[Codes], domain: Domain, original: Sequence[Codes]) -> bool:
    """Whether some record fails a refusing rule after an exchange that it did not fail before."""
    return any(
        fails(new, rule, domain, original) and not fails(old, rule, domain, original)
        for old, new in zip(before, after, strict=True)
        for rule in domain.refusing
    )
