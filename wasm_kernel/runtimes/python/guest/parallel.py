"""Pools of workers without threads or processes: each piece of work is done when it is handed in.

A pool promises results, not concurrency, so what uses one works as it is.
"""

import concurrent.futures
import concurrent.futures.process
import concurrent.futures.thread
import multiprocessing
import multiprocessing.pool
import os


def install():
    """Put these pools in the places of the ones that cannot work."""
    for name, kind in (
        ("ThreadPoolExecutor", ThreadPoolExecutor),
        ("ProcessPoolExecutor", ProcessPoolExecutor),
    ):
        setattr(concurrent.futures, name, kind)
    concurrent.futures.thread.ThreadPoolExecutor = ThreadPoolExecutor
    concurrent.futures.process.ProcessPoolExecutor = ProcessPoolExecutor
    multiprocessing.pool.Pool = multiprocessing.pool.ThreadPool = Pool


class ThreadPoolExecutor(concurrent.futures.Executor):
    """An executor whose futures are done when they are made."""

    def __init__(self, max_workers=None, thread_name_prefix="", initializer=None, initargs=()):
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        self._max_workers = max_workers or 1
        self._start = initializer and (initializer, initargs)
        self._is_shut = False

    def submit(self, fn, /, *args, **kwargs):
        """Do the work now."""
        if self._is_shut:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if self._start:
            (initializer, initargs), self._start = self._start, None
            initializer(*initargs)
        future = concurrent.futures.Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        """Take no more work."""
        self._is_shut = True


class ProcessPoolExecutor(ThreadPoolExecutor):
    """The same, with the arguments of the one for processes."""

    def __init__(
        self,
        max_workers=None,
        mp_context=None,
        initializer=None,
        initargs=(),
        *,
        max_tasks_per_child=None,
    ):
        super().__init__(max_workers, "", initializer, initargs)


class Pool:
    """``multiprocessing.Pool``, with one worker that is always there."""

    def __init__(self, processes=None, initializer=None, initargs=(), *_, **__):
        if processes is not None and processes < 1:
            raise ValueError("Number of processes must be at least 1")
        self._is_closed = False
        # Recipes ask how many workers there are, to cut their work into as many pieces.
        self._processes = processes or os.cpu_count() or 1
        self._pool = [multiprocessing.current_process()] * self._processes
        if initializer is not None:
            initializer(*initargs)

    def _check(self):
        if self._is_closed:
            raise ValueError("Pool not running")

    def apply(self, func, args=(), kwds=None):
        self._check()
        return func(*args, **(kwds or {}))

    def map(self, func, iterable, chunksize=None):
        self._check()
        return [func(value) for value in iterable]

    def starmap(self, func, iterable, chunksize=None):
        self._check()
        return [func(*values) for values in iterable]

    def imap(self, func, iterable, chunksize=1):
        self._check()
        return map(func, iterable)

    imap_unordered = imap

    def apply_async(self, func, args=(), kwds=None, callback=None, error_callback=None):
        return _Result(lambda: self.apply(func, args, kwds), callback, error_callback)

    def map_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        return _Result(lambda: self.map(func, iterable), callback, error_callback)

    def starmap_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        return _Result(lambda: self.starmap(func, iterable), callback, error_callback)

    def close(self):
        self._is_closed = True

    terminate = close

    def join(self):
        if not self._is_closed:
            raise ValueError("Pool is still running")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.terminate()


class _Result:
    """What an ``…_async`` call answers: it is there already."""

    def __init__(self, work, callback, error_callback):
        self._value = self._error = None
        try:
            self._value = work()
        except Exception as error:
            self._error = error
        answer = callback if self._error is None else error_callback
        if answer is not None:
            answer(self._value if self._error is None else self._error)

    def get(self, timeout=None):
        if self._error is not None:
            raise self._error
        return self._value

    def wait(self, timeout=None):
        pass

    def ready(self):
        return True

    def successful(self):
        return self._error is None
