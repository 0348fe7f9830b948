"""Sweeps from a script: from data and arguments to a study, in memory unless a path is given."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Unpack

from engine.common.errors import DisclosureWarning
from engine.common.output import announce
from engine.scripting.arguments import SweepOptions, public
from engine.scripting.data import Data, PlanSource, described_plan, plan_of, records_of
from engine.scripting.result import Sweep, fill_study, is_watched
from engine.study.keys import read_key
from engine.study.study import Study
from engine.sweeps.sweep import open_sweep
from engine.sweeps.warnings import remark_text


@public
def sweep(
    data: Data,
    attributes: Iterable[str] | None = None,
    *,
    plan: PlanSource | None = None,
    study: str | Path | None = None,
    key: bytes | str | Path | None = None,
    workers: int = 1,
    progress: bool | None = None,
    **options: Unpack[SweepOptions],
) -> Sweep:
    """Draw and measure every candidate release of a plan, several times each.

    Nothing is written to disk unless ``study`` is given.  The result holds figures and no records.

    Parameters, all but ``data`` optional:

    * ``data``: a DataFrame, the path of a file, or the name of a sample.  The index of a DataFrame is not used.
    * ``attributes``: columns that are coded as categories.  All other columns stay with their record, and one that
      looks like an id has to be named in ``id``, ``unit``, ``carry`` or ``drop``.  Default: every column that looks
      categorical.  Missing values become a level of their own, which no swap exchanges for another one; categoricals
      keep the order of their categories.
    * ``plan``: a :class:`Plan`, the path of a ``plan.toml``, or its text, with levels, merged values, edit rules and
      analyses (docs/architecture.md); all arguments below edit it.
    * ``study``: the path of a study file to make, or to go on with; its key is kept in a file beside it.  The log of a
      new one opens with the other studies of the same data in its folder.
    * ``key``: the study key, 16 bytes or the path of the file that holds them.  Default: a new one from the system.
      The same data, plan and key give the same figures and releases, bit for bit, also on the command line.
    * ``workers``: threads or processes.  With more than one a script needs ``if __name__ == "__main__":`` around the
      call.
    * ``progress``: say on standard error how far the sweep is.  Default: on a terminal and in a notebook.
    * ``keys``, ``swap``, ``analyse``: attributes that an intruder knows, that may be swapped, that users tabulate.
    * ``cut``: edges of numeric attributes, such as ``{"age": [25, 55]}``.
    * ``carry``, ``drop``, ``weight``, ``id``, ``unit``: columns that stay with their record, that never leave, the
      weight, the id, the column that numbers households.
    * ``swap_sizes``, ``all_specs``, ``specs``, ``search``: the random swaps to try: all of so many attributes, all
      roles of all attributes, those written out such as ``"age:S sex:F"``, or a search with a ``budget`` of
      candidates.  Default: all swaps of one and two attributes.
    * ``rates``: shares of the records that take part in swaps, from 0 to 1.
    * ``fix``, ``change``: attributes on which the partners of a swap must be equal, or must differ.
    * ``rule``: ``"strict"`` or ``"loose"``: what counts as a true swap.
    * ``replicates``: runs of each candidate.  With ``adaptive`` only promising ones get more than ``screen``; with
      ``max_risk`` too, those on which the choice depends get up to five times ``replicates``.
    * ``mechanisms``: in place of the random swap, such as ``{"rds": {"s": [2, 3]}, "pram": {"theta": 0.9}}``; a list of
      values is a grid.  Name ``"random_swap"`` among them to keep it.
    * ``measures``: such as ``["small_cells[n_rule=5]", "hellinger"]``.
    * ``risk``, ``utility``, ``max_risk``, ``slope``: the measures and the rule by which a release will be chosen.

    Returns a :class:`Sweep`.  Interrupted (Ctrl-C), it holds what was done until then, and
    :class:`SweepInterruptedWarning` says so.  What a release would tell beyond what is measured is said as a
    :class:`DisclosureWarning`.

    Errors: :class:`UsageError` for arguments that are wrong, :class:`EngineError` for data that cannot be used.

    Example::

        swaps = sf.sweep(df, attributes=["age", "sex", "race"], swap_sizes=[1, 2], rates=[0.01, 0.10],
                         replicates=20, measures=["small_cells", "hellinger"])
    """
    raw, own_plan = records_of(data)
    target = study if study is None or not Path(study).exists() else Study.open(study)
    try:
        base = own_plan if plan is None else plan_of(plan)
        if plan is None and isinstance(target, Study):
            base = target.plan
        opened = open_sweep(
            raw,
            described_plan(data, raw, attributes, base, options),
            target,
            key=Path(key) if isinstance(key, str) else key,
        )
    except BaseException:
        if isinstance(target, Study):
            target.close()
        raise
    for warning in opened.warnings:
        warnings.warn(str(warning), DisclosureWarning, stacklevel=3)
    if is_watched(progress):
        for remark in opened.remarks:
            announce(remark_text(remark))
        for use in opened.unmeasured:
            announce(f"warning: {use.sentence}")
    fill_study(opened, workers, progress)
    return Sweep(opened.study)


@public
def open_study(path: str | Path, key: bytes | str | Path | None = None) -> Sweep:
    """Open a study file that a sweep made, here or on the command line.

    Parameters: ``path`` is the study; ``key`` its key, 16 bytes or the path of the file that holds them, by default
    the file beside the study.  The key is needed only for what draws again: releases, further runs and measures.

    Errors: :class:`EngineError` for what is no study or a damaged one.

    Example::

        swaps = sf.open_study("czech.study")
    """
    study = Study.open(path)
    try:
        if key is not None:
            study.key = key if isinstance(key, bytes) else read_key(Path(key))
        return Sweep(study)
    except BaseException:
        study.close()
        raise
