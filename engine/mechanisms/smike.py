"""Selective multiple imputation of keys (SMIKe).

R. J. A. Little and F. Liu, "Selective multiple imputation of keys for statistical disclosure control in microdata"
(2003).  For every record of a sensitive key cell some nonsensitive records with similar numbers are chosen (its mixing
set).  The keys of all of these records together are drawn anew, D times, from a general location model; everything else
stays.  Cell counts are not preserved.

Random numbers.  Shared by all tables, from the shared stream: the local mixing sets (one choice without replacement per
sensitive record, ascending), then, when improper, the one θ of each model.  Table d, from its stream: for each model θ
when proper, then one uniform per record that is imputed.  With ``within`` there is one model per level, in order.

Mixing sets for SMIKe: the nonsensitive records or cells nearest to each sensitive record.

R. J. A. Little and F. Liu, "Selective multiple imputation of keys" (2003), sections 2.1 and 3.  Distances are
Mahalanobis distances by the covariance matrix within cells, that is, Euclidean ones between whitened numbers.  Squared
distances are rounded to 12 significant digits or so, and equal ones go by record (or cell) number, so that ties in the
data do not hang on rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.data.table import occupied
from engine.mechanisms.base import Drawn, Mechanism, shared_stream, table_stream
from engine.models import location
from engine.models.location import KeyCells
from engine.release.parameter import Counts, Parameter, Setting
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus

_DISTANCES = 1 << 20  # distances held at once (8 MB)


class Choice(NamedTuple):
    """Records that one sensitive record may mix with: ``records``, nearest cell first; cells' ``ends`` in them."""

    records: np.ndarray
    ends: np.ndarray


def rounded(squares: np.ndarray) -> np.ndarray:
    """Squared distances to 40 bits, shape kept."""
    fraction, exponent = np.frexp(squares)
    result: np.ndarray = np.ldexp(np.rint(fraction * 2.0**40), exponent - 40)
    return result


def squared(v: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Squared distances over the last axes of ``v`` and ``w``, of one length; the others broadcast; rounded."""
    total = np.zeros(np.broadcast_shapes(v.shape[:-1], w.shape[:-1]))
    for c in range(v.shape[-1]):
        gap = v[..., c] - w[..., c]
        gap *= gap
        total += gap
    return rounded(total)


def local_choices(
    v: np.ndarray, sensitive: np.ndarray, means: np.ndarray, donors: np.ndarray, keys: KeyCells, n_mix: int
) -> list[Choice]:
    """For each sensitive record the records of the nearest nonsensitive cells that together hold at least ``n_mix`` of
    them (of all cells when they do not).

    ``v`` (n, p) are whitened numbers, ``means`` (K, p) cell means in the same units, ``donors`` the cells allowed.
    """
    order = np.argsort(keys.x, kind="stable")
    start = np.concatenate([[0], np.cumsum(keys.counts)])
    sizes = keys.counts[donors]
    choices = []
    step = max(1, _DISTANCES // len(donors))
    for first in range(0, len(sensitive), step):
        distance = squared(v[sensitive[first : first + step], None], means[None, donors])
        if n_mix <= sizes.min():
            ranked = distance.argmin(axis=1)[:, None]
        else:
            ranked = np.argsort(distance, axis=1, kind="stable")
        for row in ranked:
            reach = np.cumsum(sizes[row])
            q = min(int(np.searchsorted(reach, n_mix)) + 1, len(row))
            records = np.concatenate([order[start[k] : start[k + 1]] for k in donors[row[:q]].tolist()])
            choices.append(Choice(records, reach[:q]))
    return choices


def global_choices(v: np.ndarray, sensitive: np.ndarray, donors: np.ndarray, n_mix: int) -> list[Choice]:
    """For each sensitive record the ``n_mix`` nearest of the nonsensitive records ``donors`` (all when there are no
    more); of equally near ones those with the lowest number.

    Records with equal numbers are one point of a k-d tree, so that ties cost nothing.
    """
    if len(donors) <= n_mix:
        return [Choice(donors, np.array([len(donors)]))] * len(sensitive)
    from scipy.spatial import cKDTree

    points, point_of = np.unique(v[donors], axis=0, return_inverse=True)
    point_of = point_of.reshape(-1)
    by_point = donors[np.argsort(point_of, kind="stable")]
    start = np.concatenate([[0], np.cumsum(np.bincount(point_of))])
    tree, queries = cKDTree(points), v[sensitive]
    k = min(n_mix, len(points))
    reach = tree.query(queries, k=[k])[0][:, 0]
    near = tree.query_ball_point(queries, reach * (1 + 1e-6) + 1e-150, return_sorted=True)
    n_near = np.array([len(neighbours) for neighbours in near])
    of_query, point = np.repeat(np.arange(len(near)), n_near), np.concatenate(near).astype(np.int64)
    size = np.diff(start)[point]
    reachable = np.add.reduceat(size, np.cumsum(n_near) - n_near)
    choices: list[Choice] = []
    while len(choices) < len(near):
        # as many sensitive records together as have few enough records near them
        first = len(choices)
        last = first + max(1, int(np.searchsorted(np.cumsum(reachable[first:]), _DISTANCES, side="right")))
        part = slice(*np.searchsorted(of_query, (first, last)))
        row = of_query[part] - first
        distance = squared(queries[of_query[part]], points[point[part]])
        row, distance, place = _nearest(row, distance, size[part], n_mix)
        chosen = point[part][place]
        n_records = start[chosen + 1] - start[chosen]
        # the numbers ``start`` to ``start + n - 1`` of each, one after the other
        end = np.cumsum(n_records)
        records = by_point[np.arange(end[-1]) + np.repeat(start[chosen] - (end - n_records), n_records)]
        row, distance = np.repeat(row, n_records), np.repeat(distance, n_records)
        order = np.lexsort((records, distance, row))
        begin = np.searchsorted(row, np.arange(last - first))
        nearest = records[order][begin[:, None] + np.arange(n_mix)]
        choices += [Choice(one, np.array([n_mix])) for one in nearest]
    return choices


def _nearest(
    row: np.ndarray, distance: np.ndarray, size: np.ndarray, n_mix: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, distances and places of the points that together hold at least ``n_mix`` records of each row, and of all
    that are as near as the last of them.

    ``row`` numbers the rows in order; each point has its ``distance`` from its row and holds ``size`` records.
    """
    order = np.lexsort((distance, row))
    distance = distance[order]
    begin = np.searchsorted(row, np.arange(row[-1] + 1))
    cumulated = np.cumsum(size[order])
    before = np.concatenate([[0], cumulated])[begin]
    last = distance[np.searchsorted(cumulated, before + n_mix)]
    near = distance <= last[row]
    return row[near], distance[near], order[near]


def mixing_set(choice: Choice, n_mix: int, fill: str, rng: np.random.Generator) -> np.ndarray:
    """One sensitive record's mixing set: ``n_mix`` records drawn without replacement from its choice (all when it holds
    no more, without drawing).

    ``fill`` "sequential" takes the nearest cells whole and draws only from the last.
    """
    records = choice.records
    if len(records) <= n_mix:
        return records
    n_whole = int(choice.ends[-2]) if fill == "sequential" and len(choice.ends) > 1 else 0
    others = records[n_whole:]
    drawn = rng.choice(len(others), n_mix - n_whole, replace=False, shuffle=False)
    return np.concatenate([records[:n_whole], others[drawn]])


_SEGMENT = 1 << 20  # probabilities worked out at once (8 MB)


class Level(NamedTuple):
    """One level of the ``within`` keys (all records when there are none): its name, its sensitive records, and for each
    of them what it may mix with."""

    name: str
    sensitive: np.ndarray
    choices: list[Choice]


class Prepared(NamedTuple):
    """Preparation that all replicates share: key cells, model variables, levels, and diagnostics."""

    keys: location.KeyCells
    numbers: location.Variables | None
    levels: list[Level]
    about: dict[str, float | str]
    warnings: list[str]


class Task(NamedTuple):
    """One model of one replicate: the records to impute, the cells they may get, and the posterior with its numbers."""

    records: np.ndarray
    cells: np.ndarray
    model: location.Model
    v: np.ndarray
    on: int


def prepare(setting: Setting) -> Prepared:
    """Distances from sensitive records to nonsensitive cells or records.

    Refuses data without a nonsensitive cell (in some level of ``within``), and numbers without a covariance matrix.
    """
    keys = location.key_cells(setting.data, setting.keys, setting["s"], setting["rule"])
    sensitive, about = keys.records, keys.about(setting)
    columns = _within(setting)
    if not len(sensitive):
        return Prepared(keys, None, [], about, ["no key cell is sensitive; every table is the original"])
    if keys.sensitive.all():
        raise EngineError(f"every key cell is sensitive at s={setting['s']}; nothing to mix with")
    numbers, model, v = location.fitted(setting, keys, "SMIKe", about)
    names, level_of = _levels(setting, keys, columns)
    levels, warnings = [], []
    for level, name in enumerate(names):
        level_records = sensitive[level_of[keys.x[sensitive]] == level]
        if not len(level_records):
            continue
        donors = np.flatnonzero(~keys.sensitive & (level_of == level))
        n_donors = int(keys.counts[donors].sum())
        if n_donors < setting["n_mix"]:
            warnings.append(f"only {n_donors} nonsensitive records{name} for n_mix={setting['n_mix']}; all are used")
        if setting["selection"] == "local":
            choices = local_choices(v, level_records, model.means, donors, keys, setting["n_mix"])
        else:
            records = np.flatnonzero(np.isin(keys.x, donors))
            choices = global_choices(v, level_records, records, setting["n_mix"])
        levels.append(Level(name, level_records, choices))
    if setting["selection"] == "global" and _model_set(setting) == "C":
        warnings.append(
            "mixing records were chosen by y; a model on all donor-cell records is biased (use model_set='M')"
        )
    return Prepared(keys, numbers, levels, about, warnings)


def _model_set(setting: Setting) -> str:
    if setting["model_set"] != "auto":
        return str(setting["model_set"])
    return "C" if setting["selection"] == "local" else "M"


def _within(setting: Setting) -> list[int]:
    """Places among the keys of the attributes that must stay fixed."""
    names = [setting.data.domain.names[j] for j in setting.keys]
    for name in setting["within"]:
        if name not in names:
            raise UsageError(f"within names '{name}', which is not a key.{did_you_mean(name, names)}")
    return [names.index(name) for name in setting["within"]]


def _levels(setting: Setting, keys: location.KeyCells, columns: list[int]) -> tuple[list[str], np.ndarray]:
    """Names of the levels of ``within`` and each key cell's level.

    Refuses sensitive records without a nonsensitive cell in their level.
    """
    attributes = [setting.data.domain.attributes[setting.keys[c]] for c in columns]
    levels, level_of = occupied([keys.cells[:, c] for c in columns], [a.size for a in attributes], len(keys.cells))
    names = [
        " in " + ", ".join(f"{a.name}={a.levels[code]}" for a, code in zip(attributes, row, strict=True))
        if columns
        else ""
        for row in levels
    ]
    open_ = np.bincount(level_of, weights=~keys.sensitive, minlength=len(levels)) > 0
    without_donor = keys.records[~open_[level_of[keys.x[keys.records]]]]
    if len(without_donor):
        rows = ", ".join(str(i + 1) for i in without_donor[:10].tolist())
        more = f" and {len(without_donor) - 10} more" if len(without_donor) > 10 else ""
        raise EngineError(
            f"{len(without_donor)} sensitive records have no nonsensitive cell in their level of "
            f"{'+'.join(setting['within'])}: rows {rows}{more}"
        )
    return names, level_of


def make_task(prepared: Prepared, level: Level, mixing: np.ndarray, model_set: str) -> Task:
    """The model of one level, given the records of its mixing sets (without repeats)."""
    assert prepared.numbers is not None
    x, z = prepared.keys.x, prepared.numbers.z
    records = np.union1d(level.sensitive, mixing)
    cells = np.unique(x[records])
    index = np.full(len(prepared.keys.counts), -1)
    index[cells] = np.arange(len(cells))
    in_m = np.bincount(index[x[records]], minlength=len(cells))
    used = records if model_set == "M" else np.flatnonzero(index[x] >= 0)
    try:
        model = location.fit(z[used], index[x[used]], len(cells), prepared.numbers.names, in_m)
    except EngineError as error:
        hint = ""
        if model_set == "M" and _works(prepared, index, len(cells)):
            hint = "; the model on all records of the donor cells can be fitted (use model_set='C')"
        raise EngineError(f"{error}{level.name}{hint}") from error
    return Task(records, cells, model, location.whiten(z[records], model.factor), len(used))


def _works(prepared: Prepared, index: np.ndarray, n_cells: int) -> bool:
    assert prepared.numbers is not None
    used = np.flatnonzero(index[prepared.keys.x] >= 0)
    try:
        location.fit(prepared.numbers.z[used], index[prepared.keys.x[used]], n_cells, prepared.numbers.names)
    except EngineError:
        return False
    return True


def impute(task: Task, theta: location.Theta, uniforms: np.ndarray) -> np.ndarray:
    """A key cell for every record of a task, each from its predictive probabilities by one uniform number."""
    from engine.common.compiled import COMPILED
    from engine.mechanisms.donor_kernels import below_largest, choose

    t = location.turned(task.v, theta.turn)
    places = np.empty(len(t), np.int64)
    step = max(1, _SEGMENT // len(task.cells))
    for start in range(0, len(t), step):
        rows = slice(start, start + step)
        weights = location.log_weights(theta, t[rows])
        if COMPILED:
            below_largest(weights)
            np.exp(weights, out=weights)
            choose(weights, uniforms[rows], places[rows])
        else:  # the same in whole arrays, as plain Python would go through every cell of every record
            weights -= weights.max(axis=1, keepdims=True)
            np.exp(weights, out=weights)
            np.cumsum(weights, axis=1, out=weights)
            target = uniforms[rows] * weights[:, -1]
            places[rows] = np.minimum((weights <= target[:, None]).sum(axis=1), len(task.cells) - 1)
    return task.cells[places]


def draw(prepared: Prepared, setting: Setting, derived: bytes) -> Drawn:
    """D tables over one selection of mixing sets."""
    data, n, tables = setting.data, setting.data.n_records, setting["D"]
    touched = np.zeros((tables, n), bool)
    diagnostics: dict[str, float | str] = dict(prepared.about)
    if prepared.warnings:
        diagnostics["warning"] = "; ".join(prepared.warnings)
    if prepared.numbers is None:
        return Drawn([ReleasedTable(data) for _ in range(tables)], RunStatus.NOOP, touched, diagnostics)
    shared, x = shared_stream(derived), prepared.keys.x
    tasks = []
    for level in prepared.levels:
        sets = [mixing_set(choice, setting["n_mix"], setting["fill"], shared) for choice in level.choices]
        tasks.append(make_task(prepared, level, np.unique(np.concatenate(sets)), _model_set(setting)))
    thetas = [None if setting["proper"] else location.draw(task.model, shared) for task in tasks]
    released, moved, moved_sensitive = [], 0, 0
    sensitive = prepared.keys.sensitive[x]
    for d in range(tables):
        rng, cell = table_stream(derived, d + 1), x.copy()
        for task, theta in zip(tasks, thetas, strict=True):
            drawn = location.draw(task.model, rng) if theta is None else theta
            cell[task.records] = impute(task, drawn, rng.random(len(task.records)))
            touched[d, task.records] = True
        new = prepared.keys.cells[cell]
        replaced = {j: new[:, c].astype(data.codes[j].dtype) for c, j in enumerate(setting.keys)}
        released.append(ReleasedTable(data, replaced=replaced))
        moved += int(np.count_nonzero(cell != x))
        moved_sensitive += int(np.count_nonzero(cell[sensitive] != x[sensitive]))
    imputed = sum(len(task.records) for task in tasks)
    diagnostics["imputed_records"] = float(imputed)
    diagnostics["imputed_share"] = imputed / n
    cells = sum(len(task.cells) for task in tasks)
    diagnostics["cells"] = float(cells)
    diagnostics["donor_cells"] = float(cells - prepared.keys.sensitive.sum())
    diagnostics["model_set"] = _model_set(setting)
    diagnostics["model_records"] = float(sum(task.on for task in tasks))
    diagnostics["changed_share_of_imputed"] = moved / tables / imputed
    diagnostics["sensitive_changed_share"] = moved_sensitive / tables / int(sensitive.sum())
    return Drawn(released, RunStatus.OK, touched, diagnostics)


SMIKE = Mechanism(
    name="smike",
    title="Selective multiple imputation of keys (SMIKe)",
    source="Little and Liu (2003), Selective multiple imputation of keys, sections 2 and 3",
    when=(
        "analyses of numeric variables by the keys must stay valid and several tables can be published together; "
        "counts of the key cells may change"
    ),
    rate="records of sensitive key cells and n_mix similar records for each of them",
    prepare=prepare,
    draw=draw,
    parameters=(
        *location.THRESHOLD,
        Parameter(
            "selection",
            "choice",
            "local",
            "mix with records of the nearest cells, or with the nearest records of all",
            choices=("local", "global"),
            label="Where similar records are looked for",
        ),
        Parameter(
            "n_mix",
            "whole",
            "5",
            "nonsensitive records chosen for each sensitive one",
            low="1",
            label="Similar records for each sensitive one",
            counts=Counts("count", "similar for each sensitive"),
        ),
        Parameter(
            "fill",
            "choice",
            "uniform",
            "local: choose among all of the nearest cells, or empty the nearest first",
            choices=("uniform", "sequential"),
            label="How near cells are used up",
        ),
        Parameter(
            "model_set",
            "choice",
            "auto",
            "fit on the imputed records (M) or on all records of their cells (C); auto is C when local, M when global",
            choices=("auto", "C", "M"),
            label="Records that the model is fitted on",
        ),
        Parameter(
            "proper",
            "truth",
            "yes",
            "whether each table has its own draw of the parameters",
            label="Parameters drawn anew for each table",
        ),
        Parameter("D", "whole", "10", "tables published together", low="1", label="Tables published together"),
        Parameter(
            "within",
            "names",
            "",
            "keys that must not change, joined by +; one model for each of their levels",
            label="Keys that must not change",
        ),
        *location.VARIABLES,
    ),
    amounts=(("n_mix",),),
    fit=("s", "rule", "selection", "n_mix", "model_set", "within", "y", "log"),
    many_tables=True,
    redraws_levels=True,
    check=location.check_threshold,
)
