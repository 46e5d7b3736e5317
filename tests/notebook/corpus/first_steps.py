"""What the first hour with a notebook looks like: values, prints, variables, and what goes wrong."""
# ruff: noqa
# fmt: off

# %% last-expression
1 + 1

# %% nothing-to-show
answer = 42

# %% none-is-silent
None

# %% string-value
"a" + "b"

# %% two-expressions-show-the-last
answer
answer * 2

# %% semicolon-hides-the-value
answer * 3;

# %% print-is-not-a-value
print("the answer is", answer)

# %% print-and-value
print("first a line")
answer

# %% print-without-newline
for i in range(5):
    print(i, end=" ")

# %% print-flush
print("step one", flush=True)
print("step two", flush=True)

# %% underscore
3 * 7

# %% last-result
_ + 1

# %% two-results-back
_, __

# %% out-by-number
Out[max(Out)]

# %% in-list
In[1]

# %% underscore-number
_1

# %% variable-named-after-builtin
list = [1, 2, 3]
list

# %% builtin-is-shadowed
list(range(3))

# %% builtin-again
del list
list(range(3))

# %% name-error
print(unknown_name)

# %% zero-division
10 / 0

# %% type-error
"3" + 4

# %% value-error
int("twelve")

# %% index-error
[1, 2, 3][5]

# %% key-error
{"a": 1}["b"]

# %% attribute-error
"text".push("more")

# %% module-not-found
import a_module_that_nobody_wrote

# %% import-error
from math import squareroot

# %% [ipython] syntax-error-unclosed
# print("hello"

# %% [ipython] syntax-error-colon
# if answer == 42
#     print("yes")

# %% [ipython] syntax-error-assignment
# 5 = answer

# %% [ipython] indentation-error
# def greet(name):
# print("hello", name)

# %% [ipython] unexpected-indent
#   answer

# %% [ipython] tab-error
# if True:
#     x = 1
# 	y = 2

# %% [ipython] python-2-print
# print "hello"

# %% [ipython] return-outside-function
# return 5

# %% error-after-output
print("before the error")
raise RuntimeError("this cell stops here")

# %% error-in-a-function
def average(values):
    return sum(values) / len(values)

def report(rows):
    return {name: average(values) for name, values in rows.items()}

report({"full": [1, 2, 3], "empty": []})

# %% still-works-after-an-error
report({"full": [1, 2, 3]})

# %% assertion
assert answer == 41, f"the answer is {answer}"

# %% keyboard-interrupt-by-hand
raise KeyboardInterrupt

# %% unbound-local
count = 0
def increase():
    count += 1
increase()

# %% recursion-error
def forever(n):
    return forever(n + 1)
forever(0)

# %% input-without-a-reader
name = input("What is your name? ")

# %% breakpoint-without-a-reader
def passed():
    breakpoint()
    return "passed"
passed()

# %% set-trace-without-a-reader
import pdb
def stopped(number):
    pdb.set_trace()
    return number
stopped(1)

# %% getpass-without-a-reader
import getpass
getpass.getpass("Password: ")

# %% system-exit
import sys
sys.exit()

# %% system-exit-with-text
sys.exit("giving up")

# %% delete-a-name
del answer
answer

# %% long-list
[n ** 2 for n in range(300)]

# %% nested-dict
{
    "name": "Ada",
    "languages": ["English", "French"],
    "born": {"year": 1815, "place": "London"},
    "notes": "x" * 100,
}

# %% set-and-tuple
{3, 1, 2}, (1,), ()

# %% function-value
def double(x):
    """Twice as much."""
    return 2 * x
double

# %% class-value
class Dog:
    def __init__(self, name):
        self.name = name
Dog

# %% instance-value
Dog("Rex")

# %% instance-with-repr
class Cat:
    def __repr__(self):
        return "<a cat>"
Cat()

# %% repr-that-fails
class Broken:
    def __repr__(self):
        raise ValueError("no text for this one")
Broken()

# %% lambda-and-map
map(lambda x: x + 1, [1, 2, 3])

# %% range-value
range(10)

# %% help-function
help(double)

# %% help-of-a-method
help(str.upper)

# %% dir-of-object
[name for name in dir(Dog("Rex")) if not name.startswith("_")]

# %% type-of
type(3.5)

# %% both-streams
print("to the reader")
print("a problem", file=sys.stderr)

# %% streams-in-turns
for i in range(3):
    print("out", i)
    print("err", i, file=sys.stderr)

# %% write-to-stdout
sys.stdout.write("written without print\n")

# %% write-to-stderr
sys.stderr.write("written to stderr\n");

# %% carriage-return
for i in range(5):
    print(f"\rprogress {i}", end="")
print()

# %% ansi-colours
print("\x1b[31mred\x1b[0m and \x1b[1mbold\x1b[0m")

# %% unicode
print("naïve café, 数据, привет, 🎉")
"🐍"

# %% unicode-names
größe = 3
π = 3.14
größe * π

# %% bytes-value
b"\x00\xffabc"

# %% empty-string
""

# %% multi-line-string
"""one
two
three"""

# %% print-many-lines
for i in range(2000):
    print("line", i)

# %% comment-only
# nothing happens here

# %% time-sleep
import time
started = time.time()
time.sleep(0.05)
time.time() - started > 0.04

# %% python-version
sys.version_info >= (3, 11)

# %% executable-and-argv
isinstance(sys.executable, str), isinstance(sys.argv, list)

# %% dunder-name
__name__

# %% globals-hold-names
"größe" in globals(), "Dog" in locals()

# %% dunder-file
__file__

# %% main-module
import __main__
__main__.Dog is Dog

# %% display-function
display("shown", 3, [1, 2])

# %% display-in-a-loop
for i in range(3):
    display(i)

# %% get-ipython
get_ipython().__class__.__name__ != ""

# %% trailing-question-mark-in-string
"really?"
