"""Commands that pack and unpack: tar, zip, gzip."""

import gzip
import os
import shutil
import sys
import tarfile
import zipfile

from wasm_guest.text_tools import option_value


def _tar(words, _):
    words = list(words)
    folder = option_value(words, "-C", "--directory") or "."
    flags, *paths = words
    flags = flags.lstrip("-")
    for word in [path for path in paths if path.startswith("-")]:
        flags += word.lstrip("-")
        paths.remove(word)
    name = paths.pop(0) if "f" in flags else "-"
    if "c" in flags:
        packing = "gz" if "z" in flags else "bz2" if "j" in flags else ""
        with tarfile.open(name, f"w:{packing}") as archive:
            for path in paths:
                archive.add(os.path.join(folder, path), arcname=path)
                print(path) if "v" in flags else None
        return
    with tarfile.open(name) as archive:
        for member in archive.getmembers():
            if "t" in flags or "v" in flags:
                print(member.name)
        if "x" in flags:
            archive.extractall(folder, filter="data")


def _zip(words, _):
    target, *paths = [word for word in words if not word.startswith("-")]
    target = target if target.endswith(".zip") else f"{target}.zip"
    with zipfile.ZipFile(target, "a" if os.path.exists(target) else "w", zipfile.ZIP_DEFLATED) as z:
        for path in paths:
            inside = [os.path.join(top, name) for top, _, names in os.walk(path) for name in names]
            for name in inside if os.path.isdir(path) else [path]:
                z.write(name)
                print(f"  adding: {name}") if "-q" not in words else None


def _unzip(words, _):
    words = list(words)
    folder = option_value(words, "-d") or "."
    options = "".join(word[1:] for word in words if word.startswith("-"))
    name, *members = [word for word in words if not word.startswith("-")]
    if not os.path.exists(name) and os.path.exists(f"{name}.zip"):
        name += ".zip"
    if not os.path.exists(name):
        print(f"unzip:  cannot find or open {name}, {name}.zip or {name}.ZIP.", file=sys.stderr)
        return 9
    with zipfile.ZipFile(name) as archive:
        if "l" in options:
            archive.printdir()
            return 0
        if "q" not in options:
            print(f"Archive:  {name}")
        for member in members or archive.namelist():
            archive.extract(member, folder)
            if "q" not in options:
                print(f"  inflating: {os.path.join(folder, member)}")
    return 0


def _gzip(words, _):
    options = "".join(word[1:] for word in words if word.startswith("-"))
    for path in [word for word in words if not word.startswith("-")]:
        if "d" in options:
            _gunzip([f"-{options}", path], _)
            continue
        with open(path, "rb") as source, gzip.open(f"{path}.gz", "wb") as target:
            shutil.copyfileobj(source, target)
        if "k" not in options:
            os.remove(path)


def _gunzip(words, _):
    options = "".join(word[1:] for word in words if word.startswith("-"))
    for path in [word for word in words if not word.startswith("-")]:
        with gzip.open(path, "rb") as source:
            data = source.read()
        if "c" in options:
            sys.stdout.write(data.decode("utf-8", "replace"))
            continue
        with open(path.removesuffix(".gz"), "wb") as target:
            target.write(data)
        if "k" not in options:
            os.remove(path)


def _zcat(words, _):
    _gunzip(["-c", *words], _)


TOOLS = {
    "gunzip": _gunzip,
    "gzip": _gzip,
    "tar": _tar,
    "unzip": _unzip,
    "zcat": _zcat,
    "zip": _zip,
}
