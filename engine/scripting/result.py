"""Result of a sweep, for scripts: candidates, frontier, map and choice."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, SupportsIndex, Unpack, overload

from engine.common.errors import SweepInterruptedWarning, UndefinedFigureWarning, UsageError
from engine.common.output import Ticker, announce
from engine.common.wording import quoted
from engine.decision.choice import choose, finalists, pick
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.plan import Plan, extended_plan
from engine.release.scenarios import NoteKind
from engine.report.candidate_table import run_table, scenario_table
from engine.report.detected import attack_choice
from engine.report.unit_counts import unit_columns, with_units
from engine.scripting.arguments import SweepOptions, View, public, whole_number
from engine.scripting.candidate import Candidate, key_of
from engine.scripting.data import Data, described_plan, records_of
from engine.study.map_reader import objective_indices, risk_utility_map
from engine.study.runs import RunTable
from engine.study.study import Study
from engine.sweeps.sweep import OpenSweep, add_measures, open_sweep, recheck

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure


def is_watched(progress: bool | None) -> bool:
    """Return whether progress is shown: as asked, else on a terminal and in a notebook."""
    if progress is not None:
        return progress
    return "ipykernel" in sys.modules or bool(sys.stderr and sys.stderr.isatty())


def fill_study(opened: OpenSweep, workers: int, progress: bool | None) -> None:
    """Draw and measure what a study does not hold yet, and warn of undefined figures; an interruption ends the work and
    leaves what is done."""
    try:
        if is_watched(progress):
            ticker = Ticker()
            opened.run(workers=workers, on_progress=ticker, on_time_left=ticker.time_left, announce=announce)
        else:
            opened.run(workers=workers)
    except KeyboardInterrupt:
        state = opened.study.progress
        warnings.warn(
            f"interrupted after {state.done:,} of {state.total:,} runs; what is done can be used, and resume goes on",
            SweepInterruptedWarning,
            stacklevel=4,
        )
    warn_of_undefined(opened.study, stacklevel=5)


def warn_of_undefined(study: Study, table: RunTable = "realisation", stacklevel: int = 4) -> None:
    """Warn of each measure that has no figure for some runs, with the reason of the first."""
    for k, call in enumerate(study.measures):
        runs = study.runs.undefined(k, table)
        if runs is None:
            continue
        n, (scenario, replicate) = runs
        reasons = [
            note.text
            for note in study.notes.of(scenario)
            if (note.replicate, note.kind, note.measure) == (replicate, NoteKind.FIGURE, k)
        ]
        reason = reasons[0].removeprefix(f"{call}: ") if reasons else call.measure.undefined
        warnings.warn(
            f"measure '{call}' is undefined in {n:,} of {study.runs.count(table):,} runs, first in "
            f"{study.scenarios[scenario].label}/{replicate}: {reason}",
            UndefinedFigureWarning,
            stacklevel=stacklevel,
        )


class Sweep(Sequence[Candidate]):
    """Result of a sweep: every candidate with the figures of its runs.

    It holds no records.  It is a sequence of :class:`Candidate`, of which ``swaps["x7f3"]`` and ``"x7f3" in swaps``
    take the id too; a slice is a list.  Methods that compare candidates take ``risk`` and ``utility`` (names of
    measures; default: those of the plan, else the first of each kind), ``objectives`` (two or more measures that define
    the frontier together) and ``allow_partial`` (let runs count that found too few partners).
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
        """Return whether all runs of the plan are done."""
        space = self.plan.space
        if space.adaptive or space.search:  # it has ended where nothing is promising any more
            return self.study.progress.state == "finished"
        return self.study.runs.count(up_to=space.replicates) == len(self) * space.replicates

    @property
    def candidates(self) -> list[Candidate]:
        """All candidates, in the order of the plan."""
        return list(self)

    def __len__(self) -> int:
        return self.study.n_scenarios

    def __iter__(self) -> Iterator[Candidate]:
        view = self._current({})
        return (Candidate(self.study, k, view) for k in range(len(self)))

    @overload
    def __getitem__(self, candidate: int | str) -> Candidate: ...
    @overload
    def __getitem__(self, candidate: slice) -> list[Candidate]: ...
    def __getitem__(self, candidate: int | str | slice) -> Candidate | list[Candidate]:
        if isinstance(candidate, slice):
            parts = (candidate.start, candidate.stop, candidate.step)
            start, stop, step = (None if part is None else whole_number("a limit of a slice", part) for part in parts)
            if step == 0:
                raise UsageError("the step of a slice is 0, must be another whole number such as 1 or -1")
            view = self._current({})
            return [Candidate(self.study, k, view) for k in range(len(self))[start:stop:step]]
        if not isinstance(candidate, SupportsIndex):
            return Candidate(self.study, self.study.find(candidate)[0].index, self._current({}))
        candidate, n = whole_number("the index of a candidate", candidate), len(self)
        if not -n <= candidate < n:
            raise IndexError(f"the sweep has {n:,} candidates, none with the index {quoted(candidate)}")
        return Candidate(self.study, range(n)[candidate], self._current({}))

    def __contains__(self, candidate: object) -> bool:
        if isinstance(candidate, str):
            return self.study.scenarios.index_of(candidate) is not None
        return isinstance(candidate, Candidate) and candidate.study is self.study

    def __reduce__(self) -> NoReturn:
        raise UsageError("a sweep cannot be pickled or copied; save it to a file and open that with engine.open_study")

    def __repr__(self) -> str:
        if self.study.is_closed:
            return f"<Sweep, closed: study {self.study.name}>"
        about, progress = self.study.about, self.study.progress
        names = self.study.names
        state = "" if self.is_complete else f" ({progress.state}: {progress.total:,} planned)"
        return (
            f"<Sweep of {about['n_records']:,} records by {', '.join(names[:4])}"
            f"{' and so on' if len(names) > 4 else ''}: {len(self):,} candidate{'s' if len(self) != 1 else ''}, "
            f"{progress.done:,} runs{state}{self._frontier_in_words()}>"
        )

    def _frontier_in_words(self) -> str:
        try:
            names = " and ".join(str(self.study.measures[k]) for k in objective_indices(self.study))
            return f"; {int(self._map({}).dominance.undominated.sum()):,} on the frontier of {names}"
        except UsageError:  # without a risk and a utility measure there is no frontier
            return ""

    def _repr_html_(self) -> str:
        line = f"<p>{escape(repr(self))}</p>"
        if self.study.is_closed or not self._frontier_in_words():
            return line
        figures = [name for call in self.measures for name in (call, f"{call}_se")]
        return line + self.frontier()[["spec", "rate", *figures, "dominance"]].to_html()

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        """The map for notebooks that draw plotly figures; others have the table of ``_repr_html_``."""
        if self.study.is_closed or not self._frontier_in_words():
            return {}
        return {"application/vnd.plotly.v1+json": json.loads(str(self.plot().to_json()))}

    # -- tables and the map ------------------------------------------------------------------------------------------

    @public
    def frontier(self, **view: Unpack[View]) -> pd.DataFrame:
        """Return the candidates that no other one dominates, from least to most risk; :meth:`recall` says how many of
        the truly undominated ones chance hides.

        One row a candidate, by its id, with these columns:

        * ``mechanism``, ``rate`` (share of records in swaps, 0 to 1; NaN for other mechanisms), ``amount`` (how much is
          changed, in the terms of the mechanism, such as "5 records each way"), ``spec`` (what is
          swapped, or the parameters);
        * ``replicates`` and ``failed`` (runs), ``records_changed`` (mean over the runs); where the plan names a unit
          also ``households_swapped`` and ``persons_swapped`` (NaN where persons are swapped singly);
        * for each measure a column of its name, the mean over the runs in the measure's own unit, and one with ``_se``
          behind the name, the standard error of that mean; undefined figures are NaN;
        * ``undominated``, ``dominance`` ("clear" or "uncertain", given the noise of the means, or "no change" of one
          that is the original), ``share_undominated`` (share of replicates in which it is on the frontier),
          ``riskier_than_original`` (more risk than the unaltered data have).

        Example::

            swaps.frontier()[["spec", "rate", "small_cells", "small_cells_se", "hellinger"]]
        """
        current = self._map(view)
        frame = self._candidates_frame(current, undominated=True)
        return frame.loc[[current.scenarios[k].label for k in current.frontier().tolist()]]

    @public
    def recall(self, **view: Unpack[View]) -> float:
        """Return the share of the true frontier that :meth:`frontier` is expected to hold, from 0 to 1.

        Chance hides the rest: of two candidates whose means differ by less than their noise, the better one is missed
        about half the time.  With 20 runs a map may miss a fifth, with 5 a third; more runs find more.  The
        share is rather too high than too low, and NaN where nothing is known about noise, as with one run.

        Example::

            swaps.recall()
        """
        return self._map(view).recall

    @public
    def to_frame(self, *, runs: bool = False, **view: Unpack[View]) -> pd.DataFrame:
        """Return all candidates, one row each, with the columns of :meth:`frontier`; with ``runs`` all runs.

        A run is named by its candidate and number, such as x7f3/1, and has ``candidate``, ``replicate``, ``status``
        ("ok", "failed", "noop" where nothing was to be changed, "partial" where some records found no partner),
        ``records_changed``, its figures by measure, and ``undominated``.
        """
        current = self._map(view)
        if not runs:
            return self._candidates_frame(current)
        columns, rows = run_table(current)
        frame = _frame(with_units(rows, self.study), unit_columns(columns, self.study)).rename_axis("run")
        frame.insert(0, "candidate", [run.partition("/")[0] for run in frame.index])
        return frame

    @public
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

        Parameters: ``drawn`` is "map", "quantile" (the risk is what a share of single runs do not exceed, with its
        interval: the plan's ``probability``, else nine tenths), "rates" (a panel for each rate), "labelled"
        (what is swapped stands beside the points) or "runs" (every run); ``colour`` is "rate" or another way to tell
        candidates apart; ``max_risk`` or ``slope`` draws that rule and marks what it picks.

        Example::

            swaps.plot(max_risk=0.013).write_html("map.html")
        """
        from frontier_app.charts.maps import script_map

        picked = None
        current = self._map(view)
        if max_risk is not None or slope is not None:
            picked = pick(self.study, current, max_risk=max_risk, slope=slope).index
        return script_map(current, drawn=drawn, colour=colour, bound=max_risk, slope=slope, picked=picked)

    # -- choice ------------------------------------------------------------------------------------------------------

    @public
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
        current = self._current(view)
        if why:
            choose(self.study, current(), why, candidate=candidate, max_risk=max_risk, slope=slope, by=by)
        picked = pick(self.study, current(), candidate=candidate, max_risk=max_risk, slope=slope)
        return Candidate(self.study, picked.index, current, picked.bound)

    # -- more runs ---------------------------------------------------------------------------------------------------

    @public
    def resume(self, data: Data, *, workers: int = 1, progress: bool | None = None) -> Self:
        """Do the runs of the plan that are missing, such as after an interruption; returns the sweep itself.

        ``data`` are the records that were swept; ``workers`` and ``progress`` are as in :func:`sweep`.
        """
        self._growth += 1
        fill_study(open_sweep(records_of(data)[0], None, self.study, key=key_of(self.study)), workers, progress)
        return self

    @public
    def extend(
        self, data: Data, *, workers: int = 1, progress: bool | None = None, **options: Unpack[SweepOptions]
    ) -> Self:
        """Add rates, swaps, mechanisms or replicates to the plan and run them; returns the sweep itself.

        Runs that were done stay as they are; everything that the plan had stays in it.

        Example::

            swaps.extend(df, rates=[0.05], replicates=50)
        """
        raw = records_of(data)[0]
        plan = extended_plan(self.plan, described_plan(data, raw, None, self.plan, options))
        self._growth += 1
        fill_study(open_sweep(raw, plan, self.study, key=key_of(self.study), extend=True), workers, progress)
        return self

    @public
    def add_measures(self, data: Data, measures: Sequence[str], *, workers: int = 1) -> Self:
        """Measure every run under further measures, by drawing its release again; returns the sweep itself.

        Example::

            swaps.add_measures(df, ["cramers_v_change"])
        """
        self._growth += 1
        add_measures(self.study, records_of(data)[0], key_of(self.study), measures, workers=workers)
        warn_of_undefined(self.study)
        return self

    @public
    def recheck(
        self,
        data: Data,
        candidates: Sequence[str] = (),
        *,
        replicates: int | None = None,
        workers: int = 1,
        **view: Unpack[View],
    ) -> pd.DataFrame:
        """Run candidates on fresh replicates, and return their figures there with the columns of :meth:`to_frame`.

        Who looks best among many was partly lucky: these figures did not lead to the choice.  ``candidates`` are ids,
        by default those on the frontier and what was chosen last; ``replicates`` is the number of fresh runs of each,
        by default as many as tell whether the plan's share of runs meets its bound (100 for 90 %, and without a bound);
        ``workers`` is as in :func:`sweep`.  The recommended release, if it is among them, is attacked too: a board
        approves no other.

        Example::

            swaps.recheck(df, [best.id], replicates=50)
        """
        indices = [self.study.find(label)[0].index for label in candidates] or finalists(self.study, self._map(view))
        raw, key = records_of(data)[0], key_of(self.study)
        attack_choice(self.study, raw, key, indices)
        recheck(self.study, raw, key, indices, replicates, workers=workers)
        warn_of_undefined(self.study, "fresh")
        fresh = risk_utility_map(self.study, fresh=True, **view)
        frame = self._candidates_frame(fresh, fresh=True)
        return frame.loc[[fresh.scenarios[k].label for k in indices]]

    # -- keeping it --------------------------------------------------------------------------------------------------

    @public
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

    def _candidates_frame(
        self, view: RiskUtilityMap, *, undominated: bool = False, fresh: bool = False
    ) -> pd.DataFrame:
        columns, rows = scenario_table(view, undominated=undominated)
        return _frame(with_units(rows, self.study, fresh=fresh), unit_columns(columns, self.study))

    def _map(self, view: View) -> RiskUtilityMap:
        return risk_utility_map(self.study, **view)

    def _current(self, view: View) -> Callable[[], RiskUtilityMap]:
        """The map that candidates look at: made when it is first asked for, and again once runs or measures were
        added."""
        known: dict[int, RiskUtilityMap] = {}

        def current() -> RiskUtilityMap:
            if self._growth not in known:
                known.clear()
                known[self._growth] = self._map(view)
            return known[self._growth]

        return current


def _frame(rows: list[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    """Rows of candidates or runs by their ids; undefined figures are NaN."""
    import pandas as pd

    frame = pd.DataFrame(rows, columns=[name for name in columns if name != "optimal"])
    figures = [name for name in frame.columns if name not in _TEXTS and frame[name].dtype == object]
    frame = frame.astype(dict.fromkeys(figures, float)).assign(rate=pd.to_numeric(frame["rate"]))
    return frame.rename(columns={"id": "candidate"}).set_index("candidate")


_TEXTS = ("id", "mechanism", "rate", "amount", "spec", "status", "dominance")
