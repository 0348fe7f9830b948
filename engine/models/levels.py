"""The level that a model predicts, and the reference levels that its coefficients are compared with."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from engine.models.outcomes import level_of, quoted

if TYPE_CHECKING:
    from engine.data.domain import Domain
    from engine.models.formulas import Design

MEAN = "the mean over all levels"
"""What a level is compared with where its factor is coded by C(name, Sum())."""


class Levels(NamedTuple):
    """The meaning of a larger coefficient, as a clause (``predicts``), and for each factor of the formula the level
    with which its others are compared (``references``: factor, level)."""

    predicts: str
    references: tuple[tuple[str, str], ...]


def levels_of(design: Design, domain: Domain) -> Levels:
    """The levels of a model made ready on data with this domain."""
    return Levels(_predicts(design, domain), tuple(_references(design, domain)))


def _predicts(design: Design, domain: Domain) -> str:
    family, text = design.analysis.model, design.analysis.sides[0].strip()
    if family.outcome == "levels":
        return f"each level of {text} against {design.levels[0]}"
    if family.outcome == "ordered levels":
        return f"a higher level of {text} in the order {', '.join(design.levels)}"
    if family.outcome == "event":
        return _event(text, domain)
    figure = f"the {design.analysis.tau} quantile of {text}" if design.analysis.tau else f"the mean of {text}"
    return f"the logarithm of {figure}" if family.name in ("poisson", "negative binomial", "gamma") else figure


def _event(text: str, domain: Domain) -> str:
    """The event of an outcome with two values."""
    tree = ast.parse(text, mode="eval").body
    name = quoted(tree)
    if name in domain.names:
        return f"{name} is {domain.attributes[domain.index(name)].levels[-1]}"
    if level := level_of(tree, {name: j for j, name in enumerate(domain.names)}):
        return f"{level[0]} is {'' if level[2] else 'not '}{level[1]}"
    return f"{text} holds" if isinstance(tree, ast.Compare) else f"{text} is 1"


def _references(design: Design, domain: Domain) -> list[tuple[str, str]]:
    """Factors whose coefficients are differences; one that has a coefficient for every level is not among them."""
    references: dict[str, str] = {}
    levels: tuple[str, ...]
    for term in design.terms:
        for f, matrix in term:
            factor = design.factors[f]
            if matrix is None:
                continue
            if factor.attribute is None:
                name, levels = factor.factor.code, ("false", "true")
            else:
                attribute = domain.attributes[factor.attribute]
                name, levels = attribute.name, tuple(attribute.levels)
            none = np.flatnonzero(~matrix.any(axis=1))
            if len(none):
                references.setdefault(name, levels[int(none[0])])
            elif (matrix < 0).any():
                references.setdefault(name, MEAN)
    return list(references.items())
