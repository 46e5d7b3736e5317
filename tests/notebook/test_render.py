"""What the host itself shows: numbers, links and panels, whatever names a guest gave its files."""

from __future__ import annotations

import html
import json
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wasm_kernel import NOTEBOOK_POLICY
from wasm_kernel.core.models import FileChange, Limit, SandboxResult
from wasm_kernel.notebook.files import preview, table_of_files
from wasm_kernel.notebook.render import (
    FILES_SHOWN_MAX,
    KERNEL_ADVICE,
    MAGIC_ADVICE,
    advice,
    as_metadata,
    clean_name,
    escape,
    is_problem,
    limit_panel,
    metrics,
)
from wasm_kernel.notebook.sanitize.names import NO_MATH
from wasm_kernel.notebook.settings import DEFAULT_CEILING

HOSTILE = [
    "<script>alert(1)</script>.txt",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "//evil.example/x.png",
    "https://evil.example/x",
    "data:text/html,<script>alert(1)</script>",
    "a&lt;b&amp;c.txt",
    "</a></div><h1>You were logged out</h1>",
    "x?download=1#top",
    "two\nlines\rand\ttabs",
    "\x1b[2J\x1b]0;title\x07red.txt",
    "\u202egnp.exe",
    "[link](javascript:alert(1))",
    "%2e%2e/%2e%2e/etc",
    "ünïcödé ☃ 🐍.txt",
    "x" * 5000,
]


class Seen(HTMLParser):
    """The tags, attributes and texts of a piece of HTML, as a browser finds them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag != "br":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def links(self) -> list[str]:
        """Where its links lead."""
        return [value for name, value in self.attributes if name == "href"]


def result(*files: FileChange, **fields: object) -> SandboxResult:
    given: dict[str, object] = {
        "success": True,
        "workspace_path": "/somewhere/workspace",
        "fuel_consumed": 1_800_000,
        "memory_used_bytes": 63_200_000,
        "memory_peak_bytes": 70_000_000,
        "duration_ms": 2350.0,
        "files": list(files),
        **fields,
    }
    return SandboxResult(**given)  # type: ignore[arg-type]


def created(path: str, size: int = 12) -> FileChange:
    return FileChange(path=path, change="created", size=size)


# The line.


def test_the_line_has_time_fuel_and_memory_in_both_forms() -> None:
    shown = metrics(result(), NOTEBOOK_POLICY)
    assert shown.text == "[2.35 s · fuel 1.8 M of 1 T · memory 63.2 MB of 1.07 GB]"
    assert Seen(shown.html).text == shown.text.strip("[]")
    assert shown.bundle == {"text/html": shown.html, "text/plain": shown.text}


def test_the_line_follows_the_theme_and_is_one_element() -> None:
    seen = Seen(metrics(result(created("a.txt")), NOTEBOOK_POLICY, Path("workspace")).html)
    assert seen.tags == ["div", "a"]
    (style,) = [value for name, value in seen.attributes if name == "style"]
    assert "var(--jp-ui-font-color2" in style
    assert "url(" not in style


def test_the_line_names_files_with_links() -> None:
    files = (
        created("plot.png", 20_000),
        FileChange(path="sub/table.csv", change="modified", size=5),
        FileChange(path="old.txt", change="deleted"),
    )
    shown = metrics(result(*files), NOTEBOOK_POLICY, Path("workspace"))
    assert shown.text.endswith("created plot.png · modified sub/table.csv · deleted old.txt]")
    seen = Seen(shown.html)
    assert seen.links == ["./workspace/plot.png", "./workspace/sub/table.csv"]
    assert "created plot.png (20 kB) · modified sub/table.csv (5 B)" in seen.text
    assert "s" in seen.tags


def test_without_a_place_on_the_page_there_are_no_links() -> None:
    seen = Seen(metrics(result(created("a.txt")), NOTEBOOK_POLICY, None).html)
    assert seen.links == []
    assert "created a.txt (12 B)" in seen.text


def test_many_files_are_counted() -> None:
    files = [created(f"{n:03}.txt") for n in range(FILES_SHOWN_MAX + 5)]
    shown = metrics(result(*files), NOTEBOOK_POLICY, Path("workspace"))
    assert shown.text.endswith(f"00{FILES_SHOWN_MAX - 1}.txt and 5 more]")
    assert len(Seen(shown.html).links) == FILES_SHOWN_MAX
    assert "and 5 more" in shown.html


def test_cut_output_is_said() -> None:
    shown = metrics(
        result(stdout_truncated=True, stdout_bytes=12_000_000, stderr_bytes=500), NOTEBOOK_POLICY
    )
    sentence = "output cut (12 MB written; raise stdout_max_bytes)"
    assert sentence in shown.text and sentence in Seen(shown.html).text
    both = metrics(result(stdout_truncated=True, stderr_truncated=True), NOTEBOOK_POLICY)
    assert "raise stdout_max_bytes and stderr_max_bytes" in both.text


@pytest.mark.parametrize("limit", [Limit.TIME, Limit.INTERRUPTED])
def test_fuel_is_a_least_amount_where_a_clock_ended_the_run(limit: Limit) -> None:
    shown = metrics(result(limit=limit, fuel_consumed=177_000), NOTEBOOK_POLICY)
    assert "fuel at least 177 k of 1 T" in shown.text


# Names that a guest chose.


def assert_harmless(html: str, text: str, path: str) -> None:
    seen = Seen(html)
    assert set(seen.tags) <= {"div", "a", "s"}
    assert {name for name, _ in seen.attributes} <= {"style", "href", "class"}
    # Between dollars a name would be a formula: JupyterLab looks for them in every HTML output.
    assert [value for name, value in seen.attributes if name == "class"] == [NO_MATH]
    for link in seen.links:
        parts = urlsplit(link)
        assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("", "", "", "")
        assert link.startswith("./workspace/")
        assert unquote(link) == f"./workspace/{path}"
    for shown in (seen.text, text):
        assert not set("\n\r\t\x1b\x07\x00\u202e") & set(shown)
        assert len(shown) < 1000


@pytest.mark.parametrize("path", HOSTILE)
@pytest.mark.parametrize("change", ["created", "modified", "deleted"])
def test_hostile_names_stay_text(path: str, change: str) -> None:
    file = FileChange.model_validate({"path": path, "change": change, "size": 1})
    shown = metrics(result(file), NOTEBOOK_POLICY, Path("workspace"))
    assert_harmless(shown.html, shown.text, path)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60))
def test_any_name_stays_text(path: str) -> None:
    shown = metrics(result(created(path)), NOTEBOOK_POLICY, Path("workspace"))
    assert_harmless(shown.html, shown.text, path)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_a_clean_name_is_one_short_line(path: str) -> None:
    name = clean_name(path)
    assert len(name) <= 200
    assert not set("\n\r\t\v\f\x1b\x85") & set(name)


def test_ordinary_names_are_left_alone() -> None:
    for name in ("a b.txt", "Übung-1.csv", "sub/ordner/日本語.txt", "x'y.txt"):
        assert clean_name(name) == name


# The panel of a limit.


RAISABLE = [Limit.FUEL, Limit.TIME, Limit.MEMORY, Limit.WORKSPACE]
HURRIED = NOTEBOOK_POLICY.replace(timeout_seconds=12.0)


@pytest.mark.parametrize("limit", RAISABLE)
@pytest.mark.parametrize("commands", [KERNEL_ADVICE, MAGIC_ADVICE], ids=["kernel", "magic"])
def test_the_panel_says_what_was_used_and_how_to_give_more(
    limit: Limit, commands: dict[Limit, str]
) -> None:
    command = advice(commands, limit, HURRIED, DEFAULT_CEILING)
    assert command is not None
    shown = limit_panel(result(success=False, rolled_back=True, limit=limit), command)
    assert "1.8 M instructions and 70 MB in 2.35 s" in shown.text
    assert shown.text.endswith(command)
    seen = Seen(shown.html)
    assert seen.text == shown.text
    assert "code" in seen.tags
    assert any("var(--jp-warn-color1" in value for _, value in seen.attributes)


@pytest.mark.parametrize(
    ("state", "is_said"),
    [
        ({"rolled_back": False, "execution_count": 3}, True),
        ({"rolled_back": True, "execution_count": 3}, False),
        # A fresh interpreter, of which nothing stays.
        ({"rolled_back": False}, False),
    ],
)
def test_the_panel_says_that_a_cell_was_kept(state: dict[str, Any], is_said: bool) -> None:
    shown = limit_panel(result(success=False, limit=Limit.MEMORY, **state), None)
    assert ("What it did until then is kept, and can be undone." in shown.text) is is_said


def test_a_panel_without_advice() -> None:
    shown = limit_panel(result(success=False, rolled_back=True, limit=Limit.STACK), None)
    assert "%" not in shown.text
    assert Seen(shown.html).text == shown.text


@pytest.mark.parametrize("limit", [Limit.STACK, Limit.OUTPUT, Limit.NONE])
def test_no_advice_where_no_command_helps(limit: Limit) -> None:
    assert advice(KERNEL_ADVICE, limit, HURRIED, DEFAULT_CEILING) is None


@pytest.mark.parametrize("limit", RAISABLE)
def test_no_advice_where_the_ceiling_has_no_more(limit: Limit) -> None:
    assert advice(KERNEL_ADVICE, limit, HURRIED, HURRIED) is None


@pytest.mark.parametrize(
    ("limit", "present", "most", "command"),
    [
        (Limit.FUEL, {"fuel_budget": 10**11}, {}, "%policy fuel_budget=500G"),
        (Limit.FUEL, {"fuel_budget": 10**12}, {}, "%policy fuel_budget=5T"),
        (Limit.FUEL, {"fuel_budget": 7}, {}, "%policy fuel_budget=35"),
        (Limit.FUEL, {}, {"fuel_budget": 1_234_567_890_000}, "%policy fuel_budget=1234567890000"),
        (Limit.MEMORY, {"memory_bytes": 2**30}, {}, "%policy memory_bytes=2GiB"),
        (Limit.MEMORY, {"memory_bytes": 300_000_000}, {}, "%policy memory_bytes=600MB"),
        (Limit.MEMORY, {"memory_bytes": 3 << 30}, {}, "%policy memory_bytes=4194240KiB"),
        (Limit.TIME, {"timeout_seconds": 12.0}, {}, "%policy timeout_seconds=60s"),
        (Limit.TIME, {"timeout_seconds": 0.5}, {}, "%policy timeout_seconds=2500ms"),
        (
            Limit.WORKSPACE,
            {},
            {"workspace_max_files": 300_000},
            "%policy workspace_max_bytes=20GiB workspace_max_files=300000",
        ),
    ],
)
def test_the_advice_is_more_and_within_the_ceiling(
    limit: Limit, present: dict[str, float], most: dict[str, float], command: str
) -> None:
    policy, ceiling = NOTEBOOK_POLICY.replace(**present), DEFAULT_CEILING.replace(**most)
    assert advice(KERNEL_ADVICE, limit, policy, ceiling) == command


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, False),
        ({"rolled_back": True, "limit": Limit.INTERRUPTED}, False),
        ({"rolled_back": True, "limit": Limit.FUEL}, True),
        ({"rolled_back": True}, True),
        ({"limit": Limit.MEMORY}, True),
    ],
    ids=["none", "interrupted", "fuel", "aborted", "MemoryError"],
)
def test_what_is_a_problem(fields: dict[str, Any], expected: bool) -> None:
    assert is_problem(result(**fields)) is expected


# The reply's metadata.


def test_the_numbers_are_json() -> None:
    numbers = as_metadata(result(created("<b>.txt")), NOTEBOOK_POLICY)
    assert json.loads(json.dumps(numbers)) == numbers
    assert numbers["fuel_budget"] == NOTEBOOK_POLICY.fuel_budget
    assert numbers["limit"] == "none"
    assert numbers["files"][0]["path"] == "<b>.txt"


def test_the_numbers_stay_small() -> None:
    files = [created(f"{n}.txt") for n in range(5000)]
    assert len(as_metadata(result(*files), NOTEBOOK_POLICY)["files"]) == 1000


# Lists and previews of files.


def test_a_table_of_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.txt").write_text("bb")
    (tmp_path / "a.txt").write_text("a")
    bundle = table_of_files(tmp_path)
    assert [line.split()[-1] for line in bundle["text/plain"].splitlines()] == [
        "a.txt", "sub/b.txt",
    ]  # fmt: skip
    assert Seen(bundle["text/html"]).tags.count("tr") == 3


def test_a_table_of_hostile_names(tmp_path: Path) -> None:
    names = [name for name in HOSTILE if "/" not in name and len(name) < 200]
    for name in names:
        (tmp_path / name).write_text("")
    bundle = table_of_files(tmp_path)
    assert len(bundle["text/plain"].splitlines()) == len(names)
    seen = Seen(bundle["text/html"])
    assert set(seen.tags) == {"table", "tr", "th", "td"}
    assert {name for name, _ in seen.attributes} == {"style", "class"}
    assert ("class", NO_MATH) in seen.attributes
    assert "\x1b" not in bundle["text/plain"] + seen.text


def test_a_preview_of_a_hostile_table(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('<img src=x>,b\n"<script>alert(1)</script>",\x1b[2J2\n')
    bundle = preview(tmp_path, "x.csv", html="safe")
    seen = Seen(bundle["text/html"])
    assert set(seen.tags) == {"table", "thead", "tbody", "tr", "th", "td"}
    assert seen.attributes == [("class", NO_MATH)]
    assert "<script>alert(1)</script>" in seen.text
    assert "\x1b" not in bundle["text/plain"] + seen.text


def test_a_preview_keeps_to_the_first_lines(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(1000)))
    assert Seen(preview(tmp_path, "long.csv", html="safe")["text/html"]).tags.count("tr") == 21
    (tmp_path / "long.txt").write_text("".join(f"{n}\n" for n in range(1000)))
    lines = preview(tmp_path, "long.txt", html="safe")["text/plain"].splitlines()
    assert lines[0] == "0"
    assert len(lines) <= 110


def test_a_preview_of_what_is_not_a_picture(tmp_path: Path) -> None:
    (tmp_path / "fake.png").write_bytes(b"<svg onload=alert(1)>")
    bundle = preview(tmp_path, "fake.png", html="safe")
    assert "image/png" not in bundle
    assert bundle["text/plain"]


def test_links_are_relative_to_the_notebook() -> None:
    link = Seen(metrics(result(created("a/b c.txt")), NOTEBOOK_POLICY, Path("workspace")).html)
    assert PurePosixPath(unquote(link.links[0])) == PurePosixPath("workspace/a/b c.txt")


@given(st.text())
def test_escaped_as_the_standard_library_does_it(text: str) -> None:
    assert escape(text) == html.escape(text)
