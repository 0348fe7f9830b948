"""Candidate of a sweep, for scripts: its settings, its figures, and its release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from engine.bundle.released_files import Rows, new_secret
from engine.bundle.source import check_figures
from engine.common.errors import EngineError, UsageError
from engine.decision.gate import held_losses
from engine.decision.states import meant_run
from engine.frontier.choosing import ShareWithin, share_within
from engine.frontier.risk_utility_map import RiskUtilityMap, check_realisation
from engine.plan.coding import code
from engine.plan.entries import check_include
from engine.release.reader_view import columns_beside, is_original
from engine.release.records import ReleasedTable
from engine.release.scenarios import Results, RunStatus
from engine.scripting.arguments import public
from engine.scripting.data import Data, frame_of, records_of
from engine.study.keys import key_path, read_key
from engine.study.map_reader import risk_bound
from engine.study.study import Study
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import Remade, carriers_of, remake, stream_of
from engine.sweeps.sweep import check_same

if TYPE_CHECKING:
    import pandas as pd


def key_of(study: Study) -> bytes:
    """Return the key of a study: the one that this process was given, else that of the file beside it."""
    return read_key(key_path(study.path)) if study.key is None else study.key


def remade_release(study: Study, data: Data, view: RiskUtilityMap, index: int, replicate: int) -> Remade:
    """Return one run of a candidate down to records, with the figures that the study holds."""
    raw, _ = records_of(data)
    key, scenario = key_of(study), view.scenarios[index]
    check_same(study, raw, key)
    coded = code(raw, study.plan)
    measured = question_of(study.plan, coded, study.measures)
    remade = remake(coded, measured, scenario.spec, stream_of(key, scenario.spec, coded, replicate))
    runs = study.runs.of([index])
    row = check_realisation(runs, index, replicate, scenario.label, view.allow_partial)
    check_figures(remade.figures, dict(zip(map(str, study.measures), runs.values[row].tolist(), strict=True)))
    return remade


def release_frames(
    remade: Remade, data: Data, study: Study, include: Sequence[str] | None, *, single: bool = False
) -> list[pd.DataFrame]:
    """Return the tables of a release with index, columns and types of the data; ``single`` refuses several tables."""
    included = study.plan.publish.include if include is None else check_include(include)
    for role in included:
        if getattr(remade.data, role) is None:
            raise UsageError(f"the plan declares no {role}, so it cannot be included")
    if single and len(remade.tables) > 1:
        raise UsageError(
            f"the candidate publishes {len(remade.tables)} tables together; release_tables gives all of them"
        )
    original, beside = ReleasedTable(remade.data), columns_beside(remade.data, included)
    if any(is_original(table, original, beside) for table in remade.tables):
        raise EngineError(
            "the rows of this release are those of the original, so nothing is protected; choose another candidate"
        )
    frame = frame_of(data)
    left_out = set(remade.data.dropped)
    left_out |= {column for column, use in remade.data.single_uses.items() if use not in included}
    released_columns = frame.drop(columns=[name for name in frame.columns if name in left_out])
    new_numbers = Rows(new_secret(), len(frame)).new_numbers(remade.data)
    released_columns = released_columns.assign(
        **{column: new for column, new in new_numbers.items() if column in released_columns}
    )
    return [_with_changes(released_columns, remade, table) for table in range(len(remade.tables))]


def _with_changes(frame: pd.DataFrame, remade: Remade, table: int) -> pd.DataFrame:
    released, columns = remade.tables[table], {}
    for name, carrier in carriers_of(remade, table).items():
        if name in frame.columns:
            columns[name] = frame[name].take(carrier).set_axis(frame.index)
    for name in frame.columns:
        if released.is_renumbered(name):
            columns[name] = _numbers(frame[name], released.numeric(name))
    return frame.assign(**columns)


def _numbers(column: pd.Series, values: np.ndarray) -> pd.Series:
    """Altered numbers in the type of the column where that is one of floats."""
    import pandas as pd

    kind = column.dtype if column.dtype.kind == "f" else np.dtype(float)
    return pd.Series(values, index=column.index, dtype=kind)


class Candidate:
    """One candidate: a way to alter the data, run several times, of which one run would be released.

    ``id`` is its name in the study, such as ``x7f3``; ``mechanism``, ``spec`` (what is swapped, or the parameters) and
    ``rate`` (share of the records in swaps, 0 to 1; None for other mechanisms) say what is done, and ``parameters`` are
    those of another mechanism than the random swap, as texts.  ``bound`` is the bound on risk by which it was chosen,
    if it was.
    """

    def __init__(
        self, study: Study, index: int, current_view: Callable[[], RiskUtilityMap], bound: float | None = None
    ) -> None:
        self.study, self._index, self._current_view, self.bound = study, index, current_view, bound
        scenario = study.scenarios[index]
        self.id = scenario.label
        self.spec = scenario.spec.text
        self.mechanism = scenario.spec.mechanism
        self.rate = float(scenario.spec.rate) if scenario.spec.rate else None
        self.parameters = dict(scenario.spec.params)
        self._scenario_text = str(scenario.spec)

    @property
    def _view(self) -> RiskUtilityMap:
        """The map as it is now: runs and measures may have been added since the candidate was taken."""
        return self._current_view()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidate) and (self.study, self._index) == (other.study, other._index)

    def __hash__(self) -> int:
        return hash((self.study, self._index))

    def __reduce__(self) -> NoReturn:
        raise UsageError("a candidate cannot be pickled or copied; save its sweep, and take it from there by its id")

    def __repr__(self) -> str:
        return f"<Candidate {self.id}: {self._spec_and_figures()}>"

    def _spec_and_figures(self) -> str:
        spec = self._scenario_text
        if self.study.is_closed:
            return f"{spec}; its study is closed"
        try:
            view = self._view
        except UsageError:  # without a risk and a utility measure there is no map
            return spec
        figures = [
            f"{view.measures[k]} {view.summary.mean[self._index, k]:.4g} ± {view.summary.se[self._index, k]:.2g}"
            for k in dict.fromkeys((view.risk, view.utility))
        ]
        within, bound = self.runs_within, risk_bound(self.study, view.risk, self.bound)
        kept = "" if within is None else f"; {within.within} of {within.runs} runs within {bound:g}"
        return f"{spec}; {', '.join(figures)}{kept}"

    def _repr_html_(self) -> str:
        line = f"<p>{escape(f'Candidate {self.id}: {self._scenario_text}')}</p>"
        return line if self.study.is_closed else line + self.figures.to_html()

    @property
    def replicate(self) -> int:
        """The number of the run that would be released: that of the recommendation, else by the plan's rule."""
        view = self._view
        return meant_run(
            self.study, self._index, view.risk, bound=self.bound, runs=self._runs, allow_partial=view.allow_partial
        )

    @property
    def runs_within(self) -> ShareWithin | None:
        """The number of its runs that meet the bound by which it was chosen, or the plan's: ``within`` of ``runs``, and
        the 95 % limits ``low`` and ``high`` of the share of all such runs that do; None without a bound."""
        view = self._view
        bound = risk_bound(self.study, view.risk, self.bound)
        return None if bound is None else share_within(held_losses(view, self._runs), bound)

    @property
    def figures(self) -> pd.DataFrame:
        """Each measure with its ``mean`` over the runs, the standard error ``se`` of that mean, the figure of the run
        that would be ``released``, and that of the ``original`` data."""
        import pandas as pd

        view, summary, runs = self._view, self._view.summary, self._runs
        row = check_realisation(runs, self._index, self.replicate, self.id, view.allow_partial)
        return pd.DataFrame(
            {
                "mean": summary.mean[self._index],
                "se": summary.se[self._index],
                "released": runs.values[row],
                "original": view.original,
            },
            index=pd.Index([str(call) for call in view.measures], name="measure"),
        )

    @property
    def runs(self) -> pd.DataFrame:
        """Its runs, one row each: ``status``, ``records_changed`` and the figures by measure."""
        import pandas as pd

        runs = self._runs
        frame = pd.DataFrame(runs.values, columns=[str(call) for call in self._view.measures])
        frame.insert(0, "status", [RunStatus(code).word for code in runs.status])
        frame.insert(1, "records_changed", runs.changed)
        return frame.set_index(pd.Index(runs.replicate, name="replicate"))

    @property
    def undominated(self) -> bool:
        """Return whether it is on the frontier."""
        return bool(self._view.dominance.undominated[self._index])

    @public
    def release(self, data: Data, *, include: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the protected records: the released run, drawn again from the study key and compared with the figures
        that the study holds.

        Parameters: ``data`` are the records that were swept; ``include`` names "weight", "id" and "unit", which are
        left out otherwise, as the plan's ``[publish]`` says by default.  Ids and numbers of households are new ones.

        The result has the index, columns and types of ``data``; columns that the plan drops, the weight, the id and the
        unit are missing from it.  A column to which noise is added becomes float where it held whole numbers.  Rows
        are in their original order, which may tell who is who: shuffle them and leave the index behind before they are
        published, or export a bundle with the command line, which does so and searches it for what must not be in it.

        Errors: :class:`UsageError` for other data than were swept, and for a candidate that publishes several tables
        together (:meth:`release_tables`).

        Example::

            protected = best.release(df)
        """
        return release_frames(self._remade(data), data, self.study, include, single=True)[0]

    @public
    def release_tables(self, data: Data, *, include: Sequence[str] | None = None) -> list[pd.DataFrame]:
        """Return all tables that the candidate publishes together, each as :meth:`release` does."""
        return release_frames(self._remade(data), data, self.study, include)

    def _remade(self, data: Data) -> Remade:
        return remade_release(self.study, data, self._view, self._index, self.replicate)

    @property
    def _runs(self) -> Results:
        return self.study.runs.of([self._index])
