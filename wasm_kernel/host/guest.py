"""One guest instance: made with its mounts and limits, entered, and closed.

An instance that trapped or exited is never entered again: its globals are unsound. What a call
came to is a value (``Returned``, ``Exited``, ``Trapped``), never an exception.
"""

from __future__ import annotations

import atexit
import struct
import time
import weakref
from collections.abc import Callable
from enum import Enum

import wasmtime

from wasm_kernel.core.data import dataclass, field, replace
from wasm_kernel.core.errors import (
    InvalidRuntimeError,
    SandboxExecutionError,
    WorkspaceError,
)
from wasm_kernel.host import calls, second_names
from wasm_kernel.host.apart import require_apart
from wasm_kernel.host.descriptors import Descriptors
from wasm_kernel.host.engine import shared_engine
from wasm_kernel.host.journal import Journal
from wasm_kernel.host.memory import WASM_PAGE, GuestMemory
from wasm_kernel.host.mounts import Mount
from wasm_kernel.host.pages import CommittedMemory
from wasm_kernel.host.program import DOOR_FAULT, Program
from wasm_kernel.host.streams import OutputStream
from wasm_kernel.host.threads import guest_threads
from wasm_kernel.host.virtual import VirtualGuard
from wasm_kernel.host.wasi import WasiGuard
from wasm_kernel.host.wasi_abi import INTR, relay_module, unsigned
from wasm_kernel.host.watch import Watch, current, watch_store
from wasm_kernel.host.world import VirtualWorld

Door = Callable[[bytes], bytes]
"""Answers the bytes of one call through ``host.call``."""

FIRST_PREOPEN = 3
# Besides the guest: the relay to Wasmtime's WASI, and the differ with its three memories.
_INSTANCES_MAX, _MEMORIES_MAX = 3, 4
# A table lies outside of the linear memory that the policy limits.
_TABLES_MAX, _TABLE_ELEMENTS_MAX = 8, 1 << 20


class TrapKind(Enum):
    """Why a guest was ended."""

    FUEL = "fuel"
    TIME = "time"
    INTERRUPTED = "interrupted"
    STACK = "stack"
    ABORT = "abort"


@dataclass(frozen=True)
class Returned:
    """The call came back."""

    value: int | None


@dataclass(frozen=True)
class Exited:
    """The guest called ``proc_exit``."""

    code: int


@dataclass(frozen=True)
class Trapped:
    """The guest was ended."""

    kind: TrapKind
    message: str


Outcome = Returned | Exited | Trapped


@dataclass(frozen=True)
class GuestSettings:
    """What an instance is given: its folders, its arguments and its limits."""

    mounts: tuple[Mount, ...]
    memory_bytes: int
    argv: tuple[str, ...] = ("python",)
    env: tuple[tuple[str, str], ...] = ()
    virtual: bool = False


@dataclass(frozen=True)
class Folders:
    """Mounts that were opened for one instance, to be given to it once."""

    mounts: dict[int, Mount]
    config: wasmtime.WasiConfig

    @classmethod
    def open(cls, settings: GuestSettings) -> Folders:
        """Open the folders of some settings, in their order."""
        config = wasmtime.WasiConfig()
        config.argv = list(settings.argv)
        config.env = list(settings.env)
        require_apart(settings.mounts)
        mounts = dict(enumerate(settings.mounts, FIRST_PREOPEN))
        for mount in settings.mounts:
            try:
                config.preopen_dir(str(mount.host), mount.guest, mount.is_workspace)
            except wasmtime.WasmtimeError as error:
                raise WorkspaceError(
                    f"the folder {mount.host} cannot be opened; was it removed?"
                ) from error
        return cls(mounts, config)


@dataclass(frozen=True)
class AtRest:
    """What belongs to a resting guest besides its memory: its clock and its open files."""

    world: VirtualWorld
    descriptors: Descriptors = field(default_factory=dict)


_RELAY_FUEL = 100_000_000
_DOOR_OK = 0
_DOOR_MAX_BYTES = 1 << 30

_alive: weakref.WeakSet[Guest] = weakref.WeakSet()


class Guest:
    """A live instance. Whoever makes it closes it."""

    def __init__(
        self,
        program: Program,
        settings: GuestSettings,
        *,
        stdout: OutputStream,
        stderr: OutputStream,
        journal: Journal | None = None,
        door: Door | None = None,
        state: CommittedMemory | None = None,
        rest: AtRest | None = None,
    ) -> None:
        self.program = program
        self.attach(stdout, stderr, journal)
        self.door = door
        self.door_max_bytes = _DOOR_MAX_BYTES
        """How long a message through the door may be; of a longer one no more is looked at."""
        self.world = VirtualWorld.seeded(0)
        self.watch = Watch()
        self.is_unwanted: Callable[[], bool] = lambda: False
        """Whether the run that begins has been interrupted already, before there was one."""
        self.failure: BaseException | None = None
        self.guest_seconds = 0.0
        self._started = 0.0
        self._entered = False
        self._dead = False
        self._is_at_the_door = False
        self._has_trapped_inside = False
        self._relay: dict[str, calls.Export] | None = None
        self._guard = VirtualGuard if settings.virtual else WasiGuard
        self.store = wasmtime.Store(shared_engine())
        try:
            self._instantiate(settings, state)
            if rest is not None:
                self.take_up(rest)
        except BaseException:
            self.store.close()
            raise
        _alive.add(self)

    def _instantiate(self, settings: GuestSettings, state: CommittedMemory | None) -> None:
        limit = settings.memory_bytes // WASM_PAGE * WASM_PAGE
        self.store.set_limits(
            memory_size=limit,
            table_elements=_TABLE_ELEMENTS_MAX,
            instances=_INSTANCES_MAX,
            tables=_TABLES_MAX,
            memories=_MEMORIES_MAX,
        )
        self.store.set_fuel(0)
        watch_store(self.store)
        folders = Folders.open(settings)
        try:
            instance = self.program.linked(virtual=settings.virtual).instantiate(self.store)
        except wasmtime.Trap as error:
            # Nothing runs before it is called: there is no fuel yet, and no clock is set.
            raise InvalidRuntimeError(
                f"{self.program.path} is not a Python we can run: it has a start function"
            ) from error
        except wasmtime.WasmtimeError as error:
            if "memory minimum size" in str(error):
                raise SandboxExecutionError(
                    f"memory_bytes={settings.memory_bytes} is less than this Python needs "
                    "to start; raise it to 64 MB or more"
                ) from error
            raise SandboxExecutionError(f"the guest could not be started: {error}") from error
        self._exports = instance.exports(self.store)
        self._functions: dict[str, calls.Export] = {}
        memory = self._exports["memory"]
        assert isinstance(memory, wasmtime.Memory)
        self._wasm_memory = memory
        self.memory = GuestMemory(self.store, memory, limit)
        if state is not None:
            state.load_into(self.memory)
        self.take_folders(folders)

    # What is around it.

    def attach(self, stdout: OutputStream, stderr: OutputStream, journal: Journal | None) -> None:
        """Where the guest writes from here on; without a workspace there is no journal."""
        self.stdout = stdout
        self.stderr = stderr
        self._journal = journal

    @property
    def journal(self) -> Journal:
        """The record of what the guest does to its workspace."""
        assert self._journal is not None, "a guest without a workspace has nothing to write down"
        return self._journal

    def take_folders(self, folders: Folders) -> None:
        """Give the guest these folders, and no descriptors besides, whatever it had."""
        self.store.set_wasi(folders.config)
        self.wasi: WasiGuard = self._guard(self, mounts=folders.mounts)

    # Entering the guest.

    def turn(self, source: bytes, *, fuel: int, timeout: float | None = None) -> Outcome:
        """Run one interactive turn of a reactor."""

        return self._enter(self._turn_of(source), fuel=fuel, timeout=timeout)

    def turn_here(self, source: bytes, *, fuel: int) -> Outcome:
        """Run one on the calling thread, which is one for guests; somebody else looks after it."""
        self._begin(fuel)
        try:
            return self._ended(self._run(self._turn_of(source)))
        finally:
            self._entered = False

    def _turn_of(self, source: bytes) -> Callable[[], int | None]:
        def enter() -> int | None:
            pointer = self._allocated(len(source))
            self.memory.write(pointer, source)
            return self._function("turn")(pointer, len(source))

        return enter

    def start(self, *, fuel: int, timeout: float | None = None) -> Outcome:
        """Run a command to its end."""
        return self._enter(self._function("_start"), fuel=fuel, timeout=timeout)

    def _enter(
        self, call: Callable[[], int | None], *, fuel: int, timeout: float | None
    ) -> Outcome:
        self.watch.clear()
        self._begin(fuel)
        if self.is_unwanted():
            self.watch.stop("interrupted")
        try:
            outcome = guest_threads.run(
                lambda: self._run(call), timeout=timeout, stop=self.watch.stop
            )
        except BaseException:
            self._dead = True
            raise
        finally:
            self._entered = False
        return self._ended(outcome)

    def _begin(self, fuel: int) -> None:
        if self._dead:
            raise SandboxExecutionError("an instance that trapped is never entered again")
        if self._entered:
            raise SandboxExecutionError("the guest is already running")
        self.set_fuel(fuel)
        self._entered = True

    def _run(self, call: Callable[[], int | None]) -> Outcome:
        current.guest = self
        self.start_clock()
        try:
            return Returned(call())
        except wasmtime.ExitTrap as error:
            return Exited(error.code)
        except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
            return self._trapped(error)
        except IndexError:
            # host_alloc gave a pointer outside the memory: the allocator was overwritten.
            return Trapped(TrapKind.ABORT, "the guest damaged its own allocator")
        finally:
            self.guest_seconds = time.perf_counter() - self._started
            current.guest = None

    def start_clock(self) -> None:
        """What ``guest_seconds`` has is from here to the end of the call."""
        self._started = time.perf_counter()

    def _ended(self, outcome: Outcome) -> Outcome:
        if isinstance(outcome, Returned) and self._has_trapped_inside:
            outcome = Trapped(TrapKind.ABORT, "the guest trapped while it served the host")
        self._dead = not isinstance(outcome, Returned)
        return outcome

    def _trapped(self, error: wasmtime.Trap | wasmtime.WasmtimeError) -> Trapped:
        message = str(error)
        if self.watch.cause is not None:
            return Trapped(TrapKind(self.watch.cause), "stopped by the host")
        code = error.trap_code if isinstance(error, wasmtime.Trap) else None
        if code is wasmtime.TrapCode.OUT_OF_FUEL or "all fuel consumed" in message:
            return Trapped(TrapKind.FUEL, "all fuel consumed")
        if code is wasmtime.TrapCode.STACK_OVERFLOW or "call stack exhausted" in message:
            return Trapped(TrapKind.STACK, "call stack exhausted")
        return Trapped(TrapKind.ABORT, message.strip().splitlines()[-1].strip())

    def interrupt(self) -> None:
        """Stop the guest wherever it is; safe from any thread."""
        if self._entered:
            self.watch.stop("interrupted")

    @property
    def is_dead(self) -> bool:
        """Whether the instance must not be entered again."""
        return self._dead

    # Fuel; the context is the same inside and outside of a call.

    def set_fuel(self, fuel: int) -> None:
        """Give the guest this much fuel and no more."""
        self.store.set_fuel(fuel)

    @property
    def fuel(self) -> int:
        """What is left."""
        return self.store.get_fuel()

    # What a new instance needs besides the memory.

    def at_rest(self) -> AtRest:
        """The state of a guest at rest that is not in its memory."""
        self.set_fuel(_RELAY_FUEL)
        return AtRest(replace(self.world), self.wasi.descriptors())

    def take_up(self, rest: AtRest) -> None:
        """Go on where another instance with the same memory rested."""
        self.set_fuel(_RELAY_FUEL)
        self.world = replace(rest.world)
        self.wasi.reopen(rest.descriptors)

    # Called by host functions.

    def answer_door(self, pointer: int, length: int, out_pointer: int, out_length: int) -> int:
        """Answer one call through the door."""
        if self.door is None:
            return -1
        if self._is_at_the_door:
            # An allocator that calls the door again would recurse in the host.
            return DOOR_FAULT
        self._is_at_the_door = True
        try:
            return self._answer(pointer, length, out_pointer, out_length)
        finally:
            self._is_at_the_door = False

    def _answer(self, pointer: int, length: int, out_pointer: int, out_length: int) -> int:
        assert self.door is not None
        if length > _DOOR_MAX_BYTES or not self.memory.holds(pointer, length):
            return DOOR_FAULT
        if not (self.memory.holds(out_pointer, 4) and self.memory.holds(out_length, 4)):
            return DOOR_FAULT
        # One byte more than it may have is enough to be refused by whoever answers.
        answer = self.door(self.memory.read(pointer, min(length, self.door_max_bytes + 1)))
        try:
            place = self._allocated(len(answer)) if answer else 0
        except (wasmtime.Trap, wasmtime.WasmtimeError):
            self._has_trapped_inside = True
            return DOOR_FAULT
        if place == 0 and answer:
            return DOOR_FAULT
        self.memory.write(place, answer)
        self.memory.write(out_pointer, struct.pack("<I", place))
        self.memory.write(out_length, struct.pack("<I", len(answer)))
        return _DOOR_OK

    def call_by_second_name(self, function: str, arguments: tuple[int, ...]) -> int:
        """A WASI call on a mount that stands for a folder of the workspace."""
        return second_names.call(self, function, arguments)

    def native(self, function: str, *arguments: int) -> int:
        """Wasmtime's own implementation of a WASI call."""
        if self._relay is None:
            self._relay = self._instantiate_relay(relay_module())
        try:
            number = self._relay[function](*arguments)
        except (wasmtime.Trap, wasmtime.WasmtimeError):
            # Out of fuel or stopped inside the relay: the guest meets the same end at once.
            return INTR
        assert number is not None
        return number

    def _instantiate_relay(self, module: wasmtime.Module) -> dict[str, calls.Export]:
        """A second instance in this store that shares the guest's memory."""
        linker = wasmtime.Linker(shared_engine())
        linker.define_wasi()
        linker.define(self.store, "guest", "memory", self._wasm_memory)
        exports = linker.instantiate(self.store, module).exports(self.store)
        return {
            name: calls.Export(self.store, function)
            for name in exports
            if isinstance(function := exports[name], wasmtime.Func)
        }

    def note_failure(self, error: BaseException) -> None:
        """A host function failed: the guest gets an error number, the host keeps the reason."""
        self.failure = error

    def _allocated(self, size: int) -> int:
        """Room inside the guest; anything at all if it damaged its allocator."""
        return unsigned(self._function("host_alloc")(size) or 0)

    def _function(self, name: str) -> calls.Export:
        found = self._functions.get(name)
        if found is None:
            function = self._exports[name]
            assert isinstance(function, wasmtime.Func)
            found = self._functions[name] = calls.Export(self.store, function)
        return found

    def close(self) -> None:
        """Free the instance; closing twice is fine."""
        if self._entered:
            raise SandboxExecutionError("a running guest cannot be closed; interrupt it first")
        self._dead = True
        self.wasi.release()
        self.memory.forget()
        self.store.close()
        _alive.discard(self)

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@atexit.register
def _stop_all() -> None:
    """A guest that still runs when the interpreter ends would call back into a dead Python."""
    for guest in list(_alive):
        guest.interrupt()


__all__ = [
    "AtRest",
    "Exited",
    "Guest",
    "GuestSettings",
    "Mount",
    "Outcome",
    "Program",
    "Returned",
    "TrapKind",
    "Trapped",
]
