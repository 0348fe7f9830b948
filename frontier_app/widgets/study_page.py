"""Pages about a finished study: opened with its map, or with a sentence about what is missing."""

from __future__ import annotations

from collections.abc import Callable

from engine.common.errors import EngineError
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.study.study import Study
from frontier_app.session import actions, state
from frontier_app.widgets import elements


def first_step() -> tuple[str, str]:
    """The page to go to where there is no study yet, with the label of its button."""
    return ("data", "Open data") if state.get().raw is None else ("sweep", "Run the sweep")


def with_map(missing: str, show: Callable[[Study, RiskUtilityMap], None]) -> None:
    """Call ``show`` with the study at hand and its map as it is looked at; without a study say what is ``missing``."""
    if actions.own_study() is None:
        elements.empty_page(missing, *first_step())
        return
    look = state.get().look
    try:
        view = actions.the_map(look.risk, look.utility, look.partial)
        with actions.opened() as study:
            assert study is not None and view is not None
            if not len(view.results):
                elements.empty_page("No run has been completed yet.", "sweep", "See the sweep")
                return
            show(study, view)
    except EngineError as error:
        elements.show_error(error)
