# Each goal makes the virtual environment it needs in .venv; nothing but make and Python >= 3.11 has to be there.
.DEFAULT_GOAL := help
.PHONY: help demo test lint docs bench clean

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
UV := $(shell command -v uv 2>/dev/null)

help: ## what can be made
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' Makefile | expand -t 14

demo: $(VENV)/plots.stamp ## every experiment of the paper, ending in a page to open
	$(BIN)/pfn reproduce --out demo

# One BLAS thread per test process: two processes of many threads each would fight over the cores.
test: lint ## everything that is checked
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

lint: $(VENV)/dev.stamp ## format, rules, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(VENV)/dev.stamp ## the documentation, in docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

bench: $(VENV)/bench.stamp ## every benchmark, in less than 20 minutes
	$(BIN)/python -m benchmarks

clean: ## remove what the goals above made
	rm -rf $(VENV) demo paper docs/_build docs/gallery docs/sg_execution_times.rst build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# NAME.stamp: pfn is installed in .venv, editable, with its extra NAME.
$(VENV)/%.stamp: pyproject.toml | $(BIN)/python
ifdef UV
	$(UV) pip install --quiet --python $(BIN)/python -e ".[$*]"
else
	$(BIN)/python -m pip install --quiet -e ".[$*]"
endif
	@touch $@

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "pfn needs Python 3.11 or later, and none of python3, python3.13, python3.12," \
		"python3.11 is one. Install it, or name it: make PYTHON=name" >&2; exit 1; }
ifdef UV
	$(UV) venv --quiet --python "$(PYTHON)" $(VENV)
else
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }  # no half-made environment for the next try
endif
