"""Groups of candidates on a map by rate, mechanism or swapped attributes, and short labels for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase

import numpy as np

from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.mechanisms import amount
from engine.release.scenarios import Scenarios
from engine.release.spec import RANDOM_SWAP, AttributeSpec
from frontier_app.charts.style import COLOURS

OTHER = "other amounts"
"""The amounts that are no shares, where some are."""


def coded(view: RiskUtilityMap, name: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Mechanism, rate or roles of every scenario as codes into its values, without making the scenarios of a study."""
    if isinstance(view.scenarios, Scenarios):
        return view.scenarios.coded(name)
    specs = [s.spec for s in view.scenarios]
    texts = [spec.attributes.roles if name == "roles" else str(getattr(spec, name)) for spec in specs]
    where = {value: code for code, value in enumerate(dict.fromkeys(texts))}
    return np.array([where[value] for value in texts], np.int32), tuple(where)


def swappable(view: RiskUtilityMap) -> list[str]:
    """Attributes that some scenario swaps."""
    names = view.scenarios[0].spec.attributes.names
    _, roles = coded(view, "roles")
    return [name for j, name in enumerate(names) if any(role[j] == "S" for role in roles)]


def _swaps(name: str) -> str:
    """The colouring by whether an attribute is swapped, as a saved view names it."""
    return f"swaps {name}"


def colourings(view: RiskUtilityMap) -> dict[str, str]:
    """Ways to colour the map, with their words."""
    return {
        "rate": "Swap rate" if _has_rates(view) else "Amount",
        "number": "Attributes swapped",
        **{_swaps(name): f"Swaps {name}" for name in swappable(view)},
    }


def categories(view: RiskUtilityMap, colour: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Each scenario's category under a colouring, and the categories' words."""
    names = view.scenarios[0].spec.attributes.names
    codes, roles = coded(view, "roles")
    if colour == "number":
        numbers, category = np.unique([role.count("S") for role in roles], return_inverse=True)
        return category[codes], tuple(str(n) for n in numbers.tolist())
    swapped = {_swaps(name): j for j, name in enumerate(names)}
    if (j := swapped.get(colour)) is not None:
        return np.array([0 if role[j] == "S" else 1 for role in roles])[codes], ("yes", "no")
    return amounts(view)


def _has_rates(view: RiskUtilityMap) -> bool:
    """Return whether all candidates are random swaps, so that their amount is a rate."""
    return coded(view, "mechanism")[1] == (RANDOM_SWAP,)


def amounts(view: RiskUtilityMap) -> tuple[np.ndarray, tuple[str, ...]]:
    """Each scenario's amount, as a place among the amounts in ascending order; of several mechanisms the shares alone,
    after one place for all others."""
    together = np.zeros(len(view.scenarios), np.int64)
    for name in ("mechanism", "rate", "params"):
        codes, texts = coded(view, name)
        together = together * len(texts) + codes
    _, first, codes = np.unique(together, return_index=True, return_inverse=True)
    found = [amount(view.scenarios[i].spec) for i in first.tolist()]
    alone = len(coded(view, "mechanism")[1]) == 1
    words = [one.short if alone or one.kind == "share" else OTHER for one in found]
    order = {text: one.order[1] if text != OTHER else -1.0 for text, one in zip(words, found, strict=True)}
    names = sorted(order, key=lambda text: (order[text], text))
    return np.array([names.index(text) for text in words])[codes], tuple(names)


def facet_titles(view: RiskUtilityMap, names: Sequence[str]) -> tuple[str, ...]:
    """Titles of panels, one for each amount."""
    of = "swap rate" if _has_rates(view) else "amount"
    return tuple(f"{of} {name} (a scale of its own)" for name in names)


def forms(view: RiskUtilityMap) -> tuple[np.ndarray, tuple[str, ...]]:
    """Each scenario's mechanism, as a place among those of the study; no names where there is only one."""
    codes, names = coded(view, "mechanism")
    return codes, names if len(names) > 1 else ()


def binned(codes: np.ndarray, names: tuple[str, ...], most: int = len(COLOURS)) -> tuple[np.ndarray, tuple[str, ...]]:
    """Neighbouring categories together, so that each of at most ``most`` keeps a look of its own."""
    if len(names) <= most:
        return codes, names
    own = 1 if names[0] == OTHER else 0
    parts = [np.arange(own)] * own + np.array_split(np.arange(own, len(names)), most - own)
    where = np.concatenate([np.full(len(part), i) for i, part in enumerate(parts)])
    labels = (names[p[0]] if len(p) == 1 else f"{names[p[0]]} to {names[p[-1]]}" for p in parts)
    return where[codes], tuple(labels)


def abbreviations(names: Sequence[str]) -> dict[str, str]:
    """A sign of its own for every name: one of its letters where one is free, else any; numbers where none is left."""
    short: dict[str, str] = {}
    for number, name in enumerate(names, 1):
        own = [sign.upper() for sign in name if sign.isalpha()]
        free = (sign for sign in (*own, *ascii_uppercase, *ascii_lowercase) if sign not in short.values())
        short[name] = next(free, str(number))
    return short


def swap_label(spec: AttributeSpec, short: Mapping[str, str]) -> str:
    """The attributes swapped, abbreviated: ``WS``; with signs between them where one is a number."""
    parts = [short[name] for name in spec.names_having("S")]
    return ("" if all(len(part) == 1 for part in parts) else "+").join(parts)
