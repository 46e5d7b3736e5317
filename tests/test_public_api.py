"""The names that users import: listed, sorted, and there."""

from __future__ import annotations

import inspect

import wasm_kernel
from wasm_kernel.core import errors


def sort_key(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, each by name; as ruff sorts ``__all__``."""
    if name.isupper():
        return 0, name
    return (1 if name[0].isupper() else 2), name


def test_public_names_are_sorted_and_unique() -> None:
    assert wasm_kernel.__all__ == sorted(set(wasm_kernel.__all__), key=sort_key)


def test_public_names_can_be_imported() -> None:
    namespace: dict[str, object] = {}
    exec("from wasm_kernel import *", namespace)
    assert set(wasm_kernel.__all__) <= set(namespace)


def test_public_classes_and_functions_are_documented() -> None:
    for name in wasm_kernel.__all__:
        value = getattr(wasm_kernel, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name


def test_every_exception_is_public() -> None:
    found = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.WasmKernelError)
    }
    assert found <= set(wasm_kernel.__all__)


def test_version_is_a_release_number() -> None:
    assert all(part.isdigit() for part in wasm_kernel.__version__.split("."))
