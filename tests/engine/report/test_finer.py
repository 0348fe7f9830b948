"""Columns that are released finer than the risk figures count them are named."""

from __future__ import annotations

from pathlib import Path

from engine.data.io.readers import read_table
from engine.plan import plan_from_toml
from engine.plan.coding import code
from engine.sweeps.warnings import CoarseKey, FinerThanCounted, finer_than_counted

_PLAN = """
[[attribute]]
name = "age"
cut = [30]
[[attribute]]
name = "group"
columns = ["income", "group"]
view = ["group"]
[[attribute]]
name = "sex"
"""


def test_cut_columns_and_finer_ones_of_a_block_are_named(tmp_path: Path) -> None:
    rows = [f"{20 + i % 25},{1000 + i},{'lh'[i % 2]},{'fm'[i % 2]}" for i in range(60)]
    (tmp_path / "a.csv").write_text("age,income,group,sex\n" + "\n".join(rows) + "\n")
    plan = plan_from_toml(_PLAN)
    data = code(read_table(tmp_path / "a.csv"), plan)
    (warning,) = finer_than_counted(data, plan.keys)
    assert not warning.refused and [key.name for key in warning.keys] == ["age", "group"]
    assert str(warning) == (
        "2 keys are released finer than they are counted: 'age', 'group'; whoever knows such a value exactly knows "
        "more than the risk figures say; drop what is finer, or let its own values be the levels"
    )
    assert warning.details == (
        "'age' is counted by 2 levels and released as 'age' with 25 values",
        "'group' is counted by 2 levels and released as 'income' with 60 values",
    )
    (single,) = finer_than_counted(data, ["age"])
    assert single.what.startswith("key 'age' is counted by 2 levels and released as 'age' with 25 values; whoever")
    assert single.details == ()
    assert finer_than_counted(data, ["sex"]) == []


def test_a_warning_about_many_keys_stays_one_short_sentence() -> None:
    keys = tuple(CoarseKey(f"key {k}", 3, ((f"column {k}", 77),)) for k in range(8))
    warning = FinerThanCounted(keys)
    assert "'key 2' and 5 more;" in warning.what and "key 3" not in warning.what
    assert len(str(warning)) < 260 and len(warning.details) == 8
