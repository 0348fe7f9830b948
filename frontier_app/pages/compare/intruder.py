"""The view of an intruder on one release: other keys, and detection from published tables of the original."""

from __future__ import annotations

import streamlit as st

from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.models.record_release import RecordRelease
from engine.release.records import ReleasedTable
from engine.report.other_keys import altered_in, key_set, unswapped_keys, worst_few
from engine.report.recognised_facts import KeySet
from engine.study.study import Study
from engine.sweeps.remake import Remade
from frontier_app.pages.compare.counts import Which
from frontier_app.session import state
from frontier_app.widgets import detection, other_keys, verdict
from frontier_app.widgets.key_table import MOST_KEYS
from frontier_app.wording import recognised
from frontier_app.wording.markup import bullets, markdown


def page(study: Study, view: RiskUtilityMap, release: Remade, which: Which) -> None:
    """Unswapped keys and the worst few keys; then detection."""
    fewest = other_keys.fewest_of(view)
    if len(study.plan.keys) <= MOST_KEYS:
        nothing, unswapped, few = state.get().memo.get(
            "few-keys", (which, fewest), lambda: _key_sets(study, release, fewest)
        )
        st.markdown(recognised.unswapped_words(nothing, unswapped, fewest))
        st.markdown(bullets([recognised.few_keys_words(keys, fewest) for keys in few if keys.small]))
    verdict.show(verdict.of(study, release, which[:3]))
    st.markdown(markdown("**{}.** {}", "Published tables of the original", detection.of(study, release, which[:3])))
    st.caption(recognised.UNDONE)


def _key_sets(study: Study, release: Remade, fewest: int) -> tuple[KeySet, KeySet | None, tuple[KeySet, ...]]:
    records = RecordRelease(ReleasedTable(release.data), release.tables, study.plan, release.spec)
    table, altered, keys = release.data.table, altered_in(records), study.plan.keys
    return (
        key_set(table, keys, altered, fewest),
        unswapped_keys(table, keys, altered, fewest),
        worst_few(records, keys, fewest),
    )
