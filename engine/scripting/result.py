"""Result of a sweep, for scripts: candidates, frontier, map and choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from engine.common.errors import UsageError
from engine.decision.choice import choose, pick
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.plan import Plan, extended_plan
from engine.report.candidate_table import columns_of, realisation_rows, scenario_rows
from engine.scripting.candidate import Candidate
from engine.scripting.data import Data, records_of
from engine.scripting.options import SweepOptions, check_kind, check_list, check_options, described_plan
from engine.scripting.releases import key_of
from engine.scripting.remedies import naming_arguments
from engine.scripting.running import fill_study
from engine.study.study import Study
from engine.study.study_map import objective_indices, risk_utility_map
from engine.sweeps.rerun import add_measures, reevaluate
from engine.sweeps.sweep import open_sweep

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure


class View(TypedDict, total=False):
    """How candidates are compared: the measure of ``risk`` and that of ``utility``, or any measures as ``objectives``;
    ``allow_partial`` lets runs count that found too few partners."""

    risk: str
    utility: str
    objectives: Sequence[str]
    allow_partial: bool


class Sweep:
    """What a sweep found: every candidate with the figures of its runs.

    It holds no records.  It is a sequence of :class:`Candidate`: ``len(swaps)``, ``swaps[0]``, ``swaps["x7f3"]`` and
    ``for candidate in swaps`` work.  Methods that compare candidates take ``risk`` and ``utility`` (names of measures;
    default: those of the plan, else the first of each kind), ``objectives`` (two or more measures that define the
    frontier together) and ``allow_partial`` (let runs count that found too few partners).
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self._growth = 0  # how often runs or measures were added: candidates taken before look at the study again

    # -- what it is about --------------------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        """The plan that was run."""
        return self.study.plan

    @property
    def key(self) -> bytes | None:
        """The study key, 16 bytes; None where the study was opened without it.  A secret: whoever has it and the data
        can undo every release."""
        return self.study.key

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures, as :func:`sweep` takes them."""
        return tuple(map(str, self.study.measures))

    @property
    def original(self) -> pd.Series:
        """Each measure on the unaltered data."""
        import pandas as pd

        return pd.Series(self.study.original, name="original").reindex(list(self.measures))

    @property
    def is_complete(self) -> bool:
        """Whether all runs of the plan are done."""
        return self.study.progress.state == "finished"

    @property
    def candidates(self) -> list[Candidate]:
        """All candidates, in the order of the plan."""
        return list(self)

    def __len__(self) -> int:
        return self.study.n_scenarios

    def __iter__(self) -> Iterator[Candidate]:
        view = self._map({})
        return (self._candidate(place, view, {}) for place in range(len(self)))

    def __getitem__(self, candidate: int | str) -> Candidate:
        place = self.study.find(candidate)[0].index if isinstance(candidate, str) else range(len(self))[candidate]
        return self._candidate(place, self._map({}), {})

    def __repr__(self) -> str:
        study = self.study
        about, progress = study.about, study.progress
        try:
            names = " and ".join(str(study.measures[k]) for k in objective_indices(study))
            front = f"; {int(self._map({}).dominance.undominated.sum()):,} on the frontier of {names}"
        except UsageError:  # without a risk and a utility measure there is no frontier
            front = ""
        state = "" if self.is_complete else f" ({progress.state}: {progress.total:,} planned)"
        return (
            f"<Sweep of {about['n_records']:,} records by {', '.join(study.names[:4])}"
            f"{' and so on' if len(study.names) > 4 else ''}: {len(self):,} candidate{'s' if len(self) != 1 else ''}, "
            f"{progress.done:,} runs{state}{front}>"
        )

    # -- tables and the map ------------------------------------------------------------------------------------------

    @naming_arguments
    def frontier(self, **view: Unpack[View]) -> pd.DataFrame:
        """Return the candidates that no other one dominates, from least to most risk.

        One row a candidate, by its id, with these columns:

        * ``mechanism``, ``rate`` (share of records in swaps, 0 to 1; NaN for other mechanisms), ``spec`` (what is
          swapped, or the parameters);
        * ``replicates`` and ``failed`` (runs), ``records_changed`` (mean over the runs);
        * for each measure a column of its name, the mean over the runs in the measure's own unit, and one with ``_se``
          behind the name, the standard error of that mean; undefined figures are NaN;
        * ``undominated``, ``dominance`` ("clear" or "uncertain", given the noise of the means), ``share_undominated``
          (share of replicates in which it is on the frontier), ``riskier_than_original`` (more risk than the unaltered
          data have).

        Example::

            swaps.frontier()[["spec", "rate", "small_cells", "small_cells_se", "hellinger"]]
        """
        made = self._map(view)
        frame = _frame(scenario_rows(made, undominated=True), columns_of(made, "scenario"))
        return frame.loc[[made.scenarios[place].label for place in made.frontier().tolist()]]

    @naming_arguments
    def to_frame(self, *, runs: bool = False, **view: Unpack[View]) -> pd.DataFrame:
        """Return all candidates, one row each, with the columns of :meth:`frontier`; with ``runs`` all runs.

        A run has ``replicate``, ``status`` ("ok", "failed", "noop" where nothing was to be changed, "partial" where
        some records found no partner), ``records_changed``, its figures by measure, and ``undominated``.
        """
        made = self._map(view)
        if runs:
            return _frame(realisation_rows(made), columns_of(made, "realisation"))
        return _frame(scenario_rows(made), columns_of(made, "scenario"))

    @naming_arguments
    def plot(
        self,
        *,
        drawn: str = "map",
        colour: str = "rate",
        max_risk: float | None = None,
        slope: float | None = None,
        **view: Unpack[View],
    ) -> Figure:
        """Return the risk–utility map as a plotly figure, as the dashboard draws it.

        Parameters: ``drawn`` is "map", "rates" (a panel for each rate), "pooled", "labelled" (what is swapped stands
        beside the points) or "runs" (every run); ``colour`` is "rate" or another way to tell candidates apart;
        ``max_risk`` or ``slope`` draws that rule and marks what it picks.

        Example::

            swaps.plot(max_risk=0.013).write_html("map.html")
        """
        from frontier_app.charts.script_map import script_map

        picked = None
        made = self._map(view)
        if max_risk is not None or slope is not None:
            picked = pick(self.study, made, max_risk=max_risk, slope=slope).index
        return script_map(made, drawn=drawn, colour=colour, bound=max_risk, slope=slope, picked=picked)

    # -- choice ------------------------------------------------------------------------------------------------------

    @naming_arguments
    def choose(
        self,
        candidate: str | None = None,
        *,
        max_risk: float | None = None,
        slope: float | None = None,
        why: str = "",
        by: str = "",
        **view: Unpack[View],
    ) -> Candidate:
        """Return one candidate: the one named, the most useful one with at most ``max_risk``, or the one that a
        straight trade-off of ``slope`` (risk per unit of utility) favours; without any, the one of the plan's rule.

        With a reason ``why``, the choice is recorded in the study's decision log, and ``by`` is who recommends it.

        Errors: :class:`UsageError` where no candidate is within the bound, where two are equally good, or where more
        than one rule is given.

        Example::

            best = swaps.choose(max_risk=0.013)
        """
        made = self._map(view)
        if why:
            choose(self.study, made, why, candidate=candidate, max_risk=max_risk, slope=slope, by=by)
        picked = pick(self.study, made, candidate=candidate, max_risk=max_risk, slope=slope)
        return self._candidate(picked.index, made, view)

    # -- more runs ---------------------------------------------------------------------------------------------------

    @naming_arguments
    def resume(self, data: Data, *, workers: int = 1, progress: bool = False) -> Self:
        """Do the runs of the plan that are missing, such as after an interruption; returns the sweep itself.

        ``data`` are the records that were swept; ``workers`` and ``progress`` are as in :func:`sweep`.
        """
        self._growth += 1
        fill_study(open_sweep(records_of(data)[0], None, self.study, key=key_of(self.study)), workers, progress)
        return self

    @naming_arguments
    def extend(self, data: Data, *, workers: int = 1, progress: bool = False, **options: Unpack[SweepOptions]) -> Self:
        """Add rates, swaps, mechanisms or replicates to the plan and run them; returns the sweep itself.

        Runs that were done stay as they are; everything that the plan had stays in it.

        Example::

            swaps.extend(df, rates=[0.05], replicates=50)
        """
        check_options(options, ("workers", "progress"))
        raw = records_of(data)[0]
        plan = extended_plan(self.plan, described_plan(data, raw, None, self.plan, options))
        self._growth += 1
        fill_study(open_sweep(raw, plan, self.study, key=key_of(self.study), extend=True), workers, progress)
        return self

    @naming_arguments
    def add_measures(self, data: Data, measures: Sequence[str], *, workers: int = 1) -> Self:
        """Measure every run under further measures, by drawing its release again; returns the sweep itself.

        Example::

            swaps.add_measures(df, ["cramers_v_change"])
        """
        check_kind("measures", measures)
        self._growth += 1
        add_measures(self.study, records_of(data)[0], key_of(self.study), measures, workers=workers)
        return self

    @naming_arguments
    def recheck(
        self, data: Data, candidates: Sequence[str] = (), *, replicates: int = 20, **view: Unpack[View]
    ) -> pd.DataFrame:
        """Run candidates on fresh replicates, and return their figures there with the columns of :meth:`to_frame`.

        Who looks best among many was partly lucky: these figures did not lead to the choice.  ``candidates`` are ids,
        by default those on the frontier.

        Example::

            swaps.recheck(df, [best.id], replicates=50)
        """
        check_list("candidates", candidates)
        indices = [self.study.find(one)[0].index for one in candidates] or self._map(view).frontier().tolist()
        reevaluate(self.study, records_of(data)[0], key_of(self.study), indices, replicates)
        made = risk_utility_map(self.study, fresh=True, **view)
        frame = _frame(scenario_rows(made), columns_of(made, "scenario"))
        return frame.loc[[made.scenarios[index].label for index in indices]]

    # -- keeping it --------------------------------------------------------------------------------------------------

    @naming_arguments
    def save(self, path: str | Path) -> None:
        """Write the study to a file, and its key beside it to ``PATH.key``, which its owner alone can read.

        The command line and the dashboard open it too.  Errors: :class:`UsageError` for a path that exists.
        """
        self.study.save(path)

    def close(self) -> None:
        """Close the study; what was in memory only is gone."""
        self.study.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _candidate(self, place: int, made: RiskUtilityMap, view: View) -> Candidate:
        growth = self._growth
        return Candidate(self.study, place, lambda: made if self._growth == growth else self._map(view))

    def _map(self, view: View) -> RiskUtilityMap:
        for name, value in view.items():
            if value is not None:
                check_kind(name, value)
        return risk_utility_map(self.study, **view)


def _frame(rows: list[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    """Rows of candidates or runs by their ids; undefined figures are NaN."""
    import pandas as pd

    frame = pd.DataFrame(rows, columns=[name for name in columns if name != "optimal"])
    figures = [name for name in frame.columns if name not in _TEXTS and frame[name].dtype == object]
    frame = frame.astype(dict.fromkeys(figures, float)).assign(rate=pd.to_numeric(frame["rate"]))
    return frame.rename(columns={"id": "candidate"}).set_index("candidate")


_TEXTS = ("id", "mechanism", "rate", "spec", "status", "dominance")
