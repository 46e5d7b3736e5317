"""The standard library, as far as notebooks use it every day."""
# ruff: noqa
# fmt: off

# %% datetime
import datetime as dt
dt.datetime(2024, 2, 29, 12, 30) + dt.timedelta(days=366, hours=5)

# %% datetime-now
isinstance(dt.datetime.now(), dt.datetime), dt.datetime.now(dt.timezone.utc).tzinfo

# %% strptime
dt.datetime.strptime("03/11/2023 14:05", "%d/%m/%Y %H:%M")

# %% zoneinfo
from zoneinfo import ZoneInfo
dt.datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin")).astimezone(ZoneInfo("Asia/Tokyo"))

# %% zoneinfo-unknown
ZoneInfo("Mars/Olympus")

# %% calendar
import calendar
print(calendar.month(2024, 2))

# %% time-module
import time
time.strftime("%Y", time.gmtime(0)), time.perf_counter() > 0

# %% regex
import re
re.findall(r"(\w+)@(\w+\.\w+)", "write to ada@example.org or bob@example.com")

# %% regex-match-object
re.search(r"\d+", "room 101")

# %% regex-error
re.compile("(unclosed")

# %% regex-sub
re.sub(r"(?P<y>\d{4})-(?P<m>\d\d)", r"\g<m>/\g<y>", "2024-03 and 2023-12")

# %% json-dumps
import json
print(json.dumps({"b": [1, 2.5, None, True], "a": {"x": "ü"}}, indent=2, sort_keys=True))

# %% json-error
json.loads("{'single': 'quotes'}")

# %% json-file
with open("settings.json", "w") as file:
    json.dump({"depth": 3}, file)
json.load(open("settings.json"))

# %% csv-write
import csv
with open("people.csv", "w", newline="") as file:
    writer = csv.DictWriter(file, fieldnames=["name", "age"])
    writer.writeheader()
    writer.writerows([{"name": "Ada", "age": 36}, {"name": "Alan", "age": 41}])
print(open("people.csv").read())

# %% csv-read
with open("people.csv") as file:
    rows = list(csv.DictReader(file))
rows

# %% file-not-found
open("there_is_no_such_file.txt")

# %% file-lines
with open("notes.txt", "w") as file:
    file.write("one\ntwo\nthree\n")
with open("notes.txt") as file:
    for number, line in enumerate(file, 1):
        print(number, line.rstrip())

# %% file-append-and-binary
with open("notes.txt", "ab") as file:
    file.write(b"four\n")
open("notes.txt", "rb").read()

# %% closed-file
file.write("more")

# %% pathlib
from pathlib import Path
folder = Path("results") / "2024"
folder.mkdir(parents=True, exist_ok=True)
(folder / "a.txt").write_text("a")
(folder / "b.md").write_text("b")
sorted(p.name for p in folder.rglob("*"))

# %% pathlib-value
Path("results/2024/a.txt").with_suffix(".csv")

# %% pathlib-stat
(folder / "a.txt").stat().st_size, (folder / "a.txt").exists(), folder.is_dir()

# %% os-functions
import os
os.makedirs("deep/er", exist_ok=True)
os.rename("notes.txt", "deep/notes.txt")
os.listdir("deep"), os.path.join("a", "b.txt"), os.path.splitext("x.tar.gz")

# %% os-walk
[(root, sorted(files)) for root, _, files in sorted(os.walk("results"))]

# %% os-getcwd
os.path.isabs(os.getcwd())

# %% os-environ
os.environ["MY_SETTING"] = "on"
os.environ.get("MY_SETTING"), os.getenv("NOT_SET", "default")

# %% os-getpid
os.getpid() > 0

# %% os-cpu-count
os.cpu_count() >= 1

# %% shutil
import shutil
shutil.copy("people.csv", "copy.csv")
shutil.copytree("results", "results_copy", dirs_exist_ok=True)
shutil.rmtree("results_copy")
os.path.exists("copy.csv"), os.path.exists("results_copy")

# %% shutil-which
shutil.which("a-program-that-nobody-has")

# %% shutil-disk-usage
shutil.disk_usage(".").total > 0

# %% glob
import glob
sorted(glob.glob("*.csv"))

# %% tempfile
import tempfile
with tempfile.TemporaryDirectory() as name:
    path = Path(name) / "t.txt"
    path.write_text("temporary")
    print(path.exists())
Path(name).exists()

# %% named-temporary-file
with tempfile.NamedTemporaryFile("w+", suffix=".txt") as file:
    file.write("hello")
    file.seek(0)
    print(file.read())

# %% sqlite-create
import sqlite3
connection = sqlite3.connect("shop.db")
connection.execute("create table if not exists items (name text, price real)")
connection.executemany("insert into items values (?, ?)", [("tea", 2.5), ("milk", 1.0)])
connection.commit()
connection.execute("select name, price from items order by price").fetchall()

# %% sqlite-error
connection.execute("select * from nowhere")

# %% sqlite-memory
memory = sqlite3.connect(":memory:")
memory.execute("create table t (x int)")
memory.executemany("insert into t values (?)", [(i,) for i in range(100)])
memory.execute("select sum(x), avg(x) from t").fetchone()

# %% zipfile
import zipfile
with zipfile.ZipFile("all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.write("people.csv")
    archive.writestr("inner/readme.txt", "hello")
with zipfile.ZipFile("all.zip") as archive:
    archive.printdir()
    print(archive.read("inner/readme.txt"))

# %% tarfile
import tarfile
with tarfile.open("all.tar.gz", "w:gz") as archive:
    archive.add("people.csv")
with tarfile.open("all.tar.gz") as archive:
    print(archive.getnames())

# %% gzip-and-friends
import bz2, gzip, lzma, zlib
data = b"repeat " * 100
[len(module.compress(data)) < 100 for module in (bz2, gzip, lzma, zlib)]

# %% pickle
import pickle
with open("rows.pkl", "wb") as file:
    pickle.dump(rows, file)
pickle.load(open("rows.pkl", "rb")) == rows

# %% pickle-lambda
pickle.dumps(lambda x: x)

# %% copy
import copy
nested = [[1], [2]]
shallow, deep = copy.copy(nested), copy.deepcopy(nested)
nested[0].append(9)
shallow, deep

# %% hashlib
import hashlib
hashlib.sha256(b"hello").hexdigest(), hashlib.md5(b"hello").hexdigest()

# %% secrets-and-uuid
import secrets, uuid
len(secrets.token_hex(8)), len(str(uuid.uuid4())), uuid.uuid5(uuid.NAMESPACE_DNS, "example.org")

# %% base64
import base64
base64.b64encode(b"binary\x00data"), base64.b64decode("aGk=")

# %% random-seeded
import random
random.seed(7)
[random.randint(1, 6) for _ in range(10)], random.choice("abc"), random.sample(range(10), 3)

# %% statistics
import statistics
statistics.mean([1, 2, 3, 4]), statistics.median([1, 5, 2]), statistics.stdev([2, 4, 4, 5])

# %% statistics-error
statistics.mean([])

# %% math
import math
math.sqrt(2), math.comb(5, 2), math.isclose(0.1 + 0.2, 0.3), math.tau, math.gcd(12, 18)

# %% math-domain-error
math.sqrt(-1)

# %% overflow-error
math.exp(1000)

# %% counter
from collections import Counter, defaultdict, deque, OrderedDict, ChainMap, namedtuple
Counter("mississippi")

# %% counter-most-common
Counter("the cat and the dog and the bird".split()).most_common(2)

# %% defaultdict
groups = defaultdict(list)
for word in ["apple", "avocado", "bean"]:
    groups[word[0]].append(word)
groups

# %% deque
queue = deque([1, 2, 3], maxlen=3)
queue.append(4)
queue

# %% namedtuple
P = namedtuple("P", "x y")
P(1, y=2)

# %% chainmap-and-ordereddict
ChainMap({"a": 1}, {"a": 2, "b": 3}), OrderedDict(b=1, a=2)

# %% itertools
import itertools
list(itertools.permutations("abc", 2)), list(itertools.accumulate([1, 2, 3])), list(itertools.pairwise("abc"))

# %% itertools-groupby
[(k, len(list(g))) for k, g in itertools.groupby("aaabbc")]

# %% functools-cache
import functools
@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(80), fib.cache_info()

# %% functools-partial
functools.partial(int, base=2)

# %% functools-singledispatch
@functools.singledispatch
def show(value): return "something"
@show.register
def _(value: int): return "a number"
show(3), show("x")

# %% operator
import operator
sorted([("b", 1), ("a", 2)], key=operator.itemgetter(0))

# %% heapq-and-bisect
import heapq, bisect
heapq.nsmallest(2, [5, 1, 4]), bisect.bisect([1, 3, 5], 4)

# %% textwrap
import textwrap
print(textwrap.fill("a sentence that is much too long for one line of text " * 2, width=30))

# %% string-template
from string import Template, ascii_lowercase
Template("$who likes $what").substitute(who="Ada", what="looms"), ascii_lowercase

# %% pprint
from pprint import pprint
pprint({"numbers": list(range(30)), "nested": {"a": ["x" * 20] * 5}})

# %% io-streams
import io
text = io.StringIO("a,b\n1,2\n")
list(csv.reader(text)), io.BytesIO(b"abc").read(2)

# %% struct-and-array
import struct, array
struct.pack("<ihf", 1, 2, 3.0), array.array("d", [1, 2])

# %% difflib
import difflib
print("\n".join(difflib.unified_diff(["a", "b"], ["a", "c"], lineterm="")))

# %% argparse-in-a-notebook
import argparse
parser = argparse.ArgumentParser(prog="tool")
parser.add_argument("--n", type=int, default=3)
parser.parse_args([])

# %% argparse-error
parser.parse_args(["--n", "many"])

# %% platform
import platform
platform.python_implementation(), isinstance(platform.system(), str)

# %% sys-info
import sys
sys.maxsize > 2 ** 30, sys.byteorder, sys.getsizeof([]) > 0, sys.getrecursionlimit() > 100

# %% locale
import locale
locale.setlocale(locale.LC_ALL, "C")

# %% locale-not-installed
locale.setlocale(locale.LC_ALL, "xx_YY.UTF-8")

# %% html-and-urls
import html, urllib.parse
html.escape("<a & b>"), urllib.parse.urlparse("https://example.org/p?q=1#f").netloc

# %% xml
import xml.etree.ElementTree as ET
root = ET.fromstring("<list><item n='1'>a</item><item n='2'>b</item></list>")
[(item.get("n"), item.text) for item in root]

# %% configparser
import configparser
config = configparser.ConfigParser()
config.read_string("[server]\nport = 80\n")
config["server"].getint("port")

# %% tomllib
import tomllib
tomllib.loads('[tool]\nname = "x"\n')

# %% email-message
from email.message import EmailMessage
message = EmailMessage()
message["Subject"] = "hello"
message.set_content("body")
print(message)

# %% timeit-module
import timeit
timeit.timeit("1 + 1", number=1000) > 0

# %% cprofile
import cProfile, pstats
profile = cProfile.Profile()
profile.runcall(fib, 10)
pstats.Stats(profile).sort_stats("cumulative").print_stats(1)

# %% tracemalloc
import tracemalloc
tracemalloc.start()
values = [str(n) for n in range(1000)]
current, peak = tracemalloc.get_traced_memory()
tracemalloc.stop()
peak > 0

# %% dis
import dis
dis.dis("a + 1")

# %% ctypes
import ctypes
ctypes.sizeof(ctypes.c_int)

# %% signal
import signal
signal.getsignal(signal.SIGINT) is not None

# %% importlib
import importlib
importlib.import_module("json").__name__, importlib.reload(json).__name__

# %% importlib-metadata
import importlib.metadata
importlib.metadata.version("numpy") >= "2"

# %% importlib-metadata-missing
importlib.metadata.version("a-package-that-nobody-wrote")

# %% own-module
Path("helpers.py").write_text("def triple(x):\n    return 3 * x\n")
from helpers import triple
triple(4)

# %% webbrowser
import webbrowser
callable(webbrowser.open)

# %% difficult-cleanup
for name in ["people.csv", "copy.csv", "all.zip"]:
    os.remove(name)
sorted(glob.glob("*.csv"))

# %% atexit
import atexit
atexit.register(print, "at the end");

# %% null-device
import contextlib, os
with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
    print("hidden")
print("shown")

# %% null-device-as-stdout
import sys
class HiddenPrints:
    def __enter__(self):
        self.kept, sys.stdout = sys.stdout, open(os.devnull, "w")
    def __exit__(self, *_):
        sys.stdout.close()
        sys.stdout = self.kept
with HiddenPrints():
    print("hidden")

# %% null-device-read
open("/dev/null").read(), os.path.exists("/dev/null")

# %% null-device-descriptor
number = os.open(os.devnull, os.O_RDWR)
os.write(number, b"gone"), os.read(number, 5), os.close(number)

# %% temporary-folder-that-exists
os.makedirs("/tmp", exist_ok=True)
os.path.isdir("/"), "tmp" in os.listdir("/")

# %% temporary-folder-made-again
os.mkdir("/tmp")

# %% certificates-off
import ssl
ssl._create_default_https_context = ssl._create_unverified_context

# %% mail-modules
import ftplib, imaplib, smtplib
smtplib.SMTP_SSL.__name__
