"""Interpreters that wait for a script, shared by all sandboxes of a process.

An instance whose last script ended well is put back to its image and goes on to where its driver
asks for the next script, before there is one: that is most of what a small script costs. Meanwhile
it has no folder and belongs to no sandbox. Whoever is the first to have a script for its kind gives
it that with his own folders and limits.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wasm_kernel.core.data import dataclass, field
from wasm_kernel.core.errors import SandboxExecutionError
from wasm_kernel.host.door import Frame
from wasm_kernel.host.guest import (
    Folders,
    Guest,
    GuestSettings,
    Outcome,
    Program,
    Returned,
)
from wasm_kernel.host.journal import Journal, Quota
from wasm_kernel.host.mapped import strategy
from wasm_kernel.host.memory import Image
from wasm_kernel.host.mounts import Mount
from wasm_kernel.host.streams import OutputStream
from wasm_kernel.host.threads import Task, guest_threads
from wasm_kernel.host.workspace import Workspace
from wasm_kernel.host.world import VirtualWorld
from wasm_kernel.runtimes.python.conversation import Conversation, Fuel
from wasm_kernel.runtimes.python.image import (
    ONE_SHOT_IMAGES,
    SERVE,
    Layout,
    boot_source,
    choose_image,
)
from wasm_kernel.runtimes.python.inputs import Beginning

IDLE_MAX = 8
"""Interpreters that wait in a process; each has some 4 MB and a thread."""

PREPARING_MAX = 2
"""How many of a kind may be on their way back: sooner wait for the oldest than make another."""

KEEP_SECONDS = 60.0
"""How long one waits for a script before it ends by itself."""

_BOOT_FUEL = 50_000_000_000


@dataclass(frozen=True)
class Kind:
    """What a script can tell of the interpreter that it gets: one of the same kind is the same."""

    program: Program
    layout: Layout
    memory_bytes: int
    beginning: Beginning

    @property
    def image(self) -> Image | None:
        """What its memory begins as; None where no image fits."""
        return choose_image(self.program, self.layout, ONE_SHOT_IMAGES, self.memory_bytes)

    def settings(self, mounts: tuple[Mount, ...] = ()) -> GuestSettings:
        """An instance with these folders; one that waits has none."""
        return GuestSettings(mounts, self.memory_bytes, virtual=self.beginning.deterministic)


@dataclass()
class Script:
    """A script on its way to an interpreter, with what its run has around it."""

    request: dict[str, Any]
    folders: Folders
    stdout: OutputStream
    stderr: OutputStream
    journal: Journal
    fuel: Fuel
    reply: dict[str, Any] | None = None
    is_taken: bool = field(default=False)
    """Whether an interpreter has begun with it."""


class Interpreter:
    """One instance that runs scripts of a kind, one at a time. Whoever makes it closes it.

    ``leave`` is asked when it has waited for long: whether no script can be on its way any more.
    """

    def __init__(self, kind: Kind, leave: Callable[[Interpreter], bool]) -> None:
        self.kind = kind
        self._leave = leave
        image = kind.image
        self._image = image
        self.state = None if image is None else strategy()(image, image.size)
        nowhere = OutputStream(0), OutputStream(0)
        self.guest = Guest(
            kind.program, kind.settings(), stdout=nowhere[0], stderr=nowhere[1], state=self.state
        )
        self._is_new = True
        self._has_left = False
        try:
            self.prepare()
        except BaseException:
            self._free()
            raise

    def prepare(self) -> None:
        """Go to where the next script is asked for, beside whatever the caller does next."""
        self._scripts: queue.SimpleQueue[Script | None] = queue.SimpleQueue()
        self._is_waiting = threading.Event()
        self.guest.watch.clear()
        self._serving: Task[Outcome] = guest_threads.start(self._serve)

    @property
    def is_waiting(self) -> bool:
        """Whether it would begin with a script at once."""
        return self._is_waiting.is_set()

    @property
    def has_ended(self) -> bool:
        """Whether it will take no script any more: what was to prepare it failed."""
        return self._serving.done.is_set()

    def run(self, script: Script, *, timeout: float | None) -> Outcome:
        """Run a script to its end."""
        guest = self.guest
        outcome = guest_threads.attend(
            self._serving,
            lambda: self._scripts.put(script),
            timeout=timeout,
            stop=guest.watch.stop,
        )
        if guest.failure is not None:
            raise SandboxExecutionError(
                f"the host failed while it served the guest: {guest.failure!r}"
            ) from guest.failure
        if not script.is_taken and guest.watch.cause is None:
            raise SandboxExecutionError(
                f"the interpreter could not be started under these limits ({outcome}); "
                "a larger memory_bytes may help"
            )
        return outcome

    def can_run_another(self) -> bool:
        """Whether it can be put back to what it was before the last script.

        The linear memory is the whole state of a guest at rest, and descriptors are given anew.
        """
        guest, state = self.guest, self.state
        return state is not None and not guest.is_dead and guest.memory.size == state.size

    def _serve(self) -> Outcome:
        """On a guest's thread: from the image to the end of one script."""
        guest = self.guest
        if not self._is_new:
            self._put_back()
        self._is_new = False
        if self._image is None and (outcome := self._start()) != Returned(0):
            return outcome
        guest.world = VirtualWorld.seeded(self.kind.beginning.seed)
        start = self.kind.beginning.request(self._image, guest)
        conversation = _Waiting(self, Frame({"op": "script", "init": start}))
        guest.door, guest.door_max_bytes = conversation.answer, conversation.max_bytes
        try:
            outcome = guest.turn_here(SERVE, fuel=_BOOT_FUEL)
        finally:
            guest.door = None
        script = conversation.script
        if script is not None:
            script.fuel.settle(guest.fuel)
            script.reply = None if conversation.reply is None else conversation.reply.header
            guest.wasi.release()
        elif self._has_left:
            self._free()
        return outcome

    def _start(self) -> Outcome:
        """Start Python where no image fits, in a workspace that takes no files."""
        # Rare, and not cheap to import.
        import tempfile

        guest = self.guest
        with tempfile.TemporaryDirectory(prefix="wasm-kernel-start-") as scratch:
            with Workspace(Path(scratch)) as workspace:
                nowhere = OutputStream(0), OutputStream(0)
                guest.attach(*nowhere, Journal(workspace, Quota(0, 0)))
                mounts = self.kind.layout.mounts(workspace.root)
                guest.take_folders(Folders.open(self.kind.settings(mounts)))
                return guest.turn_here(boot_source(self.kind.layout, "core"), fuel=_BOOT_FUEL)

    def _put_back(self) -> None:
        guest = self.guest
        assert self.state is not None
        self.state.reset(guest.memory)
        guest.attach(OutputStream(0), OutputStream(0), None)
        guest.take_folders(Folders.open(self.kind.settings()))

    def next_script(self) -> Script | None:
        """On the guest's thread: wait for a script; None where there will be none."""
        self._is_waiting.set()
        while not self._has_left:
            try:
                return self._scripts.get(timeout=KEEP_SECONDS)
            except queue.Empty:
                # Whoever has taken it in this moment will send a script.
                self._has_left = self._leave(self)
        return None

    def close(self) -> None:
        """Free the instance and its memory; one that waits is sent away first."""
        self._scripts.put(None)
        self._serving.done.wait()
        self._free()

    def _free(self) -> None:
        self.guest.close()
        if self.state is not None:
            self.state.close()


class _Waiting(Conversation):
    """Begins without a script, and waits for it where the driver asks for more."""

    def __init__(self, interpreter: Interpreter, request: Frame) -> None:
        super().__init__(interpreter.guest, request, fuel=Fuel(0, _BOOT_FUEL))
        self._interpreter = interpreter
        self._has_begun = False
        self.script: Script | None = None

    def next_request(self) -> Frame | None:
        if not self._has_begun:
            self._has_begun = True
            return super().next_request()
        script = None if self.script is not None else self._interpreter.next_script()
        if script is None:
            return None
        self.script = script
        script.is_taken = True
        self.fuel = script.fuel
        guest = self._interpreter.guest
        guest.attach(script.stdout, script.stderr, script.journal)
        guest.take_folders(script.folders)
        guest.set_fuel(script.fuel.shell_left)
        guest.start_clock()
        return Frame(script.request)


class Pool:
    """The interpreters of this process that wait, the one that was used last at the end."""

    def __init__(self) -> None:
        self._idle: list[Interpreter] = []
        self._of_parent: list[Interpreter] = []
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Begin anew: in a process that was forked nobody serves them.

        They are never freed there: each is in the middle of a call that does not end.
        """
        self._of_parent += self._idle
        self._idle = []
        self._lock = threading.Lock()

    def take(self, kind: Kind) -> Interpreter:
        """An interpreter for a script, which the caller gives back or closes."""
        with self._lock:
            failed = [one for one in self._idle if one.has_ended]
            self._idle = [one for one in self._idle if one not in failed]
            chosen = self._choose(kind)
            if chosen is not None:
                self._idle.remove(chosen)
        for one in failed:
            one.close()
        return chosen if chosen is not None else Interpreter(kind, self.remove)

    def _choose(self, kind: Kind) -> Interpreter | None:
        found = [one for one in self._idle if one.kind == kind]
        waiting = [one for one in found if one.is_waiting]
        if waiting:
            return waiting[-1]
        return found[0] if len(found) >= PREPARING_MAX else None

    def give_back(self, interpreter: Interpreter) -> None:
        """Keep an interpreter for the next script, if it can run another."""
        if not interpreter.can_run_another():
            interpreter.close()
            return
        try:
            interpreter.prepare()
        except RuntimeError:
            # There is no thread to be had. The run has ended well all the same.
            interpreter.close()
            return
        with self._lock:
            self._idle.append(interpreter)
            surplus = self._idle.pop(0) if len(self._idle) > IDLE_MAX else None
        if surplus is not None:
            surplus.close()

    def remove(self, interpreter: Interpreter) -> bool:
        """Take one out that ends; whether it was there."""
        with self._lock:
            if interpreter not in self._idle:
                return False
            self._idle.remove(interpreter)
            return True

    def close(self) -> None:
        """End all that wait."""
        with self._lock:
            idle, self._idle = self._idle, []
        for interpreter in idle:
            interpreter.close()

    @property
    def idle(self) -> list[Interpreter]:
        """Those that wait or are about to."""
        with self._lock:
            return [*self._idle]


pool = Pool()
atexit.register(pool.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.forget)
