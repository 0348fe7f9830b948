"""Values of a column that comes in batches: coded in order of first appearance, whatever their type."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from engine.common.errors import EngineError
from engine.data.io import stream as growing_values
from engine.data.io.stream import GrowingValues, local_codes

TYPES = (pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.float64())


def coded(batches: list[pa.Array]) -> tuple[list[object], list[int]]:
    """The values that a column has in the end, and the codes of its records."""
    growing, codes = GrowingValues("x", "people"), []
    for batch in batches:
        dictionary, indices = local_codes("people", "x", batch)
        codes += growing.add(dictionary, indices)[indices].tolist()
    return growing.values.to_pylist(), codes


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("spread", [1, 40])
def test_values_are_coded_as_if_all_records_came_at_once(kind: pa.DataType, nulls: bool, spread: int) -> None:
    rng = np.random.default_rng(3)
    numbers = rng.integers(0, 3, 200) * spread + np.repeat([7, 0, 3, 7], 50)
    mask = rng.random(200) < 0.2 if nulls else np.zeros(200, bool)
    whole = pa.array(numbers, mask=mask).cast(kind)
    once = whole.dictionary_encode()
    for ends in ([200], [3, 50, 110, 200], list(range(1, 201))):
        starts = [0, *ends[:-1]]
        values, codes = coded([whole.slice(a, b - a) for a, b in zip(starts, ends, strict=True)])
        assert values == once.dictionary.to_pylist()
        assert codes == once.indices.fill_null(-1).to_pylist()


def test_whole_numbers_at_the_ends_of_their_type_are_coded() -> None:
    for kind in TYPES[:-1]:
        bits = kind.bit_width
        low, high = (0, 2**bits - 1) if str(kind).startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        for numbers in ([high, high - 1] * 3, [low + 1, low] * 3, [low, high] * 3):
            values, codes = coded([pa.array(numbers, kind)])
            assert values == numbers[:2]
            assert codes == [0, 1] * 3

    all_bytes = list(range(-128, 128))
    assert coded([pa.array(all_bytes, pa.int8())]) == (all_bytes, list(range(256)))


def test_values_of_a_dictionary_that_do_not_occur_are_left_out() -> None:
    batch = pa.DictionaryArray.from_arrays(pa.array([2, None, 0], pa.int8()), pa.array(["a", "b", "c", "d"]))
    assert coded([batch, batch]) == (["c", "a"], [0, -1, 1] * 2)


@pytest.mark.parametrize("numbers", [[1, 0, 2], [0, 1], [3, 0, 0, 2, 3, 1], [], [2, None, 2]])
def test_dictionaries_in_any_order_and_with_a_value_twice_are_coded_in_order_of_use(numbers: list[int | None]) -> None:
    known = pa.array(["z", "b"]).dictionary_encode()
    dictionary = pa.array(["a", "b", "c", "a"])
    batch = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), dictionary)
    for batches in ([batch], [known, batch], [batch, known, batch], [known, batch.slice(0, 1), batch]):
        texts = [text for each in batches for text in each.to_pylist()]
        values = [*dict.fromkeys(text for text in texts if text is not None)]
        assert coded(batches) == (values, [-1 if text is None else values.index(text) for text in texts])


def test_values_that_first_occur_late_are_coded() -> None:
    numbers = np.repeat(np.array([4, 0, 3, 1], np.int32), [growing_values._FEW, 5 * growing_values._FEW, 1, 2])
    batch = pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(list("abcde")))
    values, codes = coded([batch])
    assert values == ["e", "a", "d", "b"]
    assert codes == np.repeat(np.arange(4), [growing_values._FEW, 5 * growing_values._FEW, 1, 2]).tolist()


def test_known_values_come_first() -> None:
    growing = GrowingValues("x", "people", pa.array(["b", "a"]))
    dictionary, indices = local_codes("people", "x", pa.array(["c", "a"]))
    assert growing.add(dictionary, indices)[indices].tolist() == [2, 1]


def test_more_values_than_can_be_coded_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_values, "MOST_VALUES", 2)
    with pytest.raises(
        EngineError, match="column 'x' has more than 2 distinct values, too many to code while streaming"
    ):
        coded([pa.array(["a", "b"]), pa.array(["c"])])
