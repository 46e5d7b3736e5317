"""Progress bars, odd outputs and other packages that notebooks lean on."""
# ruff: noqa
# fmt: off

# %% tqdm-text
from tqdm import tqdm
for _ in tqdm(range(5)):
    pass

# %% tqdm-description
for _ in tqdm(range(3), desc="loading", unit="file", leave=False):
    pass

# %% tqdm-auto
from tqdm.auto import tqdm as auto
for _ in auto(range(3)):
    pass

# %% tqdm-auto-value
sum(auto([1, 2, 3]))

# %% tqdm-notebook
from tqdm.notebook import tqdm as rich
for _ in rich(range(3)):
    pass

# %% trange
from tqdm import trange
for _ in trange(3):
    pass

# %% tqdm-write
for i in tqdm(range(2)):
    tqdm.write(f"at {i}")

# %% tqdm-pandas
import pandas as pd
tqdm.pandas()
pd.Series([1, 2, 3]).progress_apply(lambda v: v + 1)

# %% tabulate
from tabulate import tabulate
print(tabulate([["a", 1], ["b", 2]], headers=["k", "v"]))

# %% tabulate-html
tabulate([["a", 1]], tablefmt="html")

# %% beautiful-soup
from bs4 import BeautifulSoup
BeautifulSoup("<p>one <b>two</b></p>", "html.parser").b.text

# %% lxml
from lxml import etree
etree.fromstring("<a><b/></a>").tag

# %% yaml
import yaml
yaml.safe_load("a: [1, 2]\nb: {c: x}")

# %% jinja
from jinja2 import Template
Template("hello {{ name }}").render(name="you")

# %% dateutil
from dateutil import parser
parser.parse("3 March 2024 5pm")

# %% pillow-operations
from PIL import Image, ImageDraw, ImageFilter, ImageOps
picture = Image.new("RGB", (60, 40), "white")
ImageDraw.Draw(picture).ellipse((10, 5, 50, 35), fill="purple")
picture.filter(ImageFilter.GaussianBlur(1)).resize((30, 20)).rotate(45)

# %% pillow-text
ImageDraw.Draw(picture).text((5, 5), "text", fill="black")
picture

# %% pillow-to-array
import numpy as np
np.asarray(picture).shape, Image.fromarray(np.zeros((4, 4), dtype="uint8"))

# %% pillow-save-and-open
picture.save("picture.png")
Image.open("picture.png").size

# %% pillow-missing
Image.open("missing.png")

# %% requests
import requests
requests.get("http://localhost:9/")

# %% plotly
import plotly.express as px

# %% bokeh
from bokeh.plotting import figure

# %% altair
import altair as alt

# %% torch
import torch

# %% tensorflow
import tensorflow as tf

# %% polars
import polars as pl

# %% numba
from numba import njit

# %% google-colab
from google.colab import drive

# %% ipywidgets-interact
from ipywidgets import interact

# %% rich-print
from rich import print as rprint

# %% pydantic
from pydantic import BaseModel

# %% psutil
import psutil
psutil.cpu_percent() >= 0

# %% long-line
print("x" * 5000)

# %% control-characters
print("bell\a backspace ab\bc tab\tend")

# %% overwriting-line
import time
for i in range(3):
    print(i, end="\r")
    time.sleep(0.01)

# %% cursor-movement
print("one\ntwo\x1b[1A\x1b[2Kthree")

# %% hyperlink-escape
print("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\")

# %% null-bytes
print("a\x00b")

# %% bytes-to-stdout
import sys
sys.stdout.buffer.write(b"raw bytes\n")

# %% stdout-attributes
sys.stdout.encoding, sys.stdout.isatty(), sys.stdout.writable()

# %% stdin-read
sys.stdin.read()

# %% terminal-size
os.get_terminal_size()

# %% terminal-size-shutil
import shutil
shutil.get_terminal_size().columns

# %% replaced-stdout
import io
plain, sys.stdout = sys.stdout, io.StringIO()
print("hidden")
caught, sys.stdout = sys.stdout.getvalue(), plain
caught

# %% display-hook-called
import builtins
sys.displayhook("by hand")

# %% excepthook
try:
    1 / 0
except ZeroDivisionError:
    sys.excepthook(*sys.exc_info())

# %% print-exception-value
import traceback
try:
    {}["k"]
except KeyError as error:
    print(repr(error))
    traceback.print_exception(error)

# %% memory-error
bytearray(10 ** 13)

# %% many-small-prints
for i in range(20000):
    print(i % 10, end="")

# %% big-output
print("0123456789" * 20000)

# %% breakpoint-off
os.environ["PYTHONBREAKPOINT"] = "0"
breakpoint()

# %% signal-alarm
import signal
signal.alarm(0)

# %% faulthandler
import faulthandler
faulthandler.is_enabled() in (True, False)

# %% resource-limits
import resource
resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0

# %% ctypes-libc
import ctypes
ctypes.CDLL(None)

# %% cwd-file-listing
sorted(name for name in os.listdir(".") if not name.startswith("."))
