"""Sessions that get closed, cells with their events, and calls that may not hang."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from wasm_kernel import NOTEBOOK_POLICY, SandboxResult, Session
from wasm_kernel.core.events import (
    DisplayEvent,
    ErrorEvent,
    Event,
    InputEvent,
    ResultEvent,
    StreamEvent,
)
from wasm_kernel.host.mapped import MappedMemory
from wasm_kernel.host.pages import PAGE, CommittedMemory

HANG_GUARD_SECONDS = 180.0
"""Nothing here needs a tenth of it; a test that waits so long has found a hang."""

T = TypeVar("T")


@dataclass
class Cell:
    """A cell that ran: its result and everything it sent, in order."""

    result: SandboxResult
    events: list[Event] = field(default_factory=list)

    def of(self, kind: type[T]) -> list[T]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def stdout(self) -> str:
        """What it printed, as the events had it."""
        return "".join(e.text for e in self.of(StreamEvent) if e.name == "stdout")

    @property
    def stderr(self) -> str:
        """What it wrote to stderr, as the events had it."""
        return "".join(e.text for e in self.of(StreamEvent) if e.name == "stderr")

    @property
    def value(self) -> str:
        """The text of its result."""
        (event,) = self.of(ResultEvent)
        text: str = event.data["text/plain"]
        return text

    @property
    def picture(self) -> Any:
        """The PNG of its only rich output."""
        (event,) = self.of(DisplayEvent)
        return event.data["image/png"]

    @property
    def error(self) -> ErrorEvent:
        """Its error, which the result must agree with."""
        (event,) = self.of(ErrorEvent)
        assert self.result.error is not None
        assert (event.name, event.value) == (self.result.error.name, self.result.error.value)
        return event


def run_cell(
    session: Session, code: str, *, answers: list[str] | None = None, **options: Any
) -> Cell:
    """Run a cell and keep its events; ``answers`` are given to its input requests."""
    events: list[Event] = []
    lines = list(answers or [])

    def on_event(event: Event) -> str | None:
        events.append(event)
        return lines.pop(0) if isinstance(event, InputEvent) and lines else None

    if answers is not None:
        options.setdefault("allow_stdin", True)
    return Cell(session.execute(code, on_event=on_event, **options), events)


def state_digest(session: Session) -> str:
    """A digest of the committed memory: its size, and every page that differs from the image."""
    assert session.committed_pages >= 0, "waits for the last commit"
    memory = session._live.memory
    digest = hashlib.blake2b(str(memory.size).encode())
    for first, run in memory.runs():
        for offset in range(0, len(run), PAGE):
            page, content = first + offset // PAGE, run[offset : offset + PAGE]
            if content != memory.image.bytes_at(page * PAGE, (page + 1) * PAGE):
                digest.update(page.to_bytes(4, "little") + content)
            content.release()
        run.release()
    return digest.hexdigest()


@pytest.fixture
def cell() -> Callable[..., Cell]:
    """``cell(session, code, …)``: run a cell and keep its events."""
    return run_cell


MakeSession = Callable[..., Session]


@pytest.fixture
def make_session(tmp_path: Path) -> Iterator[MakeSession]:
    """``make_session(**policy_fields)`` on the test's workspace; closed when the test ends.

    ``workspace`` and ``strategy`` are taken out of the fields.
    """
    made: list[Session] = []

    def make(
        workspace: Path | None = None,
        strategy: type[CommittedMemory] | None = None,
        **fields: Any,
    ) -> Session:
        session = Session(
            NOTEBOOK_POLICY.replace(**fields),
            workspace or tmp_path / "workspace",
            memory_strategy=strategy,
        )
        made.append(session)
        return session

    yield make
    for session in made:
        session.close()


@pytest.fixture
def session(make_session: MakeSession) -> Session:
    """A session of the test's own."""
    return make_session()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """One session for all tests of a module that leave nothing behind that others see."""
    with Session(workspace=tmp_path_factory.mktemp("shared") / "workspace") as session:
        yield session


@pytest.fixture(params=[CommittedMemory, MappedMemory], ids=["copied", "mapped"])
def strategy(request: pytest.FixtureRequest) -> type[CommittedMemory]:
    """Both ways to keep the committed memory."""
    chosen: type[CommittedMemory] = request.param
    return chosen


class Running:
    """A cell that runs on another thread."""

    def __init__(self, pool: ThreadPoolExecutor, session: Session, code: str, **options: Any):
        self._pool = pool
        self._printed = threading.Event()
        self.inputs: list[InputEvent] = []
        self.asked = threading.Event()
        self.events: list[Event] = []
        self._future: Future[SandboxResult] = pool.submit(
            session.execute, code, on_event=self._on_event, **options
        )

    def _on_event(self, event: Event) -> str | None:
        self.events.append(event)
        if isinstance(event, StreamEvent):
            self._printed.set()
        if isinstance(event, InputEvent):
            self.inputs.append(event)
            self.asked.set()
            tick = threading.Event()
            while not event.is_stopped():
                tick.wait(0.005)
        return None

    def until_printed(self) -> None:
        """Wait until the cell has printed something."""
        assert self._printed.wait(HANG_GUARD_SECONDS), "the cell never printed"

    def until_asked(self) -> None:
        """Wait until the cell asks for input."""
        assert self.asked.wait(HANG_GUARD_SECONDS), "the cell never asked"

    def result(self) -> SandboxResult:
        """Wait for the end."""
        return self._future.result(HANG_GUARD_SECONDS)

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        return self._future.done()


@pytest.fixture
def background() -> Iterator[Callable[..., Running]]:
    """``background(session, code, …)``: start a cell on another thread."""
    with ThreadPoolExecutor(4) as pool:
        yield lambda session, code, **options: Running(pool, session, code, **options)
