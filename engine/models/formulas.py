"""A formula prepared once, so that a release's outcome and design matrix are looked up and not parsed.

Formulas are those of R and statsmodels, read by patsy.  Reference levels, dummy columns and centres are fixed from the
original.  A formula may only name columns, do arithmetic and call the few functions of :mod:`engine.plan.analysis`: a
plan is data, and reading one must not run code.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.models.columns import numbers_of, variable
from engine.models.outcomes import Rows, check_expression, outcome, outcome_levels, quoted
from engine.models.statsmodels_fit import Model
from engine.plan.analysis import CODINGS, FUNCTIONS, HOW_TO_NAME, MEDIAN, AnalysisPlan

if TYPE_CHECKING:
    from engine.plan import Plan
    from engine.release.records import ReleasedTable


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
