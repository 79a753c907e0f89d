# The two commands: `make solve` plans a shipped example, `make test` checks everything.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# What a plan and its picture need; what tests and site need on top of it; what Numba compiles.
SOLVE_READY := $(VENV)/.ready-solve
TEST_READY := $(VENV)/.ready-test
DOCS_READY := $(VENV)/.ready-docs
COMPILED := $(VENV)/.compiled
KERNELS := $(shell grep --recursive --files-with-matches --include=*.py @compiled src)
EXTRAS := dev,network,plot,excel,addresses,peers,cluster,serve,browser,docs
# The programs of OSRM, for the tests of roads. Their wheel is for Python 3.12 and later, but they
# run without Python.
OSRM := $(VENV)/osrm
# Tests on all cores, one thread each. Tests of one group (see tests/conftest.py) share a core.
# Huge pages, which NumPy asks for, take virtual machines seconds to provide.
PYTEST := OMP_NUM_THREADS=1 NUMPY_MADVISE_HUGEPAGE=0 $(BIN)/python -m pytest --maxprocesses 8 \
	--no-loadscope-reorder --numprocesses
# Slow tests often wait for other processes, so two more of them run than there are cores.
CORES_AND_TWO = $$(($$(getconf _NPROCESSORS_ONLN) + 2))
# Python keeps what it has compiled: the tests start some hundred processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: solve test check lint types all-tests quick-tests format setup docs notebooks dist test-browser chromium clean

solve: $(SOLVE_READY)
	mkdir -p build
	$(BIN)/fixedfleet solve examples/leipzig_parcels.csv --vehicles 7 --capacity 850 \
		--time-limit 2 --plot build/plan.png
	@echo "the picture of the plan: $(CURDIR)/build/plan.png"

# Everything. The page is tested in Chromium if it is installed; on CI it is installed first.
test: lint
	@[ -z "$$CI" ] || $(MAKE) --no-print-directory chromium || true
	@$(MAKE) --no-print-directory --jobs 2 types all-tests

# Lint, types and the quick tests, for everyday work.
check: lint
	@$(MAKE) --no-print-directory --jobs 2 types quick-tests

lint: $(TEST_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(TEST_READY)
	$(BIN)/mypy

all-tests: $(COMPILED)
	$(PYTEST) $(CORES_AND_TWO)

quick-tests: $(COMPILED)
	$(PYTEST) auto -m "not slow"

format: $(TEST_READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# A virtual environment with everything that users and developers need.
setup: $(COMPILED)

$(SOLVE_READY): pyproject.toml constraints.txt
	[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[plot]'
	touch $@

$(TEST_READY): $(SOLVE_READY)
	$(PIP) --editable '.[$(EXTRAS)]'
	rm -rf $(OSRM) && mkdir -p $(OSRM)
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
		--python-version 3.12 --dest $(OSRM) osrm-bindings==26.10.0 \
		&& $(BIN)/python -m zipfile -e $(OSRM)/*.whl $(OSRM) && chmod +x $(OSRM)/osrm/bin/* \
		&& rm $(OSRM)/*.whl || echo "no OSRM for this machine: the tests of roads are skipped"
	touch $@

$(DOCS_READY): $(SOLVE_READY)
	$(PIP) --editable '.[docs]'
	touch $@

# All that Numba compiles, and the test files as pytest rewrites them: tests would wait for
# the first, and every process of pytest would do the second. Numba sees when the file of a
# function has changed, but not when a function that it calls from another file has.
$(COMPILED): $(TEST_READY) $(KERNELS)
	find src -name '*.nbi' -delete
	for start in savings network; do $(BIN)/fixedfleet solve examples/leipzig_parcels.csv \
		--start $$start --time-limit 0.1 > /dev/null || exit 1; done
	$(BIN)/python -c "from fixedfleet.search.ruin_recreate import load_day_kernel, load_regions; \
		load_regions(False); load_regions(True); load_day_kernel()"
	$(BIN)/python -c "from fixedfleet.bound.proving import load_kernels; load_kernels()"
	$(BIN)/python -m pytest --quiet -k "test_edges or test_settling or test_training_data"
	touch $@

# The site; any warning is an error.
docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "the site: $(CURDIR)/build/site/index.html"

# Runs the notebooks and keeps their outputs.
notebooks: $(TEST_READY)
	$(BIN)/jupyter execute --inplace docs/*.ipynb

# Wheel and sdist, and the wheel in a fresh environment: without torch, below 300 MB to
# download, and able to plan.
dist: $(TEST_READY)
	rm -rf dist build/wheels build/fresh
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m pip download --quiet --disable-pip-version-check \
		--dest build/wheels dist/*.whl
	$(PYTHON) -m venv build/fresh
	build/fresh/bin/python -m pip install --quiet --disable-pip-version-check \
		--no-index --find-links build/wheels fixedfleet
	build/fresh/bin/fixedfleet solve examples/leipzig_parcels.csv --time-limit 2
	@ls -sh1 --block-size=MB build/wheels
	@du --si --summarize build/wheels build/fresh
	@! ls build/wheels | grep --ignore-case torch
	@[ "$$(du -s --block-size=MB build/wheels | cut --delimiter M --fields 1)" -lt 300 ]

# The tests of the page alone; installs Chromium if there is none.
test-browser: $(COMPILED) chromium
	$(BIN)/python -m pytest tests/browser

chromium:
	@command -v chromium > /dev/null || command -v google-chrome > /dev/null || { \
		command -v apt-get > /dev/null \
			|| { echo "install Chromium first: there is no apt-get here"; exit 1; }; \
		if [ "$$(id -u)" -eq 0 ]; then sudo=; else sudo=sudo; fi; \
		$$sudo apt-get update --quiet && \
		$$sudo apt-get install --quiet --yes --no-install-recommends chromium; \
	}

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
