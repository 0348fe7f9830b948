"""The keys that a candidate leaves as they are, counted on the open data."""

from __future__ import annotations

from engine.data.microdata import Microdata
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.plan.coding import N_RULE, code
from engine.report.other_keys import key_set, may_alter, unswapped_keys
from engine.report.recognised_facts import KeySet
from engine.study.study import Study
from frontier_app.session import state
from frontier_app.widgets.key_table import MOST_KEYS


def fewest_of(view: RiskUtilityMap) -> int:
    """From how many records on a cell is large: as the map's risk has it."""
    return int(view.measures[view.risk].values.get("n_rule", N_RULE))


def of(study: Study, view: RiskUtilityMap, index: int) -> tuple[KeySet, KeySet | None] | None:
    """All keys in the original, and those that a candidate leaves as they are; None without the data, and where there
    are too many keys for a table of them."""
    data = _data(study)
    keys, fewest = study.plan.keys, fewest_of(view)
    if data is None or len(keys) > MOST_KEYS:
        return None
    altered = may_alter(view.scenarios[index].spec)
    known: dict[tuple[str, ...], tuple[KeySet, KeySet | None]]
    known = state.get().memo.get("other-keys", (str(study.path), study.plan.data, keys, fewest), dict)
    if altered not in known:
        both = key_set(data.table, keys, altered, fewest), unswapped_keys(data.table, keys, altered, fewest)
        known[altered] = both
    return known[altered]


def _data(study: Study) -> Microdata | None:
    """The open data as the study codes them; None where other data are open, or none."""
    now, plan = state.get(), study.plan
    raw = now.raw
    if raw is None or raw.n_records != int(study.about["n_records"]):
        return None
    known = now.memo.peek("coded", (plan.data, plan.edits))
    return known or now.memo.get("coded-as-swept", (plan.data, plan.edits), lambda: code(raw, plan))
