"""Candidates by what they differ in: words of factors and their values, short names, and filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.common.wording import lower_first
from engine.frontier.factors import Factor, factors
from engine.mechanisms import mechanism
from engine.release.scenarios import Scenarios
from engine.release.spec import RANDOM_SWAP, ReleaseSpec, percent
from engine.report.sheet_counts import settings_of
from frontier_app.wording import mechanisms, text

ROLES = "SFCU"
ROLE_SIGNS = {"S": "S", "F": "F", "C": "C", "U": "·"}


class Words:
    """Factors and their values in words, as documents say them; lists of attributes by those that differ."""

    def __init__(self, specs: Sequence[ReleaseSpec], found: Sequence[Factor]) -> None:
        self._titles: dict[str, str] = {"swap": "Exchanged", "rule": "True swap", "rate": "Share of records"}
        self._values: dict[tuple[str, str], str] = {}
        for spec in specs:
            told = (
                {}
                if spec.by_roles
                else zip(mechanism(spec.mechanism).settings(spec), settings_of(spec)[1:], strict=True)
            )
            for (name, raw), (title, value) in told:
                self._titles[name], self._values[name, raw] = title, value
        for factor in found:
            lists = {raw: self._values.get((factor.name, raw), "").split(", ") for raw in factor.values}
            common = set.intersection(*map(set, lists.values()))
            if all(len(names) > len(common) for names in lists.values()) and common:
                own = {raw: ", ".join(name for name in names if name not in common) for raw, names in lists.items()}
                if len(set(own.values())) == len(own):
                    self._values |= {(factor.name, raw): f"same {words}" for raw, words in own.items()}

    def bare(self, factor: Factor, raw: str) -> str:
        """A value in words where its factor is named already."""
        return percent(raw) if factor.counts else self._values.get((factor.name, raw), raw)

    def title(self, factor: Factor) -> str:
        """A factor in words."""
        return self._titles.get(factor.name, factor.name)

    def value(self, factor: Factor, raw: str) -> str:
        """A value in words; a bare number behind what it is of."""
        if factor.counts:
            return percent(raw)
        value = self._values.get((factor.name, raw), raw)
        return f"{lower_first(self.title(factor))} {value}" if value.replace(".", "").isdigit() else value


@dataclass(frozen=True)
class Filter:
    """A thing by which candidates can be filtered: ``values`` with their ``words``, and of each candidate which it has
    (``codes``; -1 where the thing is none of its mechanism's).  ``is_role`` marks what becomes of an attribute."""

    name: str
    title: str
    values: tuple[str, ...]
    words: tuple[str, ...]
    codes: np.ndarray
    is_role: bool = False


class Differences:
    """What the candidates of a study differ in: mechanisms, roles of attributes, and parameters."""

    def __init__(self, scenarios: Scenarios) -> None:
        self._scenarios = scenarios
        specs = scenarios.specs
        codes, names = scenarios.coded("mechanism")
        self.filters: list[Filter] = []
        if len(names) > 1:
            titles = tuple(mechanisms.short(name) for name in names)
            self.filters.append(Filter("mechanism", "Method", names, titles, codes))
        if RANDOM_SWAP in names:
            roles = np.array([ROLES.index(chr(code)) for code in range(256) if chr(code) in ROLES], np.int8)
            places = np.zeros(256, np.int8)
            places[[ord(role) for role in sorted(ROLES)]] = roles
            for j, name in enumerate(specs.specs.names):
                of_attribute = places[specs.specs.roles[:, j]][specs.spec_codes]
                if len(found := np.unique(of_attribute)) > 1:
                    values = tuple(ROLES[i] for i in found.tolist())
                    signs = tuple(ROLE_SIGNS[value] for value in values)
                    place = np.searchsorted(found, of_attribute)
                    self.filters.append(Filter(f"role:{name}", name, values, signs, place, True))
        self._parts: dict[str, tuple[Words, list[Factor], dict[int, int]]] = {}
        _, first = np.unique(specs.procedure_codes, return_index=True)
        for name in names:
            own = [int(i) for i in first.tolist() if scenarios.mechanism(int(i)) == name]
            made = [specs[i] for i in own]
            found_factors = [factor for factor in factors(made) if factor.name != "swap"]
            place_of = {int(specs.procedure_codes[i]): k for k, i in enumerate(own)}
            told = Words(made, found_factors)
            self._parts[name] = told, found_factors, place_of
            self.filters += [
                self._filter(name, factor, told, place_of, several=len(names) > 1) for factor in found_factors
            ]

    def _filter(self, name: str, factor: Factor, told: Words, place_of: dict[int, int], *, several: bool) -> Filter:
        procedures = self._scenarios.specs.procedure_codes
        code_of = np.full(int(procedures.max(initial=0)) + 1, -1)
        for procedure, place in place_of.items():
            code_of[procedure] = factor.codes[place]
        title = told.title(factor) if factor.name != "rate" else "Rate"
        title = f"{mechanisms.short(name)}: {lower_first(title)}" if several else title
        words = tuple(told.bare(factor, value) for value in factor.values)
        return Filter(f"{name}:{factor.name}", title, factor.values, words, code_of[procedures])

    def name(self, index: int) -> str:
        """A candidate by what it differs in from the others, its attributes and amount by the usual short words."""
        spec = self._scenarios[index].spec
        if spec.by_roles:
            return _kept(swapped(spec))
        told, found, place_of = self._parts[spec.mechanism]
        place = place_of[int(self._scenarios.specs.procedure_codes[index])]
        parts = [told.value(factor, factor.values[factor.codes[place]]) for factor in found]
        method = [mechanisms.short(spec.mechanism)] if len(self._parts) > 1 or not parts else []
        return _kept(" · ".join([*method, *parts]))


def swapped(spec: ReleaseSpec) -> str:
    """A random swap in a few words: what is exchanged, on what partners are equal or differ, and the rate."""
    roles = spec.attributes
    limits = []
    for role, verb in (("F", "equal on"), ("C", "different on")):
        names = roles.names_having(role)
        if names:
            limits.append(f"{verb} {text.listed(names) if len(names) <= 2 else len(names)}")
    return ", ".join([" + ".join(roles.names_having("S")), *limits, percent(spec.rate)])


def _kept(words: str) -> str:
    """Words in which no line begins with a sign of per cent."""
    return words.replace(" %", "\xa0%")
