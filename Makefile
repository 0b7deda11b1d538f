# `make demo` and `make test` need nothing but a Python: they build their own environment in $(VENV). For the tests on
# Spark, `make test` also finds or installs a Java (tests/jvm.py).
#   PYTHON=/path/to/python   the interpreter to build it with (default: the first of $(CANDIDATES) that will do)
#   VENV=folder              where to build it

VENV ?= .venv
PYTHON ?=
CANDIDATES := python3.13 python3.12 python3.11 python3
GOLDEN ?= tests/golden
BENCH ?= all --rounds 5 --plots docs/benchmarks --report docs/evidence.md
SOAK ?= --programs 3000 --compiled 1000 --seeds 20000 --minutes 10
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --no-input --disable-pip-version-check -c constraints.txt

SHELL := /bin/sh
.SHELLFLAGS := -eu -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test check lint types imports tests jvm docs format soak bench golden clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.stamp-run ## a recommender alive: ratings, a snapshot, a lost worker, a second one; half a minute
	@$(BIN)/anabranch demo

test: check ## the whole gate, what CI runs (same as make check)

check: lint types imports tests ## style, types, layers, tests and doctests; warnings are errors

lint: $(VENV)/.stamp-dev ## style: ruff check and ruff format --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.stamp-dev ## types: mypy strict
	$(BIN)/mypy

imports: $(VENV)/.stamp-dev ## layers: what may import what
	$(BIN)/lint-imports

# Spark's tests, one process that waits much, run beside the others; what they print comes at the end.
tests: $(VENV)/.stamp-dev jvm ## tests, and the examples of docstrings, README and docs
	@log=$$(mktemp); beside=; failed=0; \
	trap 'if [ -n "$$beside" ]; then kill "$$beside"; fi; rm -f "$$log"' EXIT; trap 'exit 130' INT TERM; \
	echo "$(BIN)/pytest -q tests/spark &"; \
	$(BIN)/pytest -q tests/spark > "$$log" 2>&1 & beside=$$!; \
	echo "$(BIN)/pytest -n auto -q --ignore=tests/spark"; \
	$(BIN)/pytest -n auto -q --ignore=tests/spark || failed=$$?; \
	echo "$(BIN)/pytest -q tests/spark"; \
	wait "$$beside" || failed=$$?; beside=; \
	cat "$$log"; exit "$$failed"

jvm: $(VENV)/.stamp-dev ## find the Java that Spark's tests run on; where there is none, install one
	@$(BIN)/python -m tests.jvm --install

docs: $(VENV)/.stamp-docs ## the guide and the reference as a site in build/site; warnings and dead links are errors
	$(BIN)/python docs/making/make_site.py build/site

format: $(VENV)/.stamp-dev ## rewrite the sources in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

soak: $(VENV)/.stamp-dev jvm ## many more random programs, simulated stories, minutes of load, kills, an elastic cluster; writes docs/soak.md
	$(BIN)/python -m tests.soak $(SOAK) --report docs/soak.md
	ANABRANCH_TESTS=all $(BIN)/pytest -n auto -q --ignore=tests/spark --hypothesis-profile=soak
	ANABRANCH_TESTS=all $(BIN)/pytest -q tests/spark

bench: $(VENV)/.stamp-dev jvm ## beside other systems, each installed when first needed; writes docs/evidence.md
	$(BIN)/anabranch bench $(BENCH)

golden: $(VENV)/.stamp-dev ## rewrite the golden files; read the diff before you commit it
	$(BIN)/pytest -q $(GOLDEN) --update-golden

clean: ## remove the environment, builds and caches
	@if [ -e "$(VENV)/pyvenv.cfg" ]; then rm -rf "$(VENV)"; fi
	rm -rf build dist .hypothesis .kernel_cache .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.stamp-run: pyproject.toml constraints.txt | $(VENV)/.stamp-venv
	@echo "installing anabranch into $(VENV)"
	@$(PIP_INSTALL) -e .
	@touch $@

$(VENV)/.stamp-dev: pyproject.toml constraints.txt | $(VENV)/.stamp-venv
	@echo "installing anabranch and its development tools into $(VENV)"
	@$(PIP_INSTALL) -e '.[dev]'
	@touch $(VENV)/.stamp-run $@

$(VENV)/.stamp-docs: pyproject.toml constraints.txt | $(VENV)/.stamp-venv
	@echo "installing anabranch and what builds its site into $(VENV)"
	@$(PIP_INSTALL) -e '.[docs]'
	@touch $(VENV)/.stamp-run $@

# A candidate is tried by running it: version managers put names on the path that answer "not installed".
# Debian ships Python without ensurepip, which venv needs; such a Python is taken only if no other will do.
$(VENV)/.stamp-venv:
	@if [ -x "$(BIN)/python" ] && "$(BIN)/python" -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then touch $@; exit 0; fi; \
	chosen=; bare=; \
	for candidate in $(if $(PYTHON),"$(PYTHON)",$(CANDIDATES)); do \
	  "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue; \
	  if "$$candidate" -c 'import ensurepip, venv' >/dev/null 2>&1; then chosen=$$candidate; break; fi; \
	  bare=$${bare:-$$candidate}; \
	done; \
	if [ -z "$$chosen" ] && [ -z "$$bare" ]; then \
	  echo "error: no Python 3.11 or newer found" >&2; \
	  echo "  tried: $(or $(PYTHON),$(CANDIDATES))" >&2; \
	  echo "  do: install one (Debian, Ubuntu: apt-get install python3 python3-venv), or name it: make PYTHON=/path/to/python3" >&2; \
	  exit 1; \
	fi; \
	if [ -z "$$chosen" ]; then \
	  package=$$("$$bare" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	    echo "$$bare cannot make virtual environments: installing $$package"; \
	    export DEBIAN_FRONTEND=noninteractive; \
	    apt-get update -qq || true; \
	    apt-get install -y -qq "$$package" || apt-get install -y -qq python3-venv; \
	  else \
	    echo "error: $$bare cannot make virtual environments (no ensurepip)" >&2; \
	    echo "  do: sudo apt-get install $$package, or name another Python: make PYTHON=/path/to/python3" >&2; \
	    exit 1; \
	  fi; \
	  chosen=$$bare; \
	fi; \
	echo "making $(VENV) with $$("$$chosen" --version)"; \
	if [ -e "$(VENV)/pyvenv.cfg" ]; then "$$chosen" -m venv --clear "$(VENV)"; else "$$chosen" -m venv "$(VENV)"; fi; \
	touch $@
