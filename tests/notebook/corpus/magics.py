"""IPython's magics, as notebooks use them."""
# ruff: noqa
# fmt: off

# %% [ipython] time-line
# %time sum(range(1000))

# %% [ipython] time-assignment
# %time total = sum(range(1000))
# total

# %% [ipython] time-cell
# %%time
# total = 0
# for i in range(100):
#     total += i
# total

# %% [ipython] timeit-quiet
# %timeit -n1 -r1 -q sum(range(100))

# %% [ipython] timeit-line
# %timeit -n2 -r2 sum(range(100))

# %% [ipython] timeit-cell
# %%timeit -n2 -r2
# x = 1
# x + 1

# %% [ipython] timeit-object
# result = %timeit -n1 -r1 -o -q 1 + 1
# result.loops

# %% [ipython] time-error
# %time 1 / 0

# %% [ipython] capture-cell
# %%capture captured
# print("hidden")
# 5

# %% capture-contents
captured.stdout

# %% [ipython] capture-show
# captured.show()

# %% [ipython] capture-no-name
# %%capture
# print("nobody sees this")

# %% [ipython] capture-with-error
# %%capture out
# print("before")
# 1 / 0

# %% some-names
import math
number, text, values = 3, "three", [3, 3, 3]
def function_of_mine(x):
    """Does nothing."""
    return x

# %% [ipython] who
# %who

# %% [ipython] who-type
# %who int

# %% [ipython] who-ls
# %who_ls str

# %% [ipython] whos
# %whos

# %% [ipython] writefile
# %%writefile script.py
# import sys
# greeting = "hello from the script"
# print(greeting, sys.argv[1:])

# %% [ipython] run-script
# %run script.py one two

# %% run-left-names
greeting

# %% [ipython] run-interactive
# %run -i script.py

# %% [ipython] run-missing
# %run missing.py

# %% [ipython] run-with-time
# %run -t script.py

# %% [ipython] run-module
# %run -m calendar 2024 2

# %% [ipython] writefile-append
# %%writefile -a script.py
# print("and more")

# %% [ipython] run-script-with-error
# %%writefile failing.py
# def fail():
#     raise ValueError("from the script")
# fail()

# %% [ipython] run-failing
# %run failing.py

# %% [ipython] run-notebook
# %%writefile small.ipynb
# {"cells": [{"cell_type": "code", "execution_count": null, "id": "a", "metadata": {}, "outputs": [],
#   "source": ["from_notebook = 5\n", "print('ran')"]}],
#  "metadata": {}, "nbformat": 4, "nbformat_minor": 5}

# %% [ipython] run-the-notebook
# %run small.ipynb

# %% [ipython] cat-file
# %cat script.py

# %% [ipython] pycat
# %pycat script.py

# %% [ipython] more
# %more script.py

# %% [ipython] load
# %load script.py

# %% [ipython] loadpy
# %loadpy script.py

# %% [ipython] history
# %history

# %% [ipython] history-numbers
# %history -n 1-3

# %% [ipython] hist-limit
# %hist -l 2

# %% [ipython] history-output
# %history -o -n 1-2

# %% [ipython] history-search
# %history -g timeit

# %% [ipython] recall
# %recall 1

# %% [ipython] rerun
# %rerun 1

# %% [ipython] macro
# %macro total_again 2-3

# %% [ipython] macro-run
# total_again

# %% [ipython] precision
# %precision 3
# math.pi

# %% [ipython] precision-back
# %precision

# %% [ipython] load-ext-unknown
# %load_ext an_extension_that_is_not_there

# %% [ipython] autoreload
# %load_ext autoreload
# %autoreload 2

# %% [ipython] autoreload-again
# %load_ext autoreload

# %% [ipython] reload-ext
# %reload_ext autoreload

# %% [ipython] autoreload-prepare
# %%writefile changing.py
# value = 1

# %% autoreload-import
import changing
changing.value

# %% [ipython] autoreload-change
# %%writefile changing.py
# value = 2222

# %% autoreload-sees-it
changing.value

# %% [ipython] storemagic
# %load_ext storemagic

# %% [ipython] env-list
# %env

# %% [ipython] env-set
# %env MY_NAME=somebody

# %% [ipython] env-get
# %env MY_NAME

# %% [ipython] set-env
# %set_env OTHER=1

# %% [ipython] pinfo
# %pinfo math.sqrt

# %% [ipython] pinfo2
# %pinfo2 function_of_mine

# %% [ipython] question-mark
# math.sqrt?

# %% [ipython] question-mark-first
# ?number

# %% [ipython] two-question-marks
# function_of_mine??

# %% [ipython] question-mark-unknown
# nothing_of_this_name?

# %% [ipython] question-mark-magic
# %timeit?

# %% [ipython] question-mark-alone
# ?

# %% [ipython] wildcard
# math.is*?

# %% [ipython] psearch
# %psearch math.c*

# %% [ipython] pdef
# %pdef function_of_mine

# %% [ipython] pdoc
# %pdoc function_of_mine

# %% [ipython] psource
# %psource function_of_mine

# %% [ipython] pfile
# %pfile function_of_mine

# %% [ipython] store
# %store number

# %% [ipython] store-list
# %store

# %% [ipython] store-restore
# %store -r number

# %% [ipython] html-cell
# %%html
# <b>bold</b>

# %% [ipython] markdown-cell
# %%markdown
# # A title

# %% [ipython] latex-cell
# %%latex
# $x^2$

# %% [ipython] javascript-cell
# %%javascript
# console.log("hello")

# %% [ipython] js-cell
# %%js
# element.append("x")

# %% [ipython] svg-cell
# %%svg
# <svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="10" height="10"/></svg>

# %% [ipython] lsmagic
# %lsmagic

# %% [ipython] magic-help
# %magic

# %% [ipython] quickref
# %quickref

# %% [ipython] alias
# %alias show echo shown

# %% [ipython] alias-run
# %show it

# %% [ipython] alias-list
# %alias

# %% [ipython] unalias
# %unalias show

# %% [ipython] alias-magic
# %alias_magic t time

# %% [ipython] alias-magic-run
# %t 1 + 1

# %% [ipython] bookmark
# %bookmark here

# %% [ipython] bookmark-list
# %bookmark -l

# %% [ipython] xmode-plain
# %xmode Plain

# %% xmode-plain-error
1 / 0

# %% [ipython] xmode-minimal
# %xmode Minimal

# %% xmode-minimal-error
1 / 0

# %% [ipython] xmode-verbose
# %xmode Verbose

# %% xmode-verbose-error
function_of_mine(1 / 0)

# %% [ipython] xmode-context
# %xmode Context

# %% [ipython] tb
# %tb

# %% [ipython] colors
# %colors nocolor

# %% [ipython] colors-back
# %colors linux

# %% [ipython] pprint-toggle
# %pprint

# %% pprint-off
{"a": list(range(40))}

# %% [ipython] pprint-back
# %pprint

# %% [ipython] automagic
# %automagic

# %% [ipython] automagic-back
# %automagic

# %% [ipython] automagic-call
# precision 4

# %% [ipython] autocall
# %autocall 0

# %% [ipython] autoawait
# %autoawait

# %% [ipython] config
# %config InlineBackend.figure_format

# %% [ipython] config-classes
# %config

# %% [ipython] config-set
# %config InlineBackend.figure_format = 'retina'

# %% [ipython] config-set-svg
# %config InlineBackend.figure_formats = ['png']

# %% [ipython] config-interactivity
# %config InteractiveShell.ast_node_interactivity = 'last_expr_or_assign'

# %% config-interactivity-shows
assigned = 12

# %% [ipython] config-interactivity-back
# %config InteractiveShell.ast_node_interactivity = 'last_expr'

# %% [ipython] matplotlib-inline
# %matplotlib inline

# %% [ipython] matplotlib-list
# %matplotlib --list

# %% [ipython] matplotlib-notebook
# %matplotlib notebook

# %% [ipython] matplotlib-widget
# %matplotlib widget

# %% [ipython] matplotlib-qt
# %matplotlib qt

# %% [ipython] matplotlib-unknown
# %matplotlib inlin

# %% [ipython] matplotlib-inline-again
# %matplotlib inline

# %% [ipython] pylab
# %pylab inline

# %% [ipython] gui
# %gui

# %% [ipython] prun
# %prun -q -l 3 sum(range(10))

# %% [ipython] prun-shown
# %prun -l 3 sum(range(10))

# %% [ipython] prun-cell
# %%prun -l 2
# sorted(range(100))

# %% [ipython] debug
# %pdb off

# %% [ipython] python-cell
# %%python
# print("from another python")

# %% [ipython] python3-cell
# %%python3
# print(1 + 1)

# %% [ipython] bash-cell
# %%bash
# echo hello
# pwd > /dev/null

# %% [ipython] sh-cell
# %%sh
# echo hello

# %% [ipython] script-cell
# %%script cat
# passed through

# %% [ipython] perl-cell
# %%perl --proc missing
# print 1

# %% [ipython] sx
# %sx echo hello

# %% [ipython] system
# %system echo hello

# %% [ipython] sc
# %sc -l lines=echo hello
# lines

# %% [ipython] pwd
# %pwd is not None

# %% [ipython] pwd-value
# here = %pwd
# here != ""

# %% [ipython] cd
# import os
# os.makedirs("sub", exist_ok=True)
# %cd sub

# %% [ipython] cd-back
# %cd ..

# %% [ipython] cd-quiet
# %cd -q sub
# %cd -q ..

# %% [ipython] cd-missing
# %cd nowhere

# %% [ipython] dhist
# %dhist

# %% [ipython] pushd-popd
# %pushd sub
# %popd

# %% [ipython] dirs
# %dirs

# %% [ipython] mkdir-and-ls
# %mkdir made
# %ls

# %% [ipython] ls-colours
# %ls -l script.py

# %% [ipython] rm-and-rmdir
# %rm failing.py
# %rmdir made

# %% [ipython] cp-and-mv
# %cp script.py second.py
# %mv second.py third.py

# %% [ipython] pip-version
# %pip --version

# %% [ipython] pip-list
# %pip list

# %% [ipython] pip-show
# %pip show numpy

# %% [ipython] conda
# %conda list

# %% [ipython] logstart
# %logstart

# %% [ipython] logstate
# %logstate

# %% [ipython] notebook-export
# %notebook export.ipynb

# %% [ipython] save
# %save -f saved_code 1-2

# %% [ipython] unknown-magic
# %unknown_magic

# %% [ipython] unknown-cell-magic
# %%unknown_magic
# text

# %% [ipython] misspelled-magic
# %tiem 1

# %% [ipython] magic-with-variables
# name = "number"
# %who_ls {name}

# %% [ipython] magic-in-a-block
# for i in range(2):
#     %time i + 1

# %% [ipython] magic-assigned
# found = %who_ls int
# found

# %% run-line-magic
get_ipython().run_line_magic("who_ls", "int")

# %% run-cell-magic
get_ipython().run_cell_magic("html", "", "<b>x</b>")

# %% own-line-magic
from IPython.core.magic import register_line_magic, register_cell_magic, Magics, magics_class, line_magic

@register_line_magic
def reverse(line):
    """The line backwards."""
    return line[::-1]

# %% [ipython] own-line-magic-used
# %reverse abc

# %% own-cell-magic
@register_cell_magic
def shout(line, cell):
    print(cell.upper())

# %% [ipython] own-cell-magic-used
# %%shout
# quiet words

# %% own-magics-class
@magics_class
class Mine(Magics):
    @line_magic
    def twice(self, line):
        return line * 2
get_ipython().register_magics(Mine)

# %% [ipython] own-magics-class-used
# %twice ab

# %% own-extension
from pathlib import Path
Path("my_extension.py").write_text("def load_ipython_extension(shell):\n    print('loaded')\n")

# %% [ipython] own-extension-loaded
# %load_ext my_extension

# %% [ipython] own-extension-unloaded
# %unload_ext my_extension

# %% input-transformer
def no_dollars(lines):
    return [line.replace("$", "dollars") for line in lines]
get_ipython().input_transformers_post.append(no_dollars)

# %% [ipython] input-transformer-used
# "5 $"

# %% input-transformer-removed
get_ipython().input_transformers_post.remove(no_dollars)

# %% event-callbacks
calls = []
def after(result):
    calls.append(result.success)
get_ipython().events.register("post_run_cell", after)

# %% event-callbacks-called
1

# %% event-callbacks-removed
get_ipython().events.unregister("post_run_cell", after)
calls

# %% custom-exception-handler
def handler(shell, kind, value, trace, tb_offset=None):
    print("handled:", value)
get_ipython().set_custom_exc((LookupError,), handler)
{}["missing"]

# %% custom-exception-handler-removed
get_ipython().set_custom_exc((), None)

# %% push-and-ev
get_ipython().push({"pushed": 17})
get_ipython().ev("pushed + 1"), get_ipython().user_ns["pushed"]

# %% run-cell-by-hand
get_ipython().run_cell("1 + 1").result

# %% run-code-by-hand
get_ipython().ex("from_ex = 3")
from_ex

# %% set-next-input
get_ipython().set_next_input("x = 1")

# %% [ipython] reset-selective
# %reset_selective -f ^number$

# %% [ipython] xdel
# %xdel text

# %% [ipython] reset-out
# %reset -f out

# %% [ipython] reset
# %reset -f

# %% names-are-gone
values

# %% [ipython] system-variables-survive
# "get_ipython" in globals()
