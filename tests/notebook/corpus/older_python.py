"""Notebooks that were written for an older Python: what newer ones warn of, and what they took out."""
# ruff: noqa
# fmt: off

# %% utcnow
import datetime
datetime.datetime.utcnow().tzinfo

# %% utcfromtimestamp
datetime.datetime.utcfromtimestamp(0)

# %% strptime-without-a-year
datetime.datetime.strptime("24 December", "%d %B")

# %% strptime-without-a-year-and-wrong
datetime.datetime.strptime("31 November", "%d %B")

# %% dates-into-sqlite
import sqlite3
con = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES)
con.execute("create table visits (day date, seen timestamp)")
con.execute("insert into visits values (?, ?)",
            (datetime.date(2020, 2, 29), datetime.datetime(2020, 2, 29, 12)))
con.execute("select * from visits").fetchall()

# %% sqlite-version
sqlite3.version

# %% positional-count
import re
re.sub("a", "b", "banana", 1), re.split(",", "a,b,c", 1)

# %% positional-flags
re.sub("A", "b", "banana", 0, re.IGNORECASE)

# %% inverted-bool
~True

# %% return-in-finally
def always():
    try:
        return 1
    finally:
        return 2
always()

# %% calendar-month
import calendar
calendar.February

# %% asyncio-policy
import asyncio
asyncio.get_event_loop_policy() is None

# %% asyncio-iscoroutinefunction
asyncio.iscoroutinefunction(always)

# %% element-truth
import xml.etree.ElementTree as ET
bool(ET.fromstring("<a><b/></a>"))

# %% codecs-open
import codecs
with codecs.open("umlauts.txt", "w", "utf-8") as file:
    file.write("äöü")

# %% throw-three
def patient():
    try:
        yield 1
    except ValueError:
        yield 2
waiting = patient()
next(waiting), waiting.throw(ValueError, ValueError("now"), None)

# %% own-deprecation-still-said
import warnings
warnings.warn("this one is ours", DeprecationWarning)

# %% imp
import imp

# %% imp-reload
import calendar
imp.reload(calendar) is calendar

# %% imp-load-source
with open("greeting.py", "w") as file:
    file.write("word = 'hello'\n")
imp.load_source("greeting", "greeting.py").word

# %% imp-find-nothing
imp.find_module("no_such_module")

# %% strtobool
from distutils.util import strtobool
strtobool("Yes"), strtobool("off")

# %% strtobool-neither
strtobool("perhaps")

# %% loose-version
from distutils.version import LooseVersion
LooseVersion("1.10.0") > LooseVersion("1.9.3")

# %% strict-version
from distutils.version import StrictVersion
StrictVersion("1.0a1") < StrictVersion("1.0")

# %% strict-version-wrong
StrictVersion("one")

# %% copy-tree
import os
from distutils.dir_util import copy_tree
os.makedirs("from/deep", exist_ok=True)
with open("from/deep/file.txt", "w") as file:
    file.write("x")
copy_tree("from", "to")

# %% randint-of-floats
import random
random.randint(1, 1e6) >= 1

# %% randint-of-a-part
random.randint(1, 2.5)

# %% randrange-of-floats
random.randrange(0, 1e6) >= 0

# %% randrange-of-nothing-but-a-step
random.randrange(10, step=2)

# %% make-suite
import unittest
class Numbers(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(1 + 1, 2)
suite = unittest.makeSuite(Numbers)
suite.countTestCases()

# %% former-assertions
class Former(unittest.TestCase):
    def test_equals(self):
        self.assertEquals(1 + 1, 2)
    def test_pattern(self):
        self.assertRegexpMatches("abc", "b")
    def test_raises(self):
        with self.assertRaisesRegexp(ValueError, "invalid literal"):
            int("x")
result = unittest.TextTestRunner(verbosity=0).run(unittest.defaultTestLoader.loadTestsFromTestCase(Former))
result.wasSuccessful()

# %% safe-config-parser
import configparser
parser = configparser.SafeConfigParser()
parser.read_string("[a]\nb = 1")
parser["a"]["b"]

# %% locale-format
import locale
locale.format("%d", 12345)

# %% ast-num
import ast
isinstance(ast.parse("1 + 2").body[0].value.left, ast.Num), isinstance(ast.Constant("x"), ast.Num)

# %% ast-value-attributes
ast.parse("41").body[0].value.n + 1, ast.parse("'x'").body[0].value.s

# %% find-loader
import pkgutil
pkgutil.find_loader("no_such_module") is None, pkgutil.find_loader("json") is None

# %% accounts
import grp, os, pwd
pwd.getpwuid(os.getuid()).pw_name != "", grp.getgrgid(os.getgid()).gr_name != ""

# %% accounts-nobody
pwd.getpwnam("no-such-user")

# %% rows-stacked
import numpy as np
np.row_stack([[1, 2], [3, 4]])

# %% product-in-the-plane
np.cross([100_000, 2], [3, 100_000])

# %% products-in-the-plane
np.cross([[1, 2], [0, 1]], [3, 4]).tolist(), np.cross([1, 2], [3, 4, 5]).tolist(), np.cross([1, 2, 3], [4, 5, 6])

# %% product-of-other-shapes
np.cross([1], [2])

# %% rounded-to-zero
np.fix([1.5, -1.5])

# %% solver-told-to-be-quiet
from scipy import optimize
optimize.minimize(lambda x: (x[0] - 1) ** 2, [0.0], method="L-BFGS-B", options={"iprint": -1}).success

# %% lobster
import networkx
len(networkx.random_lobster(3, 0.1, 0.1, seed=1)) > 0

# %% load-module
from importlib.machinery import SourceFileLoader
SourceFileLoader("greeting", "greeting.py").load_module().word

# %% former-finder
import sys, types
class Letters:
    def find_module(self, name, path=None):
        return self if name == "letters" else None
    def load_module(self, name):
        made = sys.modules[name] = types.ModuleType(name)
        made.first = "a"
        return made
sys.meta_path.append(Letters())

# %% former-finder-asked
import letters
letters.first

# %% find-loader-of-importlib
import importlib
importlib.find_loader("no_such_module") is None

# %% get-loader
import pkgutil
pkgutil.get_loader("json") is None

# %% readfp
import configparser, io
settings = configparser.ConfigParser()
settings.readfp(io.StringIO("[page]\nsize = 3"))
settings["page"]["size"]

# %% with-a-path
import pathlib
with pathlib.Path("greeting.py") as path:
    print(path.suffix)

# %% byte-string
from collections.abc import ByteString
isinstance(b"", ByteString)

# %% array-of-letters
import array
array.array("u", "abc")
