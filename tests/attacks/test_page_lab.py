"""Every hostile output in a real JupyterLab, and in the HTML that nbconvert makes of it.

One notebook is run twice. The first time its cells show harmless outputs, so that JupyterLab has
loaded what it draws them with; the second time the same cells show the attacks. Between the two
nothing outside the output areas may change. The control is the same notebook on a kernel whose
sanitizer is off.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import difflib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from chromium import browser_context, chromium, needs_chromium
from nbformat.v4 import new_code_cell
from notebook.lab import OPEN, Server, open_lab, running_lab, write_notebook
from playwright.sync_api import Browser, BrowserContext, Page, expect

from wasm_kernel.notebook.install import KERNEL_NAME
from wasm_kernel.notebook.sanitize import sanitize, texts
from wasm_kernel.notebook.sanitize.drawing import BARS_MAX, DETAILS_MAX

from . import page_watch, unsanitized_kernel
from .page_cells import CELLS, ready_cells
from .page_vectors import BOMBS, PIXEL, VECTORS
from .page_watch import TOUCH, Seen, Watch

pytestmark = needs_chromium

TESTS = Path(__file__).resolve().parents[1]
FAMILIES = list(dict.fromkeys(vector.family for vector in VECTORS))
NAMES = {vector.name for vector in VECTORS} | {name for cell in CELLS.values() for name in cell}

SHOW = """import base64, json
from IPython.display import display

def show(cell):
    for output in json.load(open('outputs.json'))[cell]:
        if 'code' in output:
            exec(output['code'], {'get_ipython': get_ipython})
        else:
            data = {mime: base64.b64decode(text) for mime, text in output['bytes'].items()}
            try:
                display({**output['data'], **data}, metadata=output['metadata'], raw=True)
            except Exception as error:
                print('refused in the sandbox already:', error)
"""
CHART = {
    "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
    "mark": "bar",
    "data": {"values": [{"a": 1}, {"a": 3}]},
    "encoding": {"x": {"field": "a", "type": "ordinal"}, "y": {"field": "a"}},
}
CHART_TYPE = "application/vnd.vegalite.v5+json"
HARMLESS: list[dict[str, Any]] = [
    {"text/html": "<h1>harmless</h1><style>h1 { color: teal }</style>"},
    {"text/latex": r"$\frac{1}{2}$"},
    {CHART_TYPE: CHART},
    {"image/png": PIXEL},
    {"application/json": {"a": 1}},
]


def as_output(data: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    """A bundle as the cells read it: bytes apart, since JSON has none."""
    pictures = {mime: value for mime, value in data.items() if isinstance(value, bytes)}
    return {
        "data": {mime: value for mime, value in data.items() if mime not in pictures},
        "bytes": {mime: base64.b64encode(value).decode() for mime, value in pictures.items()},
        "metadata": metadata,
    }


def harmless_outputs() -> dict[str, list[dict[str, Any]]]:
    """What every cell shows first."""
    bundles = [as_output(data, {}) for data in HARMLESS]
    pieces = {name: [{"code": "print('harmless')"}] for name in CELLS}
    errors = {name: [{"code": "raise ValueError"}] for name in CELLS if name.startswith("error")}
    return dict.fromkeys(FAMILIES, bundles) | pieces | errors | {"last": bundles}


def hostile_outputs(
    canary: str, left_out: frozenset[str] = frozenset()
) -> dict[str, list[dict[str, Any]]]:
    """What every cell shows then."""
    ready = [vector.ready(canary) for vector in VECTORS if vector.name not in left_out]
    return {
        **{
            family: [as_output(v.data, v.metadata) for v in ready if v.family == family]
            for family in FAMILIES
        },
        **{
            cell: [{"code": code} for code in pieces.values()]
            for cell, pieces in ready_cells(canary).items()
        },
        "last": [as_output(data, {}) for data in HARMLESS],
    }


def cells() -> list[nbformat.NotebookNode]:
    """The notebook: a cell for each family, the list of files, and one that is harmless."""
    written = [new_code_cell(SHOW)]
    for name in [*FAMILIES, *CELLS, "last"]:
        goes_on = {"tags": ["raises-exception"]} if name.startswith("error") else {}
        written.append(new_code_cell(f"show('{name}')", metadata=goes_on))
        if name == "file":
            written.append(new_code_cell("%files"))
    return written


# A command that an output triggers may put something else in front.
KEEP = "() => { window.panel = window.jupyterapp.shell.currentWidget }"
RUN = """() => {
    window.isDone = false;
    const done = () => { window.isDone = true };
    window.jupyterapp.commands.execute('notebook:run-all-cells').then(done, done);
}"""
# Formulas and charts are drawn one after the other: when the last cell's are there, all are.
IS_DRAWN = """() => {
    const last = window.panel.content.widgets.at(-1).node;
    // Where a name of the page was taken away, an error stands in the chart's place.
    const chart = '.vega-embed canvas, [data-mime-type="application/vnd.jupyter.stderr"]';
    return window.isDone && last.querySelector('mjx-container') && last.querySelector(chart)
        && [...document.images].every(image => image.complete || image.loading === 'lazy');
}"""
IDLE = """() => new Promise(resolve => requestAnimationFrame(() => requestIdleCallback(resolve)))"""
TOUCH_ALL = f"""() => {{
    {TOUCH}
    for (const cell of window.panel.content.widgets) {{
        cell.node.scrollIntoView();
        cell.node.querySelectorAll('.jp-OutputArea-output').forEach(touch);
    }}
}}"""
# What JupyterLab writes when it saves; without the sanitizer it can no longer send it anywhere.
SAVED = "() => JSON.stringify(window.panel.context.model.toJSON())"
LOOK = """() => {
    // JupyterLab's own: prompts count up, styles of formulas grow, a cursor blinks, and ages pass.
    const own = ['.jp-OutputArea', '.jp-Notebook-ExecutionIndicator', '.cm-cursorLayer',
        '.cm-selectionLayer', '.jp-DirListing-itemModified', '#jp-running-sessions',
        '#MJX-CHTML-styles', '#MJX-SVG-styles'].join();
    const volatile = new Set(['style', 'title', 'aria-activedescendant', 'tabindex']);
    const lines = [];
    // Not the document's own: an output may take its names.
    const root = document.documentElement;
    const visit = element => {
        if (element.matches(own)) return;
        const attributes = [...element.attributes].filter(a => !volatile.has(a.name))
            .map(a => `${a.name}=${a.value.split(/\\s+/).sort().join(' ')}`).sort();
        const text = [...element.childNodes].filter(node => node.nodeType === Node.TEXT_NODE)
            .map(node => node.data.trim()).join(' ').replace(/\\[[\\d* ]+\\]/, '[n]');
        lines.push(`${element.tagName} ${attributes.join(' ')} ${text}`);
        [...element.children].forEach(visit);
    };
    visit(root);
    const places = ['body', '#jp-top-panel', '#jp-menu-panel', '.jp-SideBar', '.jp-DirListing',
        '.jp-NotebookPanel-toolbar', '#jp-bottom-panel', '.jp-InputArea-editor'];
    const looks = places.map(place => {
        const element = root.querySelector(place);
        const style = getComputedStyle(element);
        const { left, width, height } = element.getBoundingClientRect();
        return [place, style.display, style.visibility, style.opacity, style.color,
            style.backgroundColor, style.fontSize, left, width, height].join(' ');
    });
    const covered = places.slice(1, -1).filter(place => {
        const element = root.querySelector(place);
        const { left, top, width, height } = element.getBoundingClientRect();
        const found = document.elementFromPoint(left + width / 2, top + height / 2);
        return !found || !(element.contains(found) || found.contains(element))
            || found.closest('.jp-OutputArea');
    });
    const names = ['jupyterapp', '__pwned', 'location', 'require'];
    return {
        lines, looks, covered,
        title: document.title,
        address: location.pathname + location.search,
        storage: [...Object.keys(localStorage), ...Object.keys(sessionStorage)].sort(),
        cookies: String(document.cookie).split('; ').map(cookie => cookie.split('=')[0]).sort(),
        clobbered: names.filter(name => window[name] instanceof Node)
            .concat(['cookie', 'body', 'getElementById', 'querySelector'].filter(
                name => document[name] instanceof Node && document[name] !== document.body)),
    };
}"""
# The names of files, and nothing else of the guest's, are in the outputs of these two cells.
ALIVE = """() => {
    const found = [];
    for (const cell of window.panel.content.widgets)
        if (["show('file')", '%files'].includes(cell.model.sharedModel.source)
            && cell.node.querySelector('mjx-container')) found.push('a file name that is typeset');
    for (const output of document.documentElement.querySelectorAll('.jp-OutputArea-output')) {
        for (const element of output.querySelectorAll('*')) {
            const name = element.tagName.toLowerCase();
            const drawn = element.closest('.vega-embed, mjx-container, .jp-RenderedJSON');
            // A player of samples that it carries, which waits for somebody to start it.
            if (name === 'audio' && element.controls && element.attributes.length === 2
                && element.src.startsWith('data:audio/wav;base64,')) continue;
            if (['script', 'iframe', 'object', 'embed', 'form', 'base', 'meta', 'link', 'video',
                 'audio', 'frame', 'template', 'noscript', 'dialog', 'button', 'input',
                 'foreignobject'].includes(name) && !drawn) found.push(`element ${name}`);
            for (const { name: attribute, value } of element.attributes) {
                const address = value.replace(/[\\s\\x00-\\x20]/g, '').toLowerCase();
                if (attribute.startsWith('on')) found.push(`handler ${attribute}`);
                if (/^(javascript|vbscript|data:text|blob|file):/.test(address))
                    found.push(`address ${value}`);
                if (attribute.startsWith('data-commandlinker')) found.push(attribute);
                if (['src', 'srcset', 'poster', 'background', 'ping', 'action', 'formaction']
                    .includes(attribute) && !address.startsWith('data:image/'))
                    found.push(`${attribute} ${value}`);
                if (attribute === 'style' && /url\\(|fixed|absolute/i.test(value) && !drawn)
                    found.push(`style ${value}`);
                if (attribute === 'id' && !/^wk-|^vg-|^MJX-|^mjx-/.test(value) && !drawn)
                    found.push(`id ${value}`);
            }
        }
    }
    return [...new Set(found)];
}"""


@dataclass(frozen=True)
class Shown:
    """One notebook after both runs: what happened, and how the page looked before and after."""

    seen: Seen
    before: dict[str, Any]
    after: dict[str, Any]
    alive: list[str]
    """What a person could still set off in the output areas."""
    path: Path
    canary: str
    """The address that the attacks were given."""
    count: int
    """Outputs that the saved notebook holds."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


@pytest.fixture(scope="module")
def lab(jupyter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A JupyterLab with our kernel and the one without a sanitizer."""
    spec = jupyter / "prefix" / "share" / "jupyter" / "kernels" / unsanitized_kernel.NAME
    spec.mkdir()
    module = unsanitized_kernel.__name__
    argv = [sys.executable, "-m", module, "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(
        json.dumps(
            {
                "argv": argv,
                "display_name": "control",
                "language": "python",
                "interrupt_mode": "message",
                "env": {"PYTHONPATH": str(TESTS)},
            }
        )
    )
    with running_lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


@contextlib.contextmanager
def watched(browser: Browser, home: str) -> Iterator[tuple[BrowserContext, Watch]]:
    """A browser context in which everything is noticed."""
    with page_watch.serving() as canary, browser_context(browser) as context:
        yield context, Watch(context, canary, home)


def settle(page: Page) -> None:
    """Wait until everything is drawn and the page has nothing left to do."""
    page.wait_for_function(IS_DRAWN)
    page.evaluate(IDLE)


def run_notebook(
    browser: Browser,
    lab: Server,
    kernel: str,
    left_out: frozenset[str] = frozenset(),
    enough: Callable[[Seen], bool] = lambda seen: True,
) -> Shown:
    """Run the notebook with harmless outputs and then with the attacks."""
    folder = lab.root / kernel
    outputs = folder / "workspace" / "outputs.json"
    outputs.parent.mkdir(parents=True)
    outputs.write_text(json.dumps(harmless_outputs()))
    path = folder / "hostile.ipynb"
    write_notebook(path, cells(), kernel)
    with watched(browser, lab.url) as (context, watch):
        page = open_lab(context, lab)
        page.evaluate(OPEN, f"{kernel}/hostile.ipynb")
        page.evaluate(KEEP)
        for written in (None, json.dumps(hostile_outputs(watch.canary.address, left_out))):
            if written is not None:
                outputs.write_text(written)
                before = page.evaluate(LOOK)
            page.evaluate(RUN)
            settle(page)
            page.evaluate(TOUCH_ALL)
            settle(page)
        after = page.evaluate(LOOK)
        alive = page.evaluate(ALIVE)
        saved = nbformat.reads(page.evaluate(SAVED), as_version=4)
        nbformat.write(saved, path.with_name("saved.ipynb"))
        count = sum(len(cell.outputs) for cell in saved.cells)
        return Shown(
            watch.take(enough),
            before,
            after,
            alive,
            path.with_name("saved.ipynb"),
            watch.canary.address,
            count,
        )


@pytest.fixture(scope="module")
def sanitized(browser: Browser, lab: Server) -> Shown:
    return run_notebook(browser, lab, KERNEL_NAME)


@pytest.fixture(scope="module")
def control(browser: Browser, lab: Server) -> Shown:
    return run_notebook(browser, lab, unsanitized_kernel.NAME, BOMBS, has_fired)


def has_fired(seen: Seen) -> bool:
    """Enough for a control; which of the others fire depends on which ends its frame first."""
    everything = seen.dialogs and seen.windows and seen.frames
    return bool(everything) and min(len(seen.ran), len(seen.loaded)) >= 50


def test_nothing_runs_loads_or_asks_in_jupyterlab(sanitized: Shown) -> None:
    assert len(NAMES) >= 500
    assert sanitized.count >= len(NAMES)
    assert sanitized.seen == Seen()


def test_nothing_in_the_outputs_is_alive(sanitized: Shown) -> None:
    assert sanitized.alive == []


def changes(shown: Shown) -> list[str]:
    """The lines of the page outside the outputs that are not as they were."""
    before, after = shown.before["lines"], shown.after["lines"]
    return list(difflib.unified_diff(before, after, n=0, lineterm=""))


def test_nothing_changes_outside_the_outputs(sanitized: Shown) -> None:
    assert changes(sanitized) == []
    assert sanitized.after["covered"] == sanitized.after["clobbered"] == []
    assert sanitized.after == sanitized.before


def test_the_same_notebook_fires_without_the_sanitizer(control: Shown) -> None:
    fired = control.seen.fired(NAMES)
    assert has_fired(control.seen), control.seen
    assert len(fired) >= 120, sorted(NAMES - fired)
    families = ("script", "handler", "address", "beacon", "style", "sheet", "mutation")
    others = ("deed", "type", "update", "repr", "file")
    silent = [
        family for family in (*families, *others) if not any(n.startswith(family) for n in fired)
    ]
    assert silent == []
    assert control.alive


def test_the_control_changes_what_is_outside(control: Shown) -> None:
    """That a cover would be noticed is shown in test_page_browser_static.py."""
    assert changes(control)
    assert control.after["looks"] != control.before["looks"]
    assert control.after["clobbered"]
    assert control.after["storage"] != control.before["storage"]


# Opened by hand once, so that it is there to be written into.
LIST_HEADINGS = "() => window.jupyterapp.commands.execute('toc:show-panel')"
ADD = """async data => {
    const cell = window.panel.content.widgets[0];
    cell.model.outputs.add({ output_type: 'display_data', data, metadata: {} });
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
LISTED = "() => [...document.querySelectorAll('.jp-tocItem-content')].map(e => e.textContent)"


@pytest.fixture
def page_of_notebook(browser: Browser, lab: Server, tmp_path: Path) -> Iterator[Page]:
    """A page with a notebook of one cell, to which outputs can be added."""
    folder = lab.root / tmp_path.name
    folder.mkdir()
    write_notebook(folder / "one.ipynb", [new_code_cell("1")], KERNEL_NAME)
    with browser_context(browser) as context:
        page = open_lab(context, lab)
        page.evaluate(OPEN, f"{tmp_path.name}/one.ipynb")
        page.evaluate(KEEP)
        yield page


def test_no_heading_of_an_output_is_in_the_table_of_contents(page_of_notebook: Page) -> None:
    """It is JupyterLab's own, and takes the square of the number of its entries."""
    page = page_of_notebook
    page.evaluate(LIST_HEADINGS)
    for data in (
        {"text/html": "<h1>of a cell</h1><h2 id=x class=y>of a cell</h2>"},
        {"text/markdown": "# of a cell\n\n## of a cell"},
    ):
        page.evaluate(ADD, sanitize(data, {}, html="safe").data)
    # The control: the last one is not cleaned. When it is there, the others would be as well.
    page.evaluate(ADD, {"text/html": "<h1>as it came</h1>"})
    expect(page.locator(".jp-tocItem-content", has_text="as it came")).to_be_visible()
    assert [text.strip() for text in page.evaluate(LISTED)].count("of a cell") == 0
    expect(page.locator(".jp-OutputArea-output h1", has_text="of a cell")).to_have_count(2)


def test_formulas_of_an_output_are_bounded(page_of_notebook: Page) -> None:
    page = page_of_notebook
    formula = {"text/html": "<p>$" + "x" * 25_000 + "$</p>"}
    drawn = page.locator(".jp-OutputArea-output mjx-mi")
    clean = sanitize(formula, {}, html="safe")
    assert clean.notes == [texts.MATH_NOT_TYPESET]
    page.evaluate(ADD, clean.data)
    page.evaluate(ADD, sanitize({"text/html": "<p>$y$</p>"}, {}, html="safe").data)
    expect(drawn).to_have_count(1)
    # The control: as it came, every letter is an element that MathJax measures.
    page.evaluate(ADD, formula)
    expect(drawn).to_have_count(25_001)


@pytest.mark.parametrize(
    ("name", "count"), [("details", DETAILS_MAX), ("meter", BARS_MAX), ("progress", BARS_MAX)]
)
def test_elements_that_are_made_of_others_are_few(
    page_of_notebook: Page, name: str, count: int
) -> None:
    """As they come, JupyterLab takes minutes for so many."""
    page = page_of_notebook
    for surplus in (0, 1, 60_000):
        text = f"<{name} open title='&lt;{name}>'>x</{name}>" * (count + surplus)
        page.evaluate(ADD, sanitize({"text/html": text}, {}, html="safe").data)
    # The control: as many as there may be are what they were.
    expect(page.locator(f".jp-OutputArea-output {name}")).to_have_count(count)


def convert(
    browser: Browser, shown: Shown, enough: Callable[[Seen], bool] = lambda seen: True
) -> Seen:
    """What happens in the HTML that nbconvert makes of the saved notebook."""
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--log-level", "ERROR"]
    subprocess.run([*command, str(shown.path)], check=True)
    page_text = shown.path.with_suffix(".html").read_text()
    with page_watch.serving() as site, watched(browser, site.address) as (context, watch):
        # The template's own libraries are on servers that no test may ask.
        context.route(
            lambda address: not address.startswith(("http://127.0.0.1:", "data:", "blob:")),
            lambda route: route.fulfill(status=200, content_type="text/javascript", body=""),
        )
        site.pages["/"] = page_text.replace(shown.canary, watch.canary.address)
        page = context.new_page()
        page.goto(f"{site.address}/")
        page.evaluate(f"() => {{ {TOUCH} touch(document.body) }}")
        page.evaluate(IDLE)
        return watch.take(enough)


TEMPLATE_HOSTS = ("https://cdnjs.cloudflare.com/", "https://cdn.jsdelivr.net/")


def test_nothing_runs_or_loads_in_what_nbconvert_makes(browser: Browser, sanitized: Shown) -> None:
    seen = convert(browser, sanitized)
    assert {address for address in seen.reached if not address.startswith(TEMPLATE_HOSTS)} == set()
    assert dataclasses.replace(seen, reached=set()) == Seen()


def test_nbconvert_without_the_sanitizer_fires(browser: Browser, control: Shown) -> None:
    def fires(seen: Seen) -> bool:
        return len(seen.fired(NAMES)) >= 40 and bool(seen.ran and seen.loaded)

    seen = convert(browser, control, fires)
    assert fires(seen), seen
