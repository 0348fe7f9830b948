"""Free texts lose what identifies a run and keep the rest."""

from __future__ import annotations

import re

from engine.measures import MEASURES, call
from engine.measures.base import MeasureCall
from engine.report.redaction import Redactor, meaning_of

SAFE = Redactor({"x7f3": "B"}, (call("hellinger"),))


def test_what_a_measure_says_holds_numbers_and_no_names_of_parameters():
    told = {
        "small_cells_unswapped[n_rule=5]": "(fewer than 5 together)",
        "small_cells_subset[size=2]": "a few keys (2 of them)",
        "l_diversity[target=A;l=3]": "fewer than 3 different values",
        "k_anonymity[k=4]": "that fewer than 4 records share",
        "altered_share_max": "no fewer than 45 records",
        "r2": "everyone's keys",
    }
    assert {text: words in meaning_of(call(text)) for text, words in told.items()} == dict.fromkeys(told, True)
    for measure in MEASURES.values():
        for name, value in measure.parameters.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                assert not re.search(rf"(?<!at )(?<![\w'])\b{name}\b", meaning_of(MeasureCall(measure))), measure.name
