"""``find``: what it is asked for is read whole first, so that nothing unknown is passed over."""

import fnmatch
import os
import re
import time

_SIZES = {"c": 1, "w": 2, "b": 512, "": 512, "k": 1024, "M": 1024**2, "G": 1024**3}
_DAY = 86_400


def find(words, _):
    """Walk through folders, and do with each file what the expression says."""
    words = list(words)
    starts = []
    while words and not words[0].startswith("-") and words[0] not in ("(", "!"):
        starts.append(words.pop(0))
    expression = _Expression(words)
    for start in starts or ["."]:
        os.stat(start)
        _walk(start, 0, expression)
    return expression.finish()


def _walk(path, depth, expression):
    if depth >= expression.depth_min and not expression.is_inside_first:
        expression.test(path)
    if os.path.isdir(path) and depth < expression.depth_max:
        for name in sorted(os.listdir(path)):
            _walk(os.path.join(path, name), depth + 1, expression)
    if depth >= expression.depth_min and expression.is_inside_first:
        expression.test(path)


class _Expression:
    """Tests and actions, joined as they were written; each is a function of a path."""

    def __init__(self, words):
        self.depth_min, self.depth_max = 0, float("inf")
        self.is_inside_first = False
        self._words = words
        self._acts = False
        self._code = 0
        self._gathered = []
        test = self._any() if words else _always
        if self._words:
            raise ValueError(f"unexpected {self._words[0]}")
        self.test = test if self._acts else lambda path: test(path) and _print(path)

    def finish(self):
        """Run what was to be run once for many files; the exit code."""
        for words, paths in self._gathered:
            if paths:
                self._run([*words, *paths])
        return self._code

    # Reading.

    def _any(self):
        tests = [self._all()]
        while self._words[:1] in (["-o"], ["-or"]):
            self._take()
            tests.append(self._all())
        return lambda path: any(test(path) for test in tests)

    def _all(self):
        tests = [self._one()]
        while self._words and self._words[0] not in ("-o", "-or", ")"):
            if self._words[0] in ("-a", "-and"):
                self._take()
            tests.append(self._one())
        return lambda path: all(test(path) for test in tests)

    def _one(self):
        word = self._take()
        if word in ("!", "-not"):
            test = self._one()
            return lambda path: not test(path)
        if word == "(":
            test = self._any()
            if self._take() != ")":
                raise ValueError("a ) is missing")
            return test
        read = _READERS.get(word)
        if read is None:
            known = " ".join(sorted(_READERS))
            raise ValueError(f"{word} is not known in the sandbox; there are: {known}")
        return read(self)

    def _take(self):
        if not self._words:
            raise ValueError("the expression ends too early")
        return self._words.pop(0)

    # Tests.

    def _name(self):
        pattern = self._take()
        return lambda path: fnmatch.fnmatchcase(_base(path), pattern)

    def _any_case_name(self):
        pattern = self._take().lower()
        return lambda path: fnmatch.fnmatchcase(_base(path).lower(), pattern)

    def _path(self):
        pattern = self._take()
        return lambda path: fnmatch.fnmatchcase(path, pattern)

    def _type(self):
        kinds = {"f": os.path.isfile, "d": os.path.isdir, "l": os.path.islink}
        wanted = [kinds[kind] for kind in self._take().split(",")]
        return lambda path: any(is_kind(path) for is_kind in wanted)

    def _size(self):
        number, unit = re.fullmatch(r"([+-]?\d+)([cwbkMG]?)", self._take()).groups()
        return _compared(number, lambda path: -(-os.stat(path).st_size // _SIZES[unit]))

    def _days(self):
        now = time.time()
        return _compared(self._take(), lambda path: (now - os.stat(path).st_mtime) // _DAY)

    def _newer(self):
        limit = os.stat(self._take()).st_mtime
        return lambda path: os.stat(path).st_mtime > limit

    def _empty(self):
        return lambda path: not (os.listdir(path) if os.path.isdir(path) else os.stat(path).st_size)

    def _limit(self, name):
        setattr(self, name, int(self._take()))
        return _always

    # Actions.

    def _does(self, action):
        self._acts = True
        return action

    def _delete(self):
        self.is_inside_first = True
        return self._does(_remove)

    def _exec(self):
        words = []
        while (word := self._take()) not in (";", "+"):
            words.append(word)
        if word == "+":
            paths = []
            self._gathered.append((words[:-1] if words[-1:] == ["{}"] else words, paths))
            return self._does(lambda path: paths.append(path) or True)
        return self._does(lambda path: self._run([w.replace("{}", path) for w in words]) == 0)

    def _run(self, words):
        from wasm_guest import commands

        code = commands.run_program(words, "")
        self._code = self._code or int(code != 0 and bool(self._gathered))
        return code


def _always(_):
    return True


def _print(path, end="\n"):
    print(path, end=end)
    return True


def _remove(path):
    if path != ".":
        os.rmdir(path) if os.path.isdir(path) else os.remove(path)
    return True


def _base(path):
    return os.path.basename(path.rstrip("/")) or path


def _compared(number, measure):
    """A number as ``find`` takes it: ``+2`` is more than two, ``-2`` less, ``2`` just that."""
    limit = int(number.lstrip("+-"))
    if number[0] == "+":
        return lambda path: measure(path) > limit
    if number[0] == "-":
        return lambda path: measure(path) < limit
    return lambda path: measure(path) == limit


_READERS = {
    "-delete": _Expression._delete,
    "-empty": _Expression._empty,
    "-exec": _Expression._exec,
    "-iname": _Expression._any_case_name,
    "-maxdepth": lambda expression: expression._limit("depth_max"),
    "-mindepth": lambda expression: expression._limit("depth_min"),
    "-mtime": _Expression._days,
    "-name": _Expression._name,
    "-newer": _Expression._newer,
    "-path": _Expression._path,
    "-print": lambda expression: expression._does(_print),
    "-print0": lambda expression: expression._does(lambda path: _print(path, "\0")),
    "-size": _Expression._size,
    "-type": _Expression._type,
}
