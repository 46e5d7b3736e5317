"""What POSIX has and WASI has not even the names of, as far as a single process can answer it."""

import errno
import os
import signal
import time

TIMERS = (
    "there are no timers in the sandbox; use asyncio.timeout, or give the cell less time: "
    "%policy timeout_seconds=10"
)
ZONES = "the sandbox's clock is in UTC; ask for a zone by name: zoneinfo.ZoneInfo('Europe/Berlin')"

_HARMLESS = ("SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH")
_umask = 0o022


def install():
    """Answer as on a computer with one processor, one user and no terminal."""
    own = os.getpid()
    os.get_terminal_size = _get_terminal_size
    os.kill = _kill
    os.umask = _set_umask
    os.getrandom = lambda size, flags=0: os.urandom(size)
    os.sched_getaffinity = lambda pid: {0}
    os.getgroups = lambda: [1000]
    os.getpgrp = lambda: own
    os.getpgid = os.getsid = lambda pid: own
    os.nice = lambda increment: 0
    os.getpriority = lambda which, who: 0
    os.sync = lambda: None
    time.thread_time, time.thread_time_ns = time.process_time, time.process_time_ns
    time.tzset = _set_zone
    signal.alarm = signal.setitimer = _refuse_timer


def _get_terminal_size(fd=1, /):
    raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))


def _set_umask(mask, /):
    """Remembered and not obeyed: a workspace's files have no modes of their own."""
    global _umask
    before, _umask = _umask, mask & 0o777
    return before


def _kill(pid, signal_number, /):
    """There is this process and no other; to end it is to end the cell."""
    if pid != os.getpid():
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    if not signal_number:
        return
    handler = signal.getsignal(signal_number)
    if callable(handler):
        signal.raise_signal(signal_number)
    elif handler in (None, signal.SIG_DFL):
        if signal.Signals(signal_number).name not in _HARMLESS:
            os._exit(signal_number)


def _refuse_timer(*_, **__):
    raise OSError(TIMERS)


def _set_zone():
    if os.environ.get("TZ", "") not in ("", "UTC"):
        raise OSError(ZONES)
