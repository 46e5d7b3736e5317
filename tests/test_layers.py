"""The folders are layers: imports only go down, and each outside library has one home."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

import wasm_kernel

ROOT = Path(wasm_kernel.__file__).parent
GUEST = ROOT / "runtimes" / "python" / "guest"
COMMAND_LINE = ("cli", "doctor", "terminal")
SESSIONS = ("session", "session_files")
SOURCES = sorted(path for path in ROOT.rglob("*.py") if GUEST not in path.parents)


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def module_name(path: Path) -> str:
    parts = ("wasm_kernel", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[str, str | None]]:
    """Every imported module, at any depth, with the function the import stands in."""
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]

    def visit(node: ast.AST, function: str | None) -> Iterator[tuple[str, str | None]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from ((alias.name, function) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = package[: len(package) - child.level + 1] if child.level else []
                module = ".".join([*base, *filter(None, [child.module])])
                # "from wasm_kernel import host" names a layer as well.
                yield module, function
                yield from ((f"{module}.{alias.name}", function) for alias in child.names)
            inner = child.name if isinstance(child, ast.FunctionDef) else function
            yield from visit(child, inner)

    return visit(parsed(path), None)


def is_below(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def importers(*packages: str) -> set[str]:
    """The modules of ours that import any of some packages."""
    return {
        module_name(path)
        for path in SOURCES
        for module, _ in imports(path)
        if any(is_below(module, package) for package in packages)
    }


def layer(name: str) -> list[Path]:
    """The files of a layer: a folder, or a module of that name."""
    return [path for path in SOURCES if is_below(module_name(path), f"wasm_kernel.{name}")]


def test_the_checks_see_the_sources() -> None:
    assert importers("wasmtime") >= {"wasm_kernel.host.engine", "wasm_kernel.host.guest"}
    assert all(layer(name) for name in ("core", "host", "runtimes"))


def test_only_the_host_layer_imports_wasmtime() -> None:
    strangers = importers("wasmtime")
    assert {name for name in strangers if not is_below(name, "wasm_kernel.host")} == set()


def test_only_the_notebook_layer_imports_jupyter() -> None:
    strangers = importers(
        "ipykernel", "IPython", "jupyter_client", "jupyter_core", "traitlets", "tornado", "zmq"
    )
    assert {name for name in strangers if not is_below(name, "wasm_kernel.notebook")} == set()


def test_core_imports_no_other_layer_but_for_the_factory() -> None:
    above = (
        "host",
        "runtimes",
        "idle",
        "timeline",
        "cell_report",
        "session",
        "session_files",
        "notebook",
        *COMMAND_LINE,
    )
    found = {
        (module_name(path), function)
        for path in layer("core")
        for module, function in imports(path)
        if any(is_below(module, f"wasm_kernel.{name}") for name in above)
    }
    assert found == {("wasm_kernel.core.factory", "create_sandbox")}


@pytest.mark.parametrize(
    ("lower", "above"),
    [
        (
            "host",
            ("runtimes", "idle", "timeline", "cell_report", *SESSIONS, "notebook", *COMMAND_LINE),
        ),
        ("runtimes", ("idle", "timeline", "cell_report", *SESSIONS, "notebook", *COMMAND_LINE)),
        (
            "idle",
            ("host", "runtimes", "timeline", "cell_report", "session", "notebook", *COMMAND_LINE),
        ),
        ("timeline", ("runtimes", "cell_report", "session", "notebook", *COMMAND_LINE)),
        ("cell_report", ("timeline", "session", "notebook", *COMMAND_LINE)),
        ("session", ("session_files", "notebook", *COMMAND_LINE)),
        ("session_files", ("runtimes", "session", "notebook", *COMMAND_LINE)),
        ("notebook", COMMAND_LINE),
    ],
)
def test_lower_layer_imports_no_higher_one(lower: str, above: tuple[str, ...]) -> None:
    found = {
        (module_name(path), module)
        for path in layer(lower)
        for module, _ in imports(path)
        if any(is_below(module, f"wasm_kernel.{name}") for name in above)
    }
    assert found == set()


def test_only_the_command_line_prints() -> None:
    printers = {
        module_name(path)
        for path in SOURCES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    }
    assert printers == {"wasm_kernel.cli"}


def test_every_module_says_what_it_is_for() -> None:
    missing = [module_name(path) for path in SOURCES if not ast.get_docstring(parsed(path))]
    assert missing == []
