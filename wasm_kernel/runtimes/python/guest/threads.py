"""Threads that take turns on one stack: each runs as a whole while another one waits.

A thread that was started begins when the running one has to wait: joins it, sleeps, asks a queue,
a lock or an event, or when its cell ends. It cannot be left in its middle. So one that waits for
what only a thread below it on the stack can do is taken back, and begun again when that one waits.
"""

import _thread
import collections
import itertools
import math
import threading
import time

from wasm_guest import loop, streams

WAITING = "nothing can end this wait: no other thread of the sandbox can go on"
HELD_UP = (
    "the sandbox ended this thread: it cannot go on beside the code that started it; "
    "join it, or use asyncio"
)

_PATIENCE_SECONDS = 10.0
"""How long a thread may sleep while the one below it could go on."""
_NESTED_MAX = 30
"""Each turn is some frames on the one stack."""

_started = collections.deque()
"""Threads that have not begun."""
_taken_back = []
"""Threads that were begun and waited in vain."""
_ended = 0


def install():
    """Let ``threading`` wait here, whether or not it may start threads."""
    import queue

    _thread.allocate_lock = _thread.allocate = Lock
    _thread.get_ident = threading.get_ident = threading.get_native_id = get_ident
    threading.Thread.native_id = threading.Thread.ident
    threading.Lock, threading.RLock, threading._allocate_lock = Lock, RLock, _Signal
    threading._ThreadHandle = _Handle
    queue.SimpleQueue = queue._PySimpleQueue


def let_start():
    """Let ``threading`` start its threads here."""
    import _threading_local

    idents = itertools.count(_thread.get_ident() + 1)

    def start_joinable(function, handle, daemon=True):
        thread = function.__self__
        thread._ident = handle.ident = next(idents)
        # Who starts a thread waits until it says that it runs.
        thread._started.set()
        _started.append(thread)

    def start(function, args=(), kwargs=None, /):
        thread = threading.Thread(target=function, args=args, kwargs=kwargs, daemon=True)
        thread.start()
        return thread.ident

    threading._start_joinable_thread = start_joinable
    _thread.start_new_thread = _thread.start_new = start
    threading.local = _threading_local.local
    time.sleep = _sleep


def get_ident():
    """The number of the thread that runs."""
    return _turns[-1].ident


def finish():
    """Run what a cell has started and not waited for."""
    if len(_turns) == 1:
        turn = _turns[0]
        turn.waits(at=time.monotonic())
        while turn.ready_for() < _PATIENCE_SECONDS and _run_next():
            pass


def cancel(thread):
    """Forget a thread that has not begun; whether there was time for that."""
    for waiting in (_started, _taken_back):
        if thread in waiting:
            waiting.remove(thread)
            threading._limbo.pop(thread, None)
            thread._os_thread_handle._set_done()
            return True
    return False


class _Turn:
    """A thread with frames on the stack; all but the last one wait."""

    def __init__(self, ident, is_daemon):
        self.ident = ident
        self.is_daemon = is_daemon
        self.held = 0
        """Locks: while it has one, the others would only wait for it."""
        self.is_taken_back = False

    def waits(self, is_ready=None, at=math.inf):
        """Say what ends the wait that begins now."""
        self._is_ready, self._ready_at = is_ready, at

    def ready_for(self):
        """Seconds since it could go on."""
        now = time.monotonic()
        if self._ready_at > now and self._is_ready is not None and self._is_ready():
            self._ready_at = now
        return now - self._ready_at

    def can_go_on(self):
        """Whether it will, as soon as it is the last one."""
        return self.ready_for() > -math.inf


_turns = [_Turn(_thread.get_ident(), is_daemon=False)]


def _run_next():
    """Run the thread that has waited longest to its end; whether there was one."""
    global _ended
    if not _started or len(_turns) > _NESTED_MAX:
        return False
    thread = _started.popleft()
    turn = _Turn(thread.ident, thread.daemon)
    work = {name: vars(thread)[name] for name in ("_target", "_args", "_kwargs")}
    _turns.append(turn)
    try:
        with loop.outside():
            thread._bootstrap()
    finally:
        _turns.pop()
        if turn.is_taken_back:
            vars(thread).update(work)
            threading._limbo[thread] = thread
            _taken_back.append(thread)
        else:
            _ended += 1
            thread._os_thread_handle._set_done()
    return True


def wait(is_ready, timeout=None):
    """Let other threads run until something is so; whether it is."""
    end = math.inf if timeout is None else time.monotonic() + timeout
    turn, tried = _turns[-1], None
    while not is_ready():
        if time.monotonic() >= end:
            return False
        turn.waits(is_ready, end)
        if _run_next():
            continue
        if _taken_back and len(_turns) == 1 and tried != _ended:
            # What has ended since then may be what they waited for.
            tried = _ended
            _started.extend(_taken_back)
            _taken_back.clear()
        elif timeout is None:
            _take_back(turn)
        else:
            _pause(turn, end)
    return True


def _take_back(turn):
    """End this thread, to begin it again; or say that it would wait for ever."""
    if not any(other.can_go_on() for other in _turns[:-1]):
        raise RuntimeError(WAITING)
    turn.is_taken_back = True
    # Threads end in silence by this.
    raise SystemExit


def _sleep(seconds, /):
    """Let time pass, and other threads run."""
    if not _started and len(_turns) == 1:
        return streams.sleep(seconds)
    turn, end = _turns[-1], time.monotonic() + seconds
    turn.waits(at=end)
    while not turn.held and time.monotonic() < end and _run_next():
        pass
    return _pause(turn, end)


_sleep.__module__, _sleep.__name__, _sleep.__qualname__ = "time", "sleep", "sleep"


def _pause(turn, end):
    """Let the time pass, unless that keeps the threads below from going on for too long."""
    rest = max(end - time.monotonic(), 0)
    late = max((other.ready_for() for other in _turns[:-1]), default=-math.inf)
    if late > 0 and turn.is_daemon:
        raise SystemExit
    if late + rest > _PATIENCE_SECONDS:
        raise RuntimeError(HELD_UP)
    streams.sleep(rest)


class _Handle:
    """What a thread is joined by."""

    def __init__(self):
        self.ident = 0
        self._is_done = False

    def is_done(self):
        return self._is_done

    def _set_done(self):
        self._is_done = True

    def join(self, timeout=None):
        wait(self.is_done, timeout)


class Lock:
    """A lock that one thread has."""

    __slots__ = ("__weakref__", "_owner")

    def __init__(self):
        self._owner = None

    def acquire(self, blocking=True, timeout=-1):
        """Take the lock; whether that was possible."""
        if self._owner is not None and not self._wait(blocking, timeout):
            return False
        self._owner = owner = _turns[-1]
        owner.held += 1
        return True

    def _wait(self, blocking, timeout):
        if not blocking:
            if timeout != -1:
                raise ValueError("can't specify a timeout for a non-blocking call")
            return False
        return wait(lambda: self._owner is None, None if timeout == -1 else timeout)

    def release(self):
        """Give the lock to whoever waits for it."""
        if self._owner is None:
            raise RuntimeError("release unlocked lock")
        self._owner.held -= 1
        self._owner = None

    def locked(self):
        """Whether somebody has it."""
        return self._owner is not None

    def _at_fork_reinit(self):
        self._owner = None

    __enter__ = acquire

    def __exit__(self, *_):
        self.release()

    def __repr__(self):
        state = "unlocked" if self._owner is None else "locked"
        return f"<{state} _thread.lock object at {id(self):#x}>"


class _Signal(Lock):
    """A lock by which one thread wakes another: nobody holds it against others."""

    __slots__ = ()

    def acquire(self, blocking=True, timeout=-1):
        if self._owner is not None and not self._wait(blocking, timeout):
            return False
        self._owner = _NOBODY
        return True

    __enter__ = acquire


_NOBODY = _Turn(0, is_daemon=True)


class RLock(Lock):
    """A lock that its owner may take again."""

    __slots__ = ("_count",)

    def __init__(self):
        super().__init__()
        self._count = 0

    def acquire(self, blocking=True, timeout=-1):
        if self._owner is not _turns[-1] and not super().acquire(blocking, timeout):
            return False
        self._count += 1
        return True

    __enter__ = acquire

    def release(self):
        if self._owner is not _turns[-1]:
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if not self._count:
            super().release()

    # What a condition asks of it.

    def _is_owned(self):
        return self._owner is _turns[-1]

    def _release_save(self):
        count, self._count = self._count, 0
        super().release()
        return count

    def _acquire_restore(self, count):
        super().acquire()
        self._count = count

    def __repr__(self):
        return super().__repr__().replace("_thread.lock", "_thread.RLock")
