"""A formula prepared once, so that a release's outcome and design matrix are looked up and not parsed.

Formulas are those of R and statsmodels, read by patsy.  Reference levels, dummy columns and centres are fixed from the
original.  A formula may only name columns, do arithmetic and call the few functions of :mod:`engine.plan.entries`: a
plan is data, and reading one must not run code.

Expressions in a formula, and the outcome on its left side.

The level that a model predicts, and the reference levels that its coefficients are compared with.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.common.raw_values import is_number
from engine.models.record_release import numbers_of, variable
from engine.models.statsmodels_fit import Model
from engine.plan.entries import CODINGS, FUNCTIONS, HOW_TO_NAME, MEDIAN, MOST_LEVELS, AnalysisPlan

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.data.domain import Attribute, Domain
    from engine.plan import Plan
    from engine.release.records import ReleasedTable


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


@dataclass(frozen=True)
class _Factor:
    """One factor of a term: an attribute's levels, yes or no, or numbers; ``code`` is patsy's memorised expression."""

    attribute: int | None
    factor: Any
    state: Any
    yes_no: bool


@dataclass(frozen=True)
class Design:
    """Prepared formula that turns a released table into ``(y, X)``: factors, and the terms that they make."""

    analysis: AnalysisPlan
    plan: Plan
    names: tuple[str, ...]
    factors: tuple[_Factor, ...]
    terms: tuple[tuple[tuple[int, np.ndarray | None], ...], ...]
    columns: dict[str, str]
    levels: tuple[str, ...] = ()

    @property
    def model(self) -> Model:
        """The model that is fitted on the matrix."""
        return Model(self.analysis.model, float(self.analysis.tau or MEDIAN), self.levels, self.names)

    def numbers(self, table: ReleasedTable, original: ReleasedTable) -> dict[str, np.ndarray]:
        """The formula's numeric names with their values in a table."""
        return {name: numbers_of(table, original, column, self.plan) for name, column in self.columns.items()}

    def build(self, table: ReleasedTable, original: ReleasedTable) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Outcome ``(n,)``, matrix ``(n, k)`` and which records have every number they need ``(n,)``."""
        rows = Rows(table.data.domain, table.data.n_records, table.codes)
        return self.evaluate(rows, self.numbers(table, original))

    def evaluate(self, rows: Rows, numbers: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """:meth:`build` on given rows and numbers."""
        complete = np.ones(rows.n, bool)
        for values in numbers.values():
            complete &= ~np.isnan(values)
        y = outcome(self.analysis, rows, numbers)
        evaluated = [self._values(factor, rows, numbers, complete) for factor in self.factors]
        columns = []
        for term in self.terms:
            factor_values = [evaluated[f] if matrix is None else matrix[evaluated[f]] for f, matrix in term]
            if not factor_values:
                columns.append(np.ones((len(y), 1)))
            else:  # the leftmost factor varies fastest, as in patsy's names
                columns.append(reduce(lambda a, b: (b[:, :, None] * a[:, None, :]).reshape(len(a), -1), factor_values))
        self._finite(y, complete, self.analysis.sides[0])
        x = columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
        return y, x, complete

    def _values(self, factor: _Factor, rows: Rows, numbers: dict[str, np.ndarray], complete: np.ndarray) -> np.ndarray:
        """Level codes, or numbers of shape ``(n, 1)``."""
        if factor.attribute is not None:
            return rows.codes(factor.attribute)
        with np.errstate(all="ignore"):
            values = np.asarray(factor.factor.eval(factor.state, numbers))
        if factor.yes_no:
            return values.astype(np.int64)
        values = np.broadcast_to(values.astype(float), complete.shape)
        self._finite(values, complete, factor.factor.code)
        return values[:, None]

    def _finite(self, values: np.ndarray, complete: np.ndarray, text: str) -> None:
        wrong = int((~np.isfinite(values) & complete).sum())
        if wrong:
            raise EngineError(
                f"analysis '{self.analysis.name}': {text} cannot be formed for {wrong} of {len(values)} records"
            )


def design(analysis: AnalysisPlan, original: ReleasedTable, plan: Plan) -> Design:
    """A formula made ready on the original; a mistake in it is a :class:`UsageError`."""
    from patsy import ModelDesc, PatsyError
    from patsy.build import design_matrix_builders
    from patsy.eval import EvalEnvironment

    who = f"analysis '{analysis.name}'"
    columns: dict[str, str] = {}
    attributes: dict[str, int] = {}
    for name in analysis.columns:
        used = variable(name, plan, original.data, who)
        if used.column is None:
            assert used.attribute is not None
            attributes[name] = used.attribute
        else:
            columns[name] = used.column
    check_expression(analysis.sides[0], who, attributes, outcome=True)
    numbers = {name: numbers_of(original, original, column, plan) for name, column in columns.items()}
    complete = np.ones(original.data.n_records, bool)
    for values in numbers.values():
        complete &= ~np.isnan(values)
    if not complete.any():
        raise EngineError(f"{who}: no record has all the numbers that the formula uses")
    functions = {name: getattr(np, name) for name in FUNCTIONS if hasattr(np, name)}
    environment = EvalEnvironment([{**functions, "np": SimpleNamespace(**functions)}])
    data: dict[str, Any] = {name: _categories(original, j, complete) for name, j in attributes.items()}
    data |= {name: values[complete] for name, values in numbers.items()}
    try:
        terms = ModelDesc.from_formula("~ " + analysis.sides[1]).rhs_termlist
        attribute_of = {f: _attribute(f.code, who, attributes) for term in terms for f in term.factors}
        with np.errstate(all="ignore"):
            (info,) = design_matrix_builders([terms], lambda: iter([data]), environment, NA_action="drop")
    except PatsyError as error:
        raise UsageError(f"{who}: the formula cannot be used: {_first_line(error)}.{HOW_TO_NAME}") from None
    if not info.column_names:
        raise UsageError(f"{who}: the formula has no predictors")
    order = list(info.factor_infos)
    factors = []
    for f in order:
        info_of_factor = info.factor_infos[f]
        if info_of_factor.type == "numerical" and info_of_factor.num_columns != 1:
            raise UsageError(f"{who}: {f.code} makes {info_of_factor.num_columns} columns; write one number a term")
        factors.append(_Factor(attribute_of[f], f, info_of_factor.state, info_of_factor.type == "categorical"))
    terms_made = []
    for codings in info.term_codings.values():
        for coding in codings:
            terms_made.append(
                tuple((order.index(f), _contrast(coding.contrast_matrices.get(f))) for f in coding.factors)
            )
    levels = outcome_levels(analysis, original.data.domain)
    if analysis.model.outcome == "ordered levels" and info.column_names[0] != "Intercept":
        raise UsageError(f"{who}: a model of ordered levels has thresholds for its intercept; leave out 0 and -1")
    return Design(analysis, plan, tuple(info.column_names), tuple(factors), tuple(terms_made), columns, levels)


def _contrast(coding: Any) -> np.ndarray | None:
    return None if coding is None else np.ascontiguousarray(coding.matrix, dtype=float)


def _categories(table: ReleasedTable, attribute: int, rows: np.ndarray) -> Any:
    import pandas as pd

    levels = pd.Index(table.data.domain.attributes[attribute].levels, dtype=object)
    return pd.Categorical.from_codes(table.codes(attribute)[rows].astype(np.int64), levels)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".:")


def _attribute(code: str, who: str, attributes: dict[str, int]) -> int | None:
    """The attribute that a factor codes, or None for a factor of numbers; anything else in it is refused."""
    try:
        tree = ast.parse(code.strip(), mode="eval").body
    except SyntaxError:
        raise UsageError(f"{who}: cannot read '{code}' in the formula.{HOW_TO_NAME}") from None
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "C" and tree.args:
        name = quoted(tree.args[0])
        if name not in attributes:
            raise UsageError(
                f"{who}: {code} needs an attribute in C(...).{did_you_mean(name, attributes) if name else HOW_TO_NAME} "
                "Make the column an attribute to use it as categories"
            )
        for argument in (*tree.args[1:], *(keyword.value for keyword in tree.keywords)):
            _check_coding(argument, who, code)
        return attributes[name]
    name = quoted(tree)
    if name in attributes:
        return attributes[name]
    check_expression(code, who, attributes)
    return None


def _check_coding(tree: ast.AST, who: str, code: str) -> None:
    """The second argument of C(...): Treatment, Sum, or one of them with a level."""
    codings = [name for name in CODINGS if name in ("Treatment", "Sum")]
    inner: Sequence[ast.AST] = ()
    if isinstance(tree, ast.Call):
        inner, tree = (*tree.args, *(keyword.value for keyword in tree.keywords)), tree.func
    constant = all(isinstance(argument, ast.Constant) for argument in inner)
    if not (isinstance(tree, ast.Name) and tree.id in codings and constant):
        raise UsageError(f'{who}: cannot read {code}; write C(name, Treatment("level")) or C(name, Sum())')


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
