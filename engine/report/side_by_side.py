"""The declared analyses on several runs of the recommended candidate and of its nearest neighbours, side by side."""

from __future__ import annotations

from collections import defaultdict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.mechanisms import mechanism
from engine.models.analyses import compare
from engine.models.record_release import RecordRelease
from engine.report.facts import AnalysisRuns, CoefficientRuns
from engine.report.losses import coefficient_flags, coefficient_name, tolerances_of
from engine.study.keys import key_path, read_key
from engine.sweeps.candidates import setting_of
from engine.sweeps.remake import stream_of

if TYPE_CHECKING:
    from engine.report.context import ReportContext

RUNS = 5
"""Runs of each candidate that are made again: a few of them, as each is fitted as often as there are analyses."""


def side_by_side(
    context: ReportContext, release: RecordRelease
) -> tuple[tuple[CoefficientRuns, ...], tuple[AnalysisRuns, ...]]:
    """The change of every coefficient, and the largest of each analysis, over runs of the recommended candidate and of
    its two neighbours; empty where the plan declares no analysis.

    Changes have two digits: the board compares candidates by them, and means over runs with more would tell how many
    records are altered.  The first counted runs of each candidate are drawn again, which takes about as long as the
    run to be released takes, fifteen times; the study stores the figures, never the records.
    """
    analyses, letters = context.study.plan.analyses, compared_letters(context)
    if not analyses:
        return (), ()
    arrays = _stored(context, release, letters)
    coefficient_runs, analysis_runs = [], []
    for number, analysis in enumerate(analyses):
        before = compare(release, analysis, reported=True)
        usable = np.flatnonzero(before.usable)
        for letter in letters:
            shift = arrays[f"shift {number} {letter}"][:, usable]
            for k, values in zip(usable.tolist(), shift.T, strict=True):
                figures, name = values[np.isfinite(values)], coefficient_name(before, k)
                counts = len(figures), len(values) - len(figures)
                coefficient_runs.append(CoefficientRuns(analysis.name, name, letter, *counts, *_spread(figures)))
            worst = np.array([np.abs(run[np.isfinite(run)]).max() for run in shift if np.isfinite(run).any()])
            flagged = float(arrays[f"beyond {number} {letter}"].mean()) if len(usable) else None
            analysis_runs.append(AnalysisRuns(analysis.name, letter, len(shift), len(usable), *_spread(worst), flagged))
    return tuple(coefficient_runs), tuple(analysis_runs)


def compared_letters(context: ReportContext) -> dict[str, int]:
    """The next safer candidate, the recommended one and the next more useful one, as far as there are any."""
    items = list(context.letters.items())
    at = next(i for i, (_, index) in enumerate(items) if index == context.scenario.index)
    return dict(items[max(0, at - 1) : at + 2])


def _spread(values: np.ndarray) -> tuple[float | None, float | None, float | None]:
    if not len(values):
        return None, None, None
    return float(values.mean()), float(values.min()), float(values.max())


def _stored(context: ReportContext, release: RecordRelease, letters: dict[str, int]) -> dict[str, np.ndarray]:
    """Of every analysis and letter the coefficients' changes in standard errors, shape ``(runs, m)``, and how many of
    them are beyond the tolerances, shape ``(runs,)``; as stored in the study or computed from runs made again."""
    study, plan, results = context.study, context.study.plan, context.view.results
    counted = results.counted(context.view.allow_partial)
    replicates = {
        letter: sorted(results.replicate[counted & (results.scenario == index)].tolist())[:RUNS]
        for letter, index in letters.items()
    }
    labels = [(letter, study.scenarios[index].label, replicates[letter]) for letter, index in letters.items()]
    of = repr((labels, plan.analyses, plan.tolerances, plan.data.numeric))
    digest = blake2b(of.encode(), digest_size=12).hexdigest()

    def compute() -> dict[str, np.ndarray]:
        arrays, data = defaultdict[str, list[Any]](list), release.data
        key = study.given_key() or read_key(key_path(study.path))
        for letter, index in letters.items():
            spec = study.scenarios[index].spec
            method, setting = mechanism(spec.mechanism), setting_of(spec, plan, data)
            fitted = method.fitted(setting)
            for replicate in replicates[letter]:
                tables = method.draw_replicate(fitted, setting, stream_of(key, spec, data, replicate)).tables
                run = RecordRelease(release.original, tables, plan, spec)
                for number, analysis in enumerate(plan.analyses):
                    comparison = compare(run, analysis, reported=True)
                    before, after = comparison.before, comparison.after
                    with np.errstate(divide="ignore", invalid="ignore"):
                        shift = np.where(after == before.estimate, 0.0, (after - before.estimate) / before.se)
                    beyond = coefficient_flags(comparison, tolerances_of(plan))[1].sum()
                    arrays[f"shift {number} {letter}"].append(shift)
                    arrays[f"beyond {number} {letter}"].append(beyond)
        return {name: np.array(values, float) for name, values in arrays.items()}

    return study.cache.get(f"realisation analyses {digest}", compute, since=study.database.data_version)
