# momata. `make` lists the targets. Needs GNU make 3.81 or later and Python 3.11 or later; nothing else.

VENV = .venv
PY = 3.12
PYENV_VERSIONS = $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions
PYTHONS = $(or $(PYTHON),python3.13 python3.12 python3.11 python3 python)
SMALL = not slow and not compiled

# Settings from outside must not change what a run checks; only test-uncompiled and test-boundscheck set these.
unexport NUMBA_DISABLE_JIT NUMBA_BOUNDSCHECK
UNCOMPILED = NUMBA_DISABLE_JIT=1 MOMATA_DATA=

.PHONY: help demo test test-all test-uncompiled test-boundscheck test-oldest test-python bench lint clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-18s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/installed ## a complete small run; writes report.html
	$(VENV)/bin/momata demo --force

test: lint ## checks, the compiled suite, and the small tests uncompiled
	$(VENV)/bin/python -m pytest -m "not slow"
	$(UNCOMPILED) $(VENV)/bin/python -m pytest -m "$(SMALL)"

test-all: lint ## everything, the slow grids included
	$(VENV)/bin/python -m pytest
	$(UNCOMPILED) $(VENV)/bin/python -m pytest -m "$(SMALL)"

test-uncompiled: $(VENV)/installed ## the small tests as plain Python, with coverage
	$(UNCOMPILED) $(VENV)/bin/python -m pytest -m "$(SMALL)" --cov --cov-report=term-missing:skip-covered

# Compiled code that checks bounds must not come from, or go to, the cache of code that does not.
test-boundscheck: $(VENV)/installed ## the suite with checked array bounds
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR="$(CURDIR)/$(VENV)/numba-boundscheck" $(VENV)/bin/python -m pytest -m "not slow"

test-oldest: .venv-oldest/installed ## the suite on Python 3.11 with the oldest allowed dependencies
	NUMBA_CACHE_DIR="$(CURDIR)/.venv-oldest/numba" .venv-oldest/bin/python -m pytest -m "not slow"

test-python: .venv-$(PY)/installed ## the suite on another Python: make test-python PY=3.13
	NUMBA_CACHE_DIR="$(CURDIR)/.venv-$(PY)/numba" .venv-$(PY)/bin/python -m pytest -m "not slow"

bench: $(VENV)/installed ## every benchmark; each checks its answers first
	@for file in benchmarks/[a-z]*.py; do echo "== $$file"; $(VENV)/bin/python "$$file" || exit 1; done

lint: $(VENV)/installed ## style, formatting and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

clean: ## remove whatever make, the tests and the build leave behind
	rm -rf .venv .venv-* build dist .coverage htmlcov .hypothesis .pytest_cache .mypy_cache .ruff_cache report.html
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---------------------------------------------------------------- virtual environments

AT_LEAST = sys.hexversion >= 0x030b0000
EXACTLY = "%d.%d" % sys.version_info[:2] == "$(1)"

# $(call create,FOLDER,PYTHONS,CONDITION,WANTED): with the first Python that runs, fits and can make one.
# A name on the PATH proves nothing (a pyenv shim may exist and not run), so each is asked.
define create
@if ! "$(1)/bin/python" -c 'import sys, pip; sys.exit(not ($(3)))' >/dev/null 2>&1; then \
	bare= ; made= ; \
	for python in $(2); do \
	    "$$python" -c 'import sys; sys.exit(not ($(3)))' >/dev/null 2>&1 || continue; \
	    "$$python" -c 'import ensurepip, venv' >/dev/null 2>&1 || { bare="$$bare $$python"; continue; }; \
	    echo "making $(1) with $$("$$python" -c 'import sys; print(sys.executable, sys.version.split()[0])')"; \
	    "$$python" -m venv --clear "$(1)" || exit 1; \
	    made=yes; break; \
	done; \
	if [ -z "$$made" ] && [ -n "$$bare" ]; then \
	    echo "momata: found$$bare, but without the modules venv and ensurepip, which make a virtual environment." >&2; \
	    echo "Install them (Debian, Ubuntu: apt install python3-venv), or name another Python: make PYTHON=/path/to/python" >&2; \
	    exit 1; \
	elif [ -z "$$made" ]; then \
	    echo "momata: needs $(4); tried: $(2)." >&2; \
	    echo "Install one from python.org or your system's packages, or name it: make PYTHON=/path/to/python" >&2; \
	    exit 1; \
	fi; \
fi
endef

# $(call install,FOLDER,OPTIONS): momata and its extras; draw needs a wheel of pygraphviz, which some platforms lack.
define install
@echo "installing momata into $(1) (a minute or two)"
@pip="$(1)/bin/python -m pip --disable-pip-version-check install --quiet --only-binary pygraphviz $(2)"; \
$$pip -e ".[all,test]" || { \
	echo "momata: trying again without the extra 'draw': pygraphviz may have no wheel for this platform." >&2; \
	$$pip -e ".[report,tables,test]" && \
	echo "momata: installed without 'draw', so no pictures of automata; with Graphviz and its headers: $(1)/bin/pip install pygraphviz" >&2; }
@touch "$(1)/installed"
endef

$(VENV)/installed: pyproject.toml
	$(call create,$(VENV),$(PYTHONS),$(AT_LEAST),Python 3.11 or later)
	$(call install,$(VENV),)

.venv-oldest/installed: pyproject.toml tests/oldest.txt
	$(call create,.venv-oldest,$(or $(PYTHON),python3.11 $(wildcard $(PYENV_VERSIONS)/3.11*/bin/python) python3),$(call EXACTLY,3.11),Python 3.11)
	$(call install,.venv-oldest,--constraint tests/oldest.txt)

.venv-%/installed: pyproject.toml
	$(call create,.venv-$*,$(or $(PYTHON),python$* $(wildcard $(PYENV_VERSIONS)/$**/bin/python) python3),$(call EXACTLY,$*),Python $*)
	$(call install,.venv-$*,)
