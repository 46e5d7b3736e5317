"""Debian's Chromium without a screen, for every test that looks at a page."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

WAIT_MS = 120_000
"""How long a page may take on a busy machine, where nothing but a failure takes that long."""

CHROMIUM = Path(shutil.which("chromium") or "chromium")
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]

needs_chromium = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not CHROMIUM.exists(), reason="there is no chromium; scripts/install-chromium gets Debian's"
    ),
]
"""The marks of a module that opens pages."""


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser that is closed at the end."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield browser
        browser.close()


@contextlib.contextmanager
def browser_context(browser: Browser) -> Iterator[BrowserContext]:
    """Cookies and storage of its own, and patience."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)
    yield context
    context.close()
