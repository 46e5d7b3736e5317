"""``subprocess``, ``os.system`` and ``os.popen`` for the commands of the small shell.

A program is a function here. It runs to its end when it is started, or, where it reads from a pipe,
when its input is there.
"""

import contextlib
import errno
import io
import os
import subprocess
import sys
import time

from wasm_guest import commands, tools
from wasm_guest.refusals import NETWORK


def install():
    """Put these in the places of the ones that would need a process."""
    subprocess.Popen = Popen
    os.system, os.popen = system, popen


def system(command):
    """Run a command line; its status, as the operating system writes it."""
    return commands.run_script(os.fsdecode(command)) << 8


def popen(cmd, mode="r", buffering=-1):
    """Run a command line, and read what it prints, or write what it reads."""
    if mode not in ("r", "w"):
        raise ValueError(f"invalid mode {mode!r}")
    if not isinstance(cmd, str):
        raise TypeError(f"invalid cmd type ({type(cmd)}, expected string)")
    pipes = {"stdout" if mode == "r" else "stdin": subprocess.PIPE}
    return _CommandFile(Popen(cmd, shell=True, text=True, **pipes))


class _CommandFile:
    """The file of ``os.popen``; closing it says how the command ended."""

    def __init__(self, program):
        self._program = program
        self._stream = program.stdin or program.stdout

    def close(self):
        self._stream.close()
        return self._program.wait() << 8 or None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def __iter__(self):
        return iter(self._stream)


class Popen(subprocess.Popen):
    """A program that has ended, or that waits for its input."""

    def __init__(
        self,
        args,
        bufsize=-1,
        executable=None,
        stdin=None,
        stdout=None,
        stderr=None,
        preexec_fn=None,
        close_fds=True,
        shell=False,
        cwd=None,
        env=None,
        universal_newlines=None,
        *_,
        text=None,
        encoding=None,
        errors=None,
        **__,
    ):
        self.args, self.returncode, self.pid = args, None, os.getpid() + 1
        self.stdin = self.stdout = self.stderr = None
        self.text_mode = bool(encoding or errors or text or universal_newlines)
        self._encoding = encoding or "utf-8"
        self._targets, self._place = (stdout, stderr), (cwd, env)
        self._words = _words(args, shell)
        self._seconds = 0.0
        if stdin == subprocess.PIPE:
            self.stdin = _Input(self)
        else:
            self._run(_read(stdin))

    def _run(self, source):
        """Run the program; ``stdout`` and ``stderr`` are what it left there."""
        start = time.monotonic()
        with contextlib.ExitStack() as stack:
            sinks = [_sink(target) for target in self._targets]
            if self._targets[1] == subprocess.STDOUT:
                sinks[1] = sinks[0] or sys.stdout
            for sink, redirect in zip(
                sinks, (contextlib.redirect_stdout, contextlib.redirect_stderr), strict=True
            ):
                if sink is not None:
                    stack.enter_context(redirect(sink))
            stack.enter_context(commands.in_place(*self._place))
            self.returncode = commands.run_program(self._words, source)
        self._seconds = time.monotonic() - start
        pipes = [
            self._reader(sink.getvalue()) if target == subprocess.PIPE else None
            for target, sink in zip(self._targets, sinks, strict=True)
        ]
        self.stdout, self.stderr = pipes
        for target, sink in zip(self._targets, sinks, strict=True):
            _write(target, sink)

    def _reader(self, text):
        return io.StringIO(text) if self.text_mode else io.BytesIO(text.encode(self._encoding))

    def communicate(self, input=None, timeout=None):
        """What the program says to this input."""
        if self.stdin is not None:
            if input:
                self.stdin.write(input)
            self.stdin.close()
        self._check(timeout)
        return tuple(pipe and pipe.read() for pipe in (self.stdout, self.stderr))

    def wait(self, timeout=None):
        """How it ended."""
        if self.stdin is not None:
            self.stdin.close()
        self._check(timeout)
        return self.returncode

    def _check(self, timeout):
        if timeout is not None and self._seconds > timeout:
            raise subprocess.TimeoutExpired(self.args, timeout)

    def poll(self):
        """How it ended, if it did."""
        return self.returncode

    def send_signal(self, sig):
        """There is nothing left to send it to."""

    def terminate(self):
        """It has ended."""

    kill = terminate

    def __exit__(self, *_):
        self.wait()

    def __del__(self):
        pass


Popen.__module__ = "subprocess"


class _Input:
    """The pipe to a program that has not begun: it begins when the pipe is closed."""

    def __init__(self, program):
        self._program = program
        self._parts = []
        self.closed = False

    def write(self, data):
        if isinstance(data, str) != self._program.text_mode:
            wanted = "str" if self._program.text_mode else "a bytes-like object"
            raise TypeError(f"{wanted} is required, not {type(data).__name__!r}")
        self._parts.append(data if isinstance(data, str) else bytes(data).decode(errors="replace"))
        return len(data)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        pass

    def readable(self):
        return False

    seekable = readable

    def writable(self):
        return True

    def close(self):
        if not self.closed:
            self.closed = True
            self._program._run("".join(self._parts))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _words(args, shell):
    """The command to call; the error says which there is not."""
    if isinstance(args, str | bytes | os.PathLike):
        args = [args]
    words = [os.fsdecode(word) for word in args]
    if shell:
        return ["sh", "-c", *words]
    if not (commands.has_program(words[0]) or os.path.isfile(words[0])):
        why = tools.unknown(words[0])
        if NETWORK in why:  # worth saying also where only the error itself is shown
            raise FileNotFoundError(errno.ENOENT, NETWORK, words[0])
        error = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), words[0])
        error.add_note(why)
        raise error
    return words


def _read(source):
    """The whole input of a program that does not wait for one."""
    if source is None or isinstance(source, int):
        return ""
    data = source.read()
    return data if isinstance(data, str) else data.decode(errors="replace")


def _sink(target):
    return None if target is None or target == subprocess.STDOUT else io.StringIO()


def _write(target, sink):
    """Hand what was printed to a file that the caller has opened."""
    if target is None or (isinstance(target, int) and target < 0):
        return
    if isinstance(target, int):
        os.write(target, sink.getvalue().encode())
    elif isinstance(target, io.TextIOBase):
        target.write(sink.getvalue())
    else:
        target.write(sink.getvalue().encode())
