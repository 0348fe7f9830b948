"""Figures of a choice under a bound, of its memo and of what an intruder recognises, computed again.

``python benchmarks/decision_figures.py`` prints what was stated once beside what is found now; ± is the spread over
releases, keys or sweeps.  Tests hold the same figures; this is one place to read them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

if __name__ == "__main__":
    # Run as a file, only this folder is searched; the engine and the tests are one above.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.bundle.members import told_to_members
from engine.bundle.members_attack import attack_members_bundle

from engine.frontier.choosing import FEWEST_RUNS
from engine.frontier.summary import CONFIDENCE, believed_errors
from engine.measures.detection import altered_by_level, auc, graded, precision
from engine.report.facts import Tally
from engine.report.losses import worst
from tests.cps_release import (
    ANALYSES,
    REPLICATES,
    Released,
    beyond_bound,
    group_shares,
    largest_by_table,
    pair_counts,
    released,
)
from tests.equal_scenarios import wrongly_clear
from tests.papers import rows_maps
from tests.readme_samples import shares_found, under_keys
from tests.shared import folder
from tests.swapped_batches import cps, swaps

KEYS, RELEASES = 200, 25


def line(figure: str, stated: str, found: str) -> None:
    """Print one row of the table."""
    print(f"{figure:<62} {stated:>20} {found:>28}", flush=True)


def spread(values: Iterable[float], scale: float = 1.0, digits: int = 2) -> str:
    """Mean and standard deviation in words."""
    array = scale * np.fromiter(values, float)
    return f"{array.mean():.{digits}f} ± {array.std(ddof=1):.{digits}f}"


def choice() -> None:
    """What is released under a bound, and what runs tell."""
    few, settled = (under_keys(KEYS, adaptive=adaptive) for adaptive in (False, True))
    line("keys whose run is above the bound, bound on the mean", "3 of 6", f"{few['mean above']} of {KEYS}")
    line("keys whose run is no safer than doing nothing, same rule", "1 of 6", f"{few['mean no safer']} of {KEYS}")
    for name, found in (("20 runs", few), ("adaptive runs", settled)):
        line(
            f"keys above it; no safer; bound on single runs, {name}",
            f"0; 0 of {KEYS}",
            f"{found['above']}; {found['no safer']} of {KEYS}",
        )
        line(f"keys whose choice fresh runs refute, {name}", "", f"{found['refuted']} of {KEYS}")
        line(f"keys whose choice truly misses nine in ten, {name}", "", f"{found['wrong']} of {KEYS}")
        line("of these, nothing stands against the choice", "", f"{found['wrong and not refused']} of {found['wrong']}")
    believed = [runs for runs in range(2, 30) if believed_errors(np.zeros((1, 1)), np.array([runs]))[0, 0] == 0]
    line("fewest equal runs whose error of zero is believed", "10", str(believed[0]))
    line("fewest runs that support a choice", "10", str(FEWEST_RUNS))
    line("share of the true frontier missed with 20 runs", "1/3", spread(1 - shares_found(20)))
    wrong = wrongly_clear(20, 1000, scenarios=2)
    line("of two equal candidates, each wrongly called clear", f"at most {1 - CONFIDENCE:.0%}", f"{wrong.mean():.1%}")


def intruder() -> None:
    """What published two-way tables and the released file give away of a swap of Race."""
    table = cps()
    race = table.domain.index("Race")
    stated = {"0.01": "0.76; 9", "0.02": "0.75; 18", "0.05": "0.77; 38", "0.1": "0.77; 61"}
    for rate, figures in stated.items():
        runs = graded(swaps(table, "Race:S", rate, RELEASES), "two_way")
        found = f"{spread(map(auc, runs))}; {spread((precision(run, 0.01) for run in runs), 100, 0)}"
        line(f"AUC; altered in the top 1 %, in %, at {float(rate):.0%}", figures, found)
    rates = [run.inference.rate for run in runs]
    line("rate from margins at 10 %, in %", "9.6 ± 0.3", spread(rates, 100))
    line("its error if cells were independent, in %", "0.33", spread((run.inference.error for run in runs), 100))
    certain = sum(run.inference.attributes == (race,) for run in runs)
    line("releases whose swapped attribute is found for certain", "all", f"{certain} of {len(runs)}")
    shares = sorted(row.share for row in altered_by_level(runs[0]) if row.attribute == race)
    line("altered at 10 %, of each group of Race, in %", "5.8, 34.5", ", ".join(f"{100 * one:.1f}" for one in shares))


def members(home: Path) -> None:
    """The rate from a member's bundle, and whether one as coarse as it is told leaves a factor of three."""
    made = released(home, [("0.1", replicate) for replicate in range(1, REPLICATES + 1)])
    attacks = [attack_members_bundle(one.to_json()) for one, _ in made.values()]
    line("most that a count and a bound that is met leave, in %", "14.2", spread((a.counts[1] for a in attacks), 100))
    lows = [attack_members_bundle(beyond_bound(one).to_json()).counts[0] for one, _ in made.values()]
    line("least that a count and a bound that is missed leave, in %", "9.9", f"{100 * max(lows):.2f}")
    rates = [attack.estimate.rate for attack in attacks if attack.estimate is not None]
    line("rate from shares at full precision at 10 %, in %", "9.6 ± 0.3", spread(rates, 100))
    both = [
        attack_members_bundle(told_to_members(one, altered.mean())[0].to_json()).both for one, altered in made.values()
    ]
    least = min(high / low if low else np.inf for low, high in both)
    line("least ratio of the ends that what is told leaves", "3", f"{least:.1f}")


def _of_two(made: Released) -> list[Tally]:
    return [tally for one, _ in made.values() for tally in one.utility.tallies if tally.kind.endswith("two attributes")]


def memo(home: Path) -> None:
    """The worst losses, how many percentages there are, and what a share is of."""
    made = released(home, [("0.1", replicate) for replicate in range(1, REPLICATES + 1)], ANALYSES)
    largest = [largest_by_table(one) for one, _ in made.values()]
    for stated, name in (("9.7", "Race × AvgHrs"), ("8.6", "EmpTyp × Race"), ("6.6", "MS × Race")):
        line(f"largest loss in {name}, in standard errors", stated, spread((by[name] for by in largest), digits=1))
    line("largest loss in coefficients of pay, told alone once", "4.2", spread((by["pay"] for by in largest), digits=1))
    same = sum(
        worst(one.utility)[0].errors == max(by.values()) for (one, _), by in zip(made.values(), largest, strict=True)
    )
    line("memos whose worst loss is the worst of the workbook", "all", f"{same} of {len(made)}")
    counts = pair_counts(cps())
    line("percentages of two attributes; on more than 45 records", "227; 226", f"{len(counts)}; {(counts > 45).sum()}")
    tallies = {(t.compared, t.unchangeable, t.eligible) for t in _of_two(made)}
    line("the memo's: all, cannot change, judged", "one number", "; ".join(map(str, sorted(tallies))))
    shares = [group_shares(one, altered, "EmpTyp", "Other") for one, altered in made.values()]
    line("exposed, of all records of a group, in %", "5.5", spread((share for share, _ in shares), 100))
    line("exposed, of its unaltered records, in %", "6.2", spread((share for _, share in shares), 100))


def maps() -> None:
    """MaPS beside its published table."""
    rows = rows_maps.rows(quick=False)
    apart = {row.name: row.errors_apart() or 0.0 for row in rows}
    for kind, stated in (
        ("bias", "below 0.9"),
        ("increment of the mean", "below 0.9"),
        ("shift against Raw", "above 3"),
    ):
        most = max(z for name, z in apart.items() if name.endswith(kind) and name.startswith("MaPS"))
        line(f"MaPS: largest |z|, {kind}", stated, f"{most:.2f}")
    row = next(row for row in rows if row.name == "MaPS w0=0.9 β0 shift against Raw")
    line("MaPS: difference allowed at a printed .013", "0.02 (no gate)", f"{row.allowed:.4f}, grade {row.grade}")


def main() -> None:
    """Compute and print."""
    line("figure", "stated", "found")
    choice()
    if (folder() / "data" / "cps8d.csv").is_file():
        intruder()
        for part in (members, memo):
            with TemporaryDirectory() as home:
                part(Path(home))
    else:
        print("CPS-8D is not there: nothing of the intruder, of members and of the memo.")
    maps()


if __name__ == "__main__":
    main()
