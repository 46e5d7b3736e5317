"""Shell commands in a notebook: the few that nearly every notebook has."""
# ruff: noqa
# fmt: off

# %% [ipython] echo
# !echo hello

# %% [ipython] echo-quotes
# !echo "two  words" 'single'

# %% [ipython] pwd
# !pwd

# %% [ipython] ls-empty
# !ls

# %% [ipython] make-files
# !mkdir -p data/raw
# with open("data/raw/a.csv", "w") as file:
#     file.write("x,y\n1,2\n3,4\n")

# %% [ipython] ls-folder
# !ls data/raw

# %% [ipython] ls-long
# !ls -lh data/raw

# %% [ipython] ls-missing
# !ls nowhere

# %% [ipython] cat
# !cat data/raw/a.csv

# %% [ipython] head
# !head -n 2 data/raw/a.csv

# %% [ipython] head-short
# !head -1 data/raw/a.csv

# %% [ipython] tail
# !tail -n 1 data/raw/a.csv

# %% [ipython] wc
# !wc -l data/raw/a.csv

# %% [ipython] assign
# files = !ls data/raw
# files

# %% [ipython] assign-list-methods
# files.n, files.s, files.grep("csv")

# %% [ipython] python-variable
# name = "a.csv"
# !cat data/raw/{name}

# %% [ipython] dollar-variable
# !echo $name

# %% [ipython] double-dollar
# !echo $$HOME

# %% [ipython] exit-code
# !ls data
# _exit_code

# %% [ipython] exit-code-of-a-failure
# !ls nowhere
# _exit_code

# %% [ipython] bang-bang
# !!echo hello

# %% [ipython] loop
# for name in ["a", "b"]:
#     !echo {name}

# %% [ipython] copy-move-remove
# !cp data/raw/a.csv b.csv
# !mv b.csv c.csv
# !rm c.csv
# !ls

# %% [ipython] touch
# !touch empty.txt
# !ls

# %% [ipython] pipe
# !cat data/raw/a.csv | head -1

# %% [ipython] redirect
# !echo "line" > out.txt
# !cat out.txt

# %% [ipython] and-then
# !echo one && echo two

# %% [ipython] semicolons
# !echo one; echo two

# %% [ipython] grep
# !grep 1 data/raw/a.csv

# %% [ipython] find
# !find data -name "*.csv"

# %% [ipython] which
# !which python

# %% [ipython] python-version
# !python --version

# %% [ipython] python-script
# !python -c "print(1 + 1)"

# %% [ipython] date
# !date

# %% [ipython] unknown-command
# !a-program-that-nobody-has

# %% [ipython] pip-install
# !pip install --no-input --disable-pip-version-check numpy

# %% [ipython] percent-pip-install
# %pip install --no-input --disable-pip-version-check numpy

# %% [ipython] pip-install-quiet
# !pip install -q --disable-pip-version-check numpy pandas

# %% [ipython] percent-pip-install-quiet
# %pip install -q numpy

# %% [ipython] mkdir-without-a-name
# !mkdir

# %% [ipython] pip-freeze
# frozen = !pip freeze
# len(frozen) > 10

# %% [ipython] wget
# !wget http://localhost:9/file.csv

# %% [ipython] curl
# !curl -O http://localhost:9/file.csv

# %% [ipython] git
# !git --version

# %% [ipython] change-directory
# !cd data

# %% [ipython] getoutput
# get_ipython().getoutput("echo hello")

# %% [ipython] system-method
# get_ipython().system("echo hello")

# %% [ipython] unclosed-quote
# !echo "unclosed

# %% [ipython] export
# !export NAME=value

# %% [ipython] sleep
# !sleep 0.01

# %% [ipython] glob
# !ls data/raw/*.csv

# %% [ipython] rm-folder
# !rm -rf data

# %% [ipython] uname
# !uname
