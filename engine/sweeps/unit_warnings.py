"""Warnings about releases of files whose records belong to units, such as persons to households."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.common.wording import all_of, listed
from engine.data.microdata import Microdata
from engine.mechanisms import mechanism
from engine.plan import Plan
from engine.release.spec import ReleaseSpec
from engine.sweeps.release_warnings import ReleaseWarning


@dataclass(frozen=True)
class TornUnits(ReleaseWarning):
    """Attributes that all members of each of ``n_units`` households share, and that some candidate exchanges between
    single persons."""

    names: tuple[str, ...]
    n_units: int

    @property
    def what(self) -> str:
        """Fault, without a full stop."""
        names, are = listed(f"'{name}'" for name in self.names), "is" if len(self.names) == 1 else "are"
        return (
            f"{names} {are} the same within {all_of(self.n_units, 'household')}; a swap of single persons would tear "
            "them apart"
        )

    @property
    def mend(self) -> str:
        """Advice for the analyst."""
        return "use mechanism 'trs'"


def torn_units(data: Microdata, plan: Plan) -> list[TornUnits]:
    """A warning about attributes of households that a plan's mechanisms exchange between single persons, or none."""
    exchanged: set[str] = set()
    if plan.swaps_at_random:
        exchanged |= set(plan.swap_candidates)
    for declared in plan.mechanisms:
        made = mechanism(declared.name)
        if not (made.by_roles or made.whole_units or made.redraws_levels):
            exchanged |= made.altered_in(declared.grid, plan.keys)
    return _torn(data, exchanged)


def torn_by(data: Microdata, spec: ReleaseSpec) -> list[TornUnits]:
    """The same of one candidate."""
    made = mechanism(spec.mechanism)
    return [] if made.whole_units or made.redraws_levels else _torn(data, made.altered(spec))


def _torn(data: Microdata, exchanged: Iterable[str]) -> list[TornUnits]:
    units = data.units
    if units is None or len(units) == data.n_records:
        return []
    names = data.domain.names
    places = [j for j, name in enumerate(names) if name in set(exchanged) and data.domain.shape[j] > 1]
    shared = tuple(names[j] for j in places if units.constant(data.codes[j]).all())
    return [TornUnits(shared, len(units))] if shared else []
