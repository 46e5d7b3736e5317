"""Where pydantic does its work: the models behind the records, and the error of a wrong policy.

No other module imports pydantic, and this one is imported only when there is something to do.
"""

from __future__ import annotations

import os
import typing
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar

from wasm_kernel.core.errors import WasmKernelError
from wasm_kernel.core.record import Record

_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"


@contextmanager
def _without_plugins() -> Iterator[None]:
    """Leave out pydantic's search for plugins in every installed package.

    Our models have no use for one; the user's own models still get theirs.
    """
    before = os.environ.get(_PLUGINS)
    os.environ[_PLUGINS] = "__all__"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_PLUGINS]
        else:
            os.environ[_PLUGINS] = before


with _without_plugins():
    import pydantic
    from pydantic import AfterValidator, BaseModel, GetCoreSchemaHandler, model_validator
    from pydantic_core import CoreSchema, InitErrorDetails, ValidationError, core_schema

R = TypeVar("R", bound=Record)


class PolicyValidationError(ValidationError, WasmKernelError):
    """A policy has an invalid field; the message names each field and what it takes.

    It is a pydantic ``ValidationError`` too, so code that handles either keeps working. Like any
    other exception it can be raised with a sentence of one's own.
    """

    def __new__(cls, *arguments: Any) -> PolicyValidationError:
        """From a sentence; pydantic itself comes here with what its own errors are made of."""
        if len(arguments) == 1:
            return cls.from_message("", None, str(arguments[0]))
        made: Any = super().__new__(cls, *arguments)
        return made  # type: ignore[no-any-return]

    @classmethod
    def from_validation(cls, error: ValidationError) -> PolicyValidationError:
        """The same findings as a pydantic error, under our own name."""
        details: list[InitErrorDetails] = []
        for found in error.errors(include_url=False):
            detail: InitErrorDetails = {
                "type": found["type"],
                "loc": found["loc"],
                "input": found["input"],
            }
            if "ctx" in found:
                detail["ctx"] = found["ctx"]
            details.append(detail)
        made: Any = cls.from_exception_data(error.title, details)
        return made  # type: ignore[no-any-return]

    def __str__(self) -> str:
        lines = []
        for found in self.errors(include_url=False, include_context=False):
            field = ".".join(str(part) for part in found["loc"]) or "policy"
            message = found["msg"].removeprefix("Value error, ")
            if not found["loc"] and found["input"] is None:
                return message  # somebody's own sentence, about no field and no value
            if found["type"] == "extra_forbidden":
                message = "there is no such field"
            value = found["input"]
            # A sentence of our own about a file begins with its name and need not end with it.
            is_named = isinstance(value, str) and message.startswith(f"{value} ")
            lines.append(f"{field}: {message}" + ("" if is_named else f" (got {value!r:.80})"))
        return "invalid execution policy: " + "; ".join(lines)

    @classmethod
    def from_message(cls, field: str, value: object, message: str) -> PolicyValidationError:
        """One finding of our own about one field."""
        made: Any = cls.from_exception_data(
            "ExecutionPolicy",
            [
                {
                    "type": "value_error",
                    "loc": (field,) if field else (),
                    "input": value,
                    "ctx": {"error": ValueError(message)},
                }
            ],
        )
        return made  # type: ignore[no-any-return]


_models: dict[type[Record], type[BaseModel]] = {}


def model_of(record: type[Record]) -> type[BaseModel]:
    """The pydantic model of a record's fields and rules."""
    if record not in _models:
        _models[record] = _make_model(record)
    return _models[record]


def _make_model(record: type[Record]) -> type[BaseModel]:
    hints = typing.get_type_hints(record)
    fields: dict[str, Any] = {}
    for name, field in record.model_fields.items():
        hint = hints[name]
        if name in record.model_checks:
            hint = Annotated[hint, AfterValidator(record.model_checks[name])]
        options: dict[str, Any] = {"description": field.description, **field.bounds}
        if field.default_factory is not None:
            options["default_factory"] = field.default_factory
        elif not field.is_required():
            options["default"] = field.default
        fields[name] = (hint, pydantic.Field(**options))

    def complete(values: Any) -> Any:
        return record.model_completed(values) if isinstance(values, dict) else values

    def agree(self: BaseModel) -> BaseModel:
        record.model_agree(self.__dict__)
        return self

    rules: dict[str, Any] = {
        "complete": model_validator(mode="before")(complete),
        "agree": model_validator(mode="after")(agree),
    }
    with _without_plugins():
        made: type[BaseModel] = pydantic.create_model(
            record.__name__,
            __config__=typing.cast(pydantic.ConfigDict, record.model_config),
            __doc__=record.__doc__,
            __module__=record.__module__,
            __validators__=rules,
            **fields,
        )
    return made


def checked(record: type[Record], data: dict[str, Any]) -> dict[str, Any]:
    """The values of a record, converted and checked."""
    with _refusing(record):
        return model_of(record)(**data).__dict__


def validate(record: type[R], obj: Any, options: dict[str, Any]) -> R:
    """A record of whatever pydantic can make one of."""
    if isinstance(obj, record):
        return obj
    with _refusing(record):
        return record.model_construct(**model_of(record).model_validate(obj, **options).__dict__)


def validate_json(record: type[R], text: str | bytes | bytearray, options: dict[str, Any]) -> R:
    """A record of JSON."""
    with _refusing(record):
        found = model_of(record).model_validate_json(text, **options)
    return record.model_construct(**found.__dict__)


@contextmanager
def _refusing(record: type[Record]) -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        raise record.model_refusal(error) from None


def schema_of(record: type[Record], handler: GetCoreSchemaHandler) -> CoreSchema:
    """A record inside another model: taken as it is or made of a mapping, written as values."""
    inner = handler(model_of(record))
    return core_schema.no_info_wrap_validator_function(
        lambda value, validate: (
            value
            if isinstance(value, record)
            else record.model_construct(**validate(value).__dict__)
        ),
        inner,
        serialization=core_schema.wrap_serializer_function_ser_schema(
            lambda value, write: write(value._as_twin()), schema=inner
        ),
    )
