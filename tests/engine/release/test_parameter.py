"""The amount of a candidate, in the terms of its mechanism."""

from __future__ import annotations

import pytest

from engine.common.errors import UsageError
from engine.mechanisms import Mechanism, amount, mechanism
from engine.release.parameter import Amount, Parameter
from engine.release.spec import AttributeSpec, ReleaseSpec

ROLES = AttributeSpec(("A", "B"), "SU")


def spec(name: str, **given: str) -> ReleaseSpec:
    if name == "random_swap":
        return ReleaseSpec(ROLES, given["rate"])
    return ReleaseSpec(ROLES, "", mechanism=name, params=mechanism(name).canonical(given))


@pytest.mark.parametrize(
    ("name", "given", "kind", "words"),
    [
        ("random_swap", {"rate": "0.015"}, "share", "1.5 % of records"),
        ("rds", {}, "word", "as many as are sensitive begin"),
        ("rds", {"rate": "0.10"}, "share", "10 % of records begin"),
        ("rds", {"n_init": "1200"}, "count", "1,200 records begin"),
        ("dds", {}, "word", "all sensitive records"),
        ("maps", {}, "word", "all sensitive records"),
        ("smike", {"n_mix": "4"}, "count", "4 similar for each sensitive"),
        ("pram", {"theta": "0.9"}, "number", "θ = 0.9"),
        ("pram", {"matrix": "1 0; 0 1"}, "word", "by a given matrix"),
        ("cgs", {"n_swap": "20"}, "count", "20 records each way"),
        ("cgs", {"rate": "0.2"}, "share", "20 % of the smallest stratum each way"),
        ("noise", {"c": "0.2"}, "number", "c = 0.2"),
        ("cgs_noise", {"n_swap": "20"}, "word", "20 records each way, then c = 0.15"),
        ("trs", {"rate": "0.1", "hierarchy": "A"}, "share", "10 % of households"),
        ("survey_swap", {"rate": "0.05", "swap": "A"}, "share", "5 % of records are targets"),
    ],
)
def test_each_mechanism_has_its_own(name: str, given: dict[str, str], kind: str, words: str):
    found = amount(spec(name, **given))
    assert (found.kind, str(found)) == (kind, words)
    assert found.share == (given["rate"].rstrip("0") if kind == "share" else "")


def test_a_parameter_that_leaves_the_amount_to_another_is_not_shown():
    shown = dict(mechanism("cgs").settings(spec("cgs", n_swap="20")))
    assert shown["n_swap"] == "20" and "rate" not in shown
    assert "n_init" not in dict(mechanism("rds").settings(spec("rds", rate="0.1")))


def test_amounts_sort_by_size():
    amounts = [Amount("share", text, "of records") for text in ("0.1", "0.02", "1")]
    assert [one.text for one in sorted(amounts, key=lambda one: one.order)] == ["0.02", "0.1", "1"]


def test_a_mechanism_without_an_amount_has_an_empty_one_and_others_name_parameters_that_count():
    given = {"title": "t", "source": "s", "when": "w", "rate": "r", "prepare": len, "draw": len}
    assert str(Mechanism("m", **given).amount(ReleaseSpec(ROLES, "", mechanism="m"))) == ""  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="amounts names 'n', no parameter with counts"):
        Mechanism("m", parameters=(Parameter("n", "whole", "1", "n"),), amounts=(("n",),), **given)  # type: ignore[arg-type]
