# The two commands: `make solve` plans a shipped example, `make test` checks everything.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
EXTRAS := dev,network,plot,peers,cluster
READY := $(VENV)/.ready

.PHONY: solve test lint format clean setup

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

test: lint
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
