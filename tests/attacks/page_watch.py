"""What happens while a page is shown: scripts, requests, dialogs, windows, frames, departures.

The canary is a server on loopback that nobody may ask for anything. It answers "no content", so
that a page which leaves for it stays where it is and goes on being watched.
"""

from __future__ import annotations

import contextlib
import http.server
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from chromium import WAIT_MS
from playwright.sync_api import BrowserContext, Dialog, Frame, Page, Request

TOUCH = """
// What a hand on the mouse and the keyboard does; a link that leads elsewhere is not followed.
function touch(place) {
  for (const e of place.getElementsByTagName("*")) {
    for (const t of ["pointerover", "mouseover", "scroll", "focus"]) e.dispatchEvent(new Event(t));
    const link = (e.closest("[href]")?.getAttribute("href") || "#").replace(/[\\x00-\\x20]/g, "");
    const stays = /^(#|javascript:|vbscript:|data:)/i.test(link) && !e.closest(".vega-actions");
    if (e.click && stays) e.click();
  }
}
"""


@dataclass
class Server:
    """A loopback server: pages by path, and every path that was asked for."""

    pages: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """A server for as long as the block lasts; a path without a page has no content."""
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            page = state.pages.get(self.path)
            self.send_response(204 if page is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Access-Control-Allow-Origin", "*")
            self.end_headers()
            if page is not None:
                self.wfile.write(page.encode("utf-8", "replace"))

        do_POST = do_OPTIONS = do_HEAD = do_GET

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield state
        server.shutdown()
        thread.join()


@dataclass
class Seen:
    """Everything that must not happen, by kind."""

    ran: set[str] = field(default_factory=set)
    """Names of the vectors whose script ran, in whatever frame."""
    loaded: set[str] = field(default_factory=set)
    """Paths of the canary that were asked for."""
    reached: set[str] = field(default_factory=set)
    """Addresses that were asked for and belong neither to the page's server nor to the canary."""
    dialogs: list[str] = field(default_factory=list)
    windows: list[str] = field(default_factory=list)
    departures: list[str] = field(default_factory=list)
    """Addresses that the page itself was sent to."""
    frames: list[str] = field(default_factory=list)

    def fired(self, names: set[str]) -> set[str]:
        """Which of the vectors ran or loaded something."""
        asked = {path.split("/")[0].split(".")[0] for path in self.loaded}
        return {name for name in names if name in self.ran or name in asked}


class Watch:
    """Listens to a browser context from before its first page on."""

    def __init__(self, context: BrowserContext, canary: Server, home: str) -> None:
        self.seen = Seen()
        self.canary = canary
        self._home = home
        self._page: Page | None = None
        # In every frame, whatever its origin; the page cannot take back what was told here.
        context.expose_function("__pwned", lambda name: self.seen.ran.add(name))
        context.on("request", self._on_request)
        context.on("dialog", self._on_dialog)
        context.on("page", self._on_page)

    def take(self, enough: Callable[[Seen], object] = lambda seen: True) -> Seen:
        """What was seen up to here, with what the canary says.

        A control says what is enough: on a busy machine its attacks take their time.
        """
        last = f"{self.canary.address}/last"
        assert self._page is not None
        deadline = time.monotonic() + WAIT_MS / 1000
        while True:
            # The page's own last word: what it asked for before has been sent by then.
            self._page.evaluate("address => fetch(address).catch(() => null)", last)
            self.seen.loaded = {path.strip("/") for path in self.canary.asked} - {"last"}
            if enough(self.seen) or time.monotonic() > deadline:
                return self.seen
            self._page.wait_for_timeout(100)

    def _on_page(self, page: Page) -> None:
        if self._page is not None:
            self.seen.windows.append(page.url)
            return
        self._page = page
        page.on("frameattached", self._on_frame)
        page.on("framenavigated", self._on_departure)

    def _on_frame(self, frame: Frame) -> None:
        self.seen.frames.append(frame.url)

    def _on_departure(self, frame: Frame) -> None:
        assert self._page is not None
        if frame == self._page.main_frame and not frame.url.startswith(self._home):
            self.seen.departures.append(frame.url)

    def _on_dialog(self, dialog: Dialog) -> None:
        self.seen.dialogs.append(dialog.message)
        dialog.dismiss()

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith((self._home, self.canary.address, "data:", "blob:")):
            self.seen.reached.add(request.url)
