"""Our dataclasses beside the standard ones: what one does, the other does."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from typing import Any

import pytest

from wasm_kernel.core import data


@data.dataclass(frozen=True)
class Point:
    """A frozen one."""

    x: int
    y: int = 2
    names: list[str] = data.field(default_factory=list)
    label: str = data.field(default="", compare=False, repr=False)


@dataclasses.dataclass(frozen=True)
class StandardPoint:
    """The same by the standard library."""

    x: int
    y: int = 2
    names: list[str] = dataclasses.field(default_factory=list)
    label: str = dataclasses.field(default="", compare=False, repr=False)


@data.dataclass()
class Counter:
    """One that changes, and makes a field of others."""

    start: int
    now: int = data.field(init=False)

    def __post_init__(self) -> None:
        self.now = self.start

    def step(self) -> int:
        self.now += 1
        return self.now


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, 5), {}),
    ((), {"x": 1, "names": ["a"]}),
    ((1,), {"label": "shown nowhere"}),
    ((), {}),
    ((1, 2, [], "", 5), {}),
    ((1,), {"z": 3}),
    ((1,), {"x": 3}),
]


@pytest.mark.parametrize(("positions", "names"), CALLS)
def test_it_is_made_and_shown_as_a_standard_one(
    positions: tuple[Any, ...], names: dict[str, Any]
) -> None:
    try:
        expected = StandardPoint(*positions, **names)
    except TypeError:
        with pytest.raises(TypeError):
            Point(*positions, **names)
    else:
        made = Point(*positions, **names)
        assert vars(made) == vars(expected)
        assert repr(made) == repr(expected).removeprefix("Standard")


def test_equality_leaves_out_what_is_not_compared() -> None:
    assert Point(1, label="a") == Point(1, label="b")
    assert Point(1) != Point(2)
    assert Point(1) != StandardPoint(1)
    assert Counter(1) == Counter(1)
    stepped = Counter(1)
    stepped.step()
    assert stepped != Counter(1)


def test_only_a_frozen_one_can_be_hashed() -> None:
    @data.dataclass(frozen=True)
    class Key:
        name: str

    assert {Key("a"): 1}[Key("a")] == 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter(1))


def test_a_frozen_one_cannot_be_changed() -> None:
    point = Point(1)
    with pytest.raises(AttributeError, match=r"Point\.x cannot be changed"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match=r"Point\.x cannot be deleted"):
        del point.x
    assert point.x == 1


def test_defaults_that_can_change_are_not_shared() -> None:
    first = Point(1)
    first.names.append("a")
    assert Point(1).names == []


def test_copies_are_equal_and_replace_changes_some_fields() -> None:
    point = Point(1, names=["a"])
    for again in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert again == point
        assert again is not point
    assert data.replace(point, y=9) == Point(1, 9, ["a"])
    assert point.y == 2
    counter = Counter(1)
    counter.step()
    assert data.replace(counter).now == 1


def test_a_signature_is_told_before_the_first_instance() -> None:
    @data.dataclass()
    class Pair:
        one: int
        other: str = "b"
        more: list[int] = data.field(default_factory=list)

        @property
        def both(self) -> str:
            return f"{self.one}{self.other}"

    class Inherits(Pair):
        pass

    class HasItsOwn(Pair):
        def __init__(self, word: str) -> None:
            super().__init__(1, word)

    for of in (Pair, Inherits):
        assert list(inspect.signature(of).parameters) == ["one", "other", "more"]
    assert list(inspect.signature(HasItsOwn).parameters) == ["word"]
    assert HasItsOwn("x").both == "1x"
    assert list(inspect.signature(Pair).parameters) == ["one", "other", "more"]


def test_a_wrong_first_call_leaves_a_class_as_it_was() -> None:
    @data.dataclass()
    class One:
        value: int

    for _ in range(2):
        with pytest.raises(TypeError, match=r"One\.__init__\(\) missing 1 required"):
            One()  # type: ignore[call-arg]
    assert One(3).value == 3
