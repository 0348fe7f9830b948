"""Candidate of a sweep, for scripts: its settings, its figures, and its release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engine.frontier.risk_utility_map import RiskUtilityMap, check_realisation
from engine.release.results import STATUS, Results
from engine.scripting.data import Data
from engine.scripting.releases import release_frames, remade_release
from engine.scripting.remedies import naming_arguments
from engine.study.study import Study
from engine.study.study_map import realisation_of
from engine.sweeps.remake import Remade

if TYPE_CHECKING:
    import pandas as pd


class Candidate:
    """One candidate: a way to alter the data, run several times, of which one run would be released.

    ``id`` is its name in the study, such as ``x7f3``; ``mechanism``, ``spec`` (what is swapped, or the parameters) and
    ``rate`` (share of the records in swaps, 0 to 1; None for other mechanisms) say what is done, and ``parameters`` are
    those of another mechanism than the random swap, as texts.
    """

    def __init__(self, study: Study, place: int, current_view: Callable[[], RiskUtilityMap]) -> None:
        self._study, self._place, self._current_view = study, place, current_view
        scenario = self._view.scenarios[place]
        self.id = scenario.label
        self.spec = scenario.spec.text
        self.mechanism = scenario.spec.mechanism
        self.rate = float(scenario.spec.rate) if scenario.spec.rate else None
        self.parameters = dict(scenario.spec.params)

    @property
    def _view(self) -> RiskUtilityMap:
        """The map as it is now: runs and measures may have been added since the candidate was taken."""
        return self._current_view()

    def __repr__(self) -> str:
        view, spec = self._view, self._view.scenarios[self._place].spec
        figures = [
            f"{view.measures[k]} {view.summary.mean[self._place, k]:.4g} ± {view.summary.se[self._place, k]:.2g}"
            for k in dict.fromkeys((view.risk, view.utility))
        ]
        return f"<Candidate {self.id}: {spec}; {', '.join(figures)}>"

    @property
    def replicate(self) -> int:
        """The number of the run that would be released: by the plan's rule, never by its figures."""
        return realisation_of(self._study, self._runs, self._place, self._view.allow_partial)

    @property
    def figures(self) -> pd.DataFrame:
        """Each measure with its ``mean`` over the runs, the standard error ``se`` of that mean, the figure of the run
        that would be ``released``, and that of the ``original`` data."""
        import pandas as pd

        view, summary, runs = self._view, self._view.summary, self._runs
        row = check_realisation(runs, self._place, self.replicate, self.id, view.allow_partial)
        return pd.DataFrame(
            {
                "mean": summary.mean[self._place],
                "se": summary.se[self._place],
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
        frame.insert(0, "status", [STATUS[int(code)] for code in runs.status])
        frame.insert(1, "records_changed", runs.changed)
        return frame.set_index(pd.Index(runs.replicate, name="replicate"))

    @property
    def undominated(self) -> bool:
        """Whether it is on the frontier."""
        return bool(self._view.dominance.undominated[self._place])

    @naming_arguments
    def release(self, data: Data, *, include: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the protected records: the released run, drawn again from the study key and compared with the figures
        that the study holds.

        Parameters: ``data`` are the records that were swept; ``include`` names "weight" and "id", which are left out
        otherwise, as the plan's ``[publish]`` says by default.  An id is a new one.

        The result has the index, columns and types of ``data``; columns that the plan drops, the weight and the id are
        missing from it.  A column to which noise is added becomes float where it held whole numbers.  Rows are in their
        original order, which may tell who is who: shuffle them and leave the index behind before they are published, or
        export a bundle with the command line, which does so and searches it for what must not be in it.

        Errors: :class:`UsageError` for other data than were swept, and for a candidate that publishes several tables
        together (:meth:`release_tables`).

        Example::

            protected = best.release(df)
        """
        return release_frames(self._remade(data), data, self._study, include, single=True)[0]

    @naming_arguments
    def release_tables(self, data: Data, *, include: Sequence[str] | None = None) -> list[pd.DataFrame]:
        """Return all tables that the candidate publishes together, each as :meth:`release` does."""
        return release_frames(self._remade(data), data, self._study, include)

    def _remade(self, data: Data) -> Remade:
        return remade_release(self._study, data, self._view, self._place, self.replicate)

    @property
    def _runs(self) -> Results:
        return self._study.runs_of([self._place])
