"""The commands themselves: each takes its words and its input, prints, and returns its code."""

import fnmatch
import getopt
import os
import re
import shutil
import sys
import time

from wasm_guest import archives, environment, finding, packages, text_tools
from wasm_guest.python_program import python
from wasm_guest.refusals import NETWORK
from wasm_guest.text_tools import option_value, unescaped
from wasm_guest.text_tools import read as _read

_GREP_WORDS = ("color=?", "colour=?", "include=")
_INSTALLERS = ("apt", "apt-get", "brew", "conda", "mamba", "npm", "uv", "yum")


def unknown(name):
    """What is said about a command that is not here."""
    if name in ("wget", "curl", "ssh", "scp", "ping"):
        return f"{name}: {NETWORK}"
    if name == "git":
        return "git: the sandbox has no network and no git; use it on your computer"
    if name in _INSTALLERS:
        return (
            f"{name}: not in the sandbox, where nothing can be installed; Python packages come "
            f"from your computer: {packages.how_to_add('PACKAGE')}"
        )
    return f"{name}: command not found in the sandbox ('help' lists those that are there)"


def find(name):
    """The command of a name or of a path; the interpreter has a path of its own here."""
    name = os.path.basename(name)
    if re.fullmatch(r"python[\d.]*(wasm)?", name) and name != "python2":
        return python
    return COMMANDS.get(name) or _of_a_package(name)


def _of_a_package(name):
    """A command that came with a package which the user has added: ``pytest``."""
    for folder in environment.package_folders():
        script = f"{folder}/bin/{name}"
        if os.path.isfile(script):
            return lambda words, source: python([script, *words], source)
    return None


def _split(words):
    """Options and operands."""
    options = "".join(word[1:] for word in words if word.startswith("-") and len(word) > 1)
    return options, [word for word in words if not word.startswith("-") or word == "-"]


def _ls(words, _):
    options, paths = _split(words)
    code, folders = 0, []
    files = []
    for path in paths or ["."]:
        if not os.path.exists(path):
            said = f"ls: cannot access '{path}': No such file or directory"
            print(said, file=sys.stderr)
            code = 2
        elif os.path.isdir(path) and "d" not in options:
            folders.append(path)
        else:
            files.append(path)
    _print_names("", files, options)
    for path in folders:
        _list(path, options, is_named=len(paths) > 1 or "R" in options)
    return code


def _list(folder, options, is_named):
    if is_named:
        print(f"{folder}:")
    names = sorted(name for name in os.listdir(folder) if "a" in options or name[0] != ".")
    if "t" in options:
        names.sort(key=lambda name: os.stat(os.path.join(folder, name)).st_mtime, reverse=True)
    if "l" in options:
        print(f"total {sum(-(-os.stat(os.path.join(folder, n)).st_size // 1024) for n in names)}")
    _print_names(folder, names[::-1] if "r" in options else names, options)
    if "R" in options:
        for name in names:
            inner = os.path.join(folder, name)
            if os.path.isdir(inner):
                print()
                _list(inner, options, is_named=True)


def _print_names(folder, names, options):
    for name in names:
        full = os.path.join(folder, name)
        is_folder = os.path.isdir(full)
        mark = "/" if "F" in options and is_folder else ""
        if "l" not in options:
            print(name + mark)
            continue
        found = os.stat(full)
        when = time.strftime("%b %d %H:%M", time.localtime(found.st_mtime))
        size = _readable(found.st_size) if "h" in options else found.st_size
        kind = "drwxr-xr-x" if is_folder else "-rw-r--r--"
        print(f"{kind} 1 user user {size:>8} {when} {name}{mark}")


def _readable(size):
    for unit in ("", "K", "M"):
        if size < 1024:
            return f"{size:.1f}{unit}" if unit and size < 10 else f"{size:.0f}{unit}"
        size /= 1024
    return f"{size:.1f}G"


def _cat(words, source):
    sys.stdout.write(_read(_split(words)[1], source))


def _counted(words, default):
    """The number of lines that head and tail are asked for, and the files."""
    count, paths, words = default, [], list(words)
    while words:
        word = words.pop(0)
        if word == "-n" and words:
            count = int(words.pop(0))
        elif re.fullmatch(r"-n?\d+", word):
            count = int(word.lstrip("-n"))
        else:
            paths.append(word)
    return count, paths


def _head(words, source):
    words = list(words)
    characters = option_value(words, "-c")
    count, paths = _counted(words, 10)
    text = _read(paths, source)
    sys.stdout.write(
        text[: int(characters)] if characters else "".join(text.splitlines(True)[:count])
    )


def _tail(words, source):
    words = [word.replace("+", "-+") if word.startswith("+") else word for word in words]
    first = next((words.pop(i)[2:] for i, word in enumerate(words) if word.startswith("-+")), None)
    characters = option_value(words, "-c")
    count, paths = _counted([word for word in words if first is None or word != "-n"], 10)
    text = _read(paths, source)
    if characters:
        sys.stdout.write(text[-int(characters) :])
        return
    lines = text.splitlines(True)
    kept = lines[int(first) - 1 :] if first else lines[-count:] if count else []
    sys.stdout.write("".join(kept))


def _wc(words, source):
    options, paths = _split(words)
    wanted = [option for option in "lwc" if not options or option in options]
    rows = []
    for path in paths or ["-"]:
        text = _read([path], source)
        counts = {"l": text.count("\n"), "w": len(text.split()), "c": len(text.encode())}
        rows.append([*(counts[option] for option in wanted), *([path] if paths else [])])
    if len(rows) > 1:
        rows.append([*(sum(row[n] for row in rows) for n in range(len(wanted))), "total"])
    for row in rows:
        print(*row)


def _echo(words, _):
    options = ""
    while words and re.fullmatch(r"-[neE]+", words[0]):
        options += words[0]
        words = words[1:]
    text = " ".join(words)
    print(unescaped(text) if "e" in options else text, end="" if "n" in options else "\n")


def _grep(words, source):
    pairs, operands = getopt.gnu_getopt(words, "EFGHPRchilnoqrsvwxA:B:C:e:m:", _GREP_WORDS)
    options = dict(pairs)
    texts = [value for name, value in pairs if name == "-e"]
    pattern = _grep_pattern(texts or [operands.pop(0)], options)
    is_deep = "-r" in options or "-R" in options
    paths = operands or (["."] if is_deep else ["-"])
    is_named = len(paths) > 1 or (is_deep and any(map(os.path.isdir, paths)))
    is_named = "-H" in options or (is_named and "-h" not in options)
    if is_deep:
        paths = [file for path in paths for file in _files_of(path, options.get("--include", "*"))]
    is_found = False
    for path in paths:
        lines = _read([path], source).splitlines()
        found = [
            n for n, line in enumerate(lines) if bool(pattern.search(line)) != ("-v" in options)
        ]
        found = found[: int(options.get("-m", len(lines)))]
        is_found = is_found or bool(found)
        if "-q" in options:
            continue
        if "-l" in options:
            sys.stdout.write(f"{path}\n" * bool(found))
        elif "-c" in options:
            print(f"{path}:" * is_named + str(len(found)))
        else:
            _print_found(lines, found, path if is_named else "", pattern, options)
    return 0 if is_found else 1


def _grep_pattern(texts, options):
    if "-F" in options:
        texts = [re.escape(text) for text in texts]
    elif "-P" not in options:
        texts = [text_tools.expression(text, is_extended="-E" in options) for text in texts]
    text = "|".join(f"(?:{text})" for text in texts)
    if "-w" in options:
        text = rf"(?<!\w)(?:{text})(?!\w)"
    if "-x" in options:
        text = rf"^(?:{text})$"
    return re.compile(text, re.IGNORECASE if "-i" in options else 0)


def _files_of(path, pattern):
    """A file itself, or those below a folder."""
    if not os.path.isdir(path):
        return [path]
    return [
        os.path.join(folder, name)
        for folder, _, names in os.walk(path)
        for name in sorted(names)
        if fnmatch.fnmatchcase(name, pattern)
    ]


def _print_found(lines, found, path, pattern, options):
    """The lines that were found, with as many beside each as was asked for."""
    before, after = (int(options.get(name, options.get("-C", 0))) for name in ("-B", "-A"))
    shown = {n for place in found for n in range(place - before, place + after + 1)}
    last = None
    for number in sorted(shown & set(range(len(lines)))):
        if last is not None and number > last + 1 and before + after:
            print("--")
        last = number
        mark = ":" if number in found else "-"
        start = (path + mark) * bool(path) + f"{number + 1}{mark}" * ("-n" in options)
        only = "-o" in options and mark == ":"
        for text in [m[0] for m in pattern.finditer(lines[number])] if only else [lines[number]]:
            print(start + text)


def _sort(words, source):
    words = list(words)
    separator, field = option_value(words, "-t"), option_value(words, "-k")
    options, paths = _split(words)
    options += "".join(re.findall("[nr]", field or ""))
    lines = _read(paths, source).splitlines()

    def key(line):
        if field is None:
            part = line
        else:
            parts = line.split(separator)
            part = "".join(parts[int(re.match(r"\d+", field)[0]) - 1 :][:1])
        return _number(part) if "n" in options else part

    lines.sort(key=key, reverse="r" in options)
    for line in dict.fromkeys(lines) if "u" in options else lines:
        print(line)


def _number(line):
    found = re.match(r"\s*-?[\d.]+", line)
    return float(found[0]) if found else 0.0


def _uniq(words, source):
    options, paths = _split(words)
    counts = []
    for line in _read(paths, source).splitlines():
        if counts and counts[-1][1] == line:
            counts[-1][0] += 1
        else:
            counts.append([1, line])
    for count, line in counts:
        print(f"{count:>7} {line}" if "c" in options else line)


def _pwd(*_):
    print(os.getcwd())


def _cd(words, _):
    os.chdir(words[0] if words else os.path.expanduser("~"))


def _mkdir(words, _):
    options, paths = _split(words)
    if not paths:
        print("mkdir: missing operand", file=sys.stderr)
        return 1
    for path in paths:
        os.makedirs(path, exist_ok=True) if "p" in options else os.mkdir(path)
    return 0


def _rmdir(words, _):
    for path in _split(words)[1]:
        os.rmdir(path)


def _touch(words, _):
    for path in _split(words)[1]:
        with open(path, "a", encoding="utf-8"):
            os.utime(path)


def _rm(words, _):
    options, paths = _split(words)
    for path in paths:
        if os.path.isdir(path) and ("r" in options or "R" in options):
            shutil.rmtree(path)
        elif os.path.exists(path) or "f" not in options:
            os.remove(path)


def _cp(words, _):
    options, (*sources, target) = _split(words)
    code = 0
    for source in sources:
        if os.path.isdir(source) and any(option in options for option in "rRa"):
            shutil.copytree(source, _inside(target, source), dirs_exist_ok=True)
        elif os.path.isdir(source):
            print(f"cp: -r not specified; omitting directory '{source}'", file=sys.stderr)
            code = 1
        else:
            shutil.copyfile(source, _inside(target, source))
    return code


def _mv(words, _):
    *sources, target = _split(words)[1]
    for source in sources:
        shutil.move(source, target)


def _inside(target, source):
    return os.path.join(target, os.path.basename(source)) if os.path.isdir(target) else target


def _du(words, _):
    for path in _split(words)[1] or ["."]:
        total = sum(
            os.path.getsize(os.path.join(folder, name))
            for folder, _, names in os.walk(path)
            for name in names
        )
        print(f"{-(-total // 1024)}\t{path}")


def _date(words, _):
    form = next((word[1:] for word in words if word.startswith("+")), "%a %b %d %H:%M:%S UTC %Y")
    print(time.strftime(form, time.gmtime()))


def _sleep(words, _):
    time.sleep(float(words[0]))


def _which(words, _):
    for name in filter(find, words):
        print(f"/usr/bin/{name}")
    return 0 if all(map(find, words)) else 1


def _uname(words, _):
    print("wasi" if "a" not in _split(words)[0] else "wasi sandbox wasm32")


def _env(*_):
    for name, value in os.environ.items():
        print(f"{name}={value}")


def _printenv(words, _):
    if not words:
        return _env()
    values = [os.environ[name] for name in words if name in os.environ]
    print(*values, sep="\n", end="\n" if values else "")
    return 0 if len(values) == len(words) else 1


def _xargs(words, source):
    from wasm_guest import commands

    words = list(words)
    size, mark = option_value(words, "-n"), option_value(words, "-I")
    text = source.read()
    if words[:1] in (["-0"], ["--null"]):
        del words[0]
        values = text.removesuffix("\0").split("\0") if text else []
    else:
        values = text.splitlines() if mark else text.split()
    words = words or ["echo"]
    if mark:
        lines = [[word.replace(mark, value) for word in words] for value in values]
    else:
        step = int(size or max(len(values), 1))
        lines = [[*words, *values[at : at + step]] for at in range(0, len(values), step)]
    code = 0
    for line in lines:
        code = commands.run_program(line, "") or code
    return code


def _help(*_):
    print(", ".join(sorted(COMMANDS)))


def _fail(*_):
    return 1


def _whoami(*_):
    print("user")


def _hostname(*_):
    print("sandbox")


def _arch(*_):
    print("wasm32")


def _nproc(*_):
    print(1)


def _nothing(*_):
    return 0


COMMANDS = {
    "arch": _arch,
    "cat": _cat,
    "cd": _cd,
    "clear": _nothing,
    "cp": _cp,
    "date": _date,
    "du": _du,
    "echo": _echo,
    "env": _env,
    "chmod": _nothing,
    "false": _fail,
    "find": finding.find,
    "grep": _grep,
    "head": _head,
    "help": _help,
    "hostname": _hostname,
    "ls": _ls,
    "mkdir": _mkdir,
    "mv": _mv,
    "nproc": _nproc,
    "pip": packages.pip,
    "pip3": packages.pip,
    "printenv": _printenv,
    "pwd": _pwd,
    "python": python,
    "rm": _rm,
    "rmdir": _rmdir,
    "sleep": _sleep,
    "sort": _sort,
    "tail": _tail,
    "touch": _touch,
    "true": _nothing,
    "uname": _uname,
    "uniq": _uniq,
    "wc": _wc,
    "which": _which,
    "whoami": _whoami,
    "xargs": _xargs,
    **archives.TOOLS,
    **text_tools.TOOLS,
}
