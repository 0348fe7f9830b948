# `make demo` opens the dashboard on a sample, `make test` runs every check.  Both set up .venv themselves, with hashes:
# the first from requirements.lock, the other also from requirements-test.lock; a second run finds everything in place.
# Where uv is installed it fetches the packages, three times as fast; `make UV= demo` leaves it to pip.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
TEST_READY := $(VENV)/ready-test

UV ?= $(shell command -v uv 2>/dev/null)
ifeq ($(UV),)
MAKE_VENV = $(PYTHON) -m venv $(VENV)
# Of 50 MB of bytecode for what is used, each module's is made when it is first imported; all of it would be 200 MB.
INSTALL = $(BIN)/python -m pip install --disable-pip-version-check --no-compile --no-deps
else
MAKE_VENV = $(UV) venv --quiet --seed --allow-existing --python $(PYTHON) $(VENV)
INSTALL = $(UV) pip install --python $(BIN)/python --no-deps
endif
# Where bytecode is forbidden, as in many containers, every process that is started would compile all modules anew.
WITH_BYTECODE := env -u PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test unit lint architecture api goldens hunt bench matrix reproductions tour offline lock clean

help:
	@echo "make demo    open the dashboard on a sample"
	@echo "make test    lint, type checks and all tests (browser tests need Chromium)"
	@echo "make unit    the quick tests only, with fewer random examples (under a minute on two cores)"
	@echo "make lint    lint and type checks only"
	@echo "make api     write docs/api.md from docstrings"
	@echo "make goldens write the texts of tests/goldens anew, to be read as a diff (minutes)"
	@echo "make architecture   write the tables and lists of docs/architecture.md from the code"
	@echo "make hunt    thousands of bad inputs, damaged studies and bundles, and kills (an hour)"
	@echo "make bench   speed ratios against naive twins"
	@echo "make matrix  the quick tests on other Pythons, locales, users, paths, ... (an hour; CONDITIONS=\"ascii one-core\")"
	@echo "make reproductions   compute the published figures again and write docs/reproductions.md (minutes)"
	@echo "make tour    take the pictures of docs/tour.md again (needs Chromium)"
	@echo "make offline   make a folder that installs without a network (PLATFORM=win_amd64 PYTHON_VERSION=3.12)"
	@echo "make lock    write requirements.lock and requirements-test.lock anew (needs uv)"
	@echo "make clean   remove .venv"

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))" \
		|| { echo "requirements.lock is for Python 3.11 to 3.14; name one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Setting up $(VENV), once: 70 packages, 260 MB to fetch."
	$(MAKE_VENV)
	$(INSTALL) --require-hashes -r requirements.lock
	$(INSTALL) --no-build-isolation -e .
# Libraries bring along their own test suites, 80 MB that nothing here runs or imports.
	@find $(VENV)/lib -type d -name tests -prune -exec rm -rf {} +
	@touch $@

$(TEST_READY): requirements-test.lock $(READY)
	@echo "Adding what tests need to $(VENV), once: 40 packages, 110 MB to fetch."
	$(INSTALL) --require-hashes -r requirements-test.lock
	@touch $@

demo: $(READY)
	$(WITH_BYTECODE) $(BIN)/frontier demo

# In a whole run more processes than cores, since many tests wait.  Each begins with its part of all tests in their order, since the tests
# of a file share what is dear to make; whichever is done first takes half of what another has still to do.
PYTEST := $(WITH_BYTECODE) $(BIN)/python -m pytest -n auto --dist worksteal

test: lint
	$(PYTEST) $(PYTEST_ARGS)

unit: $(TEST_READY)
	$(PYTEST) -m "not slow and not browser" $(PYTEST_ARGS)

lint: $(TEST_READY)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

architecture: $(TEST_READY)
	$(BIN)/python -m tests.architecture

api: $(TEST_READY)
	$(BIN)/python -m tests.api_page

goldens: $(TEST_READY)
	GOLDENS=write $(BIN)/python -m pytest -q -n 2 tests/engine/report/test_goldens.py tests/engine/decision/test_goldens.py \
		tests/frontier_app/test_goldens.py

hunt: $(TEST_READY)
	HUNT=20 $(BIN)/python -m pytest tests/hunt $(HUNT_ARGS)

bench: $(TEST_READY)
	$(BIN)/python -m benchmarks

matrix:
	$(PYTHON) .ci/matrix.py $(CONDITIONS)

reproductions: $(TEST_READY)
	$(BIN)/python -m tests.papers

tour: $(TEST_READY)
	$(BIN)/python -m tests.browser.tour

PLATFORM ?= win_amd64
PYTHON_VERSION ?= 3.12
offline: $(READY)
	$(BIN)/python .ci/offline.py swap-frontier-$(PLATFORM) --platform $(PLATFORM) --python $(PYTHON_VERSION)

# Pages and documents draw no maps, so what Streamlit draws them with is left out where nothing is tested: 50 MB.
LOCK := uv pip compile pyproject.toml --group build --universal --python-version 3.11 --fork-strategy fewest \
	--generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links --quiet
lock:
	$(LOCK) --extra test --upgrade --output-file requirements-test.lock
	$(LOCK) --extra pdf --constraints requirements-test.lock --no-emit-package pydeck --output-file requirements.lock

clean:
	rm -rf $(VENV)
