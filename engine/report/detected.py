"""An attack on a release with published two-way tables of the original, graded by the truth.

The attack (:mod:`engine.models.swap_detection`) sees no pairs and no flags; the grades need them, so that they are for
the analyst alone.  Of several tables the first one is attacked, and all are
compared with each other (:mod:`engine.measures.several_tables`).  It is an attack on the random swap; of another method
which records it altered, or which households it moved, is also looked for without supposing any
(:mod:`engine.measures.moved_units`), and the better attack counts.  Of a method that alters records at risk first,
somebody who knows it suspects the rare ones (:mod:`engine.measures.detection`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from engine.common.processes import one_thread
from engine.common.wording import lower_first
from engine.decision.statements import sentences, statement
from engine.decision.states import decision_status
from engine.decision.verdict_log import STREAMED, log_verdict, verdict_statement
from engine.measures.detection import Calibration, Graded, Rarity, attacked, auc, calibration, graded, precision, rarity
from engine.measures.moved_units import Found, named
from engine.measures.several_tables import compared
from engine.measures.turned_back import turned_back
from engine.measures.verdict import Verdict, worst
from engine.mechanisms import mechanism
from engine.mechanisms.base import names_in
from engine.models.level_model import MODELS, MOST_TERMS, n_terms, quick_to_fit
from engine.models.margin_inference import TablesFit
from engine.models.record_release import RecordRelease
from engine.release.records import ReleasedTable
from engine.release.spec import beyond_roles
from engine.report.describe import remade, remade_cells
from engine.report.losses import optional
from engine.report.other_keys import altered_in
from engine.sweeps.reader_attacks import released_misfits
from engine.sweeps.realisations import batch_of

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from engine.data.microdata import RawTable
    from engine.plan import Plan
    from engine.study.study import Study
    from engine.sweeps.remake import Remade, RemadeCells

TOP = 0.01
"""The share of records, the most suspect first, among which altered ones are counted."""
_FEW = 50  # of the most suspect, a number that can be looked at one by one
_MOST_COUNTS = 20_000_000  # of all two-way tables together
_MOST_ATTRIBUTES = 55  # pairs of more have more terms than a fit can hold
_FACTOR = 3.0  # width of an interval within which the extent counts as known
_OFF = 1 / 3  # share of the rate by which an inferred one may be off and still be found
_BETTER = 0.6  # area under the curve from which on detection is better than guessing
_UNTRIED = Verdict("untried", why="it was not tried")


@dataclass(frozen=True)
class Detected:
    """The attack on one release.

    ``why`` says why it was not tried (empty: it was).  ``attributes`` are the altered ones as inferred, ``altered``
    those in truth; ``inferred`` is the inferred share of altered records with its 95 % interval ``low`` to ``high``,
    ``rate`` the true one.  ``model`` names the terms of the logit (:data:`~engine.models.level_model.MODELS`), ``fit``
    how the model of the original fits the tables, ``tables_fit`` how that one does which has nothing of the release but
    its patterns.  Records are suspected by the probability that they are altered and by the chance of their levels in
    the latter, and the better suspicion counts: ``auc`` is the area under its ROC curve, ``precision`` the share of
    altered records among the first :data:`TOP`; both are None where they are undefined.  ``calibration`` holds the
    probability beside the truth.  ``not_known`` says what the intruder does not know of the way in which records were
    drawn, which the attack takes to be uniform among partners of the random swap.

    ``rare_auc`` is the chance that an altered record (``of``: households) is rarer in the release than an unaltered one
    on what the method takes to be known; ``alone`` is how many are alone there, and ``alone_altered`` the altered share
    of these.  None where the method does not take records at risk first.

    ``units`` are the grades of the attack that supposes no method (None: on a random swap); of whole households that
    moved ``auc`` and ``precision`` are theirs, else the better ones of both attacks.  ``verdict`` is the worst of all
    attacks, that of several tables with each other (``by_comparison``; None: there is one) among them.  ``suspicion``
    is that of each record by the tables (None: it was not worked out).
    """

    altered: tuple[str, ...]
    why: str = ""
    attributes: tuple[str, ...] = ()
    inferred: float = 0.0
    low: float = 0.0
    high: float = 0.0
    rate: float = 0.0
    model: str = ""
    auc: float | None = None
    precision: float | None = None
    calibration: tuple[Calibration, ...] = ()
    fit: TablesFit | None = None
    tables_fit: TablesFit | None = None
    not_known: tuple[str, ...] = ()
    of: str = "records"
    rare_auc: float | None = None
    alone: int = 0
    alone_altered: float | None = None
    units: Found | None = None
    suspicion: np.ndarray | None = field(default=None, compare=False)
    by_tables: Verdict = _UNTRIED
    by_rarity: Verdict | None = None
    by_comparison: Verdict | None = None

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of these attacks."""
        tried = [self.by_comparison, self.by_tables, self.by_rarity, self.units.verdict if self.units else None]
        return worst(one for one in tried if one is not None)

    @property
    def finds_attributes(self) -> bool:
        """Whether the inferred attributes are the altered ones."""
        return bool(self.altered) and set(self.attributes) == set(self.altered)

    @property
    def finds_extent(self) -> bool:
        """Whether the interval is narrower than a factor of three, and the inferred rate off by a third at most."""
        near = self.rate > 0 and abs(self.inferred - self.rate) <= _OFF * self.rate
        return near and self.high <= _FACTOR * self.low

    @property
    def finds_records(self) -> bool:
        """Whether the most suspect records or households are altered, by more than guessing explains."""
        return self.by_tables.finds or (self.units is not None and self.units.verdict.finds)

    @property
    def finds_rare(self) -> bool | None:
        """Whether rare records are altered ones, by more than guessing explains; None where that was not looked at."""
        return None if self.rare_auc is None else self.rare_auc >= _BETTER


def detected(realisation: Remade, plan: Plan) -> Detected:
    """Attack a remade release with two-way tables of all attributes of its original."""
    original = ReleasedTable(realisation.data)
    release = RecordRelease(original, realisation.tables[:1], plan, realisation.spec)
    shape, units, several = realisation.data.domain.shape, units_found(release), compared(realisation.tables)
    outright = (units or named(release, release.tables[0], range(len(shape))).found).told_outright
    found = replace(_by_method(release), units=units, by_comparison=None if several is None else several.verdict)
    n_counts = (sum(shape) ** 2 - sum(size**2 for size in shape)) // 2
    why = "" if found.altered else "no record has another value of an attribute"
    if n_counts > _MOST_COUNTS:
        why = f"the two-way tables of {len(shape)} attributes have {n_counts:,} cells, more than {_MOST_COUNTS:,}"
    if why:
        return replace(found, why=why, by_tables=outright or Verdict("untried", why=why))
    batch = batch_of(release, range(len(shape)))
    areas, precisions = ([], []) if units is None else ([units.auc], [units.precision])
    with one_thread():  # threads that wait for each other take thirty times as long on a busy machine
        cells, records, inference = attacked(batch)[0]
        if units is None or units.of != "households":  # of single records, which whole households are not
            swapped = [shape[int(str(place))] for place in inference.attributes]
            model = next(name for name in MODELS if _fits(cells.cells, shape, name, max(swapped, default=2)))
            grade = graded(batch, model)[0]
            areas, precisions = [auc(grade), *areas], [precision(grade, TOP), *precisions]
            by_tables = _named(grade)
            codes = np.column_stack([release.tables[0].codes(j) for j in range(len(shape))])
            cell = np.unique(codes, axis=0, return_inverse=True)[1]  # in the order of the attack's
            found = replace(
                found,
                model=model,
                calibration=tuple(calibration(grade)),
                fit=grade.detection.fit,
                tables_fit=grade.detection.tables_fit,
                by_tables=by_tables if outright is None else replace(by_tables, outright=outright.outright),
                suspicion=1 - grade.detection.unaltered[cell.ravel()],
            )
    names = realisation.data.domain.names
    return replace(
        found,
        attributes=tuple(names[int(str(place))] for place in inference.attributes),
        inferred=inference.rate,
        low=inference.low,
        high=inference.high,
        rate=float(records.sum() / cells.counts.sum()),
        auc=optional(max(areas)),
        precision=optional(max(precisions)),
    )


def _named(grade: Graded) -> Verdict:
    """The verdict on the most suspect thousandth and hundredth, on 50, and on as many as are altered: the worst."""
    n, altered = int(grade.release.counts.sum()), int(grade.altered.sum())
    shares = [Fraction(1, 1000), Fraction(TOP).limit_denominator(), Fraction(altered, n)]
    verdicts = []
    for first in sorted({min(_FEW, n), *(math.ceil(share * n) for share in shares)}):
        right = precision(grade, Decimal(first) / n) * first
        verdicts.append(Verdict("tables", n, first, right, first * altered / n))
    return worst(verdicts)


def release_verdict(realisation: Remade, plan: Plan) -> Verdict:
    """The worst verdict of the attacks that name altered records of a release or guess their original values, made once
    for all reports on it."""

    def worst_of_all() -> Verdict:
        by_columns = [one.verdict for one in released_misfits(realisation, plan)]
        guessed = turned_back(realisation.tables)
        by_method = [guessed.verdict] if guessed is not None and guessed.verdict.finds else []
        return worst([detected_once(realisation, plan).verdict, *by_columns, *by_method])

    return realisation.own.cached(("verdict", plan.keys), worst_of_all)


def streamed_verdict(realisation: RemadeCells) -> Verdict:
    """The verdict on a release of streamed records by guesses of the original values, where these find something."""
    guessed = realisation.guesses
    return guessed.verdict if guessed is not None and guessed.verdict.finds else Verdict("untried", why=STREAMED)


def suspected(realisation: Remade, plan: Plan) -> tuple[str, np.ndarray]:
    """Records or households, and for each the share of it that is among the most suspect of the best attack with
    two-way tables, as many as are altered; equally suspect ones share the last places."""
    release = RecordRelease(ReleasedTable(realisation.data), realisation.tables[:1], plan, realisation.spec)
    attack = named(release, release.tables[0], range(len(realisation.data.domain)))
    n, by_tables = int(attack.altered.sum()), detected_once(realisation, plan).suspicion
    scores = [*attack.scores.values(), *([] if by_tables is None or attack.of != "records" else [by_tables])]
    if not n:
        return attack.of, np.zeros(len(attack.altered))

    def share(score: np.ndarray) -> np.ndarray:
        rounded = np.round(score, 9)  # what differs less is rounding
        last = np.sort(rounded)[-n]
        above, at = rounded > last, rounded == last
        shares: np.ndarray = above + at * ((n - above.sum()) / at.sum())
        return shares

    return attack.of, max(map(share, scores), key=lambda shares: float(shares[attack.altered].sum()))


def attack_choice(study: Study, raw: RawTable, key: bytes, among: Container[int]) -> Verdict | None:
    """Attack the recommended release and log the verdict, without which a board cannot approve it; None where none of
    these scenarios is recommended.  Of streamed records only the original values are guessed, and the log says so."""
    choice = decision_status(study).choice
    if choice is None or study.find(choice.label)[0].index not in among:
        return None
    which = study, raw, choice.label, choice.replicate, key
    streamed = raw.streamed is not None
    verdict = streamed_verdict(remade_cells(*which)) if streamed else release_verdict(remade(*which), study.plan)
    log_verdict(study, f"{choice.label}/{choice.replicate}", verdict)
    return verdict


def detected_once(realisation: Remade, plan: Plan) -> Detected:
    """Attack a release once for all reports on it; see :func:`detected`."""
    return realisation.own.cached(("detected", plan.keys), lambda: detected(realisation, plan))


def units_found(release: RecordRelease) -> Found | None:
    """The grades of the attack that supposes no method, on the first table of a release; None for a random swap, of
    which more is known."""
    spec = release.spec
    if spec is None or mechanism(spec.mechanism).by_roles:
        return None
    return named(release, release.tables[0], range(len(release.data.domain))).found


def units_words(found: Found) -> str:
    """The grades in words, for readers who may know how many records were altered."""
    told = [verdict_statement(found.verdict)]
    if found.named and found.auc == found.auc:
        told.append(statement("suspicion", share=found.auc))
    return sentences(told)


def _by_method(release: RecordRelease) -> Detected:
    """The altered attributes and what the attack does not know of the method of a release; and of a method that takes
    records at risk first, how well rarity tells which records it altered."""
    spec, altered = release.spec, altered_in(release)
    if spec is None:
        return Detected(altered)
    method, parameters, domain = mechanism(spec.mechanism), dict(spec.params), release.data.domain
    not_known = (f"the release was made by {lower_first(method.title)} and not by the random swap",)
    found = Detected(altered, not_known=beyond_roles(spec, domain) if method.by_roles else not_known)
    if "risk" not in parameters or not altered or not _prefers_rare(parameters):
        return found
    known = names_in(parameters["risk"]) or release.plan.keys
    # whole households move between places, and in these they are rare
    places = method.altered(spec) if method.whole_units else ()
    sharing = rarity(release, release.tables[0], domain.indices(tuple(dict.fromkeys((*places, *known))))).sharing
    rare = Rarity(sharing, rarity(release, release.tables[0], domain.indices(tuple(altered))).altered)
    of = "records" if release.data.units is None else "households"
    found = replace(found, rare_auc=optional(rare.auc), alone_altered=optional(rare.alone_altered))
    return replace(found, of=of, alone=rare.alone, by_rarity=rare.verdict(of))


def _prefers_rare(parameters: Mapping[str, str]) -> bool:
    """Whether a method with these parameters takes records at risk first, or draws them more often."""
    leans = parameters.get("lean", "0") != "0" or parameters.get("size", "equal") != "equal"
    certain = parameters.get("certain", "0") != "0"
    mandatory = "hierarchy" in parameters and parameters["k"] not in ("0", "1")
    return leans or certain or mandatory


def _fits(cells: np.ndarray, shape: Sequence[int], model: str, n_levels: int) -> bool:
    """Whether a model of these cells has few enough terms, and is fitted quickly to an attribute of so many levels."""
    if model == "two_way" and len(shape) > _MOST_ATTRIBUTES:
        return False
    terms = n_terms(cells, shape, model)
    return terms <= MOST_TERMS and quick_to_fit(len(cells), terms, n_levels)
