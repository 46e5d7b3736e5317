"""Data with the face of a pydantic model, at the price of a plain object.

Importing pydantic and building models takes a third of a cold start, and most runs check nothing
that needs it: limits are plain numbers, and results are made by ourselves. So a record takes
values that are right as they stand; what needs a conversion, an error, JSON or a schema goes to
the pydantic model of the same fields, which is made when it is first needed (core/validation.py).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, dataclass_transform

if TYPE_CHECKING:
    from inspect import Signature

    from pydantic import BaseModel, GetCoreSchemaHandler, ValidationError
    from pydantic_core import CoreSchema

_REQUIRED: Any = object()
_PLAIN: dict[str, type] = {
    "bool": bool,
    "float": float,
    "int": int,
    "None": NoneType,
    "str": str,
}


class Field:
    """One field: its default, its bounds in pydantic's words, and what it is for."""

    __slots__ = ("annotation", "bounds", "default", "default_factory", "description", "plain")

    def __init__(
        self,
        default: Any,
        default_factory: Callable[[], Any] | None,
        description: str | None,
        bounds: dict[str, Any],
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.description = description
        self.bounds = bounds
        self.annotation = ""
        self.plain: frozenset[type] = frozenset()

    def annotate(self, annotation: str) -> Self:
        """Take the type as it is written; of some types a value can be judged without pydantic."""
        self.annotation = annotation
        names = annotation.split(" | ")
        if all(name in _PLAIN for name in names):
            self.plain = frozenset(_PLAIN[name] for name in names)
        return self

    def is_required(self) -> bool:
        """Whether there is no default."""
        return self.default is _REQUIRED and self.default_factory is None

    def make_default(self) -> Any:
        """The value of a field that was not given."""
        if self.default_factory is not None:
            return self.default_factory()
        return self.default

    def takes(self, value: Any) -> bool:
        """Whether a value is right as it stands. A no is no refusal: pydantic may convert it."""
        if type(value) not in self.plain:
            return False
        if value is None:
            return True
        return all(_WITHIN[bound](value, limit) for bound, limit in self.bounds.items())


def field(
    *,
    default: Any = _REQUIRED,
    default_factory: Callable[[], Any] | None = None,
    description: str | None = None,
    **bounds: Any,
) -> Any:
    """A field of a record; the bounds are those of ``pydantic.Field``."""
    return Field(default, default_factory, description, bounds)


_WITHIN: dict[str, Callable[[Any, Any], bool]] = {
    "gt": lambda value, limit: value > limit,
    "ge": lambda value, limit: value >= limit,
    "lt": lambda value, limit: value < limit,
    "le": lambda value, limit: value <= limit,
    "min_length": lambda value, limit: len(value) >= limit,
    # Not a number is neither above nor below anything, and infinity is below nothing.
    "allow_inf_nan": lambda value, allowed: allowed or abs(value) < float("inf"),
}


class _LazySignature:
    """``inspect.signature`` of a record, with every field."""

    def __get__(self, _: object, owner: type[Record]) -> Signature:
        from inspect import Parameter, Signature

        def parameter(name: str, field: Field) -> Parameter:
            default = Parameter.empty if field.is_required() else field.make_default()
            kind = Parameter.KEYWORD_ONLY
            return Parameter(name, kind, default=default, annotation=field.annotation)

        return Signature([parameter(*item) for item in owner.model_fields.items()])


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class Record:
    """Named values that survive a JSON round trip; see the module's text."""

    model_fields: ClassVar[dict[str, Field]] = {}
    model_checks: ClassVar[dict[str, Callable[[Any], Any]]] = {}
    """What a field must hold beside its type and bounds; raises ValueError."""
    model_config: ClassVar[dict[str, Any]] = {}
    _defaults: ClassVar[dict[str, Any]] = {}
    _factories: ClassVar[list[tuple[str, Callable[[], Any]]]] = []
    __signature__: ClassVar[Any] = _LazySignature()

    def __init_subclass__(
        cls, *, frozen: bool = False, extra: Literal["forbid", "ignore"] = "ignore"
    ) -> None:
        cls.model_config = {"frozen": frozen, "extra": extra}
        cls.model_fields = {}
        for name, annotation in cls.__annotations__.items():
            if annotation.startswith("ClassVar"):
                continue
            given = cls.__dict__.get(name, _REQUIRED)
            made = given if isinstance(given, Field) else Field(given, None, None, {})
            cls.model_fields[name] = made.annotate(annotation)
            if name in cls.__dict__:
                delattr(cls, name)
        fields = cls.model_fields.items()
        cls._defaults = {name: field.default for name, field in fields}
        cls._factories = [
            (name, field.default_factory) for name, field in fields if field.default_factory
        ]

    def __init__(self, **data: Any) -> None:
        self._fill(self._checked(data, {}))

    @classmethod
    def _checked(cls, data: dict[str, Any], known: Mapping[str, Any]) -> Mapping[str, Any]:
        values = cls.model_completed(data)
        if cls._are_plain(values, known):
            return values
        from wasm_kernel.core import validation

        return validation.checked(cls, data)

    @classmethod
    def _are_plain(cls, values: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
        """Whether there is nothing that pydantic would convert or refuse."""
        try:
            for name, value in values.items():
                if name in known and value is known[name]:
                    continue
                if not cls.model_fields[name].takes(value):
                    return False
                if name in cls.model_checks:
                    cls.model_checks[name](value)
            if any(f.is_required() and n not in values for n, f in cls.model_fields.items()):
                return False
            cls.model_agree(values)
        except (KeyError, ValueError):
            return False
        return True

    def _fill(self, values: Mapping[str, Any]) -> None:
        # One is made for every run: the order of the fields first, then what was given.
        filled = self.__dict__
        filled.update(self._defaults)
        for name, make in self._factories:
            if name not in values:
                filled[name] = make()
        filled.update(values)

    # What a subclass may say about its fields together

    @classmethod
    def model_completed(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The values with those that follow from others."""
        return values

    @classmethod
    def model_agree(cls, values: Mapping[str, Any]) -> None:
        """Raise ValueError if values contradict each other."""

    @classmethod
    def model_refusal(cls, error: ValidationError) -> Exception:
        """What is raised for values that are wrong."""
        return error

    # The face of a pydantic model

    @classmethod
    def model_construct(cls, **values: Any) -> Self:
        """A record of values that are known to be right."""
        made = cls.__new__(cls)
        made._fill(values)
        return made

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """A record made of a mapping, converted and checked."""
        from wasm_kernel.core import validation

        return validation.validate(cls, obj, options)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """A record made of JSON, converted and checked."""
        from wasm_kernel.core import validation

        return validation.validate_json(cls, json_data, options)

    @classmethod
    def model_json_schema(cls, **options: Any) -> dict[str, Any]:
        """The JSON schema of a record."""
        return cls.model_twin().model_json_schema(**options)

    @classmethod
    def model_twin(cls) -> type[BaseModel]:
        """The pydantic model of the same fields."""
        from wasm_kernel.core import validation

        return validation.model_of(cls)

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """The values as plain data; the options are pydantic's."""
        if options:
            return self._as_twin().model_dump(**options)
        return {name: _plain(value) for name, value in self.__dict__.items()}

    def model_dump_json(self, **options: Any) -> str:
        """The values as JSON; the options are pydantic's."""
        return self._as_twin().model_dump_json(**options)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some values replaced, which are not checked."""
        made = copy.deepcopy(self) if deep else copy.copy(self)
        made.__dict__.update(update or {})
        return made

    def model_replaced(self, changes: Mapping[str, Any]) -> Self:
        """A copy with some values replaced, converted and checked like those of a new record."""
        made = copy.deepcopy(self)
        made._fill(self._checked({**made.__dict__, **changes}, made.__dict__))
        return made

    def _as_twin(self) -> BaseModel:
        return self.model_twin().model_construct(**self.__dict__)

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """So that a record can be a field of somebody's pydantic model."""
        from wasm_kernel.core import validation

        return validation.schema_of(cls, handler)

    # The manners of a pydantic model

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.model_fields or self.model_config["frozen"]:
            setattr(self._as_twin(), name, value)  # which refuses it
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        delattr(self._as_twin(), name)
        del self.__dict__[name]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        if not self.model_config["frozen"]:
            raise TypeError(f"unhashable type: {type(self).__name__!r}")
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({values})"


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.model_dump()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value
