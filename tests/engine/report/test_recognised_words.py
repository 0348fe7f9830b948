"""What members read of the keys that are not exchanged, of few keys and of published tables: no rate, no share."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import product

import pytest

from engine.plan.context import PUBLISHED_TABLES
from engine.report.answers import ten_questions
from engine.report.exposed_words import harm_words
from engine.report.findings import Findings
from engine.report.html_file import html_text
from engine.report.memo import memo
from engine.report.questions import BoardQuestion
from engine.report.recognised_facts import KeySet, Recognised, TablesTell
from engine.report.recognised_words import all_but_one_words, learnt_words, recognised_sentences
from tests.engine.report.conftest import Case

_ALL = KeySet(("A", "B", "C"), ("A",), 20, 8, 14)
_UNSWAPPED = KeySet(("B", "C"), (), 5, 1, 3)
_TELL = TablesTell("not known", True, True, True)


def facts(**parts: object) -> Recognised:
    given: dict[str, object] = {
        **{"fewest": 3, "nothing_done": _ALL, "unswapped": _UNSWAPPED, "tables": _TELL},
        "few_keys": (KeySet(("A", "B"), ("A",), 7, 2, 5),),
    }
    return Recognised(**{**given, **parts})  # type: ignore[arg-type]


def sentences(case: Case, **parts: object) -> list[str]:
    return recognised_sentences(replace(case.findings, recognised=facts(**parts)))


def test_the_third_question_tells_what_the_count_leaves_out(case: Case) -> None:
    found = replace(case.findings, recognised=facts())
    answer = next(a for a in ten_questions(found) if a.question is BoardQuestion.OMISSIONS)
    assert set(recognised_sentences(found)) <= set(answer.lines)


def test_the_keys_that_are_not_exchanged_show_true_values(case: Case) -> None:
    ignored, few, _ = sentences(case)
    assert ignored == (
        "The attributes that are not exchanged are true in every record; on the keys among them (B and C) 5 records"
        " stand in combinations that fewer than 3 records share, 1 of them alone, and of guesses at random among equal"
        " records 3 would be right, in the release as in the original."
    )
    assert few == (
        "Who knows only two of the keys, at worst A and B (A is exchanged), finds 7 records in combinations that fewer"
        " than 3 records share of the original."
    )
    assert "All keys are exchanged" in sentences(case, unswapped=None)[0]
    nobody = replace(_ALL, exchanged=())
    assert "No key is exchanged" in sentences(case, nothing_done=nobody, unswapped=nobody)[0]
    none = KeySet(("B",), (), 0, 0, 0)
    assert "no record stands in" in sentences(case, unswapped=none)[0]
    assert len(sentences(case, few_keys=())) == len(sentences(case)) - 1


@pytest.mark.parametrize("published", PUBLISHED_TABLES)
def test_published_tables_are_told_in_plain_sentences_without_a_figure(case: Case, published: str) -> None:
    for tells in [*product((True, False), repeat=3), (None, None, None)]:
        told = sentences(case, tables=TablesTell(published, *tells))[-1]  # type: ignore[arg-type]
        assert not re.search(r"\d|%", told) and told.endswith(".")
        assert told.count(". ") == 1 and ".." not in told
        assert ("which attributes were exchanged" in told) == (tells[0] is True or tells == (False,) * 3)
        assert ("to less than a factor of three" in told) == (tells[1] is True)
    assert ("taken to be" in told) == (published == "not known") and ("If they were" in told) == (published == "no")


def test_what_an_attack_on_another_method_did_not_find_is_said_not_to_be_worked_out(case: Case) -> None:
    tables = TablesTell("yes", False, None, None)
    told = sentences(case, tables=tables)[-1]
    assert (
        "neither" not in told and "they do not tell which attributes were exchanged. Whether they tell how many" in told
    )
    assert "records were exchanged and which records were exchanged was not worked out" in told
    told = sentences(case, tables=TablesTell("yes", True, True, None))[-1]
    assert "Whether they tell which records were exchanged was not worked out, since the attack reckons with" in told


def test_whoever_knows_that_those_at_risk_go_first_suspects_the_rare(case: Case) -> None:
    assert "first suspects households that are rare" in sentences(case, rare=True, rare_of="households")[-1]
    assert "hardly better than by guessing" in sentences(case, rare=False)[-1]
    assert not any("suspects" in sentence for sentence in sentences(case))


@pytest.mark.slow
def test_bundles_of_earlier_versions_open_and_say_nothing_of_it(case: Case) -> None:
    board = json.loads(case.findings.to_json())
    assert Findings.from_json(json.dumps(board)) == case.findings
    del board["recognised"]["rare"], board["recognised"]["rare_of"]
    before_rarity = Findings.from_json(json.dumps(board)).recognised
    assert before_rarity is not None and before_rarity.rare is None
    del board["recognised"]
    older = Findings.from_json(json.dumps(board))
    assert older.recognised is None and recognised_sentences(older) == []


def test_the_sensitive_answer_left_out_has_a_row_and_every_other_key_a_word(case: Case) -> None:
    def text(**parts: object) -> str:
        return html_text(memo(replace(case.findings, recognised=facts(**parts))))

    sets = (KeySet(("B", "C"), (), 5, 1, 3), KeySet(("A", "C"), ("A",), 0, 0, 0), KeySet(("A", "B"), ("A",), 7, 2, 5))
    assert "all but A, the sensitive answer" in text(all_but_one=sets, sensitive=("A",))
    assert "the sensitive answer" not in text(all_but_one=sets)
    assert "by the key that is not known: A (5) and C (7); without any other key there are none." in text(
        all_but_one=sets
    )
    none = tuple(replace(keys, small=0, alone=0, matches=0) for keys in sets)
    assert "Whichever one of the 3 keys is not known, no record stands" in text(all_but_one=none)
    assert all_but_one_words(replace(case.findings, recognised=facts())) == ""
    found = case.findings.recognised
    assert found is not None and len(found.all_but_one) == len(case.study.plan.keys)
    for out, keys in zip(case.study.plan.keys, found.all_but_one, strict=True):
        assert out not in keys.keys and len(keys.keys) == len(case.study.plan.keys) - 1


def test_where_all_keys_are_needed_nothing_is_said_to_be_read_off(case: Case) -> None:
    nobody = tuple(KeySet(keys, (), 0, 0, 0) for keys in (("B", "C"), ("A", "C"), ("A", "B")))
    design = replace(case.findings.design, carried=())
    keys = tuple(row.name for row in design.attributes)
    threat = replace(case.findings.threat, keys=keys)
    bare = replace(
        case.findings, design=replace(design, attributes=tuple(replace(a, key=True) for a in design.attributes))
    )
    exposed = replace(case.findings.exposure, small_before=5)
    needed = replace(bare, threat=threat, exposure=exposed, recognised=facts(all_but_one=nobody))
    assert learnt_words(needed) == (
        f"All 5 are exposed only to somebody who knows all {len(keys)} keys: whoever lacks any of them finds nobody in "
        "a small combination of the original. As all columns are keys, who finds a record so learns only that the "
        "person took part."
    )
    assert "reads off" not in harm_words(needed) and "learns that the person took part" in harm_words(needed)
    assert not any("true in every record" in sentence for sentence in recognised_sentences(needed))
    somebody = replace(needed, recognised=facts(all_but_one=(*nobody[:2], KeySet(("A", "B"), (), 3, 1, 2))))
    assert "somebody who knows only some of them and finds a record reads off the others" in learnt_words(somebody)
    assert "who finds somebody's record by some of the columns reads off the others" in harm_words(somebody)
    beside = replace(needed, design=replace(needed.design, carried=("pay",)))
    assert "nothing is left" not in learnt_words(beside) and "learns what else stands in it: pay." in learnt_words(
        beside
    )
    assert "who finds somebody's record reads off the rest" in harm_words(beside)
