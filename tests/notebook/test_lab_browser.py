"""A real JupyterLab in a real browser: what a person sees and clicks.

Screenshots are kept in ``artifacts/screenshots`` for people to look at.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chromium import browser_context, chromium, needs_chromium
from nbformat.v4 import new_code_cell, new_markdown_cell
from playwright.sync_api import Page, expect

from wasm_kernel.notebook.install import KERNEL_NAME

from .lab import CLOSE, Notebook, Server, open_lab, running_lab, write_notebook

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def server(jupyter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A JupyterLab for all tests of this module."""
    with running_lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture(scope="module")
def page(server: Server) -> Iterator[Page]:
    """The lab in a tab."""
    with chromium() as browser, browser_context(browser) as context:
        yield open_lab(context, server)


OpenNotebook = Callable[..., Notebook]


@pytest.fixture
def open_notebook(
    page: Page, server: Server, request: pytest.FixtureRequest
) -> Iterator[OpenNotebook]:
    """``open_notebook(*sources)``: a notebook in a folder of its own, open and ready."""

    def open_with(*sources: str, title: str = "") -> Notebook:
        cells = [new_markdown_cell(title)] if title else []
        cells += [new_code_cell(source) for source in sources]
        folder = re.sub(r"\W+", "-", request.node.name.removeprefix("test_"))
        (server.root / folder).mkdir()
        write_notebook(server.root / folder / "example.ipynb", cells, KERNEL_NAME)
        return Notebook(page, f"{folder}/example.ipynb")

    yield open_with
    page.evaluate(CLOSE)


TABLE = (
    "import pandas as pd\n"
    "pd.DataFrame({'city': ['Oslo', 'Lima', 'Pune'], 'degrees': [3.0, 19.5, 31.0]})"
)
FIGURE = "import matplotlib.pyplot as plt\nplt.figure(figsize=(4, 1.6))\nplt.plot([1, 3, 2, 4]);"
FILES = (
    "with open('notes.txt', 'w') as file:\n    file.write('hello from the sandbox')\n"
    "print('written')"
)


def test_run_all_shows_outputs_and_metrics(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook("print('hello, page')", TABLE, FIGURE, FILES)
    notebook.run_all()
    expect(notebook.output(0)).to_contain_text("hello, page")
    table = notebook.output(1).locator("table.dataframe, table").first
    expect(table).to_contain_text("Lima")
    expect(notebook.output(2).locator("img")).to_be_visible()
    expect(notebook.output(3)).to_contain_text("written")
    for number in range(4):
        expect(notebook.prompt(number)).to_have_text(f"[{number + 1}]:")
        expect(notebook.output(number)).to_contain_text(re.compile(r"fuel .+ of 1 T"))
        expect(notebook.output(number)).to_contain_text(re.compile(r"memory .+ of 1\.07 GB"))
    line = notebook.output(3).locator("div", has_text=re.compile("^[0-9.]+ m?s · fuel")).last
    expect(line).to_contain_text("created notes.txt (22 B)")
    notebook.until("idle")
    notebook.screenshot("run-all")


def test_the_link_of_a_file_opens_it_in_the_lab(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook(FILES)
    notebook.run(0)
    link = notebook.output(0).get_by_role("link", name="notes.txt")
    link.click()
    editor = notebook.page.locator(".jp-FileEditor .cm-content")
    expect(editor).to_contain_text("hello from the sandbox")
    notebook.screenshot("file-link")
    # The notebook is still there: the page was not left.
    assert "/lab" in notebook.page.url


def test_the_file_browser_shows_the_workspace(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook(FILES)
    notebook.run(0)
    expect(notebook.output(0)).to_contain_text("written")
    browser = notebook.page.locator(".jp-DirListing-content")
    notebook.page.evaluate("window.jupyterapp.commands.execute('filebrowser:refresh')")
    browser.get_by_text("workspace", exact=True).dblclick()
    expect(browser.get_by_text("notes.txt", exact=True)).to_be_visible()
    notebook.screenshot("file-browser")


def test_output_is_seen_while_the_cell_runs_and_interrupt_ends_it(
    open_notebook: OpenNotebook,
) -> None:
    notebook = open_notebook(
        "kept = ['before']",
        "kept.append('half')\nprint('first line')\nwhile True:\n    pass",
        "kept",
    )
    notebook.run(0)
    expect(notebook.prompt(0)).to_have_text("[1]:")
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text("first line")
    expect(notebook.prompt(1)).to_have_text("[*]:")
    notebook.until("busy")
    notebook.screenshot("streaming")
    notebook.button("interrupt")
    expect(notebook.output(1)).to_contain_text("KeyboardInterrupt")
    expect(notebook.output(1)).to_contain_text("rolled back")
    notebook.until("idle")
    notebook.run(2)
    expect(notebook.output(2)).to_contain_text("['before']")
    notebook.screenshot("interrupted")


def test_interrupt_by_its_shortcut(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook("import time\nprint('asleep')\ntime.sleep(3600)")
    notebook.run(0)
    expect(notebook.output(0)).to_contain_text("asleep")
    notebook.page.keyboard.press("Escape")
    notebook.page.keyboard.press("i")
    notebook.page.keyboard.press("i")
    expect(notebook.output(0)).to_contain_text("KeyboardInterrupt")
    notebook.until("idle")


def test_restart(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook(
        "gone = 1\nopen('kept.txt', 'w').close()", "gone", "import os; os.listdir()"
    )
    notebook.run(0)
    expect(notebook.prompt(0)).to_have_text("[1]:")
    notebook.button("restart")
    notebook.accept()
    notebook.until("idle")
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text("NameError")
    expect(notebook.prompt(1)).to_have_text("[1]:")
    notebook.run(2)
    expect(notebook.output(2)).to_contain_text("kept.txt")


def test_input_is_asked_and_answered(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook("name = input('Your name? ')\nprint(f'Hello {name}!')")
    notebook.run(0)
    box = notebook.output(0).locator("input.jp-Stdin-input")
    expect(box).to_be_visible()
    expect(notebook.output(0)).to_contain_text("Your name?")
    notebook.screenshot("input")
    box.fill("Ada")
    box.press("Enter")
    expect(notebook.output(0)).to_contain_text("Hello Ada!")
    notebook.until("idle")


def test_a_password_is_not_shown(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook("import getpass\nlen(getpass.getpass('Secret? '))")
    notebook.run(0)
    box = notebook.output(0).locator("input.jp-Stdin-input")
    expect(box).to_have_attribute("type", "password")
    box.fill("s3cret")
    box.press("Enter")
    expect(notebook.output(0)).to_contain_text("6")
    expect(notebook.output(0)).not_to_contain_text("s3cret")


def completed(notebook: Notebook, number: int, typed: str, label: str) -> str:
    """Type, press Tab, take one of the offers; the text of the cell then."""
    editor = notebook.cell(number).locator(".cm-content")
    editor.click()
    notebook.page.keyboard.type(typed)
    notebook.page.keyboard.press("Tab")
    offers = notebook.page.locator(".jp-Completer:not(.lm-mod-hidden)")
    match = notebook.page.locator(".jp-Completer-match", has_text=re.compile(f"^{label}$"))
    offer = offers.locator(".jp-Completer-item", has=match)
    expect(offer.first).to_be_visible()
    notebook.screenshot("completion-" + re.sub(r"\W", "", label))
    offer.first.click()
    expect(offers).to_have_count(0)
    return editor.inner_text()


def test_tab_completion(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook("import pandas as pd\nframe = pd.DataFrame({'a': [1]})", "")
    notebook.run(0)
    expect(notebook.prompt(0)).to_have_text("[1]:")
    assert completed(notebook, 1, "frame.sort_", "sort_values") == "frame.sort_values"


def test_tab_completion_of_a_command(open_notebook: OpenNotebook) -> None:
    # JupyterLab gives up on completions that take a second, as the first of a new kernel may.
    notebook = open_notebook("1", "")
    notebook.run(0)
    expect(notebook.prompt(0)).to_have_text("[1]:")
    assert completed(notebook, 1, "%un", "%undo") == "%undo"


def test_the_tooltip_has_the_signature(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook("def area(width, height=2):\n    '''The area.'''", "")
    notebook.run(0)
    expect(notebook.prompt(0)).to_have_text("[1]:")
    notebook.cell(1).locator(".cm-content").click()
    notebook.page.keyboard.type("area(")
    notebook.page.keyboard.press("Shift+Tab")
    tooltip = notebook.page.locator(".jp-Tooltip")
    expect(tooltip).to_contain_text("area(width, height=2)")
    expect(tooltip).to_contain_text("The area.")
    notebook.screenshot("tooltip")


def test_no_script_of_a_cell_runs_in_the_page(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook(
        "from IPython.display import HTML, Javascript, display\n"
        "display(HTML('<img src=x onerror=\"window.reached = 1\"><b>harmless</b>'))\n"
        "display(HTML('<script>window.reached = 2</script>'))\n"
        "display(Javascript('window.reached = 3'))\n"
        "print('done')"
    )
    notebook.run(0)
    expect(notebook.output(0)).to_contain_text("done")
    expect(notebook.output(0)).to_contain_text("harmless")
    notebook.until("idle")
    assert notebook.page.evaluate("window.reached") is None


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_themes(open_notebook: OpenNotebook, theme: str) -> None:
    notebook = open_notebook(
        TABLE,
        FIGURE + "\nopen('a file.csv', 'w').write('a,b\\n1,2\\n');",
        "def divide(n):\n    return 1 / n\n\ndivide(0)",
        "%policy fuel_budget=1G",
        "while True:\n    pass",
        "%files",
        title="# Everything on one page",
    )
    notebook.theme(theme)
    notebook.run(0)
    for number in range(1, 6):
        expect(notebook.prompt(number - 1)).to_have_text(re.compile(r"^\[\d+\]:$"))
        notebook.run(number)
    expect(notebook.output(2)).to_contain_text("ZeroDivisionError")
    expect(notebook.output(4)).to_contain_text("OutOfFuel")
    expect(notebook.output(4)).to_contain_text("%policy fuel_budget=")
    expect(notebook.output(5)).to_contain_text("a file.csv")
    notebook.until("idle")
    notebook.page.set_viewport_size({"width": 1280, "height": 1600})
    notebook.panel.locator(".jp-MarkdownCell").scroll_into_view_if_needed()
    notebook.screenshot("theme-" + theme.split()[1].lower())
    # The quiet line can be read on either ground.
    line = notebook.output(0).locator("div", has_text=re.compile("^[0-9.]+ m?s · fuel")).last
    colours = line.evaluate(
        """element => {
            let ground = element;
            while (getComputedStyle(ground).backgroundColor === 'rgba(0, 0, 0, 0)')
                ground = ground.parentElement;
            return [getComputedStyle(element).color, getComputedStyle(ground).backgroundColor];
        }"""
    )
    assert contrast(*colours) >= 4.5


GALLERY = {
    "styler": "import pandas as pd\n"
    "frame = pd.DataFrame({'city': ['Oslo', 'Lima'], 'degrees': [3.0, 19.5]})\n"
    "frame.style.background_gradient(subset=['degrees']).bar(subset=['degrees'])"
    ".set_caption('A caption').format({'degrees': '{:.1f} °C'})",
    "sympy": "import sympy\nx = sympy.symbols('x')\nsympy.Integral(sympy.sqrt(1 / x), (x, 0, 1))",
    "latex": "from IPython.display import HTML, SVG, Image, Latex, Markdown\n"
    r"Latex(r'The sum $\sum_{i=1}^n i$ is $\frac{n(n+1)}{2}$.')",
    "markdown": "Markdown('## A heading\\n\\n* **bold** and `code`\\n\\n'\n"
    "    '| a | b |\\n|---|---|\\n| 1 | 2 |')",
    "html": "HTML('<p style=\"color: teal\">A <b>paragraph</b> of <i>HTML</i></p>')",
    "svg": 'SVG(\'<svg xmlns="http://www.w3.org/2000/svg" width="120" height="40">\'\n'
    '    \'<rect width="120" height="40" rx="8" fill="orange"/></svg>\')',
    "image": "import io\nimport matplotlib.pyplot as plt\nfile = io.BytesIO()\n"
    "plt.imsave(file, [[0, 1], [2, 3]], format='png')\nImage(file.getvalue(), width=60, height=60)",
    "colours": "print('\\x1b[32mgreen\\x1b[0m and \\x1b[1;34mbold blue\\x1b[0m')",
}


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_rich_outputs_are_shown_as_what_they_are(open_notebook: OpenNotebook, theme: str) -> None:
    notebook = open_notebook(*GALLERY.values())
    notebook.page.set_viewport_size({"width": 1100, "height": 1700})
    notebook.theme(theme)
    notebook.run_all()
    shown = {name: notebook.output(number) for number, name in enumerate(GALLERY)}
    expect(shown["styler"].locator("caption")).to_have_text("A caption")
    painted = shown["styler"].locator("td", has_text="19.5 °C")
    expect(painted).to_have_css("background-image", re.compile("linear-gradient"))
    for name in ("sympy", "latex"):
        expect(shown[name].locator("mjx-container").first).to_be_visible()
    expect(shown["markdown"].locator("h2")).to_have_text(re.compile("^A heading"))
    expect(shown["markdown"].locator("table")).to_be_visible()
    expect(shown["html"].locator("p")).to_have_css("color", "rgb(0, 128, 128)")
    expect(shown["svg"].locator("img")).to_be_visible()
    assert shown["svg"].locator("img").evaluate("image => image.naturalWidth") == 120
    assert shown["image"].locator("img").evaluate("image => image.width") == 60
    expect(shown["colours"].locator("span.ansi-green-fg")).to_have_text("green")
    for output in shown.values():
        expect(output.locator(".jp-RenderedText[data-mime-type*=stderr]")).to_have_count(0)
    notebook.until("idle")
    notebook.screenshot("rich-" + theme.split()[1].lower())


def contrast(first: str, second: str) -> float:
    """The contrast of two colours as the WCAG define it, with transparency laid over."""

    def parts(colour: str) -> list[float]:
        numbers = [float(number) for number in re.findall(r"[0-9.]+", colour)]
        return numbers if len(numbers) == 4 else [*numbers, 1.0]

    ground = parts(second)[:3]
    *ink, alpha = parts(first)
    seen = [alpha * over + (1 - alpha) * under for over, under in zip(ink, ground, strict=True)]

    def luminance(colour: list[float]) -> float:
        linear = [
            value / 12.92
            if (value := channel / 255) <= 0.03928
            else ((value + 0.055) / 1.055) ** 2.4
            for channel in colour
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(seen), luminance(ground)))
    return (high + 0.05) / (low + 0.05)


def test_the_magic_in_an_ordinary_notebook(page: Page, server: Server) -> None:
    """The notebook for newcomers, run by hand; a tall page shows all of it at once."""
    folder = server.root / "magic"
    folder.mkdir()
    shutil.copy(NOTEBOOKS / "sandbox_magic.ipynb", folder)
    usual = page.viewport_size
    page.set_viewport_size({"width": 1100, "height": 3000})
    try:
        notebook = Notebook(page, "magic/sandbox_magic.ipynb")
        notebook.run_all()
        expect(notebook.output(13)).to_contain_text("session default is closed")
        notebook.until("idle")
        expect(notebook.output(2)).to_contain_text(re.compile(r"fuel .+ of 1 T"))
        expect(notebook.output(4).locator("img")).to_be_visible()
        expect(notebook.output(6)).to_contain_text("To give it more: %%sandbox --fuel 2500M")
        for theme in ("Light", "Dark"):
            notebook.theme(f"JupyterLab {theme}")
            expect(page.locator("#jupyterlab-splash")).to_have_count(0)
            notebook.screenshot(f"magic-notebook-{theme.lower()}")
        notebook.theme("JupyterLab Light")
    finally:
        page.evaluate(CLOSE)
        page.set_viewport_size(usual)
