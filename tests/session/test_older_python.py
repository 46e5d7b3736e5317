"""What notebooks of an older Python find of what newer ones took out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wasm_kernel import ExecutionPolicy, Session, create_sandbox

from .conftest import Cell

RunCell = Callable[..., Cell]


@pytest.mark.parametrize(
    "condition",
    [
        "LooseVersion('1.10') > '1.9' and LooseVersion('1.0') == '1.0'",
        "LooseVersion('2.1b1').version == [2, 1, 'b', 1]",
        "sorted(['1.0', '1.0b2', '0.9.1'], key=StrictVersion) == ['0.9.1', '1.0b2', '1.0']",
        "str(StrictVersion('1.2.0')) == '1.2' and str(StrictVersion('1.2.3a4')) == '1.2.3a4'",
        "imp.find_module('json')[1].startswith('/usr') and imp.new_module('m').__name__ == 'm'",
        "pkgutil.get_loader('json') and importlib.find_loader('json').is_package('json')",
        "pkgutil.get_loader('no_such') is importlib.find_loader('no_such', ['/app'])",
        "draw(3, 1, 10.0) == draw(3, 1, 10)",
    ],
)
def test_what_was_taken_out_works_as_it_did(
    session: Session, cell: RunCell, condition: str
) -> None:
    prepared = (
        "import imp, importlib, pkgutil, random\n"
        "from distutils.version import LooseVersion, StrictVersion\n"
        "def draw(seed, *ends):\n    random.seed(seed)\n    return random.randint(*ends)\n"
    )
    ran = cell(session, prepared + condition)
    assert ran.result.success, ran.result.error
    assert ran.value == "True"


def test_a_visitor_of_numbers_and_texts_is_called(session: Session, cell: RunCell) -> None:
    code = (
        "import ast\n"
        "class Seen(ast.NodeVisitor):\n"
        "    def visit_Num(self, node): print('number', node.n)\n"
        "    def visit_Str(self, node): print('text', node.s)\n"
        "Seen().visit(ast.parse('f(1, True, \"a\")'))\n"
        "print(ast.dump(ast.Num(3)), isinstance(ast.Constant(True), ast.Num))"
    )
    ran = cell(session, code)
    assert ran.stdout == "number 1\ntext a\nConstant(value=3) False\n"


def test_a_former_assertion_names_the_present_one(session: Session, cell: RunCell) -> None:
    ran = cell(session, "import unittest\nunittest.TestCase().assertEquals(1, 1)")
    assert "2: DeprecationWarning: assertEquals was taken out of Python in 3.12" in ran.stderr
    error = cell(session, "unittest.TestCase().failUnlessEqual(1, 2)").error
    assert error.name == "AssertionError" and error.value == "1 != 2"


def test_newer_warnings_are_heard_by_those_who_ask(session: Session, cell: RunCell) -> None:
    assert cell(session, "import datetime, warnings\ndatetime.datetime.utcnow();").stderr == ""
    code = "warnings.simplefilter('always')\ndatetime.datetime.utcnow();"
    assert "utcnow() is deprecated" in cell(session, code).stderr


def test_a_module_with_what_it_had_is_found_and_loaded_as_any_other(
    session: Session, cell: RunCell
) -> None:
    code = (
        "import importlib.util, pickle, random\n"
        "found = importlib.util.find_spec('sqlite3').loader.is_package('sqlite3')\n"
        "import sqlite3\n"
        "loaded = type(sqlite3.__loader__) is type(importlib.util.find_spec('tomllib').loader)\n"
        "importlib.reload(random), importlib.reload(sqlite3)\n"
        "draw = pickle.loads(pickle.dumps(random.randrange))\n"
        "found, loaded, draw(1, 2.0), random.randint(1, 1.0), sqlite3.version"
    )
    assert cell(session, code).value == "(True, True, 1, 1, '2.6.0')"


FORMER_FINDER = """
import sys, types

class Loader:
    def load_module(self, name):
        if name in sys.modules:
            return sys.modules[name]
        made = types.ModuleType(name)
        sys.modules[name] = made
        made.says = name.upper()
        if name.endswith("broken"):
            raise ValueError(name)
        return made

class Finder:
    def find_module(self, name, path=None):
        return Loader() if "notebook" in name else None

sys.meta_path.append(Finder())
"""


def test_finders_and_loaders_of_the_former_kind_are_asked(session: Session, cell: RunCell) -> None:
    folder = session.workspace / "box"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    cell(session, FORMER_FINDER)
    code = (
        "import a_notebook, importlib\nfrom box import notebook\n"
        "kind = type(a_notebook.__loader__).__name__, a_notebook.__spec__.name\n"
        "again = importlib.import_module('a_notebook') is a_notebook\n"
        "a_notebook.says, notebook.says, kind, again"
    )
    said = "('A_NOTEBOOK', 'BOX.NOTEBOOK', ('Loader', 'a_notebook'), True)"
    assert cell(session, code).value == said
    assert cell(session, "import notebook_broken").error.name == "ValueError"
    assert cell(session, "'notebook_broken' in sys.modules").value == "False"
    assert cell(session, "import no_such_thing").error.name == "ModuleNotFoundError"


def test_a_file_is_loaded_as_a_module_and_loaded_again(session: Session, cell: RunCell) -> None:
    code = (
        "from importlib.machinery import SourceFileLoader\n"
        "def loaded(text):\n"
        "    open('part.py', 'w').write(text)\n"
        "    return SourceFileLoader('part', 'part.py').load_module()\n"
        "first = loaded('x = 1')\n"
        "second = loaded('y = 22')\n"
        "first is second, second.x, second.y"
    )
    assert cell(session, code).value == "(True, 1, 22)"
    error = cell(session, "SourceFileLoader('part', 'part.py').load_module('whole')").error
    assert (error.name, error.value) == ("ImportError", "loader for part cannot handle whole")


def test_a_module_that_is_gone_says_so(session: Session, cell: RunCell) -> None:
    error = cell(session, "import telnetlib").error
    assert error.name == "ModuleNotFoundError"
    assert "telnetlib was taken out of Python in 3.12 or 3.13" in "".join(error.traceback)


def test_scripts_find_it_too() -> None:
    code = "import sqlite3, random, distutils.util as u\nprint(sqlite3.version, u.strtobool('on'))"
    with create_sandbox(policy=ExecutionPolicy()) as sandbox:
        assert sandbox.execute(code).stdout == "2.6.0 1\n"
