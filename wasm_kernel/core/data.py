"""Dataclasses that cost little to define.

The standard ones compile six methods for each class, which takes a millisecond; a cold start
defines fifty of them, and imports ``inspect`` for it. Here ``__init__`` alone is compiled, when
the first instance is made, and everything else is shared. They are used like the standard ones, by
the same names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")
_MISSING: Any = object()


class Field:
    """How one field is treated."""

    __slots__ = ("compare", "default", "default_factory", "init", "repr")

    def __init__(
        self,
        default: Any,
        default_factory: Any,
        init: bool,
        repr: bool,
        compare: bool,
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr
        self.compare = compare


def field(
    *,
    default: Any = _MISSING,
    default_factory: Callable[[], Any] = _MISSING,
    init: bool = True,
    repr: bool = True,
    compare: bool = True,
) -> Any:
    """A field with a default that is made anew, or one that is left out somewhere."""
    return Field(default, default_factory, init, repr, compare)


@dataclass_transform(field_specifiers=(field,))
def dataclass(*, frozen: bool = False) -> Callable[[type[T]], type[T]]:
    """Give a class an ``__init__`` of its annotated fields, a repr and an equality."""

    def add_methods(cls: type[T]) -> type[T]:
        fields = _fields_of(cls)
        methods: dict[str, Any] = {
            "__init__": _late_init(cls, fields),
            "__signature__": _Signature(),
            "__eq__": _equal if all(f.compare for f in fields.values()) else _equal_in_part,
            "__hash__": _hash if frozen else None,
        }
        if frozen:
            methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        if cls.__repr__ is object.__repr__:
            methods["__repr__"] = _repr
        for name, method in methods.items():
            setattr(cls, name, method)
        return cls

    return add_methods


def replace(instance: T, **changes: Any) -> T:
    """A copy with some fields changed."""
    fields: dict[str, Field] = instance.__data_fields__  # type: ignore[attr-defined]
    values = {name: value for name, value in vars(instance).items() if fields[name].init}
    return type(instance)(**{**values, **changes})


def _fields_of(cls: type) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    for name in cls.__annotations__:
        given = cls.__dict__.get(name, _MISSING)
        if isinstance(given, Field):
            delattr(cls, name)
        else:
            given = Field(given, _MISSING, True, True, True)
        fields[name] = given
    cls.__data_fields__ = fields  # type: ignore[attr-defined]
    return fields


def _late_init(cls: type, fields: dict[str, Field]) -> Any:
    def init(self: Any, *values: Any, **named: Any) -> None:
        compiled = _make_init(cls, fields)
        cls.__init__ = compiled  # type: ignore[misc]
        compiled(self, *values, **named)

    return init


class _Signature:
    """What ``inspect.signature`` tells of a class, whose ``__init__`` may not be compiled yet."""

    def __get__(self, instance: object, cls: type) -> Any:
        import inspect

        home = next(base for base in cls.__mro__ if "__init__" in vars(base))
        if "__data_fields__" not in vars(home):
            raise AttributeError("__signature__")
        given = inspect.signature(_make_init(home, home.__data_fields__))  # type: ignore[attr-defined]
        return given.replace(parameters=[*given.parameters.values()][1:])


def _make_init(cls: type, fields: dict[str, Field]) -> Any:
    known: dict[str, Any] = {"_missing": _MISSING}
    parameters, lines = [], []
    for name, field in fields.items():
        if field.default_factory is not _MISSING:
            known[f"_make_{name}"] = field.default_factory
            lines.append(f"values[{name!r}] = _make_{name}() if {name} is _missing else {name}")
            parameters.append(f"{name}=_missing")
        elif field.init:
            lines.append(f"values[{name!r}] = {name}")
            parameters.append(name if field.default is _MISSING else f"{name}=_default_{name}")
            known[f"_default_{name}"] = field.default
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n    ".join(["values = self.__dict__", *lines])
    exec(f"def __init__(self, {', '.join(parameters)}):\n    {body}", known)
    init = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _compared(instance: Any) -> tuple[Any, ...]:
    values = vars(instance)
    return tuple(values[n] for n, field in instance.__data_fields__.items() if field.compare)


def _equal(self: Any, other: object) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return self.__dict__ == other.__dict__


def _equal_in_part(self: Any, other: object) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return _compared(self) == _compared(other)


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _repr(self: Any) -> str:
    shown = (name for name, field in self.__data_fields__.items() if field.repr)
    values = ", ".join(f"{name}={vars(self).get(name)!r}" for name in shown)
    return f"{type(self).__qualname__}({values})"


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    del value
    raise AttributeError(f"{type(self).__name__}.{name} cannot be changed")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise AttributeError(f"{type(self).__name__}.{name} cannot be deleted")
