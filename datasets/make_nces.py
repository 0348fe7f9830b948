"""Writes nces.csv: a synthetic stand-in for the NCES data of Gomatam, Karr and Sanil (2005), Table 3.

The original extract (Common Core of Data 1993 with the Schools and Staffing Survey 1993-94) is not public in this form.
Every record here is drawn from a made-up model with plausible dependence: locale follows region, enrolment follows
locale, teachers follow enrolment, race follows region and locale, sex follows enrolment, salary follows experience,
region and enrolment.  No figure is estimated from survey data, and results on these records say nothing about schools.

Run `python datasets/make_nces.py` to write the file again; the seed is fixed and only integers decide a draw, so every
machine writes the same bytes.
"""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

SEED = 1993
N_RECORDS = 5_000

ENROLLMENT = ("0-250", "250-500", "500-1,000", "1,000-5,000")
# Table 3 prints these categories; they look like numbers of teachers times ten, and are kept as printed.
TEACHERS = ("0-200", "200-400", "400-600", "600-1,500")
LOCALE = (
    "Central city",
    "Mid-size central city",
    "Urban fringe of large city",
    "Urban fringe of mid-size city",
    "Large town",
    "Small town",
    "Rural",
)
REGION = ("Northeast", "Midwest", "South", "West")
EXPERIENCE = ("0-2", "2-5", "5-35")
SALARY = ("0-50,000", "50,000-75,000", "75,000-120,000")
SEX = ("M", "F")
RACE = ("Non-white", "White")
HEADER = ("Enrollment", "Teachers", "Locale", "Region", "Experience", "Salary", "Sex", "Race", "count")

# Weights per thousand, rows by the attribute that comes before.
REGION_WEIGHTS = (180, 270, 340, 210)
LOCALE_WEIGHTS = {
    0: (140, 120, 220, 120, 20, 180, 200),
    1: (90, 120, 110, 90, 30, 270, 290),
    2: (90, 160, 90, 90, 40, 280, 250),
    3: (150, 160, 160, 120, 40, 200, 170),
}
ENROLLMENT_WEIGHTS = (
    (90, 270, 430, 210),
    (120, 320, 390, 170),
    (90, 300, 430, 180),
    (120, 340, 390, 150),
    (170, 370, 350, 110),
    (260, 400, 280, 60),
    (480, 340, 150, 30),
)
TEACHERS_WEIGHTS = ((985, 15, 0, 0), (60, 925, 15, 0), (0, 110, 870, 20), (0, 0, 90, 910))
NON_WHITE_BY_LOCALE = (380, 200, 150, 90, 70, 50, 40)
NON_WHITE_BY_REGION = (-20, -40, 60, 40)
FEMALE_BY_ENROLLMENT = (400, 420, 360, 200)
EXPERIENCE_WEIGHTS = {0: (190, 270, 540), 1: (240, 300, 460)}  # by sex: women became heads more recently
SALARY_STEPS = {"Enrollment": (0, 60, 150, 290), "Region": (220, 40, 0, 150), "Experience": (0, 30, 110)}


def draw(rng: random.Random, weights: Sequence[int]) -> int:
    """One index with probability proportional to its whole weight."""
    place = rng.randrange(sum(weights))
    for index, weight in enumerate(weights):
        place -= weight
        if place < 0:
            return index
    raise AssertionError("weights add up to more than their sum")


def record(rng: random.Random) -> tuple[str, ...]:
    """One synthetic school and its administrator."""
    region = draw(rng, REGION_WEIGHTS)
    locale = draw(rng, LOCALE_WEIGHTS[region])
    enrollment = draw(rng, ENROLLMENT_WEIGHTS[locale])
    teachers = draw(rng, TEACHERS_WEIGHTS[enrollment])
    non_white = NON_WHITE_BY_LOCALE[locale] + NON_WHITE_BY_REGION[region]
    race = draw(rng, (non_white, 1000 - non_white))
    female = FEMALE_BY_ENROLLMENT[enrollment]
    sex = draw(rng, (1000 - female, female))
    experience = draw(rng, EXPERIENCE_WEIGHTS[sex])
    step = (
        SALARY_STEPS["Enrollment"][enrollment] + SALARY_STEPS["Region"][region] + SALARY_STEPS["Experience"][experience]
    )
    high = max(step - 160, 15)
    salary = draw(rng, (max(620 - step, 30), 360 + step // 3, high))
    return (
        ENROLLMENT[enrollment],
        TEACHERS[teachers],
        LOCALE[locale],
        REGION[region],
        EXPERIENCE[experience],
        SALARY[salary],
        SEX[sex],
        RACE[race],
    )


def main() -> None:
    """Write the counts of all occupied cells beside this script."""
    rng = random.Random(SEED)
    counts = Counter(record(rng) for _ in range(N_RECORDS))
    with Path(__file__).with_name("nces.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for cell in sorted(counts):
            writer.writerow([*cell, counts[cell]])


if __name__ == "__main__":
    main()
