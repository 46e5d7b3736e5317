"""``multiprocessing`` without processes: a process is a thread that takes its turn.

It shares the memory of whoever started it, so what is passed by queues, pipes and shared values
arrives, and what another process would have kept to itself is seen too.
"""

import array
import multiprocessing
import multiprocessing.context
import multiprocessing.process
import os
import queue
import sys
import threading
import traceback
import types

from wasm_guest import refusals, threads


def install():
    """Let ``multiprocessing`` start its processes here, and talk to them here."""
    refusals.start_processes_by(_Running)
    _name_the_system()
    makers = {
        name: staticmethod(getattr(threading, name))
        for name in ("Barrier", "BoundedSemaphore", "Condition", "Event", "Lock", "RLock")
    }
    makers |= {
        "Semaphore": staticmethod(threading.Semaphore),
        "Queue": staticmethod(Queue),
        "JoinableQueue": staticmethod(Queue),
        "SimpleQueue": staticmethod(Queue),
        "Pipe": staticmethod(pipe),
        "Value": staticmethod(Value),
        "RawValue": staticmethod(Value),
        "Array": staticmethod(Array),
        "RawArray": staticmethod(Array),
        "Manager": staticmethod(Manager),
    }
    for name, maker in makers.items():
        setattr(multiprocessing.context.BaseContext, name, maker)
        setattr(multiprocessing, name, maker.__func__)


def _name_the_system():
    """What a process asks about itself and its user, where WASI has not even the names."""
    own = os.getpid()
    os.getpid = lambda: getattr(multiprocessing.current_process()._popen, "pid", own)
    os.getppid = lambda: multiprocessing.current_process()._parent_pid or 1
    os.getuid = os.geteuid = os.getgid = os.getegid = lambda: 1000
    os.getlogin = lambda: "user"
    os.getloadavg = lambda: (0.0, 0.0, 0.0)


class _Running:
    """How a process is seen by the one that started it."""

    _numbers = iter(range(os.getpid() + 1, sys.maxsize))

    def __init__(self, process):
        self.pid = self.sentinel = next(self._numbers)
        self.returncode = None
        self._process = process
        # The one that starts a process forgets its work.
        self._work = {name: vars(process)[name] for name in ("_target", "_args", "_kwargs")}
        self._thread = threading.Thread(
            target=self._run, name=process.name, daemon=bool(process.daemon)
        )
        self._thread.start()

    def _run(self):
        outer = multiprocessing.process._current_process
        multiprocessing.process._current_process = self._process
        vars(self._process).update(self._work)
        try:
            self._process.run()
            self.returncode = 0
        except SystemExit as stop:
            self.returncode = stop.code if isinstance(stop.code, int) else int(bool(stop.code))
            raise
        except BaseException:
            self.returncode = 1
            print(f"Process {self._process.name}:", file=sys.stderr)
            traceback.print_exc()
        finally:
            multiprocessing.process._current_process = outer

    def poll(self, flag=0):
        """How it ended, if it did."""
        # A thread that was taken back has not ended, whatever it left.
        return None if self._thread.is_alive() else self.returncode

    def wait(self, timeout=None):
        """Let it run to its end."""
        self._thread.join(timeout)
        return self.poll()

    def terminate(self):
        """What has not begun never will."""
        if threads.cancel(self._thread):
            self.returncode = -15

    kill = terminate

    def close(self):
        pass


class Queue(queue.Queue):
    """A queue with the methods of one between processes."""

    def __init__(self, maxsize=0, **_):
        super().__init__(maxsize)

    def close(self):
        pass

    join_thread = cancel_join_thread = close


def pipe(duplex=True):
    """Two ends, each of which receives what the other sends."""
    one, two = Queue(), Queue()
    return _Connection(one, two), _Connection(two, one)


class _Connection:
    """One end of a pipe."""

    closed = False

    def __init__(self, incoming, outgoing):
        self._incoming, self._outgoing = incoming, outgoing
        self.send_bytes, self.recv_bytes = self.send, self.recv

    def send(self, obj):
        if self.closed:
            raise OSError("handle is closed")
        self._outgoing.put((True, obj))

    def recv(self):
        if self.closed:
            raise OSError("handle is closed")
        is_there, value = self._incoming.get()
        if not is_there:
            self._incoming.put((False, None))
            raise EOFError
        return value

    def poll(self, timeout=0.0):
        return threads.wait(lambda: not self._incoming.empty(), timeout)

    def close(self):
        if not self.closed:
            self.closed = True
            self._outgoing.put((False, None))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class _Shared:
    """What processes share, and the lock that comes with it."""

    def __init__(self, lock):
        self._lock = lock if hasattr(lock, "acquire") else threading.RLock()

    def get_lock(self):
        return self._lock

    def get_obj(self):
        return self

    def acquire(self, *args, **kwargs):
        return self._lock.acquire(*args, **kwargs)

    def release(self):
        self._lock.release()

    def __enter__(self):
        return self._lock.__enter__()

    def __exit__(self, *error):
        self._lock.__exit__(*error)


class Value(_Shared):
    """A number that processes share."""

    def __init__(self, typecode_or_type, *args, lock=True):
        super().__init__(lock)
        self._cell = _numbers(typecode_or_type, [args[0] if args else 0])

    @property
    def value(self):
        return self._cell[0]

    @value.setter
    def value(self, value):
        self._cell[0] = value

    def __repr__(self):
        return f"<Synchronized wrapper for {self.value!r}>"


class Array(_Shared):
    """Numbers that processes share."""

    def __init__(self, typecode_or_type, size_or_initializer, *, lock=True):
        super().__init__(lock)
        given = size_or_initializer
        self._cells = _numbers(typecode_or_type, [0] * given if isinstance(given, int) else given)

    def __len__(self):
        return len(self._cells)

    def __getitem__(self, place):
        found = self._cells[place]
        return list(found) if isinstance(place, slice) else found

    def __setitem__(self, place, value):
        if isinstance(place, slice):
            value = _numbers(self._cells.typecode, value)
        self._cells[place] = value

    def __buffer__(self, flags):
        return memoryview(self._cells)

    def __repr__(self):
        return f"<SynchronizedArray wrapper for {list(self._cells)!r}>"


def _numbers(kind, values):
    """An array of a type code, or of a type of ctypes."""
    code = kind if isinstance(kind, str) else getattr(kind, "_type_", "d")
    code = {"c": "B", "?": "B"}.get(code, code)
    return array.array(code, list(values))


class Manager:
    """What a manager makes is here anyway."""

    dict = staticmethod(dict)
    list = staticmethod(list)
    Namespace = staticmethod(types.SimpleNamespace)
    Value, Array = staticmethod(Value), staticmethod(Array)
    Queue = JoinableQueue = staticmethod(Queue)
    Lock, RLock = staticmethod(threading.Lock), staticmethod(threading.RLock)
    Event, Barrier = staticmethod(threading.Event), staticmethod(threading.Barrier)
    Condition = staticmethod(threading.Condition)
    Semaphore = staticmethod(threading.Semaphore)
    BoundedSemaphore = staticmethod(threading.BoundedSemaphore)

    def start(self, *_):
        pass

    shutdown = join = start

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass
