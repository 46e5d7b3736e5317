"""What notebooks of an older Python expect, where it costs no more than a few lines.

Public notebooks were written for the Python of their day. What 3.12 and later took out of a
module that stays is put back when that module is imported; whole modules are in ``older_modules``.
"""

import importlib.util
import warnings

from wasm_guest import after_import, older_imports

_SINCE_3_11 = (
    r"datetime\.datetime\.utc(now|fromtimestamp)\(\) is deprecated"
    r"|The default (date|datetime|timestamp) (adapter|converter) is deprecated"
    r"|Bitwise inversion '~' on bool"
    r"|'(count|maxsplit|flags)' is passed as positional argument"
    r"|The '(January|February)' attribute is deprecated"
    r"|the \(type, exc, tb\) signature of throw\(\)"
    r"|'asyncio\.\w+' is deprecated"
    r"|'(typing|collections\.abc)\.ByteString'"
    r"|The 'u' type code is deprecated"
    r"|Testing an element's truth value"
    r"|codecs\.open\(\) is deprecated"
    r"|The profile module is deprecated"
)
_SINCE_OLDER_LIBRARIES = (
    r"(?s:.*)(in NumPy 2\.5|\(Deprecated NumPy 2\.5|SciPy 1\.(18|20))"
    r"|numpy\.fix is deprecated|The chararray class is deprecated"
)
_IN_FINALLY = r"'(return|break|continue)' in a 'finally' block"
_ESCAPES = r".* is an invalid (octal )?escape sequence"


def pass_over_warnings():
    """Say nothing of what Python began to warn of after 3.11: it means what it meant to them.

    Nor of what NumPy 2.5 and SciPy 1.18 did, which need a newer Python than that.
    """
    warnings.filterwarnings("ignore", f"{_ESCAPES}|{_IN_FINALLY}", SyntaxWarning)
    for category in (DeprecationWarning, PendingDeprecationWarning):
        warnings.filterwarnings("ignore", f"{_SINCE_3_11}|{_SINCE_OLDER_LIBRARIES}", category)


def install():
    """Put back what is gone, in the modules that are there and in those still to come."""
    older_imports.install()
    for name, put_back in _PUT_BACK.items():
        after_import.change(name, put_back)


def _warn(text):
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def _ast(module):
    """Numbers and texts of a syntax tree had classes and attributes of their own."""
    constant = module.Constant

    class Kind(type):
        def __instancecheck__(cls, node):
            return type(node) is constant and type(node.value) in cls.kinds

    def kind(name, *kinds):
        def __new__(cls, value=None, *args, **kwargs):
            return constant(value, **kwargs)

        body = {"kinds": kinds, "__new__": __new__, "__module__": "ast"}
        return Kind(name, (constant,), body)

    module.Num = kind("Num", int, float, complex)
    module.Str = kind("Str", str)
    module.Bytes = kind("Bytes", bytes)
    module.NameConstant = kind("NameConstant", bool, type(None))
    module.Ellipsis = kind("Ellipsis", type(...))
    constant.n = constant.s = property(
        lambda node: node.value, lambda node, value: setattr(node, "value", value)
    )

    def visit_Constant(self, node):
        for name in ("Num", "Str", "Bytes", "NameConstant", "Ellipsis"):
            visit = getattr(self, f"visit_{name}", None)
            if visit is not None and isinstance(node, getattr(module, name)):
                return visit(node)
        return self.generic_visit(node)

    module.NodeVisitor.visit_Constant = visit_Constant


def _configparser(module):
    class SafeConfigParser(module.ConfigParser):
        """A parser by its former name."""

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            _warn("SafeConfigParser has been called ConfigParser since Python 3.2; use that name.")

    def readfp(self, fp, filename=None):
        """Read an open file; ``read_file`` does the same."""
        _warn("ConfigParser.readfp() was taken out of Python in 3.12; use read_file().")
        self.read_file(fp, source=filename)

    module.RawConfigParser.readfp = readfp
    SafeConfigParser.__module__ = "configparser"
    SafeConfigParser.__qualname__ = "SafeConfigParser"
    module.SafeConfigParser = SafeConfigParser


def _locale(module):
    def format(percent, value, grouping=False, monetary=False, *additional):
        """Format a number by the locale; ``format_string`` does the same."""
        _warn("locale.format() was taken out of Python in 3.12; use locale.format_string().")
        return module.format_string(percent, value, grouping, monetary)

    module.format = format


def _pathlib(module):
    """A path may stand in a ``with``, which does nothing."""

    def __enter__(self):
        _warn("paths as context managers were taken out of Python in 3.13: they do nothing.")
        return self

    module.Path.__enter__ = __enter__
    module.Path.__exit__ = lambda self, *_: None


def _pkgutil(module):
    def find_loader(fullname):
        """What loads a module, or None where there is no such module."""
        spec = importlib.util.find_spec(fullname)
        return spec and spec.loader

    module.find_loader = module.get_loader = find_loader


def _random(module):
    """Whole numbers may be written as floats: ``randint(1, 1e6)``."""
    plain = module.Random.randint

    def randint(self, a, b):
        """Return random integer in range [a, b], including both end points."""
        try:
            return self.randrange(a, b + 1)
        except TypeError:
            return plain(self, *_whole(a, b))

    def randrange(start, stop=None, step=1):
        """Choose a random item from range(stop) or range(start, stop[, step])."""
        try:
            return plain_range(start, stop, step)
        except TypeError:
            numbers = _whole(start, stop, step)
            if not any(isinstance(number, float) for number in (start, stop, step)):
                raise
        _warn("whole numbers as floats were taken out of randrange() in Python 3.12.")
        return plain_range(*numbers)

    for function, name in ((randint, "Random.randint"), (randrange, "randrange")):
        # By these it is pickled.
        function.__module__, function.__qualname__ = "random", name
    module.Random.randint = randint
    module.randint = module._inst.randint
    # The method is what randint goes through as well: it stays as quick as it is.
    plain_range = module._inst.randrange
    module.randrange = randrange


def _whole(*numbers):
    """The numbers, with those that were written as floats as the integers that they are."""
    for number in numbers:
        if isinstance(number, float) and not number.is_integer():
            raise ValueError(f"{number} is no whole number") from None
    return [int(number) if isinstance(number, float) else number for number in numbers]


def _sqlite3(module):
    # The version of the module, which tutorials print beside the version of SQLite itself.
    module.version, module.version_info = "2.6.0", (2, 6, 0)


def _strptime(module):
    """A day and a month without a year are of 1900."""
    plain = module._strptime

    def with_a_year(data_string, format="%a %b %d %H:%M:%S %Y"):
        try:
            return plain(data_string, format)
        except ValueError as error:
            if "without a year directive" not in str(error):
                raise
        return plain(f"1900 {data_string}", f"%Y {format}")

    module._strptime = with_a_year


def _unittest(module):
    def makeSuite(testCaseClass, prefix="test", sortUsing=None, suiteClass=module.TestSuite):
        """A suite of the tests of a class; ``TestLoader.loadTestsFromTestCase`` does the same."""
        _warn(
            "unittest.makeSuite() was taken out of Python in 3.13; use "
            "unittest.TestLoader().loadTestsFromTestCase()."
        )
        loader = module.TestLoader()
        loader.testMethodPrefix, loader.suiteClass = prefix, suiteClass
        if sortUsing is not None:
            loader.sortTestMethodsUsing = sortUsing
        return loader.loadTestsFromTestCase(testCaseClass)

    module.makeSuite = makeSuite


_ASSERTIONS = {
    "assert_": "assertTrue",
    "assertAlmostEquals": "assertAlmostEqual",
    "assertEquals": "assertEqual",
    "assertNotAlmostEquals": "assertNotAlmostEqual",
    "assertNotEquals": "assertNotEqual",
    "assertNotRegexpMatches": "assertNotRegex",
    "assertRaisesRegexp": "assertRaisesRegex",
    "assertRegexpMatches": "assertRegex",
    "failIf": "assertFalse",
    "failIfEqual": "assertNotEqual",
    "failUnless": "assertTrue",
    "failUnlessEqual": "assertEqual",
    "failUnlessRaises": "assertRaises",
}


def _unittest_case(module):
    def renamed(name, now):
        def method(self, *args, **kwargs):
            _warn(f"{name} was taken out of Python in 3.12; use {now}.")
            return getattr(self, now)(*args, **kwargs)

        method.__name__ = name
        return method

    for name, now in _ASSERTIONS.items():
        setattr(module.TestCase, name, renamed(name, now))


_PUT_BACK = {
    "_strptime": _strptime,
    "ast": _ast,
    "configparser": _configparser,
    "locale": _locale,
    "pathlib": _pathlib,
    "pkgutil": _pkgutil,
    "random": _random,
    "sqlite3": _sqlite3,
    "unittest": _unittest,
    "unittest.case": _unittest_case,
}
