"""The language itself, in the pieces that tutorials show."""
# ruff: noqa
# fmt: off

# %% comprehension
squares = {n: n * n for n in range(5)}
squares

# %% generator
def countdown(n):
    while n:
        yield n
        n -= 1
sorted(countdown(4))

# %% generator-object
countdown(3)

# %% generator-expression-sum
sum(x * x for x in range(100))

# %% generator-send
def averager():
    total = count = 0
    value = None
    while True:
        value = yield (total / count if count else None)
        total += value
        count += 1
running = averager()
next(running)
[running.send(v) for v in (10, 20, 60)]

# %% stop-iteration
next(iter([]))

# %% dataclass
from dataclasses import dataclass, field, asdict, replace

@dataclass(order=True)
class Item:
    price: float
    name: str = field(compare=False)
    tags: list[str] = field(default_factory=list, compare=False)

Item(2.5, "tea")

# %% dataclass-tools
items = [Item(2.5, "tea"), Item(1.0, "milk", ["cold"])]
sorted(items), asdict(items[1]), replace(items[0], price=3.0)

# %% frozen-dataclass
@dataclass(frozen=True)
class Point:
    x: int
    y: int
Point(1, 2).x = 5

# %% typing
from typing import Protocol, TypedDict, NamedTuple, Optional, Union, Generic, TypeVar
T = TypeVar("T")

class Stack(Generic[T]):
    def __init__(self) -> None:
        self.items: list[T] = []
    def push(self, item: T) -> None:
        self.items.append(item)

s = Stack[int]()
s.push(3)
s.items, Stack.push.__annotations__

# %% named-tuple
class Place(NamedTuple):
    lat: float
    lon: float = 0.0
Place(52.5)

# %% match-literal
def describe(value):
    match value:
        case 0:
            return "zero"
        case int() | float() if value < 0:
            return "negative"
        case [first, *rest]:
            return f"starts with {first}, {len(rest)} more"
        case {"kind": kind, **others}:
            return f"a {kind} with {sorted(others)}"
        case Place(lat=lat):
            return f"at {lat}"
        case _:
            return "something"
[describe(v) for v in (0, -2, [1, 2, 3], {"kind": "box", "w": 1}, Place(3.0), "x")]

# %% decorator
import functools, time

def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        print(f"calling {function.__name__}{args}")
        return function(*args, **kwargs)
    return wrapper

@logged
def add(a, b):
    return a + b

add(1, 2)

# %% decorator-with-arguments
def repeat(times):
    def decorate(function):
        def wrapper(*args):
            return [function(*args) for _ in range(times)]
        return wrapper
    return decorate

@repeat(3)
def hello(name):
    return f"hello {name}"
hello("you")

# %% context-manager
from contextlib import contextmanager, suppress, redirect_stdout, ExitStack

@contextmanager
def section(title):
    print(f"<{title}>")
    yield title.upper()
    print(f"</{title}>")

with section("intro") as name:
    print("inside", name)

# %% suppress
with suppress(ZeroDivisionError):
    1 / 0
"went on"

# %% redirect-stdout
import io
buffer = io.StringIO()
with redirect_stdout(buffer):
    print("caught")
buffer.getvalue()

# %% exit-stack
with ExitStack() as stack:
    for n in range(3):
        stack.callback(print, "closing", n)

# %% exception-chaining
try:
    {}["missing"]
except KeyError as error:
    raise ValueError("the configuration is not complete") from error

# %% exception-during-handling
try:
    1 / 0
except ZeroDivisionError:
    undefined_function()

# %% exception-from-none
try:
    int("x")
except ValueError:
    raise RuntimeError("please give a number") from None

# %% exception-notes
error = ValueError("bad row")
error.add_note("in line 17 of the file")
error.add_note("the separator may be wrong")
raise error

# %% exception-group
def check(value):
    if value < 0:
        raise ValueError(f"{value} is negative")
    if value > 10:
        raise OverflowError(f"{value} is too large")

def check_all(values):
    errors = []
    for value in values:
        try:
            check(value)
        except Exception as error:
            errors.append(error)
    if errors:
        raise ExceptionGroup("some values are wrong", errors)

check_all([1, -2, 30])

# %% except-star
try:
    check_all([1, -2, 30])
except* ValueError as group:
    print("values:", group.exceptions)
except* OverflowError as group:
    print("overflows:", group.exceptions)

# %% custom-exception
class AppError(Exception):
    """Something of ours went wrong."""
    def __init__(self, code):
        super().__init__(f"error {code}")
        self.code = code
raise AppError(17)

# %% finally-runs
try:
    raise LookupError("nothing here")
finally:
    print("cleaned up")

# %% exception-caught-with-traceback-module
import traceback
try:
    add("a", 1)
except TypeError:
    traceback.print_exc()

# %% traceback-format
try:
    1 / 0
except ZeroDivisionError as error:
    text = "".join(traceback.format_exception(error))
"ZeroDivisionError" in text

# %% exception-without-message
raise ValueError

# %% exception-multi-line
raise ValueError("first line\nsecond line")

# %% unicode-exception
raise ValueError("größer als π 🎈")

# %% base-exception
class Stop(BaseException):
    pass
raise Stop("from a BaseException")

# %% walrus
data = [3, 8, 1]
if (largest := max(data)) > 5:
    print("largest", largest)

# %% f-strings
value, width = 1234.5678, 12
print(f"{value:,.2f}|{value:>{width}.1e}|{value!r}|{value=}|{'a':^5}|{True!s:>6}")

# %% f-string-dates
import datetime as dt
f"{dt.date(2024, 2, 29):%d.%m.%Y}"

# %% star-arguments
def f(a, /, b, *args, c=3, **kwargs):
    return a, b, args, c, kwargs
f(1, 2, 3, 4, c=5, d=6)

# %% wrong-arguments
f()

# %% unpacking
first, *middle, last = range(6)
first, middle, last

# %% unpacking-error
a, b = 1, 2, 3

# %% closures
def counter():
    n = 0
    def step():
        nonlocal n
        n += 1
        return n
    return step
tick = counter()
tick(), tick(), tick()

# %% properties-and-slots
class Temperature:
    __slots__ = ("_celsius",)
    def __init__(self, celsius):
        self.celsius = celsius
    @property
    def celsius(self):
        return self._celsius
    @celsius.setter
    def celsius(self, value):
        if value < -273.15:
            raise ValueError("colder than possible")
        self._celsius = value
Temperature(20).celsius

# %% property-error
Temperature(-300)

# %% operator-overloading
class Vector:
    def __init__(self, *parts): self.parts = parts
    def __add__(self, other): return Vector(*map(sum, zip(self.parts, other.parts)))
    def __mul__(self, k): return Vector(*(k * p for p in self.parts))
    __rmul__ = __mul__
    def __repr__(self): return f"Vector{self.parts}"
    def __len__(self): return len(self.parts)
    def __bool__(self): return any(self.parts)
3 * (Vector(1, 2) + Vector(3, 4))

# %% inheritance-and-super
class Animal:
    def speak(self): return "..."
class Loud(Animal):
    def speak(self): return super().speak().upper() + "!"
Loud().speak(), Loud.__mro__

# %% abstract-class
from abc import ABC, abstractmethod
class Shape(ABC):
    @abstractmethod
    def area(self): ...
Shape()

# %% enum
from enum import Enum, IntFlag, auto
class Colour(Enum):
    RED = auto()
    GREEN = auto()
list(Colour), Colour["RED"], Colour(2).name

# %% flags
class Access(IntFlag):
    READ = 1
    WRITE = 2
Access.READ | Access.WRITE

# %% metaclass
class Registry(type):
    known = []
    def __new__(mcls, name, bases, namespace):
        cls = super().__new__(mcls, name, bases, namespace)
        Registry.known.append(name)
        return cls
class One(metaclass=Registry): pass
class Two(One): pass
Registry.known

# %% descriptor
class Positive:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, obj, kind=None): return getattr(obj, self.name)
    def __set__(self, obj, value):
        if value <= 0: raise ValueError("must be positive")
        setattr(obj, self.name, value)
class Order:
    amount = Positive()
order = Order(); order.amount = 3
order.amount

# %% large-integers
2 ** 1000

# %% huge-integer-to-text
len(str(3 ** 10000))

# %% integer-too-long-to-print
10 ** 5000

# %% decimal-and-fraction
from decimal import Decimal, getcontext
from fractions import Fraction
Decimal(1) / Decimal(7), Fraction(1, 3) + Fraction(1, 6), 0.1 + 0.2

# %% complex-numbers
(3 + 4j) * 1j, abs(3 + 4j)

# %% float-formats
[1e300 * 1e10, float("nan"), -0.0, 1e-7, 1 / 3]

# %% sorting
words = "the quick brown fox".split()
sorted(words, key=lambda w: (-len(w), w))

# %% slices
text = "abcdefgh"
text[::2], text[::-1], text[-3:], text[slice(1, 4)]

# %% string-methods
"  Hello, World ".strip().lower().replace("world", "there").title().center(30, "*")

# %% bytes-and-encoding
"grün".encode("utf-8"), "grün".encode("latin-1"), b"gr\xc3\xbcn".decode()

# %% decode-error
b"\xff\xfe".decode("utf-8")

# %% global-statement
total = 0
def add_to_total(n):
    global total
    total += n
for n in range(4):
    add_to_total(n)
total

# %% for-else
for n in (4, 6, 9):
    if n == 5:
        break
else:
    print("no five")

# %% zip-strict
list(zip([1, 2, 3], "ab", strict=True))

# %% monkeypatch
import math
original, math.sqrt = math.sqrt, lambda x: "patched"
shown = math.sqrt(4)
math.sqrt = original
shown, math.sqrt(4)

# %% eval-and-exec
namespace = {}
exec("x = 3\ny = x * 2", namespace)
namespace["y"], eval("1 + 2")

# %% syntax-error-in-eval
eval("1 +")

# %% compile-ast
import ast
print(ast.dump(ast.parse("a = b + 1"), indent=2))

# %% inspect-source
import inspect
print(inspect.getsource(describe))

# %% inspect-signature
inspect.signature(f)

# %% doctest
def half(x):
    """
    >>> half(4)
    2.0
    >>> half(3)
    1.5
    """
    return x / 2
import doctest
doctest.testmod(verbose=False)

# %% unittest
import unittest
class TestHalf(unittest.TestCase):
    def test_even(self):
        self.assertEqual(half(4), 2)
    def test_wrong(self):
        self.assertEqual(half(3), 1)
unittest.main(argv=["notebook", "TestHalf"], exit=False)

# %% warnings
import warnings
def old():
    warnings.warn("old() will go away", DeprecationWarning, stacklevel=2)
    return 1
old()

# %% warnings-twice
warnings.warn("look out")
warnings.warn("and again", RuntimeWarning)

# %% warnings-as-errors
with warnings.catch_warnings():
    warnings.simplefilter("error")
    warnings.warn("now it is an error")

# %% warnings-ignored
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    warnings.warn("nobody sees this")

# %% warnings-caught
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("kept")
[str(w.message) for w in caught]

# %% invalid-escape
pattern = "\d+"

# %% logging-default
import logging
logging.warning("this is shown")
logging.info("this is not")

# %% logging-configured
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", force=True)
log = logging.getLogger("notebook")
log.info("loaded %d rows", 17)
log.error("could not load %s", "x.csv")

# %% logging-exception
try:
    1 / 0
except ZeroDivisionError:
    log.exception("the division failed")

# %% logging-to-stdout
import sys
handler = logging.StreamHandler(sys.stdout)
log.addHandler(handler)
log.propagate = False
log.info("on stdout")

# %% [ipython] await-at-top-level
# import asyncio
# await asyncio.sleep(0.01)
# "slept"

# %% [ipython] async-gather
# async def work(name, seconds):
#     await asyncio.sleep(seconds)
#     return name
# await asyncio.gather(work("slow", 0.03), work("fast", 0.01))

# %% [ipython] async-for
# async def ticks(n):
#     for i in range(n):
#         await asyncio.sleep(0)
#         yield i
# async for i in ticks(3):
#     print("tick", i)

# %% [ipython] async-comprehension
# [i async for i in ticks(4)]

# %% [ipython] async-with
# lock = asyncio.Lock()
# async with lock:
#     print("locked", lock.locked())

# %% [ipython] async-queue
# queue = asyncio.Queue()
# async def producer():
#     for i in range(3):
#         await queue.put(i)
#     await queue.put(None)
# async def consumer():
#     seen = []
#     while (item := await queue.get()) is not None:
#         seen.append(item)
#     return seen
# await asyncio.gather(producer(), consumer())

# %% [ipython] async-timeout
# await asyncio.wait_for(asyncio.sleep(5), timeout=0.02)

# %% [ipython] async-task-group
# async with asyncio.TaskGroup() as group:
#     one = group.create_task(work("a", 0.01))
#     two = group.create_task(work("b", 0.0))
# one.result(), two.result()

# %% [ipython] async-to-thread
# await asyncio.to_thread(sum, range(10))

# %% asyncio-run-in-a-notebook
async def nothing():
    return 1
work_to_do = nothing()
try:
    print(asyncio.run(work_to_do))
finally:
    work_to_do.close()

# %% forgotten-await
forgotten = nothing()
forgotten

# %% [ipython] awaited-after-all
# await forgotten

# %% [ipython] background-task
# background = asyncio.create_task(work("later", 0.01))
# background.done()

# %% [ipython] background-task-result
# await background

# %% running-loop
loop = asyncio.get_event_loop()
loop.is_running()

# %% [ipython] loop-inside-await
# asyncio.get_running_loop() is not None

# %% cached-recursion
from functools import lru_cache
@lru_cache(maxsize=None)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
fibonacci(300)

# %% cached-recursion-counted
fibonacci.cache_info()

# %% threads
import threading
result = []
thread = threading.Thread(target=lambda: result.append("done"))
thread.start()
thread.join()
result

# %% thread-pool
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool:
    squares = list(pool.map(lambda x: x * x, range(5)))
squares

# %% process-pool
import multiprocessing
multiprocessing.cpu_count() >= 1

# %% subprocess
import subprocess
subprocess.run(["echo", "hello"], capture_output=True, text=True).stdout

# %% os-system
import os
os.system("true")

# %% sockets
import socket
socket.socket().close()

# %% url-open
import urllib.request
urllib.request.urlopen("http://localhost:9/", timeout=1)

# %% class-with-html-repr
class Badge:
    def __init__(self, text): self.text = text
    def _repr_html_(self): return f"<b>{self.text}</b>"
Badge("new")

# %% weakref-and-gc
import gc, weakref
class Node: pass
node = Node()
reference = weakref.ref(node)
del node
gc.collect() >= 0, reference() is None
