"""Stopping a guest from outside: one flag that loops, sleeps and prompts all look at.

Wasmtime's epoch is one counter per engine, shared by every guest. So a stop sets the flag of one
guest and advances the epoch: each running guest's callback looks at its own flag and goes on if
it was not meant.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any

import wasmtime
from wasmtime import _ffi as ffi

from wasm_kernel.host.engine import shared_engine

if TYPE_CHECKING:
    from wasm_kernel.host.guest import Guest

current = threading.local()
"""``current.guest`` is the guest that runs on this thread, for host functions and callbacks."""


def runs_guest() -> bool:
    """Whether the calling thread is inside a guest: an event handler, for instance."""
    return getattr(current, "guest", None) is not None


class Watch:
    """The reason a guest has to stop, if there is one."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self.cause: str | None = None

    def stop(self, cause: str) -> None:
        """Stop the guest wherever it is; the first cause counts. Safe from any thread."""
        with self._lock:
            if self.cause is None:
                self.cause = cause
        # The epoch first: a sleep that wakes up must meet the end before it can go on.
        shared_engine().increment_epoch()
        self._stopped.set()

    def clear(self) -> None:
        """Forget an earlier stop, before a new run."""
        with self._lock:
            self.cause = None
            self._stopped.clear()

    def sleep(self, seconds: float) -> None:
        """Sleep for the guest; returns early when it has to stop."""
        # threading.TIMEOUT_MAX is what a lock can wait for at most, some 292 years.
        self._stopped.wait(min(seconds, threading.TIMEOUT_MAX))


_UPDATE_CONTINUE = 0
# wasmtime-py has no binding for this function of the C API, but ships the library that has it.
_set_callback = ffi.dll.wasmtime_store_epoch_deadline_callback
_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_uint64),
    ctypes.POINTER(ctypes.c_uint8),
)
_set_callback.argtypes = [ctypes.c_void_p, _CALLBACK, ctypes.c_void_p, ctypes.c_void_p]
_set_callback.restype = None


def _on_epoch(_context: Any, _data: Any, delta: Any, kind: Any) -> int | None:
    """Runs on the guest's thread when the epoch advanced; an error ends the guest."""
    guest: Guest | None = getattr(current, "guest", None)
    if guest is not None and guest.watch.cause is not None:
        error = ffi.wasmtime_error_new(b"stopped by the host")
        return ctypes.cast(error, ctypes.c_void_p).value
    delta[0] = 1
    kind[0] = _UPDATE_CONTINUE
    return None


_callback = _CALLBACK(_on_epoch)


def watch_store(store: wasmtime.Store) -> None:
    """Make a store look at the flag of the guest that runs on its thread."""
    store.set_epoch_deadline(1)
    _set_callback(ctypes.cast(store.ptr(), ctypes.c_void_p), _callback, None, None)
