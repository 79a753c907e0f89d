# The two commands: `make solve` plans a shipped example, `make test` checks everything.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
EXTRAS := dev,network,plot,peers,cluster,serve,browser
READY := $(VENV)/.ready

.PHONY: solve test test-browser chromium lint format clean setup

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$(EXTRAS)]'
	touch $@

solve: $(READY)
	mkdir -p build
	$(BIN)/fixedfleet solve examples/leipzig_parcels.csv --vehicles 7 --capacity 850 \
		--time-limit 2 --plot build/plan.png
	@echo "the picture of the plan: $(CURDIR)/build/plan.png"

# The page is tested in a Chromium if there is one; on CI one is installed if that goes.
test: lint
	@[ -z "$$CI" ] || $(MAKE) --no-print-directory chromium || true
	$(BIN)/python -m pytest

# The tests of the page alone, with a Chromium that is installed first.
test-browser: $(READY) chromium
	$(BIN)/python -m pytest tests/browser

chromium:
	@command -v chromium > /dev/null || command -v google-chrome > /dev/null || { \
		command -v apt-get > /dev/null \
			|| { echo "install Chromium first: there is no apt-get here"; exit 1; }; \
		if [ "$$(id -u)" -eq 0 ]; then sudo=; else sudo=sudo; fi; \
		$$sudo apt-get update --quiet && \
		$$sudo apt-get install --quiet --yes --no-install-recommends chromium; \
	}

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
