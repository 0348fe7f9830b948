"""Expressions in a formula, and the outcome on its left side."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.raw_values import is_number
from engine.plan.analysis import FUNCTIONS, HOW_TO_NAME, MOST_LEVELS, AnalysisPlan

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.data.domain import Attribute, Domain

_OPERATORS: dict[type, Any] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
    ast.USub: np.negative,
    ast.UAdd: np.positive,
}


class Rows(NamedTuple):
    """Rows to evaluate a formula on: records of a table, or its distinct cells; ``codes(j)`` are an attribute's."""

    domain: Domain
    n: int
    codes: Callable[[int], np.ndarray]


def quoted(tree: ast.AST) -> str | None:
    """The column that ``name`` or ``Q("odd name")`` means, or None."""
    if isinstance(tree, ast.Name):
        return tree.id
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "Q" and len(tree.args) == 1:
        argument = tree.args[0]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and not tree.keywords:
            return argument.value
    return None


def function(tree: ast.Call) -> str | None:
    """The allowed function of ``f(...)`` or ``np.f(...)``, or None; ``I`` is the bracket of formulas."""
    name = tree.func
    if isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name) and name.value.id == "np":
        return name.attr if name.attr in FUNCTIONS and hasattr(np, name.attr) else None
    return name.id if isinstance(name, ast.Name) and name.id in (*FUNCTIONS, "I") else None


def check_expression(text: str, who: str, attributes: Mapping[str, int], outcome: bool = False) -> None:
    """Refuse (:class:`UsageError`) what is neither a column, a number, arithmetic nor an allowed function.

    An attribute is no number; only an outcome may be one, alone or compared with a level.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise UsageError(f"{who}: cannot read '{text}' in the formula.{HOW_TO_NAME}") from None
    if outcome and (quoted(tree) in attributes or level_of(tree, attributes)):
        return
    _check(tree, text, who, attributes, outcome)


def _check(tree: ast.AST, text: str, who: str, attributes: Mapping[str, int], outcome: bool) -> None:
    name = quoted(tree)
    if name is not None:
        if name in attributes:
            raise UsageError(
                f"{who}: attribute '{name}' is used as a number in '{text}'; it may stand alone or in C(...), and the "
                f"numbers behind it are {name}_raw"
            )
        return
    inner: tuple[ast.AST, ...]
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int | float):
        return
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
        if isinstance(tree.op, ast.Pow) and not any(isinstance(inner_tree, ast.Name) for inner_tree in ast.walk(tree)):
            raise UsageError(f"{who}: write the number in place of the power in '{text}'")
        inner = (tree.left, tree.right)
    elif isinstance(tree, ast.UnaryOp) and type(tree.op) in _OPERATORS:
        inner = (tree.operand,)
    elif isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in _OPERATORS:
        inner = (tree.left, *tree.comparators)
    elif isinstance(tree, ast.Call) and function(tree) and len(tree.args) == 1 and not tree.keywords:
        called = function(tree)
        if outcome and called in ("center", "standardize"):
            raise UsageError(f"{who}: {called} is for predictors; leave it out of the outcome '{text}'")
        inner = (tree.args[0],)
    else:
        named = ast.unparse(tree.func) if isinstance(tree, ast.Call) else ast.unparse(tree)
        hint = did_you_mean(named, FUNCTIONS) if isinstance(tree, ast.Call) else HOW_TO_NAME
        raise UsageError(f"{who}: '{named}' is not allowed in a formula.{hint}")
    for inner_tree in inner:
        _check(inner_tree, text, who, attributes, outcome)


def level_of(tree: ast.AST, attributes: Mapping[str, int]) -> tuple[str, str, bool] | None:
    """Return attribute, level and whether they are to be equal, of ``name == "level"``; None of anything else."""
    if not (isinstance(tree, ast.Compare) and len(tree.ops) == 1 and isinstance(tree.ops[0], ast.Eq | ast.NotEq)):
        return None
    name, level = quoted(tree.left), tree.comparators[0]
    if name in attributes and isinstance(level, ast.Constant) and isinstance(level.value, str):
        return name, level.value, isinstance(tree.ops[0], ast.Eq)  # type: ignore[return-value]
    return None


def outcome(analysis: AnalysisPlan, rows: Rows, numbers: Mapping[str, np.ndarray]) -> np.ndarray:
    """The outcome of every row, shape ``(n,)``; NaN where a number is missing.

    An attribute of two levels is the event of its last level where the family wants one; places of levels are the
    outcome where each level has parameters; otherwise an attribute must have levels that are numbers.
    """
    who = f"analysis '{analysis.name}'"
    domain = rows.domain
    tree = ast.parse(analysis.sides[0], mode="eval").body
    index_of = {name: j for j, name in enumerate(domain.names)}
    name, level = quoted(tree), level_of(tree, index_of)
    if name in index_of:
        j = index_of[name]
        result: np.ndarray = _coded(domain.attributes[j], analysis, who)[rows.codes(j)]
        return result
    if level:
        attribute = domain.attributes[index_of[level[0]]]
        if level[1] not in attribute.levels:
            hint = did_you_mean(level[1], attribute.levels)
            raise UsageError(f"{who}: attribute '{attribute.name}' has no level '{level[1]}'.{hint}")
        same = rows.codes(index_of[level[0]]) == attribute.levels.index(level[1])
        result = (same == level[2]).astype(float)
        return result
    missing = np.zeros(rows.n, bool)
    for column in _names(tree):
        missing |= np.isnan(numbers[column])
    with np.errstate(all="ignore"):
        value = np.broadcast_to(np.asarray(_evaluate(tree, numbers), dtype=float), missing.shape)
    value = np.where(missing, np.nan, value)
    _check_family(value[~missing], analysis, who)
    return value


def outcome_levels(analysis: AnalysisPlan, domain: Domain) -> tuple[str, ...]:
    """Levels of an outcome whose levels each have parameters, and none for other families; anything but an attribute
    of two levels or more is refused."""
    if analysis.model.outcome not in ("levels", "ordered levels"):
        return ()
    who, text = f"analysis '{analysis.name}'", analysis.sides[0]
    name = quoted(ast.parse(text, mode="eval").body)
    if name not in domain.names:
        raise UsageError(
            f"{who}: the outcome under family = \"{analysis.family}\" is an attribute with its levels, not '{text}'; "
            "make the column an attribute"
        )
    levels = domain.attributes[domain.index(name)].levels
    if not 2 <= len(levels) <= MOST_LEVELS:
        raise UsageError(
            f"{who}: the outcome '{name}' has {len(levels)} levels, and family = \"{analysis.family}\" takes 2 to "
            f"{MOST_LEVELS}; merge levels, or use another family"
        )
    return levels


def _coded(attribute: Attribute, analysis: AnalysisPlan, who: str) -> np.ndarray:
    if analysis.model.outcome in ("levels", "ordered levels"):
        return np.arange(attribute.size, dtype=float)
    if analysis.model.outcome == "event":
        if attribute.size != 2:
            raise UsageError(
                f"{who}: a {analysis.family} outcome has two levels, '{attribute.name}' has {attribute.size}; "
                f'write {attribute.name} == "level" for the one that counts'
            )
        return np.array([0.0, 1.0])
    if not all(is_number(level) for level in attribute.levels):
        raise UsageError(
            f"{who}: outcome '{attribute.name}' is an attribute whose levels are no numbers; use a numeric column "
            f'(such as {attribute.name}_raw) or family = "{"logistic" if attribute.size == 2 else "multinomial logit"}"'
        )
    coded = np.array([float(level) for level in attribute.levels])
    _check_family(coded, analysis, who)
    return coded


def _check_family(values: np.ndarray, analysis: AnalysisPlan, who: str) -> None:
    family, outcome = analysis.family.replace("poisson", "Poisson"), f"outcome '{analysis.sides[0]}'"
    if analysis.model.outcome == "event" and not ((values == 0) | (values == 1)).all():
        raise EngineError(f"{who}: the {family} {outcome} has values other than 0 and 1")
    if analysis.model.outcome == "count" and (values < 0).any():
        raise EngineError(f"{who}: the {family} {outcome} has negative values")
    if analysis.model.outcome == "positive number" and (values <= 0).any():
        raise EngineError(f"{who}: the {family} {outcome} has values that are not above 0")


def _names(tree: ast.AST) -> list[str]:
    name = quoted(tree)
    if name is not None:
        return [name]
    return [
        column for child in ast.iter_child_nodes(tree) if not _is_call_name(tree, child) for column in _names(child)
    ]


def _is_call_name(tree: ast.AST, child: ast.AST) -> bool:
    return isinstance(tree, ast.Call) and child is tree.func


def _evaluate(tree: ast.AST, numbers: Mapping[str, np.ndarray]) -> Any:
    name = quoted(tree)
    if name is not None:
        return numbers[name]
    if isinstance(tree, ast.Constant):
        return tree.value
    if isinstance(tree, ast.BinOp):
        return _OPERATORS[type(tree.op)](
            np.asarray(_evaluate(tree.left, numbers), float), _evaluate(tree.right, numbers)
        )
    if isinstance(tree, ast.UnaryOp):
        return _OPERATORS[type(tree.op)](_evaluate(tree.operand, numbers))
    if isinstance(tree, ast.Compare):
        sides = (_evaluate(tree.left, numbers), _evaluate(tree.comparators[0], numbers))
        return np.asarray(_OPERATORS[type(tree.ops[0])](*sides), float)
    assert isinstance(tree, ast.Call)
    called = function(tree)
    value = _evaluate(tree.args[0], numbers)
    return value if called == "I" else getattr(np, str(called))(value)
