# `make demo` opens the dashboard on a sample, `make test` runs every check.  Both set up .venv themselves, from
# requirements.lock and with hashes; a second run finds everything in place.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.DEFAULT_GOAL := help
.PHONY: help demo test unit lint architecture api hunt bench matrix reproductions tour offline lock clean

help:
	@echo "make demo    open the dashboard on a sample"
	@echo "make test    lint, type checks and all tests (browser tests need Chromium)"
	@echo "make unit    the quick tests only, with fewer random examples (2.5 minutes on two cores)"
	@echo "make lint    lint and type checks only"
	@echo "make api     write docs/api.md from docstrings"
	@echo "make architecture   write the tables and lists of docs/architecture.md from the code"
	@echo "make hunt    thousands of bad inputs, kills and random interactions (an hour)"
	@echo "make bench   speed ratios against naive twins"
	@echo "make matrix  the quick tests on other Pythons, locales, users, paths, ... (an hour; CONDITIONS=\"ascii one-core\")"
	@echo "make reproductions   compute the published figures again and write docs/reproductions.md (minutes)"
	@echo "make tour    take the pictures of docs/tour.md again (needs Chromium)"
	@echo "make offline   make a folder that installs without a network (PLATFORM=win_amd64 PYTHON_VERSION=3.12)"
	@echo "make lock    write requirements.lock anew (needs uv)"
	@echo "make clean   remove .venv"

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))" \
		|| { echo "requirements.lock is for Python 3.11 to 3.14; name one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY)
	$(BIN)/frontier demo

# As many processes as cores.  Each begins with its part of all tests in their order, since the tests of a file share
# what is dear to make; whichever is done first takes half of what another has still to do.
# Where bytecode is forbidden, as in many containers, every process that a test starts would compile the program anew.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n auto --dist worksteal

test: lint
	$(PYTEST) $(PYTEST_ARGS)

unit: $(READY)
	$(PYTEST) -m "not slow and not browser" $(PYTEST_ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

architecture: $(READY)
	$(BIN)/python -m tests.architecture

api: $(READY)
	$(BIN)/python -m tests.api_page

hunt: $(READY)
	$(BIN)/python -m tests.hunt $(HUNT_ARGS)

bench: $(READY)
	$(BIN)/python -m benchmarks

matrix:
	$(PYTHON) .ci/matrix.py $(CONDITIONS)

reproductions: $(READY)
	$(BIN)/python -m tests.papers

tour: $(READY)
	$(BIN)/python -m tests.browser.tour

PLATFORM ?= win_amd64
PYTHON_VERSION ?= 3.12
offline: $(READY)
	$(BIN)/python .ci/offline.py swap-frontier-$(PLATFORM) --platform $(PLATFORM) --python $(PYTHON_VERSION)

lock:
	uv pip compile pyproject.toml --extra test --group build --universal --python-version 3.11 \
		--fork-strategy fewest --upgrade --generate-hashes --no-header --no-annotate \
		--no-emit-index-url --no-emit-find-links --quiet --output-file requirements.lock

clean:
	rm -rf $(VENV)
