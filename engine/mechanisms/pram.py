"""Post-randomisation (PRAM): every record's level is drawn anew from its row of a transition matrix.

J. M. Gouweleeuw, P. Kooiman, L. C. R. J. Willenborg and P.-P. de Wolf, "Post randomisation for statistical disclosure
control: theory and implementation", Journal of Official Statistics 14 (1998), 463–478; the invariant matrix as F. Liu
and R. J. A. Little use it ("SMIKe vs. data swapping and PRAM", section 3).  The variable is the cross-classified key,
or each attribute on its own.  Under the invariant matrix every cell loses ``θ T_min`` records on average and gains as
many, so expected counts are the original ones; relations to other variables are weakened all the same, and regression
coefficients on a perturbed key stay biased.  With another matrix released counts T* have expectation ``Aᵀ T``.

Random numbers, from the stream of table 1, variable after variable: one uniform per record; with the invariant matrix
then one integer per record that moves, among the other categories.

Matrices of transition probabilities: reading, checking, and the invariant one.

``A`` is K × K with ``A[k, l]`` the probability to release level ``l`` of a record whose true level is ``k``, so every
row sums to 1 (Gouweleeuw, Kooiman, Willenborg and de Wolf 1998, Journal of Official Statistics 14, 463–478).
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.data.table import occupied
from engine.mechanisms.base import Drawn, Mechanism, table_stream
from engine.release.parameter import Counts, Parameter, Setting
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus

_SUM, _NEGATIVE = 1e-9, -1e-12
_NUMBER = Parameter("an entry of the matrix", "decimal", None, "")
FORMS = (
    "0.9 0.1; 0.2 0.8 or [[0.9, 0.1], [0.2, 0.8]] in the order of the levels, "
    '{"attribute": [[...]], ...} or {"attribute": {"levels": [...], "rows": [[...]]}, ...}, '
    "or a file: .json with one of these, or .csv whose first row and first column name the levels"
)


class Given(NamedTuple):
    """A matrix as it was given: ``levels`` in the order of its rows and columns (None: as declared), and its rows."""

    levels: tuple[str, ...] | None
    rows: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Matrices(Parameter):
    """Matrices by attribute, inline or from a file; the canonical text holds what a file says, never where it is."""

    def canonical(self, text: str) -> str:
        """JSON of levels and rows by attribute ("" for the only one), numbers as canonical decimals; empty for none."""
        text = str(text).strip()
        if not text:
            return ""
        if re.fullmatch(r"[-+.\deE;\s]*", text):
            rows = [row.split() for row in text.split(";") if row.strip()]
            return json.dumps({"": _shaped(rows, "")}, separators=(",", ":"))
        if text[0] not in "[{":
            try:
                content = Path(text).read_text(encoding="utf-8-sig")
            except (OSError, ValueError) as error:  # also of a text that no path can be
                why = "is neither a matrix nor a file that can be read"
                raise UsageError(f"{self.name} == {text[:80]!r}, {why}; wanted: {FORMS}.") from error
            if not text.lower().endswith(".json"):
                return json.dumps({"": _from_csv(content)}, ensure_ascii=False, separators=(",", ":"))
            text = content
        try:
            read = json.loads(text, parse_float=str, parse_int=str)
        except json.JSONDecodeError as error:
            raise UsageError(f"{self.name}: not a matrix ({error}); wanted: {FORMS}.") from None
        named = read if isinstance(read, dict) else {"": read}
        shaped = {name: _shaped(matrix, name) for name, matrix in sorted(named.items())}
        return json.dumps(shaped, ensure_ascii=False, separators=(",", ":"))

    def value(self, canonical: str) -> Any:
        """The matrices by attribute name."""
        parsed = json.loads(canonical) if canonical else {}
        return {
            name: Given(
                None if matrix["levels"] is None else tuple(matrix["levels"]),
                tuple(tuple(float(entry) for entry in row) for row in matrix["rows"]),
            )
            for name, matrix in parsed.items()
        }


def _shaped(read: Any, name: str) -> dict[str, Any]:
    levels = None
    if isinstance(read, dict):
        if "rows" not in read or set(read) - {"levels", "rows"}:
            raise UsageError(f"matrix of '{name}' must have rows and may have levels; got {', '.join(read) or 'none'}.")
        levels, read = read.get("levels"), read["rows"]
        if levels is not None and not (isinstance(levels, list) and len(set(map(str, levels))) == len(levels)):
            raise UsageError(f"levels of the matrix of '{name}' must be a list without repeats.")
    if not isinstance(read, list) or not all(isinstance(row, list) for row in read):
        raise UsageError(f"matrix must be a list of rows; wanted: {FORMS}.")
    rows = [[_NUMBER.canonical(entry) for entry in row] for row in read]
    return {"levels": None if levels is None else [str(level) for level in levels], "rows": rows}


def _from_csv(text: str) -> dict[str, Any]:
    table = [row for row in csv.reader(StringIO(text, newline="")) if any(entry.strip() for entry in row)]
    if len(table) < 2:
        raise UsageError("the file of the matrix needs a row of level names and a row for each level.")
    levels = [entry.strip() for entry in table[0][1:]]
    rows = {row[0].strip(): row[1:] for row in table[1:]}
    if len(rows) < len(table) - 1 or len(set(levels)) < len(levels):
        raise UsageError("the file of the matrix names a level twice.")
    odd = sorted(set(rows) ^ set(levels))
    if odd:
        where = "rows" if odd[0] in rows else "columns"
        raise UsageError(f"level '{odd[0]}' is only among the {where} of the matrix.")
    return _shaped({"levels": levels, "rows": [rows[level] for level in levels]}, "")


def checked(entered: Given, name: str, labels: Sequence[str], noun: str = "levels") -> np.ndarray:
    """A given matrix in the order of ``labels``, shape ``(K, K)``, rows summing to 1.

    Refuses another size, other labels, negative entries (below -1e-12; what is above is rounding and becomes 0) and
    rows whose sum is off by more than 1e-9.
    """
    size = len(labels)
    if len(entered.rows) != size:
        raise UsageError(f"matrix has {len(entered.rows)} rows but '{name}' has {size} {noun}")
    order = np.arange(size)
    if entered.levels is not None:
        if len(entered.levels) != size:
            raise UsageError(f"matrix has {size} rows but names {len(entered.levels)} levels")
        for level in entered.levels:
            if level not in labels:
                raise UsageError(f"matrix names '{level}', which '{name}' has not.{did_you_mean(level, labels)}")
        order = np.array([entered.levels.index(label) for label in labels])
    for label, row in zip(entered.levels or labels, entered.rows, strict=True):
        if len(row) != size:
            raise UsageError(f"row '{label}' of the transition matrix has {len(row)} entries, not {size}")
        if min(row) < _NEGATIVE:
            raise UsageError(f"row '{label}' of the transition matrix has a negative entry ({min(row):g})")
        total = float(sum((Decimal(str(entry)) for entry in row), Decimal(0)))
        if abs(total - 1) > _SUM:
            raise UsageError(f"row '{label}' of the transition matrix sums to {total:.10g}")
    matrix = np.maximum(np.array(entered.rows), 0.0)[np.ix_(order, order)]
    result: np.ndarray = matrix / matrix.sum(axis=1, keepdims=True)
    return result


def leaving(counts: np.ndarray, theta: float) -> np.ndarray:
    """Probability of each category to be left under invariant PRAM, ``θ T_min / T(k)``; 0 to 1, shape ``(K,)``.

    ``counts`` are the observed counts T, all above 0.
    """
    result: np.ndarray = theta * counts.min() / counts
    return result


def spread(leave: np.ndarray) -> np.ndarray:
    """The matrix whose category ``k`` is left with probability ``leave[k]`` for any other one alike."""
    matrix = np.repeat((leave / (len(leave) - 1))[:, None], len(leave), axis=1)
    np.fill_diagonal(matrix, 1 - leave)
    return matrix


_DEFAULT_THETA = "0.99"


class Variable(NamedTuple):
    """One variable that is drawn anew.

    ``places`` are its attributes, ``cells`` (K, attributes) the level codes of its categories, ``x`` (n,) each record's
    category, ``counts`` (K,) the records of each.  ``leave`` (K,) holds the probabilities of the invariant matrix to
    leave a category; ``given_matrix`` is a matrix (K, K) that was given instead.  One of the two is None.
    """

    name: str
    places: tuple[int, ...]
    cells: np.ndarray
    x: np.ndarray
    counts: np.ndarray
    leave: np.ndarray | None
    given_matrix: np.ndarray | None

    @property
    def matrix(self) -> np.ndarray:
        """The transition matrix, shape ``(K, K)``."""
        if self.given_matrix is not None:
            return self.given_matrix
        assert self.leave is not None
        return spread(self.leave)

    @property
    def out(self) -> np.ndarray:
        """Probability to leave each category, shape ``(K,)``."""
        if self.leave is not None:
            return self.leave
        assert self.given_matrix is not None
        return 1 - np.diagonal(self.given_matrix)


class Prepared(NamedTuple):
    """Variables with their matrices, and diagnostics, which all replicates share."""

    variables: list[Variable]
    about: dict[str, float | str]


def check(values: Mapping[str, Any]) -> None:
    """Refuse parameters that exclude each other."""
    if values["matrix"] and values["theta"] != float(_DEFAULT_THETA):
        raise UsageError(f"theta == {values['theta']:g}, must be left out: the matrix that is given is used as it is.")
    if values["domain"] == "full" and not values["matrix"]:
        raise UsageError("domain == 'full', needs a matrix: the invariant one exists for observed cells only.")


def perturbed(setting: Setting) -> tuple[int, ...]:
    """Places of the attributes that are perturbed, those in ``vars`` or the keys; refuses unknown and repeated ones."""
    names, domain = setting["vars"], setting.data.domain
    for name in names:
        if name not in domain.names:
            raise UsageError(f"vars names '{name}', which is no attribute.{did_you_mean(name, domain.names)}")
    if len(set(names)) < len(names):
        raise UsageError(f"vars == '{'+'.join(names)}', names an attribute twice.")
    places = tuple(domain.index(name) for name in names) if names else setting.keys
    if not places:
        raise UsageError("PRAM needs an attribute: name it in vars, or name keys")
    return places


def prepare(setting: Setting) -> Prepared:
    """Categories and matrices.  Refuses variables of one category, and matrices that do not fit them."""
    places, domain = perturbed(setting), setting.data.domain
    groups = [places] if setting["over"] == "key" else [(j,) for j in places]
    matrices = _by_name(setting, ["+".join(domain.names[j] for j in group) for group in groups])
    variables = [_variable(setting, group, matrices) for group in groups]
    expected = sum(float(np.sum(variable.counts * variable.out)) for variable in variables)
    variance = sum(float(np.sum(variable.counts * variable.out * (1 - variable.out))) for variable in variables)
    about: dict[str, float | str] = {
        "variables": ", ".join(variable.name for variable in variables),
        "categories": ", ".join(str(len(variable.counts)) for variable in variables),
        "smallest_categories": ", ".join(
            str(int(variable.counts[variable.counts > 0].min())) for variable in variables
        ),
        "expected_moves": expected,
        "sd_of_moves": float(np.sqrt(variance)),
        "margin_drift": max(_drift(variable) for variable in variables),
    }
    return Prepared(variables, about)


def _by_name(setting: Setting, names: list[str]) -> dict[str, Any]:
    """The given matrices by variable; an unnamed one belongs to the only variable."""
    matrices = dict(setting["matrix"])
    if "" in matrices:
        if len(names) > 1:
            raise UsageError(f"one matrix for {len(names)} attributes ({', '.join(names)}); wanted: {FORMS}.")
        matrices[names[0]] = matrices.pop("")
    for name in matrices:
        if name not in names:
            raise UsageError(f"matrix of '{name}', which is not perturbed.{did_you_mean(name, names)}")
    missing = [name for name in names if matrices and name not in matrices]
    if missing:
        raise UsageError(f"no matrix for '{missing[0]}'; every perturbed variable needs one, or none is given")
    return matrices


def _variable(setting: Setting, places: tuple[int, ...], matrices: Mapping[str, Any]) -> Variable:
    """One variable over some attributes; a single attribute with a given matrix has all its declared levels, a key of
    several its occupied cells, or every combination with domain ``full``."""
    data = setting.data
    attributes = [data.domain.attributes[j] for j in places]
    name = "+".join(a.name for a in attributes)
    shape = [a.size for a in attributes]
    columns = [data.codes[j] for j in places]
    one_matrix = matrices.get(name)
    if one_matrix is not None and (len(places) == 1 or setting["domain"] == "full"):
        size = int(np.prod(shape, dtype=object))
        if len(one_matrix.rows) == size:
            cells = np.stack(np.unravel_index(np.arange(size), shape), axis=1)
            x = np.ravel_multi_index(tuple(columns), shape)
        else:
            noun = "levels" if len(places) == 1 else "cells"
            raise UsageError(f"matrix has {len(one_matrix.rows)} rows but '{name}' has {size} {noun}")
    else:
        cells, x = occupied(columns, shape, data.n_records)
    if len(cells) < 2:
        which = f" ('{name}' has one)" if setting["over"] == "each" else ""
        raise EngineError(f"PRAM needs at least two categories{which}")
    x = x.astype(np.int64)
    counts = np.bincount(x, minlength=len(cells)).astype(np.int64)
    if one_matrix is None:
        return Variable(name, places, cells, x, counts, leaving(counts, setting["theta"]), None)
    labels = ["|".join(a.levels[c] for a, c in zip(attributes, row, strict=True)) for row in cells.tolist()]
    noun = "levels" if len(places) == 1 else "cells" if setting["domain"] == "full" else "observed cells"
    return Variable(name, places, cells, x, counts, None, checked(one_matrix, name, labels, noun))


def _drift(variable: Variable) -> float:
    """Total variation between expected and original margin; 0 for an invariant matrix, up to rounding."""
    if variable.given_matrix is None:
        return 0.0
    gap = float(np.abs(variable.counts @ variable.given_matrix - variable.counts).sum()) / 2 / variable.counts.sum()
    return gap if gap > 1e-12 else 0.0


def move(leave: np.ndarray, x: np.ndarray, uniforms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """New categories under the invariant matrix: a record moves when its uniform is below ``leave`` of its category,
    then to any other category alike; time follows the records alone."""
    new = x.copy()
    movers = np.flatnonzero(uniforms < leave[x])
    other = rng.integers(0, len(leave) - 1, len(movers))
    new[movers] = other + (other >= x[movers])
    return new


def transit(matrix: np.ndarray, x: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """New categories by a given matrix: the first whose cumulated probability exceeds the record's uniform."""
    new = x.copy()
    order = np.argsort(x.astype(np.uint16) if len(matrix) <= 1 << 16 else x, kind="stable")  # 16 bits sort by radix
    ends = np.cumsum(np.bincount(x, minlength=len(matrix)))
    start = 0
    for k, end in enumerate(ends.tolist()):
        if end > start and matrix[k, k] < 1:
            records = order[start:end]
            reached = np.cumsum(matrix[k])
            last = int(np.flatnonzero(matrix[k])[-1])
            categories = np.searchsorted(reached, uniforms[records] * reached[-1], side="right")
            new[records] = np.minimum(categories, last)
        start = end
    return new


def draw(prepared: Prepared, setting: Setting, derived: bytes) -> Drawn:
    """One table; ``touched`` are the records that changed."""
    data, rng = setting.data, table_stream(derived, 1)
    changed, replaced, moves = np.zeros(data.n_records, bool), {}, 0
    diagnostics: dict[str, float | str] = dict(prepared.about)
    if not any(variable.out.any() for variable in prepared.variables):
        diagnostics["warning"] = "no record can move; the table is the original"
        return Drawn([ReleasedTable(data)], RunStatus.NOOP, changed[None, :], diagnostics)
    for variable in prepared.variables:
        uniforms = rng.random(data.n_records)
        if variable.leave is not None:
            new = move(variable.leave, variable.x, uniforms, rng)
        else:
            new = transit(variable.matrix, variable.x, uniforms)
        moved = new != variable.x
        moves += int(np.count_nonzero(moved))
        changed |= moved
        for c, j in enumerate(variable.places):
            replaced[j] = variable.cells[:, c].astype(data.codes[j].dtype)[new]
    diagnostics["moves"] = float(moves)
    diagnostics["changed_share"] = float(changed.mean())
    if float(prepared.about["margin_drift"]) > 0:
        diagnostics["warning"] = "the matrix is not invariant: released counts are biased unless they are corrected"
    return Drawn([ReleasedTable(data, replaced=replaced)], RunStatus.OK, changed[None, :], diagnostics)


PRAM = Mechanism(
    name="pram",
    title="Post-randomisation (PRAM)",
    source="Gouweleeuw et al. (1998), Post randomisation; Liu and Little, SMIKe vs. data swapping and PRAM, section 3",
    when=(
        "users tabulate the perturbed attributes and can be told how they were perturbed, or only their margin has to "
        "be right on average; relations to other variables are weakened"
    ),
    rate="records whose value is replaced; of each category θ times the smallest category's records on average",
    prepare=prepare,
    draw=draw,
    parameters=(
        Parameter(
            "vars",
            "names",
            "",
            "attributes to perturb, joined by +; by default the keys",
            label="Attributes to perturb",
        ),
        Parameter(
            "over",
            "choice",
            "key",
            "perturb the cross-classified key as one variable, or each attribute independently",
            choices=("key", "each"),
            label="The key as a whole, or each attribute by itself",
        ),
        Parameter(
            "theta",
            "decimal",
            _DEFAULT_THETA,
            "probability that a record of the smallest category moves, 0 to 1; the invariant matrix follows from it",
            low="0",
            high="1",
            label="Chance that a record of the smallest category moves",
            symbol="θ",
            counts=Counts("number"),
        ),
        Matrices(
            "matrix",
            "text",
            "",
            "transition probabilities used instead of the invariant ones",
            label="Transition probabilities of your own",
            counts=Counts("word", "by a given matrix", unset=""),
        ),
        Parameter(
            "domain",
            "choice",
            "observed",
            "categories of a cross-classified key: those observed, or (with a matrix) every combination of levels",
            choices=("observed", "full"),
            label="Categories of a key as a whole",
        ),
    ),
    amounts=(("matrix", "theta"),),
    fit=("vars", "over", "theta", "matrix", "domain"),
    redraws_levels=True,
    check=check,
    changes=perturbed,
    altered_by="vars",
)
