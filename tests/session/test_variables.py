"""Variables in and out of a session: as data, unchanged, and nothing else."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from wasm_kernel import Session, VariableTransferError

from .conftest import Cell, MakeSession

RunCell = Callable[..., Cell]


def there_and_back(session: Session, value: Any) -> Any:
    """A value that went in and came out again."""
    session.put("travelled", value)
    return session.get("travelled")


# Plain values.

PLAIN: list[Any] = [
    None, True, False, 0, 1, -1, 2**53, 2**53 + 1, -(2**64), 2**200, -(3**500),
    0.0, 1.5, -0.1, 1e308, 5e-324, math.inf, -math.inf,
    "", "text", "naïve ☃ \U0001f600", "nul\0inside", "line\r\n", "a\ud800b", "x" * 100_000,
    b"", b"\x00\xff", bytes(range(256)) * 100,
    [], {}, [1, "a", None, True, 2.5], {"a": [1, {"b": None}]}, [[[[]]]], {"": ""},
    [2**200, math.inf], {"big": 2**64},
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: f"{value!r:.12}".replace("\0", ""))
def test_plain_values(shared: Session, value: Any) -> None:
    found = there_and_back(shared, value)
    assert found == value and type(found) is type(value)


def test_ints_of_any_size(shared: Session) -> None:
    """More than 4300 digits are more than Python's own conversion to text takes."""
    shared.execute("huge = 10 ** 5000\nhuges = [huge]")
    assert there_and_back(shared, 10**5000) == 10**5000
    assert shared.get("huge") == 10**5000
    for attempt in (lambda: there_and_back(shared, [10**5000]), lambda: shared.get("huges")):
        try:
            assert attempt() == [10**5000]
        except VariableTransferError as error:
            assert "cannot cross" in str(error)


def test_nan_and_negative_zero(shared: Session) -> None:
    assert math.isnan(there_and_back(shared, math.nan))
    assert math.isnan(there_and_back(shared, [math.nan])[0])
    assert math.copysign(1, there_and_back(shared, -0.0)) == -1


@pytest.mark.parametrize(
    "value", [{"float": "1.5"}, {"float": "abc"}, {"float": 1.5}, {"int": "ff"}, {"int": 5}]
)
def test_a_dict_that_looks_like_our_own_marks_is_still_a_dict(shared: Session, value: Any) -> None:
    assert there_and_back(shared, value) == value


def test_a_tuple_becomes_a_list_and_a_bytearray_bytes(shared: Session) -> None:
    assert there_and_back(shared, (1, (2, 3))) == [1, [2, 3]]
    assert there_and_back(shared, bytearray(b"ab")) == b"ab"


def test_the_guest_sees_the_very_types(session: Session, cell: RunCell) -> None:
    session.put("values", [1, 1.0, "1", None, True])
    assert cell(session, "[type(v).__name__ for v in values]").value == (
        "['int', 'float', 'str', 'NoneType', 'bool']"
    )
    session.put("raw", b"\x00\x01")
    assert cell(session, "raw").value == "b'\\x00\\x01'"


def test_a_value_is_a_copy(session: Session) -> None:
    mine = [1, 2]
    session.put("theirs", mine)
    mine.append(3)
    session.execute("theirs.append(4)")
    assert session.get("theirs") == [1, 2, 4] and mine == [1, 2, 3]


# numpy.

DTYPES = [
    "?", "i1", "u1", "<i2", ">i2", "<u2", "<i4", "<u4", "<i8", ">i8", "<u8", "<f2", "<f4", "<f8",
    ">f8", "<c8", "<c16", "M8[D]", "M8[ns]", "M8[s]", "m8[ms]", "S3", "<U4",
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays(shared: Session, dtype: str) -> None:
    value = np.arange(6).astype("i8").astype(dtype).reshape(2, 3)
    found = there_and_back(shared, value)
    assert found.dtype == value.dtype and found.shape == (2, 3)
    np.testing.assert_array_equal(found, value)
    assert found.flags.writeable and found.flags.owndata


@pytest.mark.parametrize(
    "value",
    [
        np.array(5),
        np.zeros((0, 3)),
        np.zeros((2, 0, 2), dtype="i4"),
        np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(10)[::-2],
        np.array([np.nan, np.inf, -np.inf, -0.0]),
        np.array(["NaT", "2020-01-01"], dtype="M8[D]"),
        np.array(["é", "漢字"]),
    ],
    ids=[
        "scalar",
        "empty",
        "empty-3d",
        "transposed",
        "fortran",
        "strided",
        "special",
        "nat",
        "text",
    ],
)
def test_arrays_of_odd_shapes(shared: Session, value: Any) -> None:
    found = there_and_back(shared, value)
    assert found.dtype == value.dtype and found.shape == value.shape
    np.testing.assert_array_equal(found, value)


def test_a_large_array(session: Session, cell: RunCell) -> None:
    value = np.random.default_rng(7).standard_normal((1000, 1000))
    session.put("a", value)
    session.execute("a *= 2")
    np.testing.assert_array_equal(session.get("a"), value * 2)


@pytest.mark.parametrize(
    "value",
    [np.int64(5), np.float32(1.5), np.bool_(True), np.str_("s"), np.bytes_(b"b"), np.uint64(2**63)],
)
def test_numpy_scalars_become_python_values(shared: Session, value: Any) -> None:
    found = there_and_back(shared, value)
    assert found == value.item() and type(found) is type(value.item())


def test_long_doubles_cross_right_or_not_at_all(shared: Session, cell: RunCell) -> None:
    """Their bytes mean one thing on the host and another in the guest."""
    for value in (np.array([1.5, 2.0], dtype=np.longdouble), np.longdouble(1.5)):
        try:
            shared.put("wide", value)
        except VariableTransferError:
            continue
        assert cell(shared, "[float(v) for v in __import__('numpy').ravel(wide)]").value.startswith(
            "[1.5"
        )
    for made in ("np.array([1.5], dtype=np.longdouble)", "np.longdouble(1.5)"):
        shared.execute(f"import numpy as np\nwide = {made}")
        try:
            found = shared.get("wide")
        except VariableTransferError as error:
            assert "RecursionError" not in str(error)
        else:
            assert float(np.ravel(found)[0]) == 1.5


def test_a_mask_is_not_lost_in_silence(shared: Session) -> None:
    with pytest.raises(VariableTransferError):
        shared.put("masked", np.ma.array([1, 2], mask=[False, True]))


# pandas.


def frames() -> dict[str, pd.DataFrame]:
    """Frames of every kind of column."""
    zones = pd.date_range("2024-03-30", periods=3, tz="Europe/Berlin")
    return {
        "numbers": pd.DataFrame(
            {"i": [1, 2, 3], "f": [1.5, np.nan, -np.inf], "b": [True, False, True]}
        ),
        "small": pd.DataFrame({"i": np.array([1, 2], "i1"), "f": np.array([1, 2], "f4")}),
        "text": pd.DataFrame({"s": ["a", None, "ünïcödé ☃"], "t": ["", "\0", "x" * 1000]}),
        "times": pd.DataFrame(
            {
                "d": pd.to_datetime(["2020-01-01 00:00:00.0", None, "1969-12-31 23:59:59.5"]),
                "t": pd.to_timedelta([1, None, 3], unit="h"),
                "z": zones,
            }
        ),
        "categories": pd.DataFrame(
            {
                "c": pd.Categorical(["x", None, "y"], categories=["y", "x", "unused"]),
                "o": pd.Categorical([2, 1, 2], categories=[1, 2], ordered=True),
            }
        ),
        "nullable": pd.DataFrame(
            {
                "i": pd.array([1, None, 3], dtype="Int64"),
                "f": pd.array([1.5, None, 3], dtype="Float64"),
                "s": pd.array([1, None, 3], dtype="Int8"),
            }
        ),
        "nullable unsigned": pd.DataFrame({"u": pd.array([1, None, 3], dtype="UInt16")}),
        "nullable booleans": pd.DataFrame({"b": pd.array([True, None, False], dtype="boolean")}),
        "index of text": pd.DataFrame({"a": [1, 2]}, index=pd.Index(["r", "s"], name="rows")),
        "index of times": pd.DataFrame({"a": [1, 2]}, index=pd.to_datetime(["2020", "2021"])),
        "index with steps": pd.DataFrame({"a": [1, 2]}, index=pd.RangeIndex(5, 1, -2)),
        "labels": pd.DataFrame([[1, 2, 3]], columns=["a", 1, 2.5]),
        "same labels": pd.DataFrame([[1, 2]], columns=["a", "a"]),
        "no rows": pd.DataFrame(
            {"a": pd.Series([], dtype="int64"), "s": pd.Series([], dtype="str")}
        ),
        "no columns": pd.DataFrame(index=range(3)),
        "nothing": pd.DataFrame(),
    }


@pytest.mark.parametrize("name", frames().keys())
def test_frames(shared: Session, name: str) -> None:
    value = frames()[name]
    pd.testing.assert_frame_equal(
        there_and_back(shared, value), value, check_freq=False, check_column_type=False
    )


def test_a_frame_that_the_guest_made(session: Session) -> None:
    session.execute(
        "import pandas as pd\n"
        "table = pd.DataFrame({'k': ['a', 'b', 'a'], 'v': [1, 2, 3]})\n"
        "table = table.groupby('k').agg(total=('v', 'sum'))"
    )
    found = session.get("table")
    assert found["total"].to_dict() == {"a": 4, "b": 2} and found.index.name == "k"


@pytest.mark.parametrize(
    "value",
    [
        pd.Series([1, 2], name="n"),
        pd.Series([1.5, None], index=["a", "b"]),
        pd.Series(["a", None]),
        pd.Series(pd.Categorical(["a", "b"])),
        pd.Series([], dtype="float64"),
        pd.Series([1], name=5),
    ],
    ids=["named", "labelled", "text", "category", "empty", "number-named"],
)
def test_series(shared: Session, value: Any) -> None:
    pd.testing.assert_series_equal(there_and_back(shared, value), value)


@pytest.mark.parametrize(
    "value",
    [
        pd.Index([1, 2, 3]),
        pd.Index(["a", None]),
        pd.to_datetime(["2020-01-01", "2021-01-01"]),
        pd.CategoricalIndex(["a", "b"]),
        pd.Index([1, 2], name="named"),
    ],
    ids=["numbers", "text", "times", "category", "named"],
)
def test_indexes(shared: Session, value: Any) -> None:
    pd.testing.assert_index_equal(there_and_back(shared, value), value)


def test_a_frame_with_levels_says_what_to_do(shared: Session) -> None:
    levels = pd.DataFrame({"a": [1]}, index=pd.MultiIndex.from_tuples([("x", 1)]))
    with pytest.raises(VariableTransferError, match="reset_index"):
        shared.put("levels", levels)
    shared.execute("import pandas as pd\nlevels = pd.DataFrame({'a': [1]}).set_index([[1], [2]])")
    with pytest.raises(VariableTransferError, match="reset_index"):
        shared.get("levels")


# Pictures.


@pytest.mark.parametrize("mode", ["1", "L", "LA", "RGB", "RGBA", "P", "I;16"])
def test_pictures(shared: Session, cell: RunCell, mode: str) -> None:
    value = Image.new(mode, (5, 3), 1)
    value.putpixel((2, 1), 0)
    found = there_and_back(shared, value)
    assert (found.size, found.mode) == (value.size, value.mode)
    assert found.tobytes() == value.tobytes()
    assert cell(shared, "travelled.size").value == "(5, 3)"


# Refusals.


@pytest.mark.parametrize(
    "value",
    [
        np.array([object()]),
        np.array(["a", None], dtype=object),
        np.zeros(2, dtype=[("a", "i4")]),
        np.zeros(2, dtype="V4"),
        len,
        lambda: 1,
        object(),
        {1, 2},
        {1: 2},
        {"a": object()},
        [len],
        1j,
        sys,
        pd.Series([object()]),
        pd.DataFrame({"a": [[1]]}),
        pd.DataFrame({("a", "b"): [1]}),
        type,
        range(3),
        iter([]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_go_in(shared: Session, value: Any) -> None:
    shared.put("kept", 1)
    with pytest.raises(VariableTransferError) as caught:
        shared.put("kept", value)
    assert "cannot" in str(caught.value) and len(str(caught.value)) < 500
    assert shared.get("kept") == 1


@pytest.mark.parametrize(
    "code",
    [
        "import numpy as np\nv = np.array([object()])",
        "import numpy as np\nv = np.zeros(2, dtype=[('a', 'i4')])",
        "v = len",
        "v = lambda: 1",
        "v = object()",
        "v = {1, 2}",
        "v = [len]",
        "v = 1j",
        "class C: pass\nv = C()",
        "v = C",
        "v = []; v.append(v)",
        "v = []\nfor _ in range(5000): v = [v]",
        "import pandas as pd\nv = pd.Series([object()])",
        "import sys\nv = sys",
    ],
)  # fmt: skip
def test_what_cannot_come_out(shared: Session, code: str) -> None:
    shared.execute(code)
    with pytest.raises(VariableTransferError) as caught:
        shared.get("v")
    assert len(str(caught.value)) < 500
    assert shared.execute("1").success


def test_keys_that_are_no_text_are_not_changed_in_silence(shared: Session) -> None:
    shared.execute("v = {1: 'a', None: 'b'}")
    with pytest.raises(VariableTransferError):
        shared.get("v")


def test_deep_nesting_is_refused(shared: Session) -> None:
    value: Any = 1
    for _ in range(200):
        value = [value]
    with pytest.raises(VariableTransferError, match="nested"):
        shared.put("deep", value)


BAD_NAMES: list[Any] = [
    "", "1a", "a b", "a-b", "a.b", "a;import os", "x = 1", "import", "None", "True", "a\n", "é é",
    "__builtins__", "__name__", "__class__", "*", "a[0]", None, 5, b"a", ["a"],
]  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
def test_names_that_are_none(shared: Session, name: Any) -> None:
    with pytest.raises(VariableTransferError, match="name"):
        shared.put(name, 1)
    with pytest.raises(VariableTransferError, match="name"):
        shared.get(name)


@pytest.mark.parametrize("name", ["a", "_a", "_", "naïve", "漢字", "_1x"])
def test_names_that_are(shared: Session, name: str) -> None:
    shared.put(name, "here")
    assert shared.get(name) == "here"


def test_a_missing_variable(shared: Session) -> None:
    with pytest.raises(VariableTransferError, match="no variable not_there"):
        shared.get("not_there")


# Variables and transactions.


def test_what_was_put_belongs_to_the_cell_after_it(session: Session) -> None:
    session.put("x", 1)
    session.execute("y = x")
    session.put("x", 2)
    session.undo()
    assert (session.get("x"), session.get("y")) == (1, 1)
    session.undo()
    for name in ("x", "y"):
        with pytest.raises(VariableTransferError, match="no variable"):
            session.get(name)


def test_put_counts_as_no_input(session: Session, cell: RunCell) -> None:
    session.put("x", 1)
    assert session.execution_count == 0
    assert cell(session, "x").result.execution_count == 1


def test_a_value_larger_than_the_memory_is_refused_and_forgotten(
    make_session: MakeSession,
) -> None:
    session = make_session(memory_bytes=200_000_000)
    session.put("x", 1)
    with pytest.raises(VariableTransferError):
        session.put("x", bytes(150_000_000))
    assert session.get("x") == 1


def test_text_that_repeats_crosses_as_it_is(session: Session) -> None:
    """Columns with few different values go another way than those with many."""
    words = pd.Series(["north", "süd", None, "", "\U0001f600 west"] * 2_000)
    for series in (words, words.astype("str"), words.rename(3)):
        session.put("series", series)
        assert session.execute("assert series[3] == series.iloc[-2] == ''").success
        pd.testing.assert_series_equal(session.get("series"), series)
    many = pd.Series([f"row {n} ü" for n in range(10_000)], dtype="str")
    many[::3] = None
    session.put("many", many)
    pd.testing.assert_series_equal(session.get("many"), many)
