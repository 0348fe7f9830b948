"""The cells of a table made ready for one structure of the random swap: sorted as tuples, compared one by one."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from engine.data.table import ContingencyTable
from engine.release.spec import Structure

Key = tuple[int, ...]


def prepared(structure: Structure, table: ContingencyTable) -> dict[str, Any]:
    """What a draw needs of a structure: cells in order, classes with their values and strata, positions, and for each
    cell what a partner must differ in."""
    shape, attributes = table.domain.shape, table.domain.attributes
    differ = sorted(structure.differ, key=lambda j: (shape[j], j))

    def stratum(cell: Key) -> Key:
        return (
            *(cell[j] for j in structure.equal),
            *(int(attributes[j].kind_codes[cell[j]]) for j in structure.same_kind),
        )

    def values(cell: Key) -> Key:
        return tuple(cell[j] for j in differ)

    cells: list[Key] = [tuple(cell) for cell in table.cells.tolist()]
    order = sorted(range(len(cells)), key=lambda i: (stratum(cells[i]), values(cells[i]), i))
    keys = [(stratum(cells[i]), values(cells[i])) for i in order]
    classes = [(key, len(list(members))) for key, members in groupby(keys)]
    starts = [sum(size for _, size in classes[:k]) for k in range(len(classes) + 1)]
    of_stratum = [[k for k, (other, _) in enumerate(classes) if other[0] == key[0]] for key, _ in classes]
    counts = [int(table.counts[i]) for i in order]
    return {
        "order": order,
        "class_of": [k for k, (_, size) in enumerate(classes) for _ in range(size)],
        "class_start": starts,
        "first_class": [ks[0] for ks in of_stratum],
        "last_class": [ks[-1] + 1 for ks in of_stratum],
        "values": [list(key[1]) for key, _ in classes],
        "start": [sum(counts[:c]) for c in range(len(counts) + 1)],
        "apart": [tuple(cells[i][j] for j in structure.free) if structure.needs_free_difference else i for i in order],
    }


def cell_of_position(start: list[int]) -> list[int]:
    """The cell of each position."""
    return [c for c in range(len(start) - 1) for _ in range(start[c + 1] - start[c])]
