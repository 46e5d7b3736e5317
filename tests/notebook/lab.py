"""A JupyterLab that runs, a tab it is open in, and a notebook in that tab."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.v4 import new_notebook
from playwright.sync_api import BrowserContext, Locator, Page, expect

from wasm_kernel.notebook.install import DISPLAY_NAME

SCREENSHOTS = Path(__file__).resolve().parents[2] / "artifacts" / "screenshots"
START_SECONDS = 180

SETTINGS = {
    "@jupyterlab/apputils-extension/notification.jupyterlab-settings": {
        "fetchNews": "false",
        "checkForUpdates": False,
    },
    # Every cell and every output is in the page, whether or not it is in sight.
    "@jupyterlab/notebook-extension/tracker.jupyterlab-settings": {
        "windowingMode": "none",
        "maxNumberOutputs": 5_000,
    },
}


@dataclass
class Server:
    """A JupyterLab that runs."""

    url: str
    token: str
    root: Path


@contextlib.contextmanager
def running_lab(folder: Path) -> Iterator[Server]:
    """JupyterLab on loopback, with a token; its files and settings are in a folder of its own."""
    root, settings, workspaces = (folder / name for name in ("root", "settings", "workspaces"))
    for made in (root, settings, workspaces):
        made.mkdir(parents=True)
    for name, values in SETTINGS.items():
        (settings / name).parent.mkdir(parents=True, exist_ok=True)
        (settings / name).write_text(json.dumps(values))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    url = ""
    process = subprocess.Popen(
        [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root",
            # Somebody may have taken the port by then; the server looks for another.
            "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}",
            "--ServerApp.port_retries=50", f"--IdentityProvider.token={token}",
            f"--ServerApp.root_dir={root}", "--LabApp.extension_manager=readonly",
            "--expose-app-in-browser",
        ],
        cwd=root,
        env={
            **os.environ,
            "JUPYTERLAB_SETTINGS_DIR": str(settings),
            "JUPYTERLAB_WORKSPACES_DIR": str(workspaces),
            "PYTHONWARNINGS": "ignore",
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    guard = threading.Timer(START_SECONDS, process.kill)
    guard.start()
    log: list[str] = []
    assert process.stderr is not None
    for line in process.stderr:
        log.append(line)
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        if found:
            url = found[0]
            break
    guard.cancel()
    # Somebody has to read what it goes on to say, or it stops when the pipe is full.
    reader = threading.Thread(target=log.extend, args=(process.stderr,), daemon=True)
    reader.start()
    try:
        assert url, "".join(log)
        yield Server(url, token, root)
    finally:
        process.terminate()
        try:
            process.wait(timeout=START_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join()
        process.stderr.close()


def open_lab(context: BrowserContext, server: Server) -> Page:
    """The lab in a tab, with nothing open in it."""
    page = context.new_page()
    page.goto(f"{server.url}/lab?token={server.token}&reset")
    expect(page.locator("#jp-main-dock-panel")).to_be_visible()
    return page


def write_notebook(path: Path, cells: list[nbformat.NotebookNode], kernel: str) -> None:
    """A notebook file for one of our kernels."""
    spec = {"name": kernel, "display_name": DISPLAY_NAME, "language": "python"}
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": spec}), path)


OPEN = """async path => {
    const { commands, shell } = window.jupyterapp;
    const widget = await commands.execute('docmanager:open', { path, factory: 'Notebook' });
    [...shell.widgets('main')].filter(other => other !== widget).forEach(w => w.dispose());
    await widget.context.ready;
    await widget.sessionContext.ready;
    await widget.sessionContext.session.kernel.info;
    await commands.execute('filebrowser:go-to-path', { path: path.split('/')[0] });
}"""
CLOSE = """async () => {
    const { serviceManager, shell } = window.jupyterapp;
    // Disposed of, not closed: nobody is asked whether to save.
    [...shell.widgets('main')].forEach(widget => widget.dispose());
    await serviceManager.sessions.shutdownAll();
}"""


class Notebook:
    """A notebook that is open in the browser."""

    def __init__(self, page: Page, path: str) -> None:
        self.page = page
        self.panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        page.evaluate(OPEN, path)
        self.until("idle")

    def until(self, status: str) -> None:
        """Wait for a state of the kernel."""
        indicator = self.panel.locator(".jp-Notebook-ExecutionIndicator")
        expect(indicator).to_have_attribute("data-status", status)

    def cell(self, number: int) -> Locator:
        """A code cell, counted from 0."""
        return self.panel.locator(".jp-CodeCell").nth(number)

    def output(self, number: int) -> Locator:
        """Everything a cell shows."""
        return self.cell(number).locator(".jp-OutputArea").first

    def prompt(self, number: int) -> Locator:
        """The prompt of a cell, as ``[3]:``."""
        return self.cell(number).locator(".jp-InputPrompt").first

    def run(self, number: int) -> None:
        """Run one cell by its shortcut."""
        self.cell(number).locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")

    def run_all(self) -> None:
        """Run all cells by the menu."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name=re.compile("^Run All Cells")).click()

    def button(self, name: str) -> None:
        """Press a button of the notebook's toolbar."""
        self.panel.locator(f'[data-jp-item-name="{name}"]').locator("jp-button").click()

    def accept(self) -> None:
        """Agree to the question of a dialog."""
        self.page.locator(".jp-Dialog .jp-mod-accept").click()

    def theme(self, name: str) -> None:
        """Change the theme, and wait for it."""
        self.page.evaluate(
            "name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})",
            name,
        )
        body = self.page.locator("body")
        expect(body).to_have_attribute("data-jp-theme-name", name)

    def screenshot(self, name: str) -> None:
        """Keep a picture of the whole notebook."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(SCREENSHOTS / f"{name}.png"))
