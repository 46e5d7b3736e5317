"""The documents are true: snippets run, links lead somewhere, tables are complete."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import wasm_kernel
from wasm_kernel.cli import _parser
from wasm_kernel.core.models import ExecutionPolicy, SandboxResult
from wasm_kernel.notebook.commands import COMMANDS

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/*.md"), *ROOT.glob("bin/*.md")]
)
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)")


def fences(page: Path) -> list[tuple[str, str]]:
    return _FENCE.findall(page.read_text(encoding="utf-8"))


def is_python(language: str, text: str) -> bool:
    return language == "python" and not text.startswith("%")


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(is_python(*fence) for fence in fences(page))],
    ids=lambda page: page.name,
)
def test_snippets_print_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    found = fences(page)
    for (language, text), (next_language, said) in zip(found, [*found[1:], ("", "")], strict=True):
        if not is_python(language, text):
            continue
        exec(compile(ast.parse(text), page.name, "exec"), names)
        if next_language == "text":
            assert capsys.readouterr().out == said


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in _LINK.findall(text):
        path, _, anchor = target.partition("#")
        if path.startswith(("https:", "http:")):
            continue
        file = (page.parent / path) if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_every_environment_variable_is_in_the_table_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    sources = "".join(path.read_text() for path in (ROOT / "wasm_kernel").rglob("*.py"))
    assert set(re.findall(r'"(WASM_KERNEL_[A-Z_]+)"', sources)) == set(
        re.findall(r"^\| `(WASM_KERNEL_[A-Z_]+)`", readme, re.M)
    )


def test_every_option_of_install_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = _parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr]
    options = [
        option for action in commands["install"]._actions for option in action.option_strings
    ]
    for option in set(options) - {"-h", "--help"}:
        assert f"`{option}" in readme, option


def test_every_command_of_a_notebook_is_in_its_page() -> None:
    page = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    for command in COMMANDS.values():
        assert f"`{command.usage.split(' ')[0]}" in page, command.usage


def test_every_field_and_public_name_is_in_the_api_page() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for field in ExecutionPolicy.model_fields:
        assert f"`{field}`" in page + readme, field
    implied = {"stderr_bytes", "stderr_truncated", "metadata"}
    for field in set(SandboxResult.model_fields) - implied:
        assert f"`{field}`" in page, field
    types_of_fields = {"BaseSandbox", "CellError", "FileChange", "PythonSandbox", "RuntimeType"}
    for name in set(wasm_kernel.__all__) - types_of_fields - {"SandboxLogger"}:
        assert re.search(rf"\b{name}\b", page), name
