"""How a shell's words become texts: variables, substitutions, braces, globs and splitting."""

import fnmatch
import glob
import os
import re

_EXPANSION = re.compile(
    r"\$\(\((?P<sum>.*?)\)\)|\$\((?P<command>.*?)\)|`(?P<old>[^`]*)`|\$\{(?P<braced>[^}]*)\}"
    r"|\$(?P<name>[A-Za-z_]\w*|[0-9@*#?$])",
    re.DOTALL,
)
_BRACED = re.compile(r"(?P<name>\w+|[@*?#$])(?P<how>:?[-=+]|%%?|##?|//?)?(?P<rest>.*)", re.DOTALL)
_BRACES = re.compile(r"\{([^{}\s]*,[^{}\s]*|-?\d+\.\.-?\d+|[a-zA-Z]\.\.[a-zA-Z])\}")
_ESCAPED = re.compile(r"\\([$`\"\\])")


def expand_words(words, shell):
    """The fields that some words become."""
    return [field for word in words for field in expand_word(word, shell)]


def expand_word(word, shell):
    """The fields that one word becomes: none, one or several."""
    return [field for plain in _unbraced(word) for field in _fields(plain, shell)]


def to_text(word, shell):
    """A word as one text, as in an assignment."""
    return "".join(
        _piece(text, quoting, shell, is_first) for is_first, text, quoting in _marked(word)
    )


def _marked(word):
    return [(place == 0, text, quoting) for place, (text, quoting) in enumerate(word)]


def _piece(text, quoting, shell, is_first):
    if quoting == "single":
        return text
    if quoting == "double":
        return _ESCAPED.sub(r"\1", _expanded(text, shell))
    if is_first and text.startswith("~"):
        text = os.path.expanduser(text)
    return _expanded(text, shell)


def _fields(word, shell):
    if len(word) == 1 and word[0] == ("$@", "double"):
        return list(shell.arguments)
    fields, pattern, is_open = [], "", False
    text = ""

    def finish():
        nonlocal text, pattern
        found = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else []
        fields.extend(found or [text])
        text = pattern = ""

    for is_first, piece, quoting in _marked(word):
        value = _piece(piece, quoting, shell, is_first)
        if quoting != "raw":
            text += value
            pattern += glob.escape(value)
            is_open = True
            continue
        if value == piece or ("$" not in piece and "`" not in piece):
            text, pattern = text + value, pattern + value
            is_open = is_open or bool(value)
            continue
        # What a variable holds is split at its spaces.
        parts = value.split()
        if value[:1].isspace() and is_open:
            finish()
            is_open = False
        for place, part in enumerate(parts):
            if place:
                finish()
            text, pattern, is_open = text + part, pattern + part, True
        if parts and value[-1:].isspace():
            finish()
            is_open = False
    if is_open:
        finish()
    return fields


def _unbraced(word):
    """``a{b,c}`` as two words, ``{1..3}`` as three."""
    for place, (text, quoting) in enumerate(word):
        found = _BRACES.search(text) if quoting == "raw" else None
        if found is None or text[: found.start()].endswith("$"):
            continue
        return [
            plain
            for choice in _choices(found[1])
            for plain in _unbraced(
                [
                    *word[:place],
                    (text[: found.start()] + choice + text[found.end() :], "raw"),
                    *word[place + 1 :],
                ]
            )
        ]
    return [word]


def _choices(text):
    if "," in text:
        return text.split(",")
    first, last = text.split("..")
    if first.lstrip("-").isdigit():
        step = 1 if int(first) <= int(last) else -1
        return [str(number) for number in range(int(first), int(last) + step, step)]
    step = 1 if first <= last else -1
    return [chr(code) for code in range(ord(first), ord(last) + step, step)]


def _expanded(text, shell):
    """A text with its variables and substitutions replaced."""
    result, place = [], 0
    while found := _EXPANSION.search(text, place):
        before = text[place : found.start()]
        if before.endswith("\\"):
            result.append(before + "$")
            place = found.start() + 1
            continue
        result.append(before)
        end = found.end()
        if found["command"] is not None:
            end = _balanced(text, found.start() + 1)
            result.append(shell.capture(text[found.start() + 2 : end - 1]))
        elif found["old"] is not None:
            result.append(shell.capture(found["old"]))
        elif found["sum"] is not None:
            end = _balanced(text, found.start() + 1)
            result.append(str(_sum(text[found.start() + 3 : end - 2], shell)))
        else:
            name = found["name"]
            result.append(_braced(found["braced"], shell) if name is None else shell.value(name))
        place = end
    return "".join([*result, text[place:]])


def _balanced(text, place):
    depth = 0
    for end in range(place, len(text)):
        depth += (text[end] == "(") - (text[end] == ")")
        if depth == 0:
            return end + 1
    return len(text)


def _sum(text, shell):
    text = re.sub(r"\$?\b([A-Za-z_]\w*)", lambda name: shell.value(name[1]) or "0", text)
    if not re.fullmatch(r"[\d\s+*/%()<>=!&|^~-]*", text):
        raise ValueError(f"{text}: not a sum")
    text = text.replace("/", "//").replace("&&", " and ").replace("||", " or ")
    try:
        return int(eval(text.strip() or "0"))
    except (ArithmeticError, SyntaxError) as error:
        raise ValueError(f"{text.strip()}: {error}") from None


def _braced(text, shell):
    if text.startswith("#") and len(text) > 1:
        return str(len(shell.value(text[1:])))
    found = _BRACED.fullmatch(text)
    if found is None:
        raise ValueError(f"${{{text}}}: bad substitution")
    name, how, rest = found["name"], found["how"] or "", found["rest"]
    value = shell.value(name)
    if how.lstrip(":") in ("-", "=") and how:
        if not value and "=" in how:
            shell.assign(name, _expanded(rest, shell))
        return value or _expanded(rest, shell)
    if how in ("+", ":+"):
        return _expanded(rest, shell) if value else ""
    if how in ("/", "//"):
        old, _, new = rest.partition("/")
        return value.replace(old, new, -1 if how == "//" else 1)
    if how:
        return _trimmed(value, how, rest)
    if rest.startswith(":"):
        start, _, length = rest[1:].partition(":")
        value = value[int(start) :]
        return value[: int(length)] if length else value
    return value


def _trimmed(value, how, pattern):
    """``${x%.csv}`` and its like: the value without what the pattern fits at an end."""
    sizes = range(len(value) + 1)
    for size in reversed(sizes) if len(how) == 2 else sizes:
        if how[0] == "#" and fnmatch.fnmatchcase(value[:size], pattern):
            return value[size:]
        if how[0] == "%" and fnmatch.fnmatchcase(value[len(value) - size :], pattern):
            return value[: len(value) - size]
    return value
