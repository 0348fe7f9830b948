"""A made-up labelled household survey of 300 columns with known dependencies between them.

No record is a real person and no figure was estimated from data.  It has what an agency's file has: ids of cases and
households, weights, strata and sampling units, questions with value labels, recodes of them, imputation flags,
questions that are skipped after an answer, and codes for "don't know" and "refused" that the file declares missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.common.errors import UsageError
from engine.data.microdata import ColumnLabels, RawColumn, RawTable

N_RECORDS = 12_000
N_COLUMNS = 300
SKIP, DONT_KNOW, REFUSED = -1, -8, -9
_NONRESPONSE = {SKIP: "Valid skip", DONT_KNOW: "Don't know", REFUSED: "Refused"}
_YES = {1: "Yes", 2: "No"}
_SEED = 20_051  # any number; the survey is the same on every machine
_AGREE = {1: "Strongly agree", 2: "Agree", 3: "Neither", 4: "Disagree", 5: "Strongly disagree"}
_OFTEN = {1: "Never", 2: "Sometimes", 3: "Often", 4: "Always"}


@dataclass
class Truth:
    """What hangs together by construction: ``recodes`` as (source, recode), ``flags`` as (column, flag), ``skips`` as
    (gate, its values, skipped columns), and the columns of other roles."""

    recodes: list[tuple[str, str]] = field(default_factory=list)
    flags: list[tuple[str, str]] = field(default_factory=list)
    same: list[tuple[str, str]] = field(default_factory=list)
    skips: list[tuple[str, tuple[int, ...], tuple[str, ...]]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)
    constant: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def survey(n: int = N_RECORDS, seed: int = _SEED) -> tuple[RawTable, Truth]:
    """About ``n`` records (exactly ``n``, the last household cut short) and the truth about them."""
    if n < 200:
        raise UsageError(f"n == {n}, must be at least 200 records for a survey of {N_COLUMNS} columns")
    made = _Survey(n, np.random.default_rng(seed))
    for part in (_design, _person, _work, _health, _home, _items):
        part(made)
    return RawTable(made.columns, n, "survey"), made.truth


class _Survey:
    """Columns as they are made, each from arrays of one number per record."""

    def __init__(self, n: int, rng: np.random.Generator) -> None:
        self.n, self.rng, self.truth = n, rng, Truth()
        self.columns: dict[str, RawColumn] = {}
        self.arrays: dict[str, np.ndarray] = {}
        sizes = rng.choice(np.arange(1, 7), size=n, p=[0.3, 0.32, 0.16, 0.13, 0.06, 0.03])
        self.household = np.repeat(np.arange(n), sizes)[:n]
        self.n_households = int(self.household[-1]) + 1
        starts = np.searchsorted(self.household, np.arange(self.n_households))
        self.person = np.arange(n) - starts[self.household] + 1
        self.size = np.bincount(self.household)[self.household]

    def add(
        self,
        name: str,
        values: np.ndarray,
        label: str,
        labels: Mapping[int, str] | None = None,
        measure: str = "nominal",
        missing: tuple[str, ...] = (),
        ranges: tuple[tuple[float, float], ...] = (),
    ) -> np.ndarray:
        """Add a column; returns its values."""
        import pyarrow as pa

        distinct, first, codes = np.unique(values, return_index=True, return_inverse=True)
        order = np.argsort(first)
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        pairs = tuple((str(value), text) for value, text in (labels or {}).items())
        whole = values.dtype.kind == "i"
        about = ColumnLabels(label, pairs, missing, ranges, "F8.0" if whole else "F8.2", measure)
        self.columns[name] = RawColumn(name, pa.array(distinct[order]), number[codes].astype(np.int32), about)
        self.arrays[name] = values
        return values

    def ask(
        self,
        name: str,
        values: np.ndarray,
        label: str,
        labels: Mapping[int, str],
        asked: np.ndarray | None = None,
        missing: float = 0.02,
        measure: str = "nominal",
    ) -> np.ndarray:
        """A question: skipped where it was not asked, sometimes not answered."""
        values = np.asarray(values, dtype=np.int64).copy()
        lost = self.rng.random(self.n) < missing
        values[lost] = np.where(self.rng.random(int(lost.sum())) < 0.7, DONT_KNOW, REFUSED)
        used = {DONT_KNOW: _NONRESPONSE[DONT_KNOW], REFUSED: _NONRESPONSE[REFUSED]} if missing else {}
        if asked is not None:
            values[~asked] = SKIP
            used = {SKIP: _NONRESPONSE[SKIP], **used}
        codes = tuple(str(code) for code in used if code != SKIP)
        if missing:
            self.truth.missing.append(name)
        # Skipped questions declare the whole range, as files do that know no kind "skipped".
        ranges = ((float(REFUSED), float(SKIP)),) if asked is not None else ()
        return self.add(name, values, label, {**labels, **used}, measure, () if ranges else codes, ranges)

    def recode(
        self, name: str, source: str, of: Callable[[np.ndarray], np.ndarray], label: str, labels: Sequence[str]
    ) -> np.ndarray:
        """A column that another decides; negative codes stay as they are."""
        from_ = self.arrays[source]
        values = np.where(from_ < 0, from_, of(from_)).astype(np.int64)
        kept = {int(code): _NONRESPONSE[int(code)] for code in np.unique(values[values < 0])}
        names = dict(enumerate(labels, 1))
        missing = tuple(str(code) for code in kept if code != SKIP)
        if missing:
            self.truth.missing.append(name)
        self.truth.recodes.append((source, name))
        return self.add(name, values, label, {**names, **kept}, "ordinal", missing)

    def flag(self, name: str, of: str) -> None:
        """Whether a value was imputed."""
        self.truth.flags.append((of, name))
        self.add(
            name,
            (self.rng.random(self.n) < 0.04).astype(np.int64),
            f"Imputation flag of {of}",
            {0: "As reported", 1: "Imputed"},
        )

    def gate(self, gate: str, values: tuple[int, ...], columns: Sequence[str]) -> None:
        """Declare a skip."""
        self.truth.skips.append((gate, values, tuple(columns)))

    def per_household(self, values: np.ndarray) -> np.ndarray:
        """One value a household, repeated for its members."""
        return values[self.household]


def _cut(*edges: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.searchsorted(np.array(edges), x, side="right") + 1


def _table(*of: int) -> Callable[[np.ndarray], np.ndarray]:
    """Code 1 becomes the first number, code 2 the second, and so on."""
    return lambda x: np.array([0, *of])[np.maximum(x, 0)]


def _numbered(word: str, n: int) -> dict[int, str]:
    return {i: f"{word} {i}" for i in range(1, n + 1)}


def _design(s: _Survey) -> None:
    rng, truth = s.rng, s.truth
    s.add("caseid", rng.permutation(s.n) + 1_000_001, "Case identifier", measure="scale")
    s.add("hhid", s.household.astype(np.int64) + 50_001, "Household identifier", measure="scale")
    s.add("pnum", s.person.astype(np.int64), "Person number in household", measure="ordinal")
    s.add("hhsize", s.size.astype(np.int64), "Persons in household", measure="ordinal")
    truth.ids += ["caseid", "hhid"]
    psu = s.per_household(rng.integers(1, 97, s.n_households))
    s.add("psu", psu, "Primary sampling unit")
    s.recode("stratum", "psu", lambda x: (x - 1) // 4 + 1, "Stratum", [f"Stratum {i}" for i in range(1, 25)])
    state = (s.arrays["stratum"] - 1) // 2 + 1
    s.add("state", state, "State", _numbered("State", 12))
    truth.recodes.append(("stratum", "state"))
    s.recode("division", "state", lambda x: (x - 1) // 2 + 1, "Division", [f"Division {i}" for i in range(1, 7)])
    s.recode("region", "state", lambda x: (x - 1) // 4 + 1, "Region", ["North", "Centre", "South"])
    base = s.per_household(rng.lognormal(0, 0.35, s.n_households) * 2500)
    s.add("wt_base", np.round(base, 4), "Base weight", measure="scale")
    s.add("wt_final", np.round(base * rng.lognormal(0, 0.2, s.n), 4), "Final person weight", measure="scale")
    truth.weights += ["wt_final", "wt_base"]
    for i in range(1, 5):
        s.add(f"wt_rep{i:02}", np.round(base * rng.lognormal(0, 0.3, s.n), 4), f"Replicate weight {i}", measure="scale")
        truth.weights.append(f"wt_rep{i:02}")
    s.add("wave", np.ones(s.n, np.int64), "Wave", {1: "First wave"})
    s.add("country", np.full(s.n, 276), "Country", {276: "Made-up country"})
    truth.constant += ["wave", "country"]
    s.add("intmonth", rng.integers(1, 13, s.n), "Month of interview", measure="ordinal")


def _person(s: _Survey) -> None:
    rng = s.rng
    age = np.where(s.person <= 2, rng.normal(50, 17, s.n).clip(18, 90), rng.uniform(0, 30, s.n)).astype(np.int64)
    s.add("age", age, "Age in years", measure="scale")
    s.recode(
        "age5",
        "age",
        lambda x: np.minimum(x // 5, 17) + 1,
        "Age in five-year groups",
        [f"{5 * i}-{5 * i + 4}" for i in range(17)] + ["85 and over"],
    )
    s.recode("agegrp", "age", _cut(16, 30, 45, 65), "Age group", ["0-15", "16-29", "30-44", "45-64", "65 and over"])
    s.recode("adult", "age", _cut(16), "Adult", ["Child", "Adult"])
    s.recode("elderly", "age", _cut(65), "Aged 65 or over", ["No", "Yes"])
    s.flag("age_imp", "age")
    sex = s.add("sex", rng.integers(1, 3, s.n), "Sex", {1: "Male", 2: "Female"})
    s.add("female", (sex == 2).astype(np.int64), "Female", {0: "No", 1: "Yes"})
    s.truth.same.append(("sex", "female"))
    s.ask(
        "race",
        s.rng.choice(np.arange(1, 9), s.n, p=[0.66, 0.12, 0.06, 0.05, 0.04, 0.03, 0.02, 0.02]),
        "Race",
        _numbered("Race", 8),
    )
    s.recode("race4", "race", _table(1, 2, 3, 3, 4, 4, 4, 4), "Race in four groups", ["A", "B", "C", "Other"])
    s.recode("majority", "race", _table(1, 2, 2, 2, 2, 2, 2, 2), "Majority group", ["Yes", "No"])
    grown = age >= 16
    marital = np.where(age < 25, 5, rng.choice([1, 2, 3, 4, 5, 6], s.n, p=[0.5, 0.05, 0.1, 0.05, 0.2, 0.1]))
    words = dict(enumerate(("Married", "Separated", "Divorced", "Widowed", "Never married", "Cohabiting"), 1))
    s.ask("marital", marital, "Marital status", words)
    s.recode("married", "marital", _table(1, 2, 2, 2, 2, 2), "Married", ["Yes", "No"])
    s.recode(
        "marital3",
        "marital",
        _table(1, 2, 2, 2, 3, 1),
        "Marital status in three groups",
        ["Couple", "Formerly married", "Single"],
    )
    educ = (8 + 0.05 * np.minimum(age, 60) + rng.normal(0, 3, s.n)).clip(1, 16).astype(np.int64)
    s.ask("educ", educ, "Highest grade", {i: f"Grade {i}" for i in range(1, 17)}, measure="ordinal")
    s.recode("educ4", "educ", _cut(9, 12, 14), "Education in four groups", ["Low", "Middle", "Some college", "College"])
    s.recode("college", "educ", _cut(14), "College degree", ["No", "Yes"])
    s.recode("educ_yrs", "educ", lambda x: np.minimum(x, 13), "Years of schooling, topcoded", [])
    s.flag("educ_imp", "educ")
    born = rng.choice(np.arange(1, 41), s.n, p=_zipf(40, 1.4))
    s.add("cob", born, "Country of birth", _numbered("Country", 40))
    s.recode("cobgrp", "cob", lambda x: (x - 1) // 5 + 1, "Region of birth", [f"World region {i}" for i in range(1, 9)])
    s.recode("foreign", "cob", _cut(2), "Born abroad", ["No", "Yes"])
    s.ask("lang", rng.choice(np.arange(1, 13), s.n, p=_zipf(12, 1.5)), "Language at home", _numbered("Language", 12))
    s.recode("natlang", "lang", _cut(2), "National language at home", ["Yes", "No"])
    voted = [f"vote_{i}" for i in range(1, 4)]
    for name in voted:
        s.ask(name, rng.integers(1, 4, s.n), f"Vote question {name[-1]}", {1: "Yes", 2: "No", 3: "Unsure"}, asked=grown)
    s.gate("adult", (1,), voted)


def _zipf(n: int, power: float) -> np.ndarray:
    share = 1 / np.arange(1, n + 1) ** power
    result: np.ndarray = share / share.sum()
    return result


def _work(s: _Survey) -> None:
    rng = s.rng
    age = s.arrays["age"]
    status = rng.choice([1, 2, 3, 4, 5], s.n, p=[0.6, 0.12, 0.06, 0.07, 0.15])
    status = np.where(age < 16, 5, np.where(age > 66, 4, status))
    words = dict(enumerate(("Employee", "Self-employed", "Unemployed", "Retired", "Not in labour force"), 1))
    s.add("empstat", status, "Employment status", words)
    s.recode("employed", "empstat", _table(1, 1, 2, 2, 2), "Employed", ["Yes", "No"])
    working = status <= 2
    s.ask(
        "occ",
        rng.choice(np.arange(1, 121), s.n, p=_zipf(120, 0.7)),
        "Occupation",
        _numbered("Occupation", 120),
        asked=working,
    )
    s.recode(
        "occ_major", "occ", lambda x: (x - 1) // 11 + 1, "Major occupation group", [f"Group {i}" for i in range(1, 12)]
    )
    s.recode("collar", "occ", _cut(34, 78), "Collar", ["White", "Blue", "Service"])
    s.ask(
        "ind", rng.choice(np.arange(1, 61), s.n, p=_zipf(60, 0.7)), "Industry", _numbered("Industry", 60), asked=working
    )
    s.recode("ind_major", "ind", lambda x: (x - 1) // 5 + 1, "Major industry", [f"Branch {i}" for i in range(1, 13)])
    s.recode("sector", "ind", _cut(16, 36), "Sector", ["Primary", "Secondary", "Tertiary"])
    hours = rng.choice([40, 38, 35, 20, 30, 45, 50], s.n) + rng.integers(-3, 4, s.n)
    s.ask("hours", hours, "Hours a week", {}, asked=working, measure="scale")
    s.recode("hours5", "hours", _cut(20, 35, 40, 48), "Hours in groups", ["<20", "20-34", "35-39", "40-47", "48+"])
    s.recode("fulltime", "hours", _cut(35), "Full time", ["No", "Yes"])
    s.flag("hours_imp", "hours")
    s.ask("unionmem", rng.integers(1, 3, s.n), "Union member", _YES, asked=working)
    jobs = ["occ", "occ_major", "collar", "ind", "ind_major", "sector", "hours", "hours5", "fulltime", "unionmem"]
    s.gate("empstat", (3, 4, 5), jobs)
    log = 9.3 + 0.08 * np.maximum(s.arrays["educ"], 5) + 0.4 * working + rng.normal(0, 0.7, s.n)
    income = np.round(np.exp(log), -1).astype(np.int64)
    s.add("income", income, "Income of the year", measure="scale")
    s.recode(
        "incdec",
        "income",
        _cut(*np.quantile(income, np.arange(1, 10) / 10)),
        "Income decile",
        [f"Decile {i}" for i in range(1, 11)],
    )
    s.recode(
        "inc5",
        "income",
        _cut(10_000, 20_000, 40_000, 80_000),
        "Income in five groups",
        ["<10,000", "10,000-19,999", "20,000-39,999", "40,000-79,999", "80,000 and over"],
    )
    s.recode("taxpayer", "income", _cut(12_000), "Pays income tax", ["No", "Yes"])
    s.flag("income_imp", "income")


def _health(s: _Survey) -> None:
    rng = s.rng
    bmi = np.round(rng.normal(26, 4.5, s.n).clip(15, 50), 1)
    s.add("bmi", bmi, "Body mass index", measure="scale")
    s.recode("bmi4", "bmi", _cut(18.5, 25, 30), "Body mass index in groups", ["Under", "Normal", "Over", "Obese"])
    s.recode("obese", "bmi", _cut(30), "Obese", ["No", "Yes"])
    s.add(
        "weight_kg",
        np.round(rng.normal(75, 12, s.n).clip(30, 160)).astype(np.int64),
        "Body weight in kg",
        measure="scale",
    )
    _followed(s, "smoked", 0.4, {"cigs": 40, "smoke_age": 30, "quit": 2})
    _followed(s, "drinks", 0.7, {"drinks_wk": 20, "binge": 5}, missing=0.02)
    _followed(s, "diabetes", 0.09, {"insulin": 2, "diab_age": 60})
    _followed(s, "insured", 0.85, {"ins_type": 4, "ins_months": 12}, missing=0.015)
    quit_ = s.arrays["quit"] == 1
    s.ask("quit_how", rng.integers(1, 6, s.n), "How they stopped smoking", _numbered("Way", 5), asked=quit_)
    s.gate("quit", (SKIP, DONT_KNOW, REFUSED, 2), ["quit_how"])


def _followed(s: _Survey, gate: str, share: float, after: Mapping[str, int], missing: float = 0.0) -> None:
    """A yes or no question and those that are asked after a yes."""
    answer = np.where(s.rng.random(s.n) < share, 1, 2)
    answer = s.ask(gate, answer, f"{gate.capitalize()} (yes or no)", _YES, missing=missing)
    for name, top in after.items():
        labels = _YES if top == 2 else {}
        s.ask(name, s.rng.integers(1, top + 1, s.n), f"After {gate}: {name}", labels, asked=answer == 1, missing=0.03)
    s.gate(gate, (2, DONT_KNOW, REFUSED) if missing else (2,), list(after))


def _home(s: _Survey) -> None:
    rng = s.rng
    tenure = s.per_household(rng.choice([1, 2, 3, 4], s.n_households, p=[0.35, 0.25, 0.35, 0.05]))
    s.add("tenure", tenure, "Tenure", {1: "Owned outright", 2: "Owned with a loan", 3: "Rented", 4: "Free"})
    s.recode("owner", "tenure", _table(1, 1, 2, 2), "Owner", ["Yes", "No"])
    s.ask("rooms", s.per_household(rng.integers(1, 9, s.n_households)), "Rooms", {}, missing=0.01, measure="ordinal")
    _followed(s, "kids", 0.45, {"n_kids": 5, "kid_age": 17, "childcare": 3})
    _followed(s, "moved", 0.15, {"moved_from": 12, "moved_why": 6}, missing=0.01)
    _followed(s, "internet", 0.9, {"net_device": 4, "net_hours": 12})


def _items(s: _Survey) -> None:
    """Batteries of like questions fill the survey up."""
    left = N_COLUMNS - len(s.columns)
    mood = s.rng.normal(0, 1, (s.n, 6))
    for i in range(left):
        family = ("att", "sat", "svc", "med", "trust", "use")[i % 6]
        levels, labels = (5, _AGREE) if i % 2 else (4, _OFTEN)
        score = mood[:, i % 6] * 0.6 + s.rng.normal(0, 1, s.n)
        values = np.searchsorted(np.linspace(-1.2, 1.2, levels - 1), score) + 1
        s.ask(
            f"{family}_{i // 6 + 1:02}", values, f"Item {i // 6 + 1} of battery '{family}'", labels, measure="ordinal"
        )
