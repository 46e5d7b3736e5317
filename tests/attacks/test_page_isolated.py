"""``html = "isolated"`` in a real Chromium: what its script learns of the page and takes from it.

Every check is made once more with the same HTML in one plain sandboxed frame, where it must fail.
"""

from __future__ import annotations

import contextlib
import html
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from chromium import WAIT_MS, browser_context, chromium, needs_chromium
from playwright.sync_api import Browser, FrameLocator, Page, expect

from wasm_kernel.notebook.sanitize import sanitize

from .page_watch import Server, serving

pytestmark = needs_chromium

ADDRESS = "/lab/tree/private.ipynb?token=7c1f2e5b9d3a"
FIELD = "<input id=field>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


def isolated(text: str) -> str:
    return str(sanitize({"text/html": text}, {}, html="isolated").data["text/html"])


def framed(text: str) -> str:
    """The control: one frame, the same sandbox, and nobody around it."""
    return f'<iframe sandbox=allow-scripts srcdoc="{html.escape(text)}"></iframe>'


@contextlib.contextmanager
def opened(browser: Browser, output: str) -> Iterator[Page]:
    """A page with a field to type into and an output; it keeps what the output says."""
    with serving() as site, browser_context(browser) as context:
        site.pages[ADDRESS] = f"<!doctype html><meta charset=utf-8><input id=page>{output}"
        tab = context.new_page()
        tab.add_init_script(
            "window.messages = []; addEventListener('message', e => window.messages.push(e.data))"
        )
        tab.goto(site.address + ADDRESS)
        yield tab


def said(tab: Page, count: int = 1) -> list[Any]:
    tab.wait_for_function("count => window.messages.length >= count", arg=count)
    messages: list[Any] = tab.evaluate("window.messages")
    return messages


def inner(tab: Page) -> FrameLocator:
    return tab.frame_locator("iframe").frame_locator("iframe")


SAYS_ADDRESS = "<script>top.postMessage(document.baseURI + document.referrer, '*')</script>"


def test_the_address_of_the_page_stays_with_the_page(browser: Browser) -> None:
    with opened(browser, isolated(SAYS_ADDRESS)) as tab:
        assert said(tab) == ["about:srcdoc"]


def test_a_plain_frame_is_told_the_address(browser: Browser) -> None:
    with opened(browser, framed(SAYS_ADDRESS)) as tab:
        assert ADDRESS in said(tab)[0]


def test_links_inside_the_output_lead_inside_the_output(browser: Browser) -> None:
    link = "<a id=link href='#there'>x</a><p id=there>y</p><script>"
    link += "onhashchange = () => top.postMessage(location.href, '*'); link.click()</script>"
    with opened(browser, isolated(link)) as tab:
        assert said(tab) == ["about:srcdoc#there"]


SAYS_KEYS = "onkeydown = event => top.postMessage('key ' + event.key, '*');"
BUSY = (
    "const go = () => { const end = performance.now() + 5; while (performance.now() < end);"
    " scheduler.postTask(go, {priority: 'user-blocking'}) };"
)
THIEVES = {
    "element": "setInterval(() => field.focus(), 10)",
    "window": "setInterval(() => window.focus(), 10)",
    "busy": f"{BUSY} field.onfocus = go; setInterval(() => field.focus(), 10)",
    "nested": "const nested = document.createElement('iframe');"
    f"nested.srcdoc = `<script>{SAYS_KEYS} setInterval(() => window.focus(), 10)</scr` + `ipt>`;"
    "document.body.append(nested)",
}


def thief(name: str) -> str:
    return f"{FIELD}<script>{SAYS_KEYS} {THIEVES[name]}</script>"


@pytest.mark.parametrize("name", THIEVES)
def test_an_output_that_takes_the_keyboard_is_stopped(browser: Browser, name: str) -> None:
    with opened(browser, isolated(thief(name))) as tab:
        note = tab.frame_locator("iframe").get_by_text("took the keyboard without being clicked")
        expect(note).to_be_visible()
        tab.locator("#page").click()
        tab.keyboard.type("secret")
        expect(tab.locator("#page")).to_have_value("secret")
        assert tab.evaluate("window.messages") == []


@pytest.mark.parametrize("name", THIEVES)
def test_a_plain_frame_takes_the_keyboard(browser: Browser, name: str) -> None:
    with opened(browser, framed(thief(name))) as tab:
        tab.wait_for_function("document.activeElement.tagName === 'IFRAME'")
        tab.keyboard.type("secret")
        assert "key s" in said(tab)


def test_an_output_that_waits_for_the_user_to_leave_is_stopped(browser: Browser) -> None:
    """The click is still fresh when it takes the keyboard back."""
    returns = "onblur = () => setTimeout(() => field.focus(), 200)"
    waits = f"{FIELD}<script>{SAYS_KEYS} {returns}</script>"
    with opened(browser, isolated(waits)) as tab:
        inner(tab).locator("#field").click()
        tab.keyboard.type("a")
        assert said(tab) == ["key a"]
        tab.locator("#page").click()
        expect(tab.frame_locator("iframe").get_by_text("took the keyboard")).to_be_visible()
        tab.locator("#page").click()
        tab.keyboard.type("secret")
        expect(tab.locator("#page")).to_have_value("secret")
        assert said(tab) == ["key a"]


def test_whoever_clicks_an_output_can_type_in_it(browser: Browser) -> None:
    with opened(browser, isolated(f"{FIELD}<script>{SAYS_KEYS}</script>")) as tab:
        tab.locator("#page").click()
        inner(tab).locator("#field").click()
        tab.keyboard.type("ab")
        expect(inner(tab).locator("#field")).to_have_value("ab")
        assert said(tab, 2) == ["key a", "key b"]


def test_a_click_shows_a_stopped_output_again(browser: Browser) -> None:
    once = f"{FIELD}<script>setTimeout(() => field.focus())</script>"
    with opened(browser, isolated(once)) as tab:
        tab.frame_locator("iframe").get_by_role("button", name="Show it again").click()
        expect(inner(tab).locator("#field")).to_be_visible()


ASKS = "<script>top.postMessage(document.pictureInPictureEnabled, '*')</script>"


@pytest.mark.parametrize(("shown", "is_allowed"), [(isolated, False), (framed, True)])
def test_no_window_in_front_of_all_others(browser: Browser, shown: Any, is_allowed: bool) -> None:
    with opened(browser, shown(ASKS)) as tab:
        assert said(tab) == [is_allowed]


NESTED = "const nested = document.createElement('iframe'); document.body.append(nested);"
WAYS_OUT = {
    "nested-refresh": f"{NESTED} nested.srcdoc = `<meta http-equiv=refresh content=0;url=CANARY>`",
    "nested-image": f"{NESTED} nested.sandbox = ''; nested.srcdoc = `<img src='CANARY'>`",
    "nested-leaves": f"{NESTED} nested.srcdoc = `<script>location = 'CANARY'</scr` + `ipt>`",
    "module-preload": "document.write(`<link rel=modulepreload href='CANARY'>`)",
    "style-module": "import('CANARY', {with: {type: 'css'}}).catch(() => 0)",
    "paint": "CSS.paintWorklet?.addModule('CANARY').catch(() => 0)",
    "ping": "document.write(`<a id=link href='#x' ping='CANARY'>x</a>`); link.click()",
    "stylesheet": "document.write(`<style>@import 'CANARY' layer(x);</style>`)",
    "font": "new FontFace('x', 'url(CANARY)').load().catch(() => 0)",
    "filter": "document.write(`<p style=\"filter:url('CANARY#x')\">x</p>`)",
    "unload": "onpagehide = () => navigator.sendBeacon('CANARY'); location = 'about:blank'",
    "reopened": "document.open(); document.write(`<meta http-equiv=Content-Security-Policy "
    "content='default-src *'><img src='CANARY'>`)",
    "drawing": "document.write(`<svg><image href='CANARY'/></svg>`)",
}


def asked(browser: Browser, shown: Any, expected: set[str]) -> set[str]:
    """The names of the ways that reached the canary; the expected ones may take their time."""
    with serving() as canary:
        scripts = {
            name: re.sub("CANARY", f"{canary.address}/{name}", script)
            for name, script in WAYS_OUT.items()
        }
        frames = "".join(shown(f"<body><script>{script}</script>") for script in scripts.values())
        done = "<script>onload = () => top.postMessage('done', '*')</script>"
        with opened(browser, frames + shown(done)) as tab:
            said(tab)
            last = f"{canary.address}/last"
            deadline = time.monotonic() + WAIT_MS / 1000
            rounds = 0
            while rounds < 20 or (not expected <= named(canary) and time.monotonic() < deadline):
                rounds += 1
                tab.evaluate("address => fetch(address).then(r => r.text())", last)
                tab.evaluate("() => new Promise(done => requestIdleCallback(done))")
        return named(canary)


def named(canary: Server) -> set[str]:
    return {path.strip("/") for path in canary.asked} - {"last"}


def test_no_way_out_is_open(browser: Browser) -> None:
    assert asked(browser, isolated, set()) == set()


def test_the_ways_out_of_a_plain_frame(browser: Browser) -> None:
    expected = set(WAYS_OUT) - {"paint", "filter"}
    assert asked(browser, framed, expected) >= expected
