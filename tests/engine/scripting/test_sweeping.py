"""Five lines from a DataFrame to a protected one; the same figures as the command line; nothing on disk unasked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

import engine as sf
from engine.cli.main import main
from engine.measures import MEASURES, Measure
from engine.plan import plan_to_toml
from engine.scripting.arguments import REMEDIES
from engine.study.decision_log import entries
from engine.study.keys import key_path
from tests import needs
from tests.engine.scripting.people import KEY, SPACE, people


@pytest.fixture
def swaps():
    with sf.sweep(people(), ["age", "sex", "race"], key=KEY, **SPACE) as made:
        yield made


def test_five_lines_from_a_frame_to_a_protected_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    df = people()
    swaps = sf.sweep(df, attributes=["age", "sex", "race"], **SPACE)
    frontier = swaps.frontier()
    swaps.plot()
    best = swaps.choose(max_risk=float(frontier["small_cells"].max()))
    released = best.release(df)
    assert [*tmp_path.iterdir()] == []
    assert released.index.equals(df.index) and released.dtypes.equals(df.dtypes)
    assert [*released.columns] == [*df.columns]
    moved = [name for name in df if not released[name].equals(df[name])]
    assert 0 < len(moved) <= 2 and set(moved) <= {"age", "sex", "race"}
    for name in moved:
        assert sorted(released[name].astype(str)) == sorted(df[name].astype(str))
    assert (released[moved] != df[moved]).any(axis=1).sum() <= best.runs["records_changed"].iloc[0]


@pytest.mark.slow
def test_figures_are_those_of_the_command_line(swaps, tmp_path, capsys):
    people().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "plan.toml").write_text(plan_to_toml(swaps.plan), encoding="utf-8")
    study = tmp_path / "people.study"
    key_path(study).write_text(KEY.hex())
    assert (
        main(["sweep", str(tmp_path / "people.csv"), "--study", str(study), "--plan", str(tmp_path / "plan.toml")]) == 0
    )
    with sf.open_study(study) as other:
        assert_frame_equal(other.to_frame(runs=True), swaps.to_frame(runs=True), check_exact=True)
        assert_frame_equal(other.frontier(), swaps.frontier(), check_exact=True)


@pytest.mark.slow
def test_saved_and_opened_it_is_the_same(swaps, tmp_path):
    swaps.save(tmp_path / "kept.study")
    best = swaps.choose(max_risk=1)
    with sf.open_study(tmp_path / "kept.study") as again:
        assert repr(again) == repr(swaps) and again.plan == swaps.plan
        assert_frame_equal(again.to_frame(), swaps.to_frame(), check_exact=True)
        assert_frame_equal(again[best.id].release(people()), best.release(people()))


def test_a_path_keeps_the_study_and_goes_on_with_it(tmp_path):
    path = tmp_path / "people.study"
    with sf.sweep(people(), ["age", "sex"], study=path, **SPACE) as first:
        runs = first.to_frame(runs=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["people.study", "people.study.key"]
    with sf.sweep(people(), study=path) as again:
        assert_frame_equal(again.to_frame(runs=True), runs)


@pytest.mark.slow
def test_processes_give_the_same(swaps):
    with sf.sweep(people(), ["age", "sex", "race"], key=KEY, workers=2, **SPACE) as other:
        assert_frame_equal(other.to_frame(runs=True), swaps.to_frame(runs=True), check_exact=True)


@pytest.mark.slow
def test_the_system_draws_a_key_unless_one_is_given(swaps, tmp_path):
    assert swaps.key == KEY
    assert sf.sweep(people(), ["age", "sex"], **SPACE).key != KEY
    (tmp_path / "k").write_text(KEY.hex())
    other = sf.sweep(people(), ["age", "sex", "race"], key=tmp_path / "k", **SPACE)
    assert_frame_equal(other.to_frame(), swaps.to_frame())


def test_missing_values_are_a_level_and_categories_keep_their_order():
    df = people()
    swaps = sf.sweep(df, ["school", "sex"], specs=["school:S"], rates=[0.3], replicates=2)
    assert swaps.plan.attributes[0].on_missing == "level"
    assert swaps.plan.attributes[1].levels == ("m", "f")
    released = swaps[0].release(df)
    assert released["school"].isna().equals(df["school"].isna())  # a swap exchanges answers only
    assert not released["school"].equals(df["school"])


def test_what_leaves_follows_the_plan():
    df = people().assign(case=[f"c{i}" for i in range(120)], secret=1, weight=[i / 7 for i in range(120)])
    swaps = sf.sweep(df, ["age", "sex"], id="case", weight="weight", drop=["secret"], **SPACE)
    best = swaps.choose(max_risk=1)
    assert [*best.release(df).columns] == ["age", "sex", "race", "school", "income"]
    full = best.release(df, include=["weight", "id"])
    assert full["weight"].equals(df["weight"])
    assert sorted(full["case"]) == list(range(1, 121))


def test_other_mechanisms_stand_beside_the_random_swap():
    df = people()
    declared = {"random_swap": {}, "rds": {"s": [2, 3]}, "noise": {"cols": "income"}}
    space = {**SPACE, "swap_sizes": [1], "replicates": 2}
    swaps = sf.sweep(df, ["age", "sex", "race"], keys=["age", "sex"], mechanisms=declared, **space)
    frame = swaps.to_frame()
    assert frame["mechanism"].value_counts().to_dict() == {"random_swap": 6, "rds": 2, "noise": 1}
    noisy = swaps[str(frame.index[frame["mechanism"] == "noise"][0])].release(df)
    assert noisy["income"].dtype == df["income"].dtype and not noisy["income"].equals(df["income"])
    assert noisy["age"].equals(df["age"])


@pytest.mark.slow
def test_a_plan_is_given_as_text_path_or_value(swaps, tmp_path):
    text = plan_to_toml(swaps.plan)
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    for plan in (text, tmp_path / "plan.toml", str(tmp_path / "plan.toml"), swaps.plan):
        assert sf.sweep(people(), plan=plan, replicates=1).plan.names == ("age", "sex", "race")


def test_interrupted_it_holds_what_was_done(request):
    calls = []

    def interrupting(batch):
        calls.append(1)
        if len(calls) == 3:  # the first measures the unaltered data
            raise KeyboardInterrupt
        return np.zeros(len(batch))

    words: dict[str, Any] = dict.fromkeys(("symbol", "title", "range", "unit", "source", "meaning"), "interrupts")
    sf.register_measure(Measure("interrupts", kind="risk", better="lower", over="all", compute=interrupting, **words))
    request.addfinalizer(lambda: MEASURES.unregister("interrupts"))
    space = {**SPACE, "replicates": 100, "measures": ["interrupts", "hellinger"]}
    with pytest.warns(sf.SweepInterruptedWarning, match="interrupted after"):
        swaps = sf.sweep(people(), ["age", "sex", "race"], **space)
    assert not swaps.is_complete and 0 < len(swaps.to_frame(runs=True)) < 1200
    assert "cancelled" in repr(swaps) and len(swaps.frontier())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"attributes": ["agee"]}, "unknown column 'agee'. Did you mean 'age'?"),
        ({"attributes": ["age", "sex"], "rates": [1.5]}, "rate == 1.5, must be between 0 and 1. Did you mean 0.015"),
        (
            {"attributes": ["age", "sex"], "swap_size": [1]},
            "sweep has no argument 'swap_size'. Did you mean 'swap_sizes'",
        ),
        ({"attributes": ["age", "sex"], "swap_sizes": [3]}, "swap size == 3, must be at most 2"),
        (
            {"attributes": ["age", "sex"], "measures": ["helinger"]},
            "unknown measure 'helinger'. Did you mean",
        ),
        ({"attributes": ["age", "sex"], "mechanisms": {"rdss": {}}}, "unknown mechanism 'rdss'"),
        ({"attributes": "age"}, "attributes is 'age', must be a list such as ['age']"),
        ({"attributes": ["age", "sex"], "swap_sizes": 2}, "swap_sizes is 2, must be a list such as [2]"),
        ({"attributes": ["age", "sex"], "measures": "hellinger"}, "must be a list such as ['hellinger']"),
        ({"attributes": ["age", "sex"], "workers": 0}, "workers == 0, must be at least 1"),
        ({"attributes": ["age", "sex"], "key": b"short"}, "key has 5 bytes, must have 16"),
    ],
)
def test_what_is_wrong_is_refused_in_a_sentence(arguments, sentence):
    with pytest.raises(sf.UsageError) as refused:
        sf.sweep(people(), **{**SPACE, **arguments})
    assert sentence in str(refused.value)


@pytest.mark.slow
def test_arrays_are_lists(swaps):
    arrays = {"swap_sizes": np.array([1, 2]), "rates": np.array([0.05, 0.2])}
    attributes = people().columns[:3]
    other = sf.sweep(people(), attributes, key=KEY, **{**SPACE, **arrays})
    assert other.plan == swaps.plan


def test_other_records_are_refused(swaps):
    other = people()
    other.loc["p0", "age"] = 9
    with pytest.raises(sf.UsageError, match="made on other data"):
        swaps[0].release(other)


def test_a_column_that_tells_who_is_who_is_warned_of():
    df = people().assign(note=[i / 7 for i in range(120)])
    with pytest.warns(sf.DisclosureWarning, match="note"):
        sf.sweep(df, ["age", "sex"], carry=["note"], **SPACE)


def test_own_words_are_short(swaps):
    assert repr(swaps).startswith("<Sweep of 120 records by age, sex, race: 12 candidates, 144 runs; ")
    assert repr(swaps[0]).startswith(f"<Candidate {swaps[0].id}: age:S at 5 %; small_cells ")
    assert len(swaps) == len(swaps.candidates) == 12


@pytest.mark.slow
def test_importing_it_is_quick_and_brings_no_pandas():
    code = "import engine, sys; print({'pandas', 'numpy', 'plotly', 'streamlit'} & set(sys.modules)); engine.sweep"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "set()"


def test_every_name_is_there_and_none_is_secret():
    assert all(getattr(sf, name) is not None for name in sf.__all__)
    assert set(sf.__all__) <= set(dir(sf))
    with pytest.raises(AttributeError, match="has no attribute 'swep'"):
        _ = sf.swep


def test_the_package_says_that_it_is_typed():
    assert (Path(sf.__file__).parent / "py.typed").exists()


def test_it_is_extended_resumed_measured_and_rechecked(swaps):
    df, before = people(), swaps.to_frame(runs=True)
    swaps.extend(df, rates=[0.1], replicates=13)
    assert len(swaps) == 18 and len(swaps.to_frame(runs=True)) == 18 * 13 and swaps.is_complete
    after = swaps.to_frame(runs=True).loc[before.index]
    assert_frame_equal(after.drop(columns="undominated"), before.drop(columns="undominated"))
    assert len(swaps.resume(df).to_frame(runs=True)) == 18 * 13
    swaps.add_measures(df, ["total_variation"])
    assert swaps.measures == ("small_cells", "hellinger", "total_variation")
    fresh = swaps.recheck(df, replicates=3)
    assert set(fresh.index) == set(swaps.frontier().index) and (fresh["replicates"] == 3).all()
    assert not [entry for entry in entries(swaps.study) if entry.event == "attacked"], "nothing is recommended"
    chosen = swaps.choose(fresh.index[0], why="so", by="Ada")
    swaps.recheck(df, [chosen.id], replicates=3)
    (attacked,) = [entry for entry in entries(swaps.study) if entry.event == "attacked"]
    assert attacked.detail["candidate"] == f"{chosen.id}/{chosen.replicate}"


@needs.PROC
def test_a_study_that_cannot_be_saved_is_one_sentence(swaps):
    with pytest.raises(sf.EngineError, match="could not be written"):
        swaps.save("/proc/x.study")


def test_an_error_names_the_argument_that_mends_it(swaps):
    df = people().assign(case=[f"c{i}" for i in range(120)])
    with pytest.raises(sf.EngineError, match=r"looks like an id.*\(id='case', carry=\['case'\] or drop=\['case'\]\)"):
        sf.sweep(df, ["age", "sex"], **SPACE)
    with pytest.raises(sf.UsageError, match=r"attribute 'income' is numeric.*\(cut=\{'income': \["):
        sf.sweep(people(), ["age", "income"], **SPACE)
    with pytest.raises(sf.UsageError, match=r"\(choose\('ID'\), choose\(max_risk=A\) or choose\(slope=A\)\)"):
        swaps.choose()


def test_no_sentence_names_an_option_of_the_command_line():
    assert not [text for text in REMEDIES.values() if "--" in text or "frontier " in text]


def test_a_choice_with_a_reason_is_recorded(swaps):
    swaps.choose(max_risk=1)
    assert not swaps.study.choices.all()
    best = swaps.choose(max_risk=1, why="most useful", by="A. Analyst")
    assert [choice.label for choice in swaps.study.choices.all()] == [best.id]


@pytest.mark.parametrize("where", ["a script", "a notebook"])
def test_progress_is_shown_where_somebody_watches(where, monkeypatch, capsys):
    if where == "a notebook":
        monkeypatch.setitem(sys.modules, "ipykernel", sys)
    with sf.sweep(people(), ["age", "sex", "race"], key=KEY, **SPACE) as made:
        shown = f"{made.study.progress.total:,} runs" in capsys.readouterr().err
    assert shown == (where == "a notebook")
