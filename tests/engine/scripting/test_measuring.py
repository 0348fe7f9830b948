"""A release that was made elsewhere is measured as the sweep measures its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pandas.testing import assert_series_equal

import engine as sf
from engine.measures import MEASURES as registry
from engine.measures import Figure
from engine.models.record_release import RecordRelease
from tests.engine.scripting.people import KEY, SPACE, people

MEASURES = ["small_cells", "hellinger", "r1_share"]


@pytest.mark.slow
@pytest.mark.parametrize("mechanisms", [{"random_swap": {}}, {"pram": {"theta": 0.7}}])
def test_figures_are_those_of_the_sweep(mechanisms):
    df = people().drop(columns="school")
    space = {**SPACE, "swap_sizes": [1], "rates": [0.2], "replicates": 2, "measures": MEASURES}
    with sf.sweep(df, ["age", "sex", "race"], key=KEY, mechanisms=mechanisms, **space) as swaps:
        for candidate in swaps:
            made = candidate.release(df)
            measured = sf.risk_utility(df, made, ["age", "sex", "race"], measures=MEASURES)
            assert_series_equal(measured["released"], candidate.figures["released"])
            assert_series_equal(measured["original"], candidate.figures["original"])
            shuffled = made.sample(frac=1, random_state=1)
            again = sf.risk_utility(df, shuffled, ["age", "sex", "race"], measures=MEASURES)
            assert again.equals(measured)


def test_numbers_are_those_of_the_release():
    df = people()
    plan = sf.sweep(df, ["age", "sex"], rates=[0.1], replicates=1).plan
    plan = replace(plan, data=replace(plan.data, numeric=("income",)))
    figures = sf.risk_utility(df, df.assign(income=df["income"] + 100), plan=plan, measures=["mean_shift"])
    assert figures["original"]["mean_shift"] == 0 < figures["released"]["mean_shift"]


def test_levels_may_be_new_and_columns_missing():
    df = people()
    made = df.drop(columns=["income"]).assign(age=df["age"].replace(3, 4))
    figures = sf.risk_utility(df, made, ["age", "sex"], measures=["hellinger"])
    assert figures["released"]["hellinger"] > 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda df: df.iloc[1:], "the original has 120 records and the release 119"),
        (lambda df: df.reset_index(drop=True), "another index than those of the original"),
        (lambda df: df[["school"]].rename(columns={"school": "x"}), "no column in common"),
    ],
)
def test_tables_that_do_not_match_are_refused(change, sentence):
    with pytest.raises(sf.EngineError, match=sentence):
        sf.risk_utility(people(), change(people()), ["age", "sex"])


def test_the_lists_name_what_there_is():
    assert sf.list_measures()["kind"]["small_cells"] == "risk"
    assert sf.list_measures()["parameters"]["small_cells"] == "n_rule=3"
    assert [*sf.list_mechanisms().index[:2]] == ["random_swap", "rds"]
    assert sf.list_mechanisms()["parameters"]["rds"].startswith("s=")
    assert "czech" in set(sf.list_samples()["name"])
    assert sf.load("czech").shape == (1841, 6)


def test_a_column_of_texts_beside_one_of_numbers_is_named():
    df = people()
    with pytest.raises(sf.EngineError, match="column 'age' holds int64 in the original and string in the release"):
        sf.risk_utility(df, df.assign(age=df["age"].astype(str)), ["age", "sex"])


def test_a_figure_that_is_undefined_on_the_original_says_why(request):
    def own(release: RecordRelease, attributes: tuple[int, ...]) -> Figure:
        """Has a figure of altered records only."""
        moved = release.changed(release.tables[0], attributes).sum()
        return Figure(1 / int(moved))

    sf.register_measure(sf.Measure.of(own, "risk", needs="records"))
    request.addfinalizer(lambda: registry.unregister("own"))
    df = people()
    row = sf.risk_utility(df, df.assign(age=df["age"].to_numpy()[::-1]), ["age", "sex"], measures=["own"]).loc["own"]
    assert row["note"] == "on the original: own: division by zero" and row["released"] > 0
