# Needs make, git and Python 3.11 or later; everything else is fetched into .venv and
# frontend/node_modules from the registries this machine is set up to use.

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

# Headgate and its tests are many processes: without kept bytecode each compiles everything anew.
export PYTHONDONTWRITEBYTECODE :=

ARGS ?=
PART ?=
BIN := .venv/bin
READY := .venv/.synced
PAGE := $(BIN)/python .ci/frontend.py
# Warnings are errors: a link to a page or heading that does not exist fails.
DOCUMENTATION := $(BIN)/sphinx-build -q -W --keep-going

ifeq ($(DEMO),1)
override ARGS += --demo
endif

.PHONY: help
help:  ## list these commands
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: up
up: interface  ## start all of Headgate on this machine; DEMO=1 loads demo data
	@$(BIN)/headgate up $(ARGS)

.PHONY: demo
demo:  ## alias of make up DEMO=1
	@$(MAKE) --no-print-directory up DEMO=1

.PHONY: test
test: installed  ## everything that must hold: check, the page's own tests, every test
	@$(BIN)/python .ci/jobs.py $(ARGS)

.PHONY: test-nightly
test-nightly: installed interface  ## one part of the nightly run at full depth: PART=k/8, at most 45 minutes on 2 cores
	@$(BIN)/python -m tests.nightly $(PART)

.PHONY: check
check: lint types imports  ## lint, formatting, types and the direction of imports

.PHONY: fix
fix: $(READY)  ## fix lint and formatting automatically
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format
	@$(PAGE) fix

.PHONY: bench
bench: interface  ## measure submits, admissions, replay, placements, searches and the page beside yardsticks
	@$(BIN)/python -m tests.bench $(ARGS)
	@$(BIN)/python -m tests.bench.core
	@$(BIN)/python -m tests.bench.past
	@$(BIN)/python -m tests.bench.engine
	@$(BIN)/python -m tests.bench.placement
	@$(BIN)/python -m tests.bench.searching
	@$(BIN)/python -m tests.bench.scale
	@$(BIN)/python -m tests.bench.page

.PHONY: simulate
simulate: $(READY)  ## random days of cluster life on memory adapters; ARGS="--seed 7"
	@$(BIN)/python -m tests.simulation $(ARGS)
	@$(BIN)/python -m tests.simulation.termination

.PHONY: chaos
chaos: $(READY)  ## kills, failovers, a full disk, a hung database under load; counts what is lost
	@$(BIN)/python -m tests.chaos.every $(ARGS)

.PHONY: screenshots
screenshots: installed interface  ## pictures of every page, light and dark, at 390, 1024 and 1440 pixels, and a contact sheet
	@$(BIN)/python -m tests.browser.screenshots $(ARGS)

.PHONY: docs
docs: $(READY)  ## write the API description and the page's client from the code, build the documentation
	@$(PAGE) client
	@$(BIN)/python -m tests.architecture.surface
	@$(DOCUMENTATION) -b html docs docs/_build/html

.PHONY: package
package: $(READY)  ## build the wheel with page, documentation, notices and SBOM into dist/
	@$(BIN)/python .ci/package.py

.PHONY: clean
clean:  ## remove what building and testing left behind; .headgate, your data, stays
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@rm -rf frontend/node_modules frontend/dist frontend/test-results dist docs/_build
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: browser
browser: $(READY)
	@$(BIN)/python .ci/browser.py

.PHONY: installed
installed: browser $(READY)
	@$(PAGE) install

.PHONY: lint
lint: $(READY)
	@$(BIN)/ruff check && $(BIN)/ruff format --check

.PHONY: types
types: $(READY)
	@$(BIN)/mypy $(if $(CI),--cache-dir=/dev/null)

.PHONY: imports
imports: $(READY)
	@$(BIN)/lint-imports --no-logo

# A test builds it too; the one that comes second waits, and finds it up to date.
.PHONY: documentation
documentation: $(READY)
	@mkdir -p docs/_build
	@flock docs/_build/lock $(DOCUMENTATION) -b html docs docs/_build/html

.PHONY: page-check
page-check: $(READY)
	@$(PAGE) check

.PHONY: interface
interface: $(READY)
	@$(PAGE) build

# PYTHON=... names an interpreter; else the fastest at hand is taken.
# uv and all it installs are pinned by uv.lock; pip only brings uv in. Its code is compiled at once,
# as else each of the processes that start together compiles it.
$(READY): pyproject.toml uv.lock
	@test -x $(BIN)/pip || $(or $(PYTHON),"$$(python3 .ci/interpreter.py)") -m venv .venv
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet 'uv>=0.9,<1'
	@$(BIN)/uv sync --frozen --all-extras --quiet --compile-bytecode
	@touch $@
