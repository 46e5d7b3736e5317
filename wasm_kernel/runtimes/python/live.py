"""A live interpreter: the committed memory and, while it is sound, the instance that runs on it.

Knows nothing of cells, history or notebooks: it answers requests and commits or forgets what they
did to the memory.
"""

from __future__ import annotations

import threading
from typing import Any

from wasm_kernel.core.data import dataclass, replace
from wasm_kernel.core.models import ExecutionPolicy
from wasm_kernel.host.door import Frame
from wasm_kernel.host.guest import AtRest, Guest, GuestSettings, Outcome, Program, Returned
from wasm_kernel.host.journal import Journal
from wasm_kernel.host.pages import CommittedMemory, UndoRecord
from wasm_kernel.host.streams import OutputStream
from wasm_kernel.host.threads import Task, guest_threads
from wasm_kernel.host.workspace import Workspace
from wasm_kernel.host.world import VirtualWorld
from wasm_kernel.runtimes.python.conversation import Conversation, Fuel, Handler
from wasm_kernel.runtimes.python.image import Layout
from wasm_kernel.runtimes.python.inputs import Beginning, data_folder


@dataclass(frozen=True)
class Answer:
    """What a request came to."""

    outcome: Outcome
    reply: Frame | None
    memory_bytes: int
    guest_seconds: float
    failure: BaseException | None

    @property
    def is_sound(self) -> bool:
        """Whether the interpreter came back with an answer and may be entered again."""
        return isinstance(self.outcome, Returned) and self.reply is not None


class LiveInterpreter:
    """Owns the committed memory and the instance. Whoever makes it closes it."""

    def __init__(
        self,
        program: Program,
        layout: Layout,
        policy: ExecutionPolicy,
        workspace: Workspace,
        memory: CommittedMemory,
    ) -> None:
        self._program = program
        self._layout = layout
        self._policy = policy
        self._workspace = workspace
        self.memory = memory
        self._guest: Guest | None = None
        self.rest = AtRest(VirtualWorld.seeded(policy.seed))
        self.is_started = False
        self._environment: dict[str, str] | None = None
        self._guest_is_started = False
        self._committing: Task[UndoRecord] | None = None
        self._rest_after = self.rest
        # An interrupt may come from a signal handler, on the very thread that holds the lock.
        self._asking = threading.RLock()
        self._is_asked = False
        self._is_interrupted = False

    def close(self) -> None:
        """Free the instance and the memory."""
        self.forget()
        self.memory.close()

    def request(
        self,
        header: dict[str, Any],
        buffers: list[bytes],
        *,
        fuel: Fuel,
        journal: Journal,
        stdout: OutputStream,
        stderr: OutputStream,
        handlers: dict[str, Handler] | None = None,
        timeout: float | None = None,
        max_bytes: int = 1 << 28,
    ) -> Answer:
        """Hand one request to the driver and wait for its end."""
        guest = self._live_guest(journal, stdout, stderr)
        if not self._guest_is_started:
            is_origin = self._environment is None
            image = self.memory.image if is_origin else None
            start = Beginning.of(self._policy).request(image, guest)
            if not is_origin:
                # Cells of the origin may have changed theirs: it stays, but for what is named.
                start["env"], start["more"] = None, self._environment
            header = {**header, "init": start}
            self._guest_is_started = True
        conversation = Conversation(
            guest, Frame(header, buffers), fuel=fuel, handlers=handlers, max_bytes=max_bytes
        )
        outcome = conversation.run(timeout=timeout)
        return Answer(
            outcome, conversation.reply, guest.memory.size, guest.guest_seconds, guest.failure
        )

    def _live_guest(self, journal: Journal, stdout: OutputStream, stderr: OutputStream) -> Guest:
        if self._guest is not None and not self._guest.is_dead:
            self._guest.attach(stdout, stderr, journal)
            self._guest.failure = None
            return self._guest
        self.forget()
        settings = GuestSettings(
            mounts=self._layout.mounts(self._workspace.root, data_folder(self._policy)),
            memory_bytes=self._policy.memory_bytes,
            virtual=self._policy.deterministic,
        )
        self._guest = Guest(
            self._program,
            settings,
            stdout=stdout,
            stderr=stderr,
            journal=journal,
            state=self.memory,
            rest=self.rest,
        )
        self._guest.is_unwanted = lambda: self._is_interrupted
        self._guest_is_started = self.is_started
        return self._guest

    def renew(self, journal: Journal) -> None:
        """Have an instance with the committed state ready, so that the next request need not wait.

        It waits less where this is done at the end of a cell that took long anyway.
        """
        try:
            self._live_guest(journal, OutputStream(0), OutputStream(0))
        except Exception:
            # Whatever is wrong is said to the next request, if it still is by then.
            self.forget()

    def commit(self) -> Task[UndoRecord]:
        """Begin to make what the last request did to the memory the new committed state.

        Nothing else may be asked of the interpreter before ``settle``.
        """
        guest = self._guest
        assert guest is not None, "there is nothing to commit"

        def take() -> UndoRecord:
            self._rest_after = guest.at_rest()
            return self.memory.commit(guest.memory)

        self._committing = guest_threads.start(take)
        return self._committing

    @property
    def is_committing(self) -> bool:
        """Whether a commit was begun and not waited for."""
        return self._committing is not None

    def settle(self) -> None:
        """Wait for the commit that was begun; raises what it raised."""
        if self._committing is None:
            return
        self._committing.done.wait()
        task, self._committing = self._committing, None
        task.result()
        self.rest, self.is_started = self._rest_after, True

    def change_policy(self, policy: ExecutionPolicy) -> None:
        """Go on under other limits, in a new instance."""
        larger = None
        if policy.memory_bytes > self.memory.max_size:
            larger = self.memory.fork(policy.memory_bytes)
        self.forget()
        self._policy = policy
        if larger is not None:
            self.memory.close()
            self.memory = larger

    @property
    def handed_on(self) -> dict[str, str] | None:
        """What whoever goes on from here sets anew of its environment; see ``resume``."""
        return {} if self.is_started else self._environment

    def resume(self, rest: AtRest, environment: dict[str, str] | None) -> None:
        """Go on where another session rested: same files and clock, other randomness.

        ``environment`` has the variables that are set anew; None where the other session had
        not run a cell yet and has none to keep.
        """
        self.rest = rest
        self._environment = environment

    def take_back(self, *, is_sound: bool) -> None:
        """Undo what a request did to the memory, in place where that is possible."""
        guest = self._guest
        if guest is None:
            return
        if is_sound and guest.memory.size == self.memory.size and self._has_same_files(guest):
            self.memory.reset(guest.memory)
            guest.world = replace(self.rest.world)
            self._guest_is_started = self.is_started
        else:
            self.forget()

    def revert(self, record: UndoRecord, rest: AtRest, *, was_started: bool) -> None:
        """Step back by one commit, in place where that is possible."""
        guest = self._guest
        # Files that are open at an offset of their own are opened anew, in a new instance.
        stays = (
            guest is not None
            and not guest.is_dead
            and not rest.descriptors
            and not guest.wasi.open_numbers
        )
        live = guest.memory if guest is not None and stays else None
        if not self.memory.revert(record, live):
            self.forget()
        elif guest is not None:
            guest.world = replace(rest.world)
        self.rest = rest
        self.is_started = self._guest_is_started = was_started

    def _has_same_files(self, guest: Guest) -> bool:
        """Whether the same files are open, at the same offsets."""
        if guest.wasi.open_numbers != self.rest.descriptors.keys():
            return False
        return guest.at_rest().descriptors == self.rest.descriptors

    def forget(self) -> None:
        """Drop the live instance; the next request starts from the committed state."""
        if self._committing is not None:
            # It reads the instance's memory.
            self._committing.done.wait()
        if self._guest is not None:
            self._guest.close()
            self._guest = None

    def rest_instance(self) -> None:
        """Drop the live instance if one that is made later is as good: without open files."""
        if self._guest is not None and not self._guest.wasi.open_numbers:
            self.forget()

    def begin(self) -> None:
        """From here on an interrupt is for the operation that begins, wherever that is by then."""
        with self._asking:
            self._is_asked = True
            self._is_interrupted = False

    def end(self) -> None:
        """From here on an interrupt is for nobody."""
        with self._asking:
            self._is_asked = False

    def interrupt(self) -> None:
        """Stop the operation under way, also before it has entered the guest; from any thread."""
        with self._asking:
            if not self._is_asked:
                return
            self._is_interrupted = True
            guest = self._guest
            if guest is not None:
                guest.interrupt()

    @property
    def is_stopped(self) -> bool:
        """Whether the running request has to end."""
        guest = self._guest
        return guest is not None and guest.watch.cause is not None
