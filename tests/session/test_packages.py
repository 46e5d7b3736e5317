"""Packages that a user has put into the workspace, and what they need to work there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wasm_kernel import Session

from .conftest import Cell

RunCell = Callable[..., Cell]


def add(session: Session, name: str, text: str) -> Path:
    """Put a file of a package where pip would have put it."""
    path = session.workspace / "site-packages" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("HashTrieMap({'a': 1}).insert('b', 2) == {'a': 1, 'b': 2}", "True"),
        ("full.remove('a'), full.discard('z') is full, len(full)", "(HashTrieMap({}), True, 1)"),
        ("HashTrieMap.convert(full) is full, full.update({'a': 2}, b=3)['a']", "(True, 2)"),
        (
            "dict(HashTrieMap.fromkeys('ab')), hash(full) == hash(HashTrieMap(a=1))",
            "({'a': None, 'b': None}, True)",
        ),
        (
            "sorted(HashTrieSet('ab').insert('c').discard('z').update('d').remove('a'))",
            "['b', 'c', 'd']",
        ),
        ("HashTrieSet('a'), HashTrieSet()", "(HashTrieSet({'a'}), HashTrieSet({}))"),
        ("List([1]).push_front(0), List(1, 2).rest", "(List([0, 1]), List([2]))"),
        ("List([3, 4]).drop_first().first, list(List('ab'))", "(4, ['a', 'b'])"),
        ("Queue([1]).enqueue(2).dequeue().peek, Queue().is_empty", "(2, True)"),
        ("pickle.loads(pickle.dumps((full, List([1])))) == (full, List([1]))", "True"),
    ],
)
def test_collections_of_rpds_stay_as_they_are(
    session: Session, cell: RunCell, code: str, value: str
) -> None:
    add(session, "rpds/__init__.py", "from .rpds import *\n")
    cell(session, "import pickle\nfrom rpds import *\nfull = HashTrieMap({'a': 1})")
    assert cell(session, code).value == value
    assert cell(session, "full").value == "HashTrieMap({'a': 1})"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("HashTrieMap().remove('a')", "KeyError"),
        ("HashTrieSet().remove('a')", "KeyError"),
        ("List().first", "IndexError"),
        ("Queue().dequeue()", "IndexError"),
    ],
)
def test_what_is_not_there_cannot_be_taken_out(
    session: Session, cell: RunCell, code: str, name: str
) -> None:
    add(session, "rpds/__init__.py", "from .rpds import *\n")
    assert cell(session, f"from rpds import *\n{code}").error.name == name


def test_a_command_of_a_package_is_found(session: Session, cell: RunCell) -> None:
    add(session, "counting.py", "import sys\ndef main():\n    return len(sys.argv[1:])\n")
    script = "#!/somewhere/bin/python3\nimport sys\nfrom counting import main\nsys.exit(main())\n"
    add(session, "bin/counting", script)
    assert cell(session, "!counting a b; echo $?; which counting").stdout == (
        "2\n/usr/bin/counting\n"
    )
    code = "import subprocess\nsubprocess.run(['counting', 'a']).returncode"
    assert cell(session, code).value == "1"


def test_altair_gives_its_figures_as_data(session: Session, cell: RunCell) -> None:
    text = (
        "class renderers:\n    enable = staticmethod(lambda name: chosen.append(name))\nchosen = []"
    )
    add(session, "altair/__init__.py", text)
    assert cell(session, "import altair\naltair.chosen").value == "['mimetype']"


def test_pytest_is_told_what_the_sandbox_has_not(session: Session, cell: RunCell) -> None:
    options = cell(session, "import os\nos.environ['PYTEST_ADDOPTS']").value
    assert "--capture=sys" in options and "--basetemp=" in options
