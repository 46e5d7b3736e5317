"""Commands that turn lines into lines: sed, awk, cut, tr, xargs and their like."""

import hashlib
import os
import re
import sys

_SED_COMMAND = re.compile(
    r"(?:(?P<first>\d+|\$|/(?P<pattern>[^/]*)/)(?:,(?P<last>\d+|\$))?)?\s*(?P<do>[spdq])(?P<rest>.*)"
)
_OPERATOR = re.compile(r"\\.|\[\^?\]?[^]]*\]|[|+?(){}]")
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "lower": "a-z",
    "punct": "!-/:-@\\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_AWK_RULE = re.compile(r"\s*(?P<condition>[^{}]*?)\s*(?:\{(?P<action>[^{}]*)\})?\s*", re.DOTALL)
_AWK_COMPARISON = re.compile(r"(\$?\w+)\s*(==|!=|>=|<=|>|<|~)\s*(.+)")


def read(paths, source):
    """The text of some files, or of the input where none is named."""
    if not paths:
        return source.read()
    texts = []
    for path in paths:
        if path == "-":
            texts.append(source.read())
            continue
        with open(path, encoding="utf-8", errors="replace") as file:
            texts.append(file.read())
    return "".join(texts)


def expression(text, *, is_extended):
    """Python's form of a pattern; in a basic one it is the backslash that makes an operator."""
    text = re.sub(r"\[:(\w+):\]", lambda found: _CLASSES.get(found[1], found[0]), text)
    text = re.sub(r"\\[<>]", r"\\b", text)
    return text if is_extended else _OPERATOR.sub(_operator, text)


def _operator(found):
    text = found[0]
    if len(text) == 1:
        return f"\\{text}"
    return text[1] if text[0] == "\\" and text[1] in "|+?(){}" else text


def option_value(words, *names):
    """Take an option with its value, glued to it or after it, out of some words."""
    for place, word in enumerate(words):
        for name in names:
            if word == name and place + 1 < len(words):
                del words[place]
                return words.pop(place)
            if word.startswith(name) and len(word) > len(name) and len(name) == 2:
                del words[place]
                return word[len(name) :]
    return None


def _sed(words, source):
    words = list(words)
    script = option_value(words, "-e", "--expression")
    flags = "".join(word[1:] for word in words if word.startswith("-") and word != "-")
    operands = [word for word in words if not word.startswith("-")]
    if script is None:
        script = operands.pop(0)
    is_extended = "E" in flags or "r" in flags
    commands = [
        _sed_command(part, is_extended) for part in re.split(r"[;\n]", script) if part.strip()
    ]
    if "i" not in flags:
        sys.stdout.write(_sedded(read(operands, source), commands, "n" in flags))
        return
    for path in operands:
        text = _sedded(read([path], source), commands, "n" in flags)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def _sed_command(text, is_extended):
    found = _SED_COMMAND.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"'{text}' is not understood in the sandbox")
    if found["do"] != "s":
        return found, None, None, ""
    separator = found["rest"][:1]
    parts = re.split(rf"(?<!\\){re.escape(separator)}", found["rest"][1:])
    if len(parts) != 3:
        raise ValueError(f"unterminated 's' command in '{text}'")
    pattern, replacement, flags = parts
    pattern = expression(pattern, is_extended=is_extended)
    replacement = replacement.replace(f"\\{separator}", separator)
    replacement = re.sub(r"(?<!\\)&", r"\\g<0>", replacement)
    compiled = re.compile(pattern, re.IGNORECASE if "i" in flags.lower() else 0)
    return found, compiled, replacement, flags


def _sedded(text, commands, is_quiet):
    lines, result = text.splitlines(True), []
    for number, full in enumerate(lines, 1):
        line, end = (full[:-1], "\n") if full.endswith("\n") else (full, "")
        is_kept = not is_quiet
        for found, pattern, replacement, flags in commands:
            if not _is_addressed(found, number, len(lines), line):
                continue
            if found["do"] == "s":
                line, count = pattern.subn(replacement, line, count=0 if "g" in flags else 1)
                if count and "p" in flags:
                    result.append(line + end)
            elif found["do"] == "p":
                result.append(line + end)
            elif found["do"] == "d":
                is_kept = False
                break
            else:
                return "".join([*result, line + end] if is_kept else result)
        if is_kept:
            result.append(line + end)
    return "".join(result)


def _is_addressed(found, number, count, line):
    if found["first"] is None:
        return True
    if found["pattern"] is not None:
        return re.search(found["pattern"], line) is not None
    first = count if found["first"] == "$" else int(found["first"])
    last = found["last"]
    return first <= number <= (first if last is None else count if last == "$" else int(last))


def _awk(words, source):
    """Rules of a condition and of prints; the rest of the language is not here."""
    words = list(words)
    separator = option_value(words, "-F")
    program, *paths = [word for word in words if not word.startswith("-")]
    found = _AWK_RULE.fullmatch(program)
    if found is None:
        raise ValueError(f"'{program}' is not understood in the sandbox")
    action = (found["action"] or "print").strip()
    statements = [part.strip() for part in action.split(";") if part.strip()]
    at_begin = found["condition"] == "BEGIN"
    lines = [""] if at_begin else read(paths, source).splitlines()
    for number, line in enumerate(lines, 1):
        parts = line.split(separator)
        names = {"NR": number, "NF": len(parts), "$0": line, "$NF": parts[-1] if parts else ""}
        names |= {f"${place}": part for place, part in enumerate(parts, 1)}
        if not at_begin and not _awk_holds(found["condition"], names):
            continue
        for statement in statements:
            if not re.match(r"print\b", statement):
                raise ValueError(f"'{statement}' is not understood in the sandbox")
            values = [part.strip() for part in statement[5:].split(",") if part.strip()]
            print(*[_awk_value(part, names) for part in values or ["$0"]])


def _awk_value(text, names):
    pieces = re.findall(r'"[^"]*"|\S+', text)
    return "".join(
        piece[1:-1]
        if piece.startswith('"')
        else str(names.get(piece, "" if piece.startswith("$") else piece))
        for piece in pieces
    )


def _awk_holds(condition, names):
    if not condition:
        return True
    if condition.startswith("/") and condition.endswith("/"):
        return re.search(condition[1:-1], names["$0"]) is not None
    found = _AWK_COMPARISON.fullmatch(condition)
    if found is None:
        raise ValueError(f"'{condition}' is not understood in the sandbox")
    left, right = _awk_value(found[1], names), _awk_value(found[3].strip("/"), names)
    if found[2] == "~":
        return re.search(right, left) is not None
    try:
        left, right = float(left), float(right)
    except ValueError:
        pass
    return {
        "==": left == right,
        "!=": left != right,
        ">": left > right,
        "<": left < right,
        ">=": left >= right,
        "<=": left <= right,
    }[found[2]]


def _cut(words, source):
    words = list(words)
    separator = option_value(words, "-d") or "\t"
    fields, characters = option_value(words, "-f"), option_value(words, "-c")
    paths = [word for word in words if not word.startswith("-")]
    for line in read(paths, source).splitlines():
        if characters:
            print("".join(line[place] for place in _places(characters, len(line))))
            continue
        parts = line.split(separator)
        print(separator.join(parts[place] for place in _places(fields or "1-", len(parts))))


def _places(text, count):
    for part in text.split(","):
        first, dash, last = part.partition("-")
        start = int(first or 1)
        stop = int(last or count) if dash else start
        yield from range(start - 1, min(stop, count))


def _tr(words, source):
    options = "".join(word[1:] for word in words if word.startswith("-") and len(word) > 1)
    sets = [_characters(word) for word in words if not (word.startswith("-") and len(word) > 1)]
    text = source.read()
    if "d" in options:
        sys.stdout.write("".join(c for c in text if c not in sets[0]))
        return
    if "s" in options and len(sets) == 1:
        sys.stdout.write(re.sub(rf"([{re.escape(sets[0])}])\1+", r"\1", text))
        return
    old, new = sets
    new = new.ljust(len(old), new[-1:])
    text = text.translate(dict(zip(map(ord, old), new)))
    if "s" in options:
        text = re.sub(rf"([{re.escape(new)}])\1+", r"\1", text)
    sys.stdout.write(text)


def _characters(text):
    for name, pattern in (
        ("upper", "A-Z"),
        ("lower", "a-z"),
        ("digit", "0-9"),
        ("space", r" \t\n"),
    ):
        text = text.replace(f"[:{name}:]", pattern)
    text = unescaped(text)
    return re.sub(r"(.)-(.)", _between, text)


def _between(found):
    return "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1)))


def unescaped(text):
    """A text with its ``\\n`` and ``\\t`` made real."""
    known = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "e": "\x1b", "033": "\x1b"}
    return re.sub(r"\\(033|.)", lambda found: known.get(found[1], found[0]), text)


def _seq(words, _):
    numbers = [float(word) if "." in word else int(word) for word in words]
    first, step, last = _bounds(numbers)
    if all(isinstance(number, int) for number in (first, step, last)):
        values = range(first, last + (1 if step > 0 else -1), step)
        sys.stdout.write("".join(f"{value}\n" for value in values))
        return
    while first <= last if step > 0 else first >= last:
        print(first)
        first += step


def _bounds(numbers):
    if len(numbers) == 1:
        return 1, 1, numbers[0]
    if len(numbers) == 2:
        return numbers[0], 1, numbers[1]
    return tuple(numbers)


def _printf(words, _):
    form, *values = words
    form = unescaped(form)
    count = len(re.findall(r"%[^%]", form))
    while True:
        taken, values = values[:count], values[count:]
        taken += [""] * (count - len(taken))
        kinds = re.findall(r"%[-0-9.]*([a-z])", form)
        typed = [
            int(value or 0) if kind in "di" else float(value or 0) if kind in "feg" else value
            for kind, value in zip(kinds, taken)
        ]
        sys.stdout.write(form % tuple(typed))
        if not values or not count:
            return


def _tee(words, source):
    text = source.read()
    sys.stdout.write(text)
    for path in [word for word in words if not word.startswith("-")]:
        with open(path, "a" if "-a" in words else "w", encoding="utf-8") as file:
            file.write(text)


def _nl(words, source):
    for number, line in enumerate(read(words, source).splitlines(), 1):
        print(f"{number:>6}\t{line}")


def _tac(words, source):
    lines = read(words, source).splitlines()
    print("\n".join(reversed(lines)))


def _diff(words, source):
    import difflib

    paths = [word for word in words if not word.startswith("-")]
    one, two = (read([path], source).splitlines() for path in paths)
    for line in difflib.unified_diff(one, two, *paths, lineterm=""):
        print(line)
    return 0 if one == two else 1


def _digest(name):
    def digest(words, source):
        for path in words or ["-"]:
            if path == "-":
                data = source.read().encode()
            else:
                with open(path, "rb") as file:
                    data = file.read()
            print(f"{hashlib.new(name, data).hexdigest()}  {path}")

    return digest


def _basename(words, _):
    name = os.path.basename(words[0].rstrip("/"))
    print(name.removesuffix(words[1]) if len(words) > 1 else name)


def _dirname(words, _):
    print(os.path.dirname(words[0].rstrip("/")) or ".")


def _test(words, _):
    """``[ … ]``: what a script asks before it does something."""
    if words[-1:] in (["]"], ["]]"]):
        words = words[:-1]
    return 0 if _is_true(list(words)) else 1


def _is_true(words):
    for joint, both in (("-o", any), ("||", any), ("-a", all), ("&&", all)):
        if joint in words:
            place = words.index(joint)
            return both([_is_true(words[:place]), _is_true(words[place + 1 :])])
    if words[:1] == ["!"]:
        return not _is_true(words[1:])
    if len(words) == 3:
        left, how, right = words
        if how in ("=", "==", "!="):
            return (left == right) != (how == "!=")
        if how == "=~":
            return re.search(right, left) is not None
        sign = int(left) - int(right)
        return {
            "-eq": sign == 0,
            "-ne": sign != 0,
            "-gt": sign > 0,
            "-ge": sign >= 0,
            "-lt": sign < 0,
            "-le": sign <= 0,
        }[how]
    if len(words) == 2:
        how, text = words
        if how in ("-n", "-z"):
            return bool(text) == (how == "-n")
        if how == "-s":
            return os.path.exists(text) and os.path.getsize(text) > 0
        kinds = {"-f": os.path.isfile, "-d": os.path.isdir, "-L": os.path.islink}
        return kinds.get(how, os.path.exists)(text)
    return bool(words and words[0])


TOOLS = {
    "[": _test,
    "[[": _test,
    "awk": _awk,
    "basename": _basename,
    "cut": _cut,
    "diff": _diff,
    "dirname": _dirname,
    "md5sum": _digest("md5"),
    "nl": _nl,
    "printf": _printf,
    "sed": _sed,
    "seq": _seq,
    "sha1sum": _digest("sha1"),
    "sha256sum": _digest("sha256"),
    "tac": _tac,
    "tee": _tee,
    "test": _test,
    "tr": _tr,
}
