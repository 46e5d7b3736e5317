"""The shell lines that notebooks are full of, without a shell and without processes.

Lists, pipes, redirections, loops, conditions, variables and substitutions are done here; the
commands themselves are in ``tools``. Knows nothing of IPython.
"""

import contextlib
import io
import os
import sys
import time

from wasm_guest import tools
from wasm_guest.grammar import parse
from wasm_guest.words import expand_words, to_text

_LOOP_ENDS = ("break", "continue")


class ShellExit(Exception):
    """``exit`` was said, or a command failed after ``set -e``."""

    def __init__(self, code):
        self.code = code


class _LoopEnd(Exception):
    def __init__(self, name):
        self.name = name


def run(line, source=""):
    """Run a command line as in a terminal, where both streams are one; its exit code."""
    with contextlib.redirect_stderr(sys.stdout):
        return run_script(line, source)


def capture(line):
    """What a command line prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        run(line)
    return text.getvalue()


def run_script(text, source="", arguments=()):
    """Run a script in a shell of its own: its folder and its variables end with it."""
    with in_place():
        return Shell(arguments).run(text, io.StringIO(source))


def has_program(name):
    """Whether there is a command of this name."""
    return name in ("bash", "sh") or tools.find(name) is not None


def run_program(words, source):
    """Run one command with a text as its input, as ``%%script`` does; its exit code."""
    with in_place():
        try:
            return Shell().call(list(words), io.StringIO(source))
        except ShellExit as stop:
            return stop.code


@contextlib.contextmanager
def in_place(folder=None, environment=None):
    """Another folder and environment, and afterwards those from before, whatever was done."""
    before = os.getcwd(), dict(os.environ)
    try:
        if folder is not None:
            os.chdir(folder)
        if environment is not None:
            _put_back(os.getcwd(), environment)
        yield
    finally:
        _put_back(*before)


def _put_back(folder, environment):
    with contextlib.suppress(OSError):
        os.chdir(folder)
    if environment != dict(os.environ):
        os.environ.clear()
        os.environ.update(environment)


class Shell:
    """What a shell remembers from one command to the next."""

    def __init__(self, arguments=()):
        self.arguments = list(arguments)
        self.variables = {}
        self.code = 0
        self._stops_at_failure = False
        self._conditions = 0
        self._own = {
            ":": lambda *_: 0,
            "exit": self._exit,
            "export": self._export,
            "read": self._read,
            "set": self._set,
            "shift": self._shift,
            "source": self._source,
            "time": self._time,
            ".": self._source,
            "unset": self._unset,
            "bash": _bash,
            "sh": _bash,
        }

    def run(self, text, source):
        """Run a text; its exit code."""
        try:
            return self.items(parse(text), source)
        except ShellExit as stop:
            return stop.code
        except ValueError as error:
            # Not understood, or a word that could not be expanded.
            print(f"{text.strip().splitlines()[0]}: {error}", file=sys.stderr)
            return 2
        except _LoopEnd:
            return 0

    def capture(self, text):
        """What a substituted command prints."""
        sink = io.StringIO()
        with contextlib.redirect_stdout(sink):
            self.code = self.run(text, io.StringIO())
        return sink.getvalue().rstrip("\n")

    def value(self, name):
        """The value of a variable or parameter."""
        if name in ("@", "*"):
            return " ".join(self.arguments)
        if name.isdigit():
            place = int(name) - 1
            if place < 0:
                return "bash"
            return self.arguments[place] if place < len(self.arguments) else ""
        known = {"?": str(self.code), "#": str(len(self.arguments)), "$": "1", "BASH": "/bin/bash"}
        return self.variables.get(name, os.environ.get(name, known.get(name, "")))

    def assign(self, name, value):
        """Set a variable, where it already is one of the environment there."""
        (os.environ if name in os.environ else self.variables)[name] = value

    # Running.

    def items(self, items, source):
        """Run what is joined by ``;``, ``&&`` and ``||``."""
        self.code = 0
        for place, (how, commands) in enumerate(items):
            if (how == "&&" and self.code) or (how == "||" and not self.code):
                continue
            self.code = self._pipeline(commands, source)
            follows = items[place + 1][0] if place + 1 < len(items) else ";"
            if self.code and self._stops_at_failure and follows == ";" and not self._conditions:
                raise ShellExit(self.code)
        return self.code

    def _pipeline(self, commands, source):
        negated = bool(commands) and commands[0].is_negated
        code = 0
        for place, command in enumerate(commands):
            if place == len(commands) - 1:
                code = self._command(command, source)
                continue
            sink = io.StringIO()
            with contextlib.redirect_stdout(sink):
                self._command(command, source)
            source = io.StringIO(sink.getvalue())
        return int(not code) if negated else code

    def _command(self, command, source):
        with contextlib.ExitStack() as stack:
            try:
                source = self._redirect(command.redirections, source, stack)
            except OSError as error:
                print(f"bash: {error.filename}: {error.strerror}", file=sys.stderr)
                return 1
            return getattr(self, f"_run_{command.kind}")(command, source)

    def _redirect(self, redirections, source, stack):
        for number, operator, word in redirections:
            if operator == "<<":
                source = io.StringIO(to_text(word, self))
                continue
            name = to_text(word, self)
            if operator == "<":
                source = stack.enter_context(_opened(name, "r"))
            elif operator == "<<<":
                source = io.StringIO(name + "\n")
            elif operator == ">&" and name in ("1", "2"):
                target = sys.stdout if name == "1" else sys.stderr
                stack.enter_context(_redirected(number or 1, target))
            else:
                mode = "a" if operator.endswith(">>") else "w"
                target = stack.enter_context(_opened(name, mode))
                stack.enter_context(_redirected(number or 1, target))
                if operator in ("&>", "&>>", ">&"):
                    stack.enter_context(contextlib.redirect_stderr(target))
        return source

    def _run_simple(self, command, source):
        assignments, words = command.assignments, expand_words(command.words, self)
        if not words:
            for name, word in assignments:
                self.assign(name, to_text(word, self))
            return self.code if assignments and "$(" in str(assignments) else 0
        before = dict(os.environ) if assignments else None
        for name, word in assignments:
            os.environ[name] = to_text(word, self)
        try:
            return self.call(words, source)
        finally:
            if before is not None:
                _put_back(os.getcwd(), before)

    def _run_group(self, command, source):
        return self.items(command.body, source)

    def _run_subshell(self, command, source):
        folder, environment, variables = os.getcwd(), dict(os.environ), dict(self.variables)
        try:
            return self.items(command.body, source)
        except ShellExit as stop:
            return stop.code
        finally:
            self.variables = variables
            _put_back(folder, environment)

    def _run_if(self, command, source):
        for condition, body in command.branches:
            if condition is None or self._holds(condition, source):
                return self.items(body, source)
        return 0

    def _run_while(self, command, source):
        (condition, body), code = command.branches[0], 0
        while self._holds(condition, source) != command.is_until:
            try:
                code = self.items(body, source)
            except _LoopEnd as end:
                if end.name == "break":
                    break
        return code

    def _run_for(self, command, source):
        values = self.arguments if command.words is None else expand_words(command.words, self)
        code = 0
        for value in values:
            self.assign(command.name, value)
            try:
                code = self.items(command.body, source)
            except _LoopEnd as end:
                if end.name == "break":
                    break
        return code

    def _holds(self, condition, source):
        self._conditions += 1
        try:
            return self.items(condition, source) == 0
        finally:
            self._conditions -= 1

    def call(self, words, source):
        """Call a command; what goes wrong in it is said as a command says it."""
        name = words[0]
        if name in _LOOP_ENDS:
            raise _LoopEnd(name)
        command = self._own.get(name) or tools.find(name)
        if command is None and "/" in name and os.path.isfile(name):
            command, words = _interpreter(name), [name, *words]
        if command is None:
            print(tools.unknown(name), file=sys.stderr)
            return 127
        try:
            return command(words[1:], source) or 0
        except (ShellExit, _LoopEnd):
            raise
        except OSError as error:
            print(f"{name}: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
            return 1
        except Exception as error:
            # A wrong pattern, a broken archive, an operand that is missing: the command's affair.
            print(f"{name}: {error}", file=sys.stderr)
            return 2

    # Commands that change the shell itself.

    def _exit(self, words, _):
        raise ShellExit(int(words[0]) % 256 if words else self.code)

    def _export(self, words, _):
        for word in words:
            name, equals, value = word.partition("=")
            os.environ[name] = value if equals else self.value(name)

    def _time(self, words, source):
        start = time.monotonic()
        code = self.call(words, source) if words else 0
        taken = time.monotonic() - start
        print(f"\nreal\t{taken // 60:.0f}m{taken % 60:.3f}s", file=sys.stderr)
        return code

    def _unset(self, words, _):
        for name in words:
            self.variables.pop(name, None)
            os.environ.pop(name, None)

    def _read(self, words, source):
        line = source.readline()
        names = [word for word in words if not word.startswith("-")] or ["REPLY"]
        values = line.split(None, len(names) - 1) if len(names) > 1 else [line.strip()]
        for place, name in enumerate(names):
            self.assign(name, values[place].strip() if place < len(values) else "")
        return 0 if line else 1

    def _set(self, words, _):
        for word in words:
            if word[:1] in "-+" and "e" in word:
                self._stops_at_failure = word[0] == "-"

    def _shift(self, words, _):
        del self.arguments[: int(words[0]) if words else 1]

    def _source(self, words, source):
        with _opened(words[0], "r") as file:
            return self.items(parse(file.read()), source)


def _bash(words, source):
    words = list(words)
    if words[:1] == ["--version"]:
        print("wasm_kernel's stand-in for a shell")
        return 0
    is_input = False
    while words and words[0].startswith("-") and "c" not in words[0]:
        is_input = words.pop(0) == "-s" or is_input
    if words and words[0].startswith("-"):
        return run_script(words[1], source.read(), words[3:])
    if words and not is_input:
        with _opened(words[0], "r") as file:
            return run_script(file.read(), source.read(), words[1:])
    return run_script(source.read(), arguments=words)


def _interpreter(name):
    """What runs a script that is called by its path: its first line says it."""
    with _opened(name, "r") as file:
        return tools.COMMANDS["python"] if "python" in file.readline() else _bash


def _opened(name, mode):
    return open(name, mode, encoding="utf-8", errors="replace")


def _redirected(number, target):
    return (contextlib.redirect_stdout if number == 1 else contextlib.redirect_stderr)(target)
