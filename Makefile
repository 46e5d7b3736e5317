# Two commands do everything on a fresh machine with Python 3.11+, pip and make:
#   make run    set up and play the tour notebook through the sandbox kernel
#   make test   set up and run every check
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
# Twice quiet: errors are shown, and not what pip thinks of the user's other indexes.
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt
PYTEST := $(BIN)/python -m pytest
NBVAL := $(PYTEST) --nbval --nbval-sanitize-with notebooks/nbval_sanitize.cfg -p no:cacheprovider
AGAIN := echo "*** once more, alone; what passes now is unstable and wants mending ***"

.DEFAULT_GOAL := help
.PHONY: help run lab setup test check unit notebooks bench chromium clean

help:
	@echo "make run      set up, then play the tour notebook in the terminal"
	@echo "make lab      set up, then open JupyterLab on the notebooks"
	@echo "make test     lint, types, all tests, all notebooks"
	@echo "make check    only the linter and the types"
	@echo "make bench    measure, side by side with the peers (QUICK=1 for a few minutes)"
	@echo "make clean    remove .venv (the cache of compiled modules stays)"

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing wasm-kernel into $(VENV) (a minute or two, once) ..."
	@$(PIP_INSTALL) --editable '.[test,lab,data]'
	@touch $@

# Compiled here as well: where PYTHONDONTWRITEBYTECODE is set, every start would do it again.
setup: $(STAMP)
	@$(BIN)/python -m compileall -q wasm_kernel
	@$(BIN)/wasm-kernel setup

run: setup
	@$(BIN)/wasm-kernel play notebooks/tour.ipynb
	@echo; echo "make lab opens this notebook and the others in JupyterLab."

# Jupyter asks root to confirm; in a container there is often nobody else.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

lab: setup
	@$(BIN)/jupyter lab --notebook-dir notebooks $(AS_ROOT)

check: $(STAMP)
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy

chromium:
	@scripts/install-chromium

# Two files at a time, the long ones of the browser first; the tests of one file share its kernels,
# browsers and sessions. Real browsers on a shared machine can starve: what failed runs once more,
# alone, and both runs are shown, so that a test that is not sure of itself does not go unseen.
unit: setup chromium
	@$(PYTEST) --numprocesses 2 --dist loadfile --no-loadscope-reorder tests || \
	  { $(AGAIN); $(PYTEST) --last-failed tests; }

# Each notebook, cell by cell, against its stored outputs; sandbox_magic runs on the ordinary kernel.
notebooks: setup
	@$(NBVAL) notebooks || { $(AGAIN); $(NBVAL) notebooks; }

test: check unit notebooks

bench: setup
	@$(BIN)/python -m benchmarks $(if $(QUICK),--quick)

clean:
	rm -rf $(VENV)
