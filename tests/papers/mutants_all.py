"""All mutants, in the order of the page."""

from __future__ import annotations

from tests.papers import mutants_groups, mutants_keys, mutants_swap
from tests.papers.mutants import Mutant

MUTANTS: tuple[Mutant, ...] = (*mutants_keys.MUTANTS, *mutants_groups.MUTANTS, *mutants_swap.MUTANTS)
